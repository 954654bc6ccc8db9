package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/seriatimq/seriatim/cmd/seriatim/exit"
)

// fill makes queues, topics, subscriptions, an account and a policy.
func fill(t *testing.T, endpoint, dir string) {
	t.Helper()
	policy := filepath.Join(dir, "policy.json")
	if err := os.WriteFile(policy, []byte(`{"Statement":{"Effect":"Allow","Action":"sqs:*","Resource":["arn:aws:sqs:us-east-1:000000000000:jobs*","arn:aws:sqs:*:*:{region}"]}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	const arn = "arn:aws:sqs:us-east-1:000000000000:"
	for _, args := range [][]string{
		{"queue", "create", "jobs-dead"}, {"queue", "create", "implicit", "-a", "ImplicitDeadLetterQueue=true"},
		{"queue", "create", "jobs", "-t", "team=web", "-a", "VisibilityTimeout=77",
			"-a", `RedrivePolicy={"deadLetterTargetArn":"` + arn + `jobs-dead","maxReceiveCount":3}`,
			"-a", `Policy={"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":"*","Action":"sqs:SendMessage","Resource":"` +
				arn + `jobs"}]}`},
		{"queue", "create", "ymq.fifo", "-a", "CompatibilityProfile=ymq", "-a", "DeduplicationWindowSeconds=86400"},
		{"queue", "create", "bus.fifo", "-a", "CompatibilityProfile=servicebus"}, {"queue", "create", "a.fifo"},
		{"topic", "create", "archive.fifo", "-a", `ArchivePolicy={"MessageRetentionPeriod":3}`, "-t", "a=b"},
		{"topic", "subscribe", "archive.fifo", "a.fifo", "-a", `FilterPolicy={"n":[{"numeric":[">",4]}]}`,
			"-a", `ReplayPolicy={"PointType":"Timestamp","StartingPoint":"2026-11-27T10:00:00Z"}`},
		{"topic", "subscribe", "archive.fifo", "ymq.fifo", "--raw", "-a", `RedrivePolicy={"deadLetterTargetArn":"` + arn + `a.fifo"}`},
		{"topic", "rule", "add", "archive.fifo", "a.fifo", "large", "--sql", "n > 4", "--action", "SET big = TRUE"},
		{"topic", "rule", "add", "archive.fifo", "a.fifo", "Exact", "--where", "sys.Label=x", "--where", "n:integer=5",
			"--where", "f:number=0.5"},
		{"topic", "rule", "add", "archive.fifo", "a.fifo", "none", "--none"},
		{"topic", "rule", "remove", "archive.fifo", "ymq.fifo", "$Default", "--yes"},
		{"topic", "create", "web"}, {"topic", "subscribe", "web", "http://127.0.0.1:1/x", "--protocol", "http"},
		{"queue", "create", "cycle-a"}, {"queue", "create", "cycle-b", "-a", `RedrivePolicy={"deadLetterTargetArn":"` + arn + `cycle-a","maxReceiveCount":3}`},
		{"queue", "update", "cycle-a", "-a", `RedrivePolicy={"deadLetterTargetArn":"` + arn + `cycle-b","maxReceiveCount":3}`},
		{"account", "create", "111111111111", "--queues", "5"}, {"policy", "put", "svc", "--file", policy},
	} {
		at(t, endpoint, args...)
	}
}

// The definitions of a cluster, imported into an empty one in another region, are equal. A second
// import changes nothing, and --prune removes what the file lacks after a confirmation.
func TestDefinitions(t *testing.T) {
	t.Cleanup(func() { goleak.VerifyNone(t) }) // after the nodes have ended
	from, to, dir := devNode(t), devNode(t, "--region", "eu-west-1"), t.TempDir()
	fill(t, from, dir)
	file, again := filepath.Join(dir, "cluster.yaml"), filepath.Join(dir, "again.yaml")
	at(t, from, "definitions", "export", file)
	refusedAt(t, from, exit.Usage, "add --force", "definitions", "export", file)
	replaces(t, from, file)
	at(t, from, "definitions", "diff", file)
	refusedAt(t, to, exit.Failed, "differences", "definitions", "diff", file)

	plan := at(t, to, "definitions", "import", file, "--dry-run")
	created, set := strings.LastIndex(plan, "create the queue "), strings.Index(plan, "set RedrivePolicy of the queue cycle-a\n")
	if created < 0 || set < created {
		t.Errorf("dead-letter queues are not created first:\n%s", plan)
	}
	if out := at(t, to, "queue", "list"); strings.Contains(out, "jobs") {
		t.Errorf("the dry run changed something\n%s", out)
	}
	at(t, to, "definitions", "import", file)
	at(t, to, "definitions", "diff", file)
	if out := at(t, to, "definitions", "diff", file, "-o", "json"); !strings.Contains(out, `"differences": []`) {
		t.Error(out)
	}
	if out := at(t, to, "definitions", "import", file, "-o", "json"); !strings.Contains(out, `"steps": []`) {
		t.Errorf("the second import changed something\n%s", out)
	}
	for command, wanted := range map[string][]string{
		"queue show jobs": {`"deadLetterTargetArn":"arn:aws:sqs:eu-west-1:000000000000:jobs-dead"`,
			`"Resource":"arn:aws:sqs:eu-west-1:000000000000:jobs"`},
		"queue show cycle-a": {`"arn:aws:sqs:eu-west-1:000000000000:cycle-b"`}, "queue show cycle-b": {`"arn:aws:sqs:eu-west-1:000000000000:cycle-a"`},
		"topic subscription show archive.fifo ymq.fifo": {`"arn:aws:sqs:eu-west-1:000000000000:a.fifo"`},
		"policy get svc": {`"arn:aws:sqs:eu-west-1:000000000000:jobs*"`, `"arn:aws:sqs:*:*:{region}"`},
	} {
		out := at(t, to, strings.Fields(command)...)
		for _, want := range wanted {
			if !strings.Contains(out, want) {
				t.Errorf("%s has no %s\n%s", command, want, out)
			}
		}
	}
	if out := at(t, to, "definitions", "export", "--only", "policies"); !strings.Contains(out, "arn:aws:sqs:{region}:{account}:jobs*") {
		t.Error(out)
	}
	at(t, to, "definitions", "export", again)
	if a, b := read(t, file), read(t, again); a != b {
		t.Errorf("the exports differ:\n%s\n%s", a, b)
	}
	asJSON := filepath.Join(dir, "cluster.json")
	at(t, from, "definitions", "export", asJSON)
	at(t, to, "definitions", "diff", asJSON)
	changes(t, to, file)
	prunes(t, to, file)
}

// replaces exports to a file that exists: in one step, so that a reader of the old file has all of it.
func replaces(t *testing.T, endpoint, file string) {
	t.Helper()
	if err := os.Chmod(file, 0o640); err != nil {
		t.Fatal(err)
	}
	old, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = old.Close() }()
	text := read(t, file)
	at(t, endpoint, "definitions", "export", file, "--force")
	before, err := old.Stat()
	after, err2 := os.Stat(file)
	if err := errors.Join(err, err2); err != nil {
		t.Fatal(err)
	}
	if os.SameFile(before, after) || after.Mode() != before.Mode() || read(t, file) != text {
		t.Errorf("the file was written in place, or it became %v\n%s", after.Mode(), read(t, file))
	}
	link := file + ".link"
	if err := os.Symlink(file, link); err != nil {
		t.Fatal(err)
	}
	at(t, endpoint, "definitions", "export", link, "--force")
	if to, err := os.Readlink(link); err != nil || to != file || read(t, file) == "" {
		t.Errorf("the link leads to %q, %v", to, err)
	}
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// changes changes values in the cluster, and sees that diff shows them and import sets them back.
func changes(t *testing.T, endpoint, file string) {
	t.Helper()
	at(t, endpoint, "queue", "update", "jobs", "-a", "VisibilityTimeout=5")
	at(t, endpoint, "queue", "tag", "jobs", "team=other", "extra=1")
	at(t, endpoint, "topic", "subscription", "set", "archive.fifo", "a.fifo", `FilterPolicy={"n":[1]}`)
	at(t, endpoint, "topic", "rule", "add", "archive.fifo", "a.fifo", "large", "--sql", "n > 5", "--replace")
	at(t, endpoint, "topic", "rule", "add", "archive.fifo", "a.fifo", "extra", "--all")
	at(t, endpoint, "topic", "rule", "remove", "archive.fifo", "a.fifo", "exact", "--yes")
	at(t, endpoint, "account", "quota", "111111111111", "--queues", "6")
	out, _, code := typed(t, "", "definitions", "diff", file, "--endpoint", endpoint)
	want := "~ account 111111111111: queues: 6 -> 5\n~ queue jobs: VisibilityTimeout: 5 -> 77\n- queue jobs: tag extra: 1\n" +
		"~ queue jobs: tag team: other -> web\n" +
		`~ subscription archive.fifo -> a.fifo: FilterPolicy: {"n":[1]} -> {"n":[{"numeric":[">",4]}]}` + "\n" +
		"+ subscription archive.fifo -> a.fifo: rule Exact: sys.Label=x AND f:number=0.5 AND n:integer=5\n" +
		"- subscription archive.fifo -> a.fifo: rule extra: all\n" +
		"~ subscription archive.fifo -> a.fifo: rule large: n > 5 -> n > 4 DO SET big = TRUE\n"
	if code != exit.Failed || out != want {
		t.Errorf("exit code %d\n%s\nwant\n%s", code, out, want)
	}
	at(t, endpoint, "definitions", "import", file)
	out, _, _ = typed(t, "", "definitions", "diff", file, "--endpoint", endpoint)
	if out != "- queue jobs: tag extra: 1\n- subscription archive.fifo -> a.fifo: rule extra: all\n" {
		t.Errorf("after the import: %s", out)
	}
	at(t, endpoint, "queue", "update", "jobs", "-a", "MessageRetentionPeriod=1209600")
	refusedAt(t, endpoint, exit.Usage, "set MessageRetentionPeriod of the queue jobs", "definitions", "import", file)
	at(t, endpoint, "definitions", "import", file, "--yes")
	at(t, endpoint, "queue", "create", "left")
	at(t, endpoint, "queue", "update", "jobs-dead", "-a", `RedriveAllowPolicy={"redrivePermission":"allowAll"}`)
}

// prunes removes what the file lacks, and then everything.
func prunes(t *testing.T, endpoint, file string) {
	t.Helper()
	out, words, code := typed(t, "yes\n", "definitions", "import", file, "--prune", "--endpoint", endpoint)
	if code != exit.Usage || !strings.Contains(words, "delete the queue left with its messages") ||
		!strings.Contains(words, "set RedriveAllowPolicy of the queue jobs-dead") {
		t.Errorf("not confirmed: exit code %d\n%s%s", code, out, words)
	}
	if out, words, code := typed(t, "import\n", "definitions", "import", file, "--prune", "--endpoint", endpoint); code != exit.OK {
		t.Errorf("exit code %d\n%s%s", code, out, words)
	}
	at(t, endpoint, "definitions", "diff", file)
	if _, words, code := typed(t, "version: 1\n", "definitions", "import", "--prune", "--yes", "--endpoint", endpoint); code != exit.OK {
		t.Errorf("exit code %d\n%s", code, words)
	}
	if out := at(t, endpoint, "definitions", "export", "-o", "json"); strings.Contains(out, "name") || strings.Contains(out, "svc") {
		t.Errorf("left: %s", out)
	}
}

// Files that are wrong are refused, and change nothing.
func TestWrongDefinitions(t *testing.T) {
	t.Cleanup(func() { goleak.VerifyNone(t) }) // after the node has ended
	endpoint := devNode(t)
	at(t, endpoint, "queue", "create", "q.fifo")
	for text, want := range map[string]string{
		"":                      "it is empty",
		"queues: []":            "it has no version",
		"version: 99":           "versions up to",
		"version: 1\nqeues: []": "field qeues not found",
		"version: 1\nqueues: [{name: a}, {name: a}]":                                    "the queue a appears twice",
		"version: 1\nqueues: [{}]":                                                      "a queue has no name",
		"version: 1\ntopics: [{name: t, subscriptions: [{queue: q, url: http://x}]}]":   "a queue and a url",
		"version: 1\nqueues: [{name: q.fifo, attributes: {CompatibilityProfile: ymq}}]": "CompatibilityProfile",
	} {
		_, words, code := typed(t, text, "definitions", "import", "--endpoint", endpoint)
		if code == exit.OK || !strings.Contains(words, want) {
			t.Errorf("%q: exit code %d, want %q\n%s", text, code, want, words)
		}
	}
	refusedAt(t, endpoint, exit.Usage, "no such file", "definitions", "import", "/does/not/exist")
	refusedAt(t, endpoint, exit.Usage, `unknown part "rows"`, "definitions", "export", "--only", "rows")
	refusedAt(t, "http://127.0.0.1:1", exit.Unavailable, "", "definitions", "export")
	if out := at(t, endpoint, "queue", "list"); strings.Count(out, "\n") != 2 {
		t.Errorf("changed: %s", out)
	}
	const policies = "version: 1\nuserPolicies: [{user: u, policy: 'arn:aws:sqs:{region}:{account}:q'}]"
	none := devNode(t)
	_, words, code := typed(t, policies, "definitions", "import", "--endpoint", none)
	if code != exit.Conflict || !strings.Contains(words, "create a queue") {
		t.Errorf("without a queue: exit code %d\n%s", code, words)
	}
	_, words, code = typed(t, "version: 1\naccessKeys: [{id: SRTMX, active: true}]", "definitions", "import", "--endpoint", endpoint)
	if code != exit.OK || !strings.Contains(words, "seriatim key create --id SRTMX") {
		t.Errorf("exit code %d\n%s", code, words)
	}
}
