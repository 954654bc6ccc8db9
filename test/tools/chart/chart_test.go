package chart

import (
	"fmt"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/lint"
	"helm.sh/helm/v3/pkg/lint/support"
)

// namespace is the namespace of the installations.
const namespace = "queues"

// dimensions are independent choices. The matrix contains every pair of values of any two of them.
var dimensions = [][]string{
	{"replicas: 3", "replicas: 1", "replicas: 5"},
	{"tls: {mode: job}", "tls: {mode: certManager}", "tls: {mode: existing}",
		"tls: {mode: job, clients: true, clientSecret: web, hosts: [queues.example.org]}", "tls: {admin: false}"},
	{"", "ipFamilyPolicy: RequireDualStack\nipFamilies: [IPv6, IPv4]", "ipFamilyPolicy: PreferDualStack\nipFamilies: [IPv4, IPv6]",
		"ipFamilies: [IPv6]"},
	{"", "networkPolicy: {enabled: false}", "networkPolicy: {clients: [], prometheus: []}"},
	{"", "backup: {enabled: true, upload: {image: 'rclone/rclone', command: [rclone, copyto, " +
		"/backup/seriatim.backup, 'store:prod.backup'], env: [{name: RCLONE_CONFIG_STORE_TYPE, value: s3}], secret: s3}}"},
	{"", "metrics: {serviceMonitor: {enabled: true, labels: {release: prometheus}}, rules: {enabled: true}, dashboard: {enabled: true}}"},
	{"", "tracing: {endpoint: 'http://collector.monitoring:4318', ratio: 0.25}"},
	{"", "spread: {hosts: preferred, zones: 'off'}", "spread: {zones: required}"},
	{"", "auth: false"},
	{"", "encryption: {secret: keys}"},
	{"", "memory: {limitMiB: 1024}", "memory: {limitMiB: 65536, requestMiB: 4096}\ncpu: {limit: '4'}"},
	{"", "image: {digest: 'sha256:" + sixtyFour +
		"', pullSecrets: [registry]}\npriorityClassName: queues\npodLabels: {team: a}\nnodeSelector: {disk: " +
		"fast}\ntolerations: [{key: queues, operator: Exists}]"},
	{"", "nameOverride: q", "settings: {account: '111122223333', log-level: debug}\nstorage: {size: 1Ti, className: fast}"},
}

const sixtyFour = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

// matrix combines each value with each value of every other dimension.
func matrix() []string {
	seen := map[string]bool{}
	var list []string
	for i, one := range dimensions {
		for j, other := range dimensions[:i] {
			for _, a := range one {
				for _, b := range other {
					var values []string
					for k := range dimensions {
						switch k {
						case i:
							values = append(values, a)
						case j:
							values = append(values, b)
						case 0, 1:
							values = append(values, dimensions[k][0])
						}
					}
					if text := strings.Join(values, "\n"); !seen[text] {
						seen[text] = true
						list = append(list, text)
					}
				}
			}
		}
	}
	return list
}

// TestMatrix checks that for all values Kubernetes knows the objects, and that the rules which
// protect messages hold.
func TestMatrix(t *testing.T) {
	for _, values := range matrix() {
		t.Run(strings.ReplaceAll(values, "\n", " "), func(t *testing.T) {
			t.Parallel()
			text, err := render("prod", namespace, values)
			if err != nil {
				t.Fatal(err)
			}
			found, err := decode(text)
			if err != nil {
				t.Fatal(err)
			}
			name := "prod"
			if strings.Contains(values, "nameOverride: q") {
				name = "q"
			}
			release{t: t, objects: found, name: name, values: values}.check()
		})
	}
	t.Logf("%d sets of values", len(matrix()))
}

// TestLint checks that helm lint finds nothing.
func TestLint(t *testing.T) {
	for _, message := range lint.All(chartFolder, map[string]any{}, namespace, true).Messages {
		if message.Severity > support.InfoSev {
			t.Error(message)
		}
	}
}

// TestRefused checks that unsafe and unknown values are refused.
func TestRefused(t *testing.T) {
	for values, reason := range map[string]string{
		"replicas: 2":                           "replicas",
		"replicas: 4":                           "replicas",
		"replica: 3":                            "replica",
		"memory: {limitMiB: 256}":               "limitMiB",
		"tls: {mode: off}":                      "mode",
		"backup: {enabled: true}":               "image",
		"ipFamilies: [IPv5]":                    "ipFamilies",
		"storage: {size: 20}":                   "size",
		"replicas: 1\nscaleDown: {from: 3}":     "from 3 to 1",
		"settings: {insecure-peers: true}":      "insecure-peers",
		"settings: {data-dir: /tmp}":            "data-dir",
		"tracing: {endpoint: 'collector:4318'}": "endpoint",
		"tracing: {ratio: 1.5}":                 "ratio",
		"tracing: {endpoint: 'http://c:4318'}\nsettings: {trace-ratio: 0.5}": "trace-ratio",
		"backup: {enabled: true, upload: {image: rclone/rclone}}":            "command",
	} {
		if _, err := render("prod", namespace, values); err == nil || !strings.Contains(err.Error(), reason) {
			t.Errorf("%q: got %v, want a word on %s", values, err, reason)
		}
	}
}

// TestScaleDown checks that members are removed before their pods, the last one first.
func TestScaleDown(t *testing.T) {
	text, err := render("prod", namespace, "replicas: 3\nscaleDown: {from: 7}")
	if err != nil {
		t.Fatal(err)
	}
	found, err := decode(text)
	if err != nil {
		t.Fatal(err)
	}
	job := find[jobType](found, "Job", "prod-scale-down")
	if job == nil || job.Annotations["helm.sh/hook"] != "pre-upgrade" {
		t.Fatalf("the job is %+v", job)
	}
	var removed []string
	for _, c := range job.Spec.Template.Spec.InitContainers {
		if c.Args[0] != "cluster" || c.Args[1] != "remove" {
			t.Errorf("%s runs %q", c.Name, c.Args)
		}
		removed = append(removed, c.Args[2])
	}
	if got := fmt.Sprint(removed); got != "[prod-6 prod-5 prod-4 prod-3]" {
		t.Errorf("removed are %v", got)
	}
	release{t: t, objects: found, name: "prod"}.check()
	text, err = render("prod", namespace, "replicas: 5\nscaleDown: {from: 3}")
	if err != nil || strings.Contains(text, "scale-down") {
		t.Errorf("growing removes members: %v", err)
	}
}
