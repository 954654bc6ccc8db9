package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/seriatimq/seriatim/cmd/seriatim/exit"
)

// Queues and messages of another cluster, which speaks SQS, arrive completely and in order, and are
// gone at the source.
func TestMigrate(t *testing.T) {
	t.Cleanup(func() { goleak.VerifyNone(t) }) // after the nodes have ended
	from, to := devNode(t, "--region", "eu-west-1"), devNode(t)
	at(t, from, "queue", "create", "dead")
	at(t, from, "queue", "create", "jobs", "-t", "team=web",
		"-a", `RedrivePolicy={"deadLetterTargetArn":"arn:aws:sqs:eu-west-1:000000000000:dead","maxReceiveCount":3}`)
	at(t, from, "queue", "create", "orders.fifo", "-a", "ContentBasedDeduplication=true")
	at(t, from, "msg", "send", "jobs", "job $i", "--count", "30", "-a", "raw:Binary=\x00\x01", "-a", "n:Number=5")
	for _, group := range []string{"g1", "g2"} {
		at(t, from, "msg", "send", "orders.fifo", group+" order $i", "--count", "40", "-g", group)
	}
	before, jobs := exported(t, exportOf(t, from, "orders.fifo")), exported(t, exportOf(t, from, "jobs"))

	source := []string{"--source-endpoint", from, "--source-region", "eu-west-1"}
	plan := at(t, to, append([]string{"migrate", "from-sqs", "--messages"}, source...)...)
	for _, step := range []string{"create the queue dead\n", "set RedrivePolicy of the queue jobs\n", "move 80 messages of orders.fifo\n"} {
		if !strings.Contains(plan, step) {
			t.Errorf("no %q in the plan:\n%s", step, plan)
		}
	}
	if out := at(t, to, "queue", "list"); strings.Contains(out, "jobs") {
		t.Errorf("the dry run changed something\n%s", out)
	}
	refusedAt(t, to, exit.Failed, "differences", append([]string{"migrate", "diff", "sqs"}, source...)...)
	out := at(t, to, append([]string{"migrate", "from-sqs", "--messages", "--apply", "-o", "json"}, source...)...)
	if !strings.Contains(out, `"moved": 110`) {
		t.Error(out)
	}
	at(t, to, append([]string{"migrate", "diff", "sqs"}, source...)...)
	if diff := cmp.Diff(bodiesOf(before), bodiesOf(exported(t, exportOf(t, to, "orders.fifo")))); diff != "" {
		t.Error(diff)
	}
	if got := exported(t, exportOf(t, to, "jobs")); len(got[""]) != len(jobs[""]) {
		t.Errorf("%d of %d messages arrived", len(got[""]), len(jobs[""]))
	}
	for _, queue := range []string{"jobs", "orders.fifo"} {
		if left := at(t, from, "msg", "export", queue); left != "" {
			t.Errorf("left at the source: %s", left)
		}
	}
	if out := at(t, to, "queue", "show", "jobs"); !strings.Contains(out, "us-east-1:000000000000:dead") ||
		!strings.Contains(out, "Tag team") {
		t.Error(out)
	}
}

// bodiesOf keeps the order of bodies in each group: messages get other deduplication ids.
func bodiesOf(groups map[string][]string) map[string][]string {
	out := map[string][]string{}
	for group, lines := range groups {
		for _, line := range lines {
			body, _, _ := strings.Cut(line, ",")
			out[group] = append(out[group], body)
		}
	}
	return out
}

// A migration from Yandex sets the profile of FIFO queues. Wrong sources are explained.
func TestMigrateSources(t *testing.T) {
	t.Cleanup(func() { goleak.VerifyNone(t) }) // after the nodes have ended
	from, to := devNode(t), devNode(t)
	at(t, from, "queue", "create", "orders.fifo")
	at(t, from, "queue", "create", "jobs")
	at(t, to, "migrate", "from-ymq", "--source-endpoint", from, "--prefix", "orders", "--apply")
	if out := at(t, to, "queue", "show", "orders.fifo"); !strings.Contains(out, "CompatibilityProfile                   ymq") {
		t.Error(out)
	}
	if out := at(t, to, "queue", "list"); strings.Contains(out, "jobs") {
		t.Errorf("--prefix is ignored\n%s", out)
	}
	at(t, to, "migrate", "from-elasticmq", "--source-endpoint", from, "--prefix", "jobs", "--apply")
	config := filepath.Join(t.TempDir(), "elasticmq.conf")
	if err := os.WriteFile(config, []byte("queues { audit { fifo = true, delay = 5 seconds } }"), 0o600); err != nil {
		t.Fatal(err)
	}
	refusedAt(t, to, exit.Failed, "1 difference", "migrate", "diff", "elasticmq", "--config", config)
	at(t, to, "migrate", "from-elasticmq", "--config", config, "--apply")
	at(t, to, "migrate", "diff", "elasticmq", "--config", config)
	refusedAt(t, to, exit.Usage, "no such file", "migrate", "from-elasticmq", "--config", config+".missing")
	refusedAt(t, to, exit.Usage, "config", "migrate", "from-elasticmq", "--config", config, "--messages")
	refusedAt(t, to, exit.Usage, "--config is for elasticmq", "migrate", "diff", "sqs", "--config", config)
	refusedAt(t, to, exit.NotFound, "no queue", "migrate", "from-sqs", "--source-endpoint", from, "--prefix", "x")
	refusedAt(t, to, exit.Usage, "is no address", "migrate", "from-sqs", "--source-endpoint", "x")
	refusedAt(t, to, exit.Unavailable, "the source", "migrate", "from-sqs", "--source-endpoint", "http://127.0.0.1:1")
	refusedAt(t, to, exit.Usage, "unknown service", "migrate", "diff", "kafka")
	refusedAt(t, to, exit.Usage, "below zero", "migrate", "from-sqs", "--source-endpoint", from, "--rate", "-1")
}
