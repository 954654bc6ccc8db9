package queue

import (
	"strings"
	"testing"

	"github.com/seriatimq/seriatim/queue/access"
	"github.com/seriatimq/seriatim/queue/refusal"
)

func atomic(queue string, entries ...SendEntry) SendMessages {
	return SendMessages{Queue: queue, SenderID: "AIDAEXAMPLE", Batch: true, Atomic: true, Entries: entries}
}

func toSend(id, body string) SendEntry {
	return SendEntry{Body: body, GroupID: "g" + id, GroupIDGiven: true, DeduplicationID: id, DeduplicationIDGiven: true}
}

func settlement(action SettlementAction, queue string, m ReceivedMessage) Settlement {
	return Settlement{Queue: queue, Action: action, DeadLetterEntry: DeadLetterEntry{Handle: m.Handle.String()}}
}

// TestTransactionChecks lists what a transaction refuses without the state.
func TestTransactionChecks(t *testing.T) {
	handle := strings.Repeat("0", 56)
	ok := func() *CommitTransaction {
		return &CommitTransaction{
			Sends:       []SendMessages{atomic("a.fifo", toSend("1", "x")), atomic("b.fifo", toSend("1", "x"))},
			Publishes:   []Publish{{Topic: "a.fifo", Entries: []PublishEntry{{Message: "m"}}}},
			Settlements: []Settlement{{Queue: "a.fifo", Action: CompleteMessage, DeadLetterEntry: DeadLetterEntry{Handle: handle}}},
		}
	}
	if err := ok().Validate(); err != nil {
		t.Fatal(err)
	}
	large := strings.Repeat("x", 600_000)
	for name, c := range map[string]struct {
		spoil func(*CommitTransaction)
		want  refusal.Code
	}{
		"nothing in it":   {func(c *CommitTransaction) { *c = CommitTransaction{} }, refusal.EmptyBatchRequest},
		"a send in parts": {func(c *CommitTransaction) { c.Sends[0].Atomic = false }, refusal.InvalidParameterValue},
		"a repeated send": {func(c *CommitTransaction) { c.Sends[0].RepeatedSince = 1 }, refusal.InvalidParameterValue},
		"two for a queue": {func(c *CommitTransaction) { c.Sends[1].Queue = "a.fifo" }, refusal.InvalidParameterValue},
		"two for a topic": {
			func(c *CommitTransaction) { c.Publishes = append(c.Publishes, c.Publishes[0]) }, refusal.InvalidParameterValue,
		},
		"no body":           {func(c *CommitTransaction) { c.Sends[1].Entries[0].Body = "" }, refusal.MissingRequiredParameter},
		"no message":        {func(c *CommitTransaction) { c.Publishes[0].Entries[0].Message = "" }, refusal.SNSInvalidParameter},
		"a foreign handle":  {func(c *CommitTransaction) { c.Settlements[0].Handle = "x" }, refusal.ReceiptHandleIsInvalid},
		"a standard queue":  {func(c *CommitTransaction) { c.Settlements[0].Queue = "a" }, refusal.UnsupportedOperation},
		"an unknown action": {func(c *CommitTransaction) { c.Settlements[0].Action = 6 }, refusal.InvalidParameterValue},
		"a reason":          {func(c *CommitTransaction) { c.Settlements[0].Reason = "why" }, refusal.InvalidParameterValue},
		"a change": {
			func(c *CommitTransaction) {
				c.Settlements[0].Changes = []PropertyChange{{Name: "a", Value: "\xa1\x01x"}}
			},
			refusal.InvalidParameterValue,
		},
		"a long reason": {
			func(c *CommitTransaction) {
				c.Settlements[0].Action, c.Settlements[0].Reason = DeadLetterMessage, large[:deadLetterTextMax+1]
			}, refusal.InvalidParameterValue,
		},
		"too many bytes": {
			func(c *CommitTransaction) { c.Sends[0].Entries[0].Body, c.Sends[1].Entries[0].Body = large, large },
			refusal.BatchRequestTooLong,
		},
		"too many parts": {
			func(c *CommitTransaction) {
				for range 4500 {
					c.Settlements = append(c.Settlements, c.Settlements[0])
				}
			}, refusal.TooManyEntriesInBatchRequest,
		},
	} {
		cmd := ok()
		c.spoil(cmd)
		if _, err := Prepare(cmd); err == nil || err.Code != c.want {
			t.Errorf("%s: %v, want %d", name, err, c.want)
		}
	}
}

// TestTransactionRoom checks that completed messages make room for those that are sent, also in the
// account, and that a refused transaction leaves the usage as it was.
func TestTransactionRoom(t *testing.T) {
	w := newWorld(t)
	w.create("small.fifo", Attribute{Name: "ImplicitDeadLetterQueue", Value: "true"}, Attribute{Name: "MaxSizeInMegabytes", Value: "1"})
	w.create("other.fifo")
	w.send("small.fifo", "g", "0", strings.Repeat("x", 1_000_000))
	got := w.receive("small.fifo", 1)[0]
	refused := func(want refusal.Code, c *CommitTransaction) {
		t.Helper()
		if _, err := w.apply(c); err == nil || err.Code != want {
			t.Fatalf("%v, want %d", err, want)
		}
	}
	big := atomic("small.fifo", toSend("1", strings.Repeat("y", 1_000_000)))
	refused(refusal.QuotaExceeded, &CommitTransaction{Sends: []SendMessages{big}})
	dead := settlement(DeadLetterMessage, "small.fifo", got)
	refused(refusal.QuotaExceeded, &CommitTransaction{Sends: []SendMessages{big}, Settlements: []Settlement{dead}})
	w.must(&access.SetAccountQuota{Quota: access.Quota{Messages: 1}})
	done := settlement(CompleteMessage, "small.fifo", got)
	refused(refusal.OverLimit, &CommitTransaction{
		Sends: []SendMessages{big, atomic("other.fifo", toSend("1", "z"))}, Settlements: []Settlement{done},
	})
	w.must(&CommitTransaction{Sends: []SendMessages{big}, Settlements: []Settlement{done}})
	if left := w.receive("small.fifo", 10); len(left) != 1 || left[0].DeduplicationID != "1" {
		t.Fatalf("%d messages", len(left))
	}
}
