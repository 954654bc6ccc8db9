package logcheck

import (
	"testing"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/test/oracle/history"
)

// TestARefusedEntryHasNoContents: one that its node refused is in the log without
// them; one that the client was told was sent must have them.
func TestARefusedEntryHasNoContents(t *testing.T) {
	command := &queue.SendMessages{Queue: "q", Entries: []queue.SendEntry{{Body: "a", GroupID: "g", DeduplicationID: "d"}, {}}}
	told := func(refusal string, result history.Result) *history.Event {
		return &history.Event{Action: history.SendBatch, Queue: "q", Result: result, Detail: history.Detail{Entries: []history.Entry{
			{Body: "a", Group: "g", Dedup: "d"}, {Body: "b", Dedup: "e", Error: refusal},
		}}}
	}
	for _, c := range []struct {
		name    string
		event   *history.Event
		differs bool
	}{
		{"refused", told("MissingParameter", history.OK), false},
		{"nobody knows", told("", history.Unknown), false},
		{"told as sent", told("", history.OK), true},
	} {
		if text := askedOtherwise(c.event, command); (text != "") != c.differs {
			t.Errorf("%s: %q", c.name, text)
		}
	}
}
