package server

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
)

// sources holds the configuration of a node in a test.
type sources struct {
	file    string
	environ []string
	flags   []string
}

func (s sources) load(t *testing.T) (Config, error) {
	t.Helper()
	file := layer{source: "no file"}
	if s.file != "" {
		path := filepath.Join(t.TempDir(), "seriatim.yaml")
		if err := os.WriteFile(path, []byte(s.file), 0o600); err != nil {
			t.Fatal(err)
		}
		l, err := fileLayer(path)
		if err != nil {
			return Config{}, err
		}
		file = l
	}
	flags := pflag.NewFlagSet("server", pflag.ContinueOnError)
	bindFlags(flags, func(string) bool { return true })
	if err := flags.Parse(s.flags); err != nil {
		t.Fatal(err)
	}
	return load(file, s.environ, flagsLayer(flags))
}

func TestPrecedence(t *testing.T) {
	tests := []struct {
		name string
		from sources
		want time.Duration
	}{
		{"default", sources{}, 1500 * time.Millisecond},
		{"file over default", sources{file: "heartbeat-timeout: 1s\n"}, time.Second},
		{"environment over file", sources{file: "heartbeat-timeout: 1s\n", environ: []string{"SERIATIM_HEARTBEAT_TIMEOUT=2s"}},
			2 * time.Second},
		{"flag over all", sources{
			file: "heartbeat-timeout: 1s\n", environ: []string{"SERIATIM_HEARTBEAT_TIMEOUT=2s"}, flags: []string{"--heartbeat-timeout=3s"},
		}, 3 * time.Second},
		{"flag with the default's value still wins", sources{
			environ: []string{"SERIATIM_HEARTBEAT_TIMEOUT=2s"}, flags: []string{"--heartbeat-timeout=1500ms"},
		}, 1500 * time.Millisecond},
		{"empty variable is an unset one", sources{file: "heartbeat-timeout: 1s\n", environ: []string{"SERIATIM_HEARTBEAT_TIMEOUT="}},
			time.Second},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			cfg, err := tt.from.load(t)
			if err != nil {
				t.Fatal(err)
			}
			if cfg.Timing.Heartbeat != tt.want {
				t.Errorf("heartbeat-timeout is %v, want %v", cfg.Timing.Heartbeat, tt.want)
			}
		})
	}
}

func TestValuesOfEveryType(t *testing.T) {
	cfg, err := sources{
		file: "account: 000000000042\njoin: [a:1, \"b:2\"]\naws-cooldowns: true\nlog-cache-size: 3MiB\nbootstrap-expect: 3\n",
	}.load(t)
	if err != nil {
		t.Fatal(err)
	}
	if cfg.API.Account != "000000000042" {
		t.Errorf("account %q lost its zeros", cfg.API.Account)
	}
	if diff := cmp.Diff([]string{"a:1", "b:2"}, cfg.Node.Join); diff != "" {
		t.Error(diff)
	}
	if !cfg.API.AWSCooldowns || cfg.Storage.CacheBytes != 3<<20 || cfg.Node.BootstrapExpect != 3 {
		t.Errorf("read %+v", cfg)
	}
}

// OpenTelemetry's variable applies unless a setting overrides it.
func TestStandardEndpoint(t *testing.T) {
	const shared = "OTEL_EXPORTER_OTLP_ENDPOINT=http://shared:4318"
	for _, c := range []struct {
		name string
		from sources
		want string
	}{
		{"nothing", sources{}, ""},
		{"shared", sources{environ: []string{shared}}, "http://shared:4318"},
		{"a setting over the shared one", sources{environ: []string{shared}, file: "otlp-endpoint: http://own:4318\n"}, "http://own:4318"},
		{"turned off for all", sources{environ: []string{shared, "OTEL_SDK_DISABLED=true"}}, ""},
	} {
		cfg, err := c.from.load(t)
		if err != nil || cfg.Tracing.Endpoint != c.want {
			t.Errorf("%s: %q, %v, want %q", c.name, cfg.Tracing.Endpoint, err, c.want)
		}
	}
}

