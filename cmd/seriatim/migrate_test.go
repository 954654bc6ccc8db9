package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
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
	const trace = "Root=1-5759e988-bd862e3fe1be46a994272793"
	extra := []string{"-a", "raw:Binary=\x00\x01", "-a", "n:Number.int=5", "-a", "s=\u202e<x>", "--trace-header", trace}
	at(t, from, append([]string{"msg", "send", "jobs", "job $i", "--count", "30"}, extra...)...)
	for _, group := range []string{"g1", "g2"} {
		at(t, from, append([]string{"msg", "send", "orders.fifo", group + " order $i", "--count", "40", "-g", group}, extra...)...)
	}
	before, jobs := moved(t, exported(t, exportOf(t, from, "orders.fifo"))), moved(t, exported(t, exportOf(t, from, "jobs")))
	if first := before["g1"][0]; !strings.Contains(first, `"AAE="`) || !strings.Contains(first, trace) {
		t.Fatalf("the source has %s", first)
	}

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
	if diff := cmp.Diff(before, moved(t, exported(t, exportOf(t, to, "orders.fifo")))); diff != "" {
		t.Error(diff)
	}
	got := moved(t, exported(t, exportOf(t, to, "jobs")))
	slices.Sort(jobs[""]) // a standard queue has no order
	slices.Sort(got[""])
	if diff := cmp.Diff(jobs, got); diff != "" {
		t.Error(diff)
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

// moved keeps of each line of a file what a migration moves: all but the deduplication id.
func moved(t *testing.T, groups map[string][]string) map[string][]string {
	t.Helper()
	out := map[string][]string{}
	for group, lines := range groups {
		for _, line := range lines {
			var parts []json.RawMessage
			if err := json.Unmarshal([]byte(line), &parts); err != nil {
				t.Fatalf("%s: %v", line, err)
			}
			out[group] = append(out[group], string(bytes.Join([][]byte{parts[0], parts[2], parts[3]}, []byte(" "))))
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
	refusedAt(t, to, exit.Usage, "--config is for elasticmq and servicebus", "migrate", "diff", "sqs", "--config", config)
	refusedAt(t, to, exit.NotFound, "no queue", "migrate", "from-sqs", "--source-endpoint", from, "--prefix", "x")
	refusedAt(t, to, exit.Usage, "is no address", "migrate", "from-sqs", "--source-endpoint", "x")
	refusedAt(t, to, exit.Unavailable, "the source", "migrate", "from-sqs", "--source-endpoint", "http://127.0.0.1:1")
	refusedAt(t, to, exit.Usage, "unknown service", "migrate", "diff", "kafka")
	refusedAt(t, to, exit.Usage, "below zero", "migrate", "from-sqs", "--source-endpoint", from, "--rate", "-1")
}

// Queues of a namespace, and those of the emulator's configuration, become FIFO queues.
func TestMigrateFromServiceBus(t *testing.T) {
	t.Cleanup(func() { goleak.VerifyNone(t) }) // after the nodes have ended
	config := filepath.Join(t.TempDir(), "Config.json")
	text := `{"UserConfig":{"Namespaces":[{"Name":"n","Queues":[{"Name":"eu/orders","Properties":{"LockDuration":"PT30S",` +
		`"MaxDeliveryCount":3,"RequiresSession":true,"ForwardTo":"jobs","AutoDeleteOnIdle":"PT5M"}},{"Name":"jobs","Properties":{` +
		`"ForwardDeadLetteredMessagesTo":"none"}}],"Topics":[{"Name":"news","Properties":{"DefaultMessageTimeToLive":"PT1H","AutoDeleteOnIdle":"PT1H"},` +
		`"Subscriptions":[{"Name":"all","Properties":{"RequiresSession":true,"ForwardTo":"jobs","ForwardDeadLetteredMessagesTo":"news"},` +
		`"Rules":[{"Name":"r","Properties":{"FilterType":"Sql","SqlFilter":{"SqlExpression":"a = 1"}}},` +
		`{"Name":"c","Properties":{"FilterType":"Correlation","CorrelationFilter":{"Label":"l","Properties":{"n":5,"b":true}},` +
		`"Action":{"SqlExpression":"SET x = 1"}}}]}]}]}]}}`
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	from, to := devNode(t), devNode(t)
	plan := must(t, "migrate", "from-servicebus", "--config", config, "--endpoint", from) // with its notes
	for _, line := range []string{
		"create the queue eu_2Forders.fifo\n", "set RedrivePolicy of the queue eu_2Forders.fifo\n", "create the queue jobs-dlq.fifo\n",
		"subscribe news_2FSubscriptions_2Fall.fifo to news.fifo\n", "set ForwardTo of the queue eu_2Forders.fifo\n",
		"set ForwardDeadLetteredMessagesTo, ForwardTo of the queue news_2FSubscriptions_2Fall.fifo\n",
		"the queue jobs does not forward to none, which is not among the entities",
		"create the topic news.fifo\n", "create the queue eu_2Forders-transferdlq.fifo\n",
	} {
		if !strings.Contains(plan, line) {
			t.Errorf("no %q in the plan:\n%s", line, plan)
		}
	}
	rules := func(endpoint string) string {
		t.Helper()
		return at(t, endpoint, "topic", "rule", "list", "news.fifo", "news_2FSubscriptions_2Fall.fifo")
	}
	if out := at(t, from, "queue", "list"); strings.Contains(out, "jobs") {
		t.Errorf("the dry run changed something\n%s", out)
	}
	at(t, from, "migrate", "from-servicebus", "--config", config, "--apply")
	at(t, from, "migrate", "diff", "servicebus", "--config", config)

	// A node speaks the protocol of a namespace.
	source := []string{"--source-endpoint", from}
	refusedAt(t, to, exit.Failed, "differences", append([]string{"migrate", "diff", "servicebus"}, source...)...)
	at(t, to, append([]string{"migrate", "from-servicebus", "--prefix", "eu", "--apply"}, source...)...)
	shown := at(t, to, "queue", "show", "eu_2Forders.fifo")
	if !strings.Contains(shown, `"maxReceiveCount":3`) || strings.Contains(at(t, to, "queue", "list"), "jobs") ||
		!strings.Contains(strings.Join(strings.Fields(shown), " "), "AutoDeleteOnIdleSeconds 300") {
		t.Error(shown)
	}
	at(t, to, append([]string{"migrate", "from-servicebus", "--apply"}, source...)...)
	at(t, to, append([]string{"migrate", "diff", "servicebus"}, source...)...)
	if got := rules(to); got != rules(from) || !strings.Contains(got, "a = 1") || strings.Contains(got, "$Default") ||
		!strings.Contains(strings.Join(strings.Fields(got), " "), "c sys.Label=l AND b:boolean=true AND n:integer=5 SET x = 1") {
		t.Errorf("the rules are\n%s", got)
	}
	refusedAt(t, to, exit.Usage, "no such file", "migrate", "from-servicebus", "--config", config+".missing")
	refusedAt(t, to, exit.Usage, "source-endpoint", "migrate", "from-servicebus")
}
