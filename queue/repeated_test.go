package queue

import (
	"testing"

	"github.com/seriatimq/seriatim/queue/logtime"
)

// A repeated send is accepted only while the queue remembers its ids: not after a purge, a change
// of the queue, or the end of the window.
func TestRepeatedSend(t *testing.T) {
	repeat := func(w *world, since Timestamp, ids ...string) (Result, *Error) {
		cmd := &SendMessages{Queue: "q.fifo", Batch: len(ids) > 1, RepeatedSince: since}
		for _, id := range ids {
			cmd.Entries = append(cmd.Entries,
				SendEntry{Body: "m", GroupID: "g", GroupIDGiven: true, DeduplicationID: id, DeduplicationIDGiven: true})
		}
		return w.apply(cmd)
	}
	for _, c := range []struct {
		name string
		then func(w *world)
		safe bool
	}{
		{"at once", func(*world) {}, true},
		{"at the last moment", func(w *world) { w.pass(300*logtime.Second - 1) }, true},
		{"the window is over", func(w *world) { w.pass(300 * logtime.Second) }, false},
		{"purged", func(w *world) { w.must(&PurgeQueue{Queue: "q.fifo"}) }, false},
		{"purged, and sent again since", func(w *world) {
			w.must(&PurgeQueue{Queue: "q.fifo"})
			w.send("q.fifo", "g", "other", "m")
		}, false},
		{"an id was forgotten", func(w *world) {
			w.send("q.fifo", "g", "a", "m")
			w.must(&ForgetDeduplication{Queue: "q.fifo", DeduplicationID: DeduplicationID{ID: "a"}})
		}, false},
		{"cancelled with its id", func(w *world) {
			entry := SendEntry{
				Body: "m", GroupID: "g", GroupIDGiven: true, DeduplicationID: "later", DeduplicationIDGiven: true,
				Options: &SendOptions{EnqueueAt: w.at + Timestamp(logtime.Minute)},
			}
			sent := w.must(&SendMessages{Queue: "q.fifo", Entries: []SendEntry{entry}}).(MessagesSent)
			w.must(&CancelScheduled{Queue: "q.fifo", Sequences: []SequenceNumber{sent.Entries[0].Sequence}, ForgetDeduplicationID: true})
		}, false},
		{"made anew", func(w *world) {
			w.must(&DeleteQueue{Queue: "q.fifo"})
			w.pass(logtime.Minute)
			w.create("q.fifo")
		}, false},
		{"a shorter window", func(w *world) {
			w.must(&SetQueueAttributes{Queue: "q.fifo", Attributes: []Attribute{{Name: "DeduplicationWindowSeconds", Value: "30"}}})
		}, false},
	} {
		for _, first := range []bool{true, false} {
			w := newWorld(t)
			w.create("q.fifo")
			w.pass(logtime.Second)
			since := w.at
			if first {
				w.pass(1) // the first attempt is later than RepeatedSince
				w.send("q.fifo", "g", "a", "m")
				w.pass(-1)
			}
			c.then(w)
			result, refused := repeat(w, since, "a")
			if (refused == nil) != c.safe {
				t.Errorf("%s, applied before %v: %+v, %v", c.name, first, result, refused)
			}
			if c.safe && result.(MessagesSent).Entries[0].Duplicate != first {
				t.Errorf("%s, applied before %v: %+v", c.name, first, result)
			}
			if _, refused := repeat(w, since, "b", "c"); (refused == nil) != c.safe {
				t.Errorf("%s, a batch: %v", c.name, refused)
			}
		}
	}
}