func TestMistakesAreNamed(t *testing.T) {
	tests := []struct {
		name string
		from sources
		want []string // parts of the message
	}{
		{"unknown key", sources{file: "data_dir: /x\n"},
			[]string{"seriatim.yaml", `unknown setting "data_dir"`, `did you mean "data-dir"`}},
		{"misspelt key", sources{file: "join-adress: /x\ndata-dri: /x\n"}, []string{`did you mean "data-dir"`}},
		{"two unknown keys", sources{file: "foo: 1\nbar: 2\n"}, []string{`"foo"`, `"bar"`}},
		{"unknown variable", sources{environ: []string{"SERIATIM_DATADIR=/x"}}, []string{"unknown variable SERIATIM_DATADIR"}},
		{"bad duration in file", sources{file: "disk-deadline: 10\n"},
			[]string{"seriatim.yaml", "disk-deadline", `"10" is not a duration`}},
		{"bad number in variable", sources{environ: []string{"SERIATIM_BOOTSTRAP_EXPECT=three"}},
			[]string{"SERIATIM_BOOTSTRAP_EXPECT", "whole number"}},
		{"bad size in flag", sources{flags: []string{"--log-cache-size=64M"}}, []string{"--log-cache-size", "64MiB"}},
		{"bad part in flag", sources{flags: []string{"--trace-ratio=1%"}}, []string{"--trace-ratio", "0.01"}},
		{"bad boolean", sources{file: "aws-cooldowns: maybe\n"}, []string{"neither true nor false"}},
		{"mapping as value", sources{file: "join:\n  a: b\n"}, []string{"line 2", "join"}},
		{"repeated key", sources{file: "join: a:1\njoin: b:1\n"}, []string{"seriatim.yaml", "join"}},
		{"not YAML", sources{file: "{"}, []string{"seriatim.yaml"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := tt.from.load(t)
			if err == nil {
				t.Fatal("accepted")
			}
			for _, part := range tt.want {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%q does not say %q", err, part)
				}
			}
		})
	}
}

func TestForeignVariablesAreLeftAlone(t *testing.T) {
	_, err := sources{environ: []string{
		"PATH=/bin", "SERIATIM_ENDPOINT=http://x:1", "SERIATIM_ADMIN=x", "SERIATIM_ADMIN_TOKEN=x", "SERIATIM_OUTPUT=json",
		"SERIATIM_CONFIG=/etc/x",
		"SERIATIM_SERVICE_HOST=10.0.0.1", "SERIATIM_SERVICE_PORT=9324", "SERIATIM_SERVICE_PORT_CLIENT=9324",
		"SERIATIM_PORT=tcp://10.0.0.1:9324", "SERIATIM_PORT_9324_TCP=tcp://10.0.0.1:9324",
		"SERIATIM_PORT_9324_TCP_PROTO=tcp", "SERIATIM_PORT_9324_TCP_PORT=9324", "SERIATIM_PORT_9324_TCP_ADDR=10.0.0.1",
		"SERIATIM_PEERS_PORT_9327_UDP_ADDR=10.0.0.1",
	}}.load(t)
	if err != nil {
		t.Error(err)
	}
}

func TestPrintConfigRoundTrip(t *testing.T) {
	want, err := sources{flags: []string{
		"--node-name=n1", "--join=a:1,b:2", "--account=000000000042", "--log-cache-size=48MiB", "--aws-cooldowns",
		"--disk-deadline=2m30s", "--tls-cert=/a: b", "--region=eu-1", "--minimum-window=1",
	}}.load(t)
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	if err := printConfig(&text, want); err != nil {
		t.Fatal(err)
	}
	got, err := sources{file: text.String()}.load(t)
	if err != nil {
		t.Fatalf("%v\n%s", err, text.String())
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s\n%s", diff, text.String())
	}
}

func TestEverySettingIsDescribed(t *testing.T) {
	seen := map[string]bool{}
	for _, s := range settings() {
		wantEnv := "SERIATIM_" + strings.ToUpper(strings.ReplaceAll(s.name, "-", "_"))
		if s.name == "" || s.help == "" || s.since == "" || s.env != wantEnv || seen[s.name] {
			t.Errorf("setting %+v: name, env %s, since and help are wanted, once", s, wantEnv)
		}
		seen[s.name] = true
		if _, err := parse(s.kind, s.def); err != nil {
			t.Errorf("default of %s: %v", s.name, err)
		}
	}
	cfg, err := sources{}.load(t)
	if err != nil {
		t.Fatal(err)
	}
	if err := cfg.validate(); err != nil {
		t.Errorf("the defaults are refused: %v", err)
	}
}

