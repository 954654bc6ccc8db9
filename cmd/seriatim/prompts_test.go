package main

import (
	"cmp"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/seriatimq/seriatim/cmd/seriatim/exit"
)

// The command deletes a topic, given by name or ARN, after its name is typed, and not for another
// name.
func TestTopicPrompt(t *testing.T) {
	t.Cleanup(func() { goleak.VerifyNone(t) }) // after the node has ended
	endpoint := devNode(t)
	must(t, "topic", "create", "news.fifo", "--endpoint", endpoint)
	must(t, "topic", "create", "old.fifo", "--endpoint", endpoint)
	must(t, "topic", "subscribe", "old.fifo", "readers.fifo", "--endpoint", endpoint)
	const arn = "arn:aws:sns:us-east-1:000000000000:old.fifo"
	for _, c := range []struct{ topic, input, has, says, left string }{
		{"news.fifo", "news\n", "news.fifo has 0 subscriptions.\n", "nothing was changed", "news.fifo"},
		{"news.fifo", "", "news.fifo has 0 subscriptions.\n", "add --yes", "news.fifo"},
		{arn, "news.fifo\n", "old.fifo has 1 subscription.\n", "nothing was changed", "old.fifo"},
	} {
		_, words, code := typed(t, c.input, "topic", "delete", c.topic, "--endpoint", endpoint)
		if code != exit.Usage || !strings.Contains(words, "the name of the topic to delete") || !strings.Contains(words, c.says) ||
			!strings.HasPrefix(words, c.has) {
			t.Errorf("%s, %q typed: exit code %d\n%s", c.topic, c.input, code, words)
		}
		if out, _, _ := typed(t, "", "topic", "list", "--endpoint", endpoint); !strings.Contains(out, c.left) {
			t.Errorf("%s was deleted unconfirmed\n%s", c.topic, out)
		}
	}
	if _, words, code := typed(t, "old.fifo\n", "topic", "delete", arn, "--endpoint", endpoint); code != exit.OK {
		t.Errorf("exit code %d\n%s", code, words)
	}
	if _, words, code := typed(t, "", "topic", "delete", "news.fifo", "--yes", "--endpoint", endpoint); code != exit.OK ||
		strings.Contains(words, "type") {
		t.Errorf("with --yes: exit code %d\n%s", code, words)
	}
	if out, _, _ := typed(t, "", "topic", "list", "--endpoint", endpoint); strings.Contains(out, ".fifo") {
		t.Errorf("left: %s", out)
	}
}

// A change of attributes asks if it shortens a window, a retention period or an archive. No other does.
func TestLossPrompts(t *testing.T) {
	t.Cleanup(func() { goleak.VerifyNone(t) }) // after the node has ended
	endpoint := devNode(t)
	at(t, endpoint, "queue", "create", "a.fifo")
	at(t, endpoint, "topic", "create", "t.fifo", "-a", `ArchivePolicy={"MessageRetentionPeriod":"30"}`)
	const queue, topic = "http://h/000000000000/a.fifo", "arn:aws:sns:us-east-1:000000000000:t.fifo"
	for _, c := range []struct {
		command, value string
		asks           string // empty: it does not
		shown          string
	}{
		{"queue update a.fifo -a", "DeduplicationWindowSeconds=299",
			"was 300 and becomes 299: older deduplication ids are forgotten", "299"},
		{"queue update " + queue + " -a", "MessageRetentionPeriod=60",
			"was 345600 and becomes 60: older messages are deleted at once", "60"},
		{"queue update a.fifo -a", "DeduplicationWindowSeconds=86400", "", "86400"},
		{"queue update a.fifo -a", "VisibilityTimeout=1", "", "1"},
		{"topic set t.fifo", "DeduplicationWindowSeconds=60", "was 300 and becomes 60: older deduplication ids", "60"},
		{"topic set " + topic, `ArchivePolicy={"MessageRetentionPeriod":"7"}`,
			"older messages of the archive", `{"MessageRetentionPeriod":"7"}`},
		{"topic set t.fifo", "ArchivePolicy={}", "older messages of the archive", ""},
		{"topic set t.fifo", "DeduplicationWindowSeconds=600", "", "600"},
	} {
		kind, _, _ := strings.Cut(c.command, " ")
		name, args := map[string]string{"queue": "a.fifo", "topic": "t.fifo"}[kind], append(strings.Fields(c.command), c.value)
		attribute, _, _ := strings.Cut(c.value, "=")
		value := func() string {
			for line := range strings.Lines(at(t, endpoint, kind, "show", name)) {
				if fields := strings.Fields(line); fields[0] == attribute {
					return fields[1]
				}
			}
			return ""
		}
		before := value()
		dry := at(t, endpoint, append(args, "--dry-run")...)
		if !strings.Contains(dry, cmp.Or(c.asks, "deletes and forgets nothing")) || value() != before {
			t.Errorf("%s: the dry run left %s and printed %s", c.value, value(), dry)
		}
		if c.asks != "" {
			refusedAt(t, endpoint, exit.Usage, c.asks, args...)
			if value() != before {
				t.Errorf("%s was set unconfirmed", c.value)
			}
		}
		if _, words, code := typed(t, name+"\n", append(args, "--endpoint", endpoint)...); code != exit.OK || value() != c.shown {
			t.Errorf("%s: exit code %d, and %s is set\n%s", c.value, code, value(), words)
		}
	}
	at(t, endpoint, "queue", "update", "a.fifo", "-a", "MessageRetentionPeriod=70", "-a", "DeduplicationWindowSeconds=20", "--yes")
}

