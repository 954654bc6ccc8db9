package server

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// FuzzConfiguration: no file, variable or flag may panic. The printed form of an accepted
// configuration is read back to the same one.
func FuzzConfiguration(f *testing.F) {
	f.Add("heartbeat-timeout: 1s\njoin: [a:1, b:2]\n", "SERIATIM_HEARTBEAT_TIMEOUT=2s", "--log-segment-size=4MiB")
	f.Add("{", "SERIATIM_JOIN=a,b", "--no-such")
	f.Add("node-name: &a x\nlog-store: *a\n", "SERIATIM_X=1", "--join=,")
	f.Fuzz(func(t *testing.T, file, variable, flag string) {
		s := sources{file: file, environ: []string{variable}}
		// The library refuses an invalid flag.
		if name, value, found := strings.Cut(flag, "="); found && strings.HasPrefix(name, "--") {
			s.environ = append(s.environ, "SERIATIM_"+strings.ToUpper(strings.ReplaceAll(name[2:], "-", "_"))+"="+value)
		}
		cfg, err := s.load(t)
		if err != nil {
			if strings.TrimSpace(err.Error()) == "" {
				t.Fatal("refused without a word")
			}
			return
		}
		var printed bytes.Buffer
		if err := printConfig(&printed, cfg); err != nil {
			t.Fatal(err)
		}
		again, err := sources{file: printed.String()}.load(t)
		if err != nil {
			t.Fatalf("its own print is refused: %v\n%s", err, printed.String())
		}
		if diff := cmp.Diff(cfg, again); diff != "" {
			t.Fatalf("-read +printed and read:\n%s", diff)
		}
	})
}