func TestValidate(t *testing.T) {
	tests := []struct{ flags, want string }{
		{"--account=12", "12 digits"},
		{"--region=EU", "lower-case"},
		{"--minimum-window=0", "1 to 20"},
		{"--minimum-window=21", "1 to 20"},
		{"--join=a:1", "bootstrap-expect is 1"},
		{"--log-level=loud", "log-level"},
		{"--log-format=xml", "log-format"},
		{"--tls-cert=x", "tls-key"},
		{"--admin-cert=x", "admin-key"},
		{"--peer-cert=x", "peer-ca"},
		{"--peer-addr=:9326", "seriatim cert ca"},
		{"--admin-addr=:9325", "seriatim cert token"},
		{"--gossip-addr=10.0.0.1:9327", "insecure-peers"},
		{"--peer-addr=node.example.org:9326 --gossip-key-file=x", "peer-cert"},
		{"--gossip-addr=[::]:9327 --peer-cert=x --peer-key=x --peer-ca=x", "gossip-key-file"},
		{"--bootstrap-expect=3 --join=127.0.0.1:1", "insecure-peers"},
		{"--bootstrap-expect=0", "insecure-peers"},
		{"--gossip-key-file=x", "peer-cert"},
		{"--peer-cert=x --peer-key=x --peer-ca=x", "gossip-key-file"},
		{"--disk-deadline=0s", "disk-deadline must be above zero"},
		{"--max-connections=-1", "max-connections must be above zero"},
		{"--metrics-queues=-1", "metrics-queues"},
		{"--trace-ratio=1.5", "0 to 1"},
		{"--trace-ratio=NaN", "0 to 1"},
		{"--otlp-endpoint=127.0.0.1:4318", "OTEL_EXPORTER_OTLP_ENDPOINT"},
		{"--otlp-endpoint=http://user:secret@127.0.0.1:4318", "without user"},
	}
	for _, tt := range tests {
		t.Run(tt.flags, func(t *testing.T) {
			cfg, err := sources{flags: strings.Fields(tt.flags)}.load(t)
			if err != nil {
				t.Fatal(err)
			}
			if err := cfg.validate(); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

// A node with ports for other machines needs certificates and a gossip key, or insecure-peers.
func TestReachablePeers(t *testing.T) {
	for _, flags := range []string{
		"--admin-addr=:9325 --insecure-admin",
		"--admin-addr=10.0.0.1:9325 --admin-tokens-file=x",
		"--peer-addr=127.0.0.2:1 --gossip-addr=[::1]:2",
		"--peer-addr=:9326 --gossip-addr=:9327 --insecure-peers",
		"--bootstrap-expect=3 --join=127.0.0.1:1 --insecure-peers",
		"--peer-addr=:9326 --gossip-addr=:9327 --peer-cert=x --peer-key=x --peer-ca=x --gossip-key-file=x",
	} {
		cfg, err := sources{flags: strings.Fields(flags)}.load(t)
		if err != nil {
			t.Fatal(err)
		}
		if err := cfg.validate(); err != nil {
			t.Errorf("%s: %v", flags, err)
		}
	}
}

// TestSampleFile keeps the configuration file beside the systemd unit usable.
func TestSampleFile(t *testing.T) {
	file, err := fileLayer("../../../deploy/systemd/seriatim.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var environ []string
	for _, line := range unit(t)["Environment"] {
		environ = append(environ, strings.Fields(line)...)
	}
	cfg, err := load(file, environ, layer{source: "no flags"})
	if err != nil {
		t.Fatal(err)
	}
	if err := cfg.validate(); err != nil {
		t.Error(err)
	}
	cfg.Node.GossipKeyFile = "" // it is not here
	if _, err := (program{exit: func(int) {}}).clusterConfig(cfg, certificates{}); err != nil {
		t.Error(err)
	}
}

func TestSize(t *testing.T) {
	for text, want := range map[string]Size{"1B": 1, "64MiB": 64 << 20, "1 KiB": 1 << 10, "2GiB": 2 << 30, "0B": 0, "1536KiB": 1536 << 10} {
		got, err := parseSize(text)
		if err != nil || got != want {
			t.Errorf("parseSize(%q) = %d, %v", text, got, err)
		}
		if again, err := parseSize(got.String()); err != nil || again != want {
			t.Errorf("%q is printed as %q", text, got)
		}
	}
	for _, text := range []string{"", "64", "64MB", "-1MiB", "MiB", "9999999999999GiB", "1.5GiB"} {
		if got, err := parseSize(text); err == nil {
			t.Errorf("parseSize(%q) = %d", text, got)
		}
	}
}