// Completion offers existing names. It offers none if the command takes no name or no server
// answers.
func TestNamesAreCompleted(t *testing.T) {
	t.Cleanup(func() { goleak.VerifyNone(t) }) // after the node has ended
	endpoint := devNode(t)
	for _, args := range []string{
		"queue create jobs.fifo", "queue create other", "topic create journal.fifo", "msg send jobs.fifo one -g job-1 -d 1",
	} {
		must(t, append(strings.Fields(args), "--endpoint", endpoint)...)
	}
	queues := "msg export, msg import, msg tail, msg defer, msg dead-letter, msg receive-deferred, msg schedule, msg cancel, " +
		"session list, session accept, session renew, session release, session state get, session state set, session state clear, " +
		"dedup lookup, dedup stats, dedup forget, dedup window, group list, group show, group explain, group release"
	for command := range strings.SplitSeq(queues, ", ") {
		want := "jobs.fifo\n:4\n"
		if got := completed(t, endpoint, command, "j"); got != want {
			t.Errorf("%s offers %q, want %q", command, got, want)
		}
		if got := completed(t, "http://127.0.0.1:1", command, "j"); got != ":4\n" {
			t.Errorf("%s offers %q of nobody", command, got)
		}
	}
	for command := range strings.SplitSeq("session accept, session renew, session release, session state get, group show, group "+
		"explain, group release", ", ") {
		if got := completed(t, endpoint, command, "jobs.fifo", "job"); got != "job-1\n:4\n" {
			t.Errorf("%s offers the groups %q", command, got)
		}
		if got := completed(t, endpoint, command, "jobs.fifo", "job-1", "j"); got != ":4\n" {
			t.Errorf("%s offers %q where it takes no name", command, got)
		}
	}
	for command := range strings.SplitSeq("topic tag, topic untag, topic tags, topic subscription show, topic subscription set, "+
		"topic subscription test, topic show, topic set, topic delete, topic publish, topic subscribe, topic subscriptions, "+
		"topic unsubscribe, topic rule list, topic rule add, topic rule remove, topic rule test", ", ") {
		if got := completed(t, endpoint, command, "j"); got != "journal.fifo\n:4\n" {
			t.Errorf("%s offers %q", command, got)
		}
	}
	must(t, "queue", "create", "joblog", "-a",
		`RedrivePolicy={"deadLetterTargetArn":"arn:aws:sqs:us-east-1:000000000000:other","maxReceiveCount":3}`, "--endpoint", endpoint)
	for command := range strings.SplitSeq("dlq show, dlq purge, dlq redrive, dlq tasks, dlq cancel", ", ") {
		if got := completed(t, endpoint, command, ""); got != "other\n:4\n" {
			t.Errorf("%s offers %q", command, got)
		}
	}
	for _, test := range []struct{ command, flag, typed, want string }{
		{"queue create", "--attribute", "Visib", "VisibilityTimeout=\n:6\n"},
		{"queue update", "-a", "Dedup", "DeduplicationEnabled=\nDeduplicationScope=\nDeduplicationWindowSeconds=\n:6\n"},
		{"queue update", "-a", "DeduplicationScope=", "DeduplicationScope=queue\nDeduplicationScope=messageGroup\n" +
			"DeduplicationScope=partitionKey\n:4\n"},
		{"queue create", "-a", "ContentBasedDeduplication=t", "ContentBasedDeduplication=true\n:4\n"},
		{"queue create", "-a", "DelaySeconds=", ":4\n"},
		{"topic create", "-a", "Disp", "DisplayName=\n:6\n"},
		{"topic subscribe", "-a", "FilterPolicyScope=", "FilterPolicyScope=MessageAttributes\nFilterPolicyScope=MessageBody\n:4\n"},
		{"topic set", "journal.fifo", "FifoTh", "FifoThroughputScope=\n:6\n"},
		{"policy simulate", "--resource", "j", "joblog\njobs.fifo\n:4\n"},
	} {
		if got := completed(t, endpoint, test.command, test.flag, test.typed); got != test.want {
			t.Errorf("%s %s offers %q, want %q", test.command, test.flag, got, test.want)
		}
	}
	if got := completed(t, endpoint, "policy simulate", "--action", "sqs:Purge"); !strings.Contains(got, "sqs:PurgeQueue\n") {
		t.Errorf("actions: %q", got)
	}
	for command := range strings.SplitSeq("topic create, topic list", ", ") {
		if got := completed(t, endpoint, command, "j"); strings.Contains(got, ".fifo") {
			t.Errorf("%s offers %q", command, got)
		}
	}
}

// completed returns the completions for the last argument of a command.
func completed(t *testing.T, endpoint, command string, args ...string) string {
	t.Helper()
	all := append([]string{"__complete"}, strings.Fields(command)...)
	out, _, code := typed(t, "", append(append(all, "--endpoint", endpoint), args...)...)
	if code != exit.OK {
		t.Errorf("%s: exit code %d", command, code)
	}
	return out
}
