package queue

import (
	"strings"
	"testing"

	"github.com/seriatimq/seriatim/queue/deduplication"
	"github.com/seriatimq/seriatim/queue/logtime"
	"github.com/seriatimq/seriatim/queue/refusal"
)

func TestBeginEpoch(t *testing.T) {
	w := newWorld(t)
	w.must(&SetClusterSetting{SettingClusterID, "old"})
	w.create("q.fifo")
	w.create("s")
	first := w.send("q.fifo", "g", "d1", "m1")
	w.send("q.fifo", "g", "d2", "m2")
	held := w.receive("q.fifo", 1)[0]
	before := w.b.Record()

	later := w.at.Add(logtime.Minute)
	w.b.BeginEpoch("new", BrokerRecord{Now: later, Epoch: 7, NextIncarnation: 99, SequenceFloor: 5})
	if broken := w.b.CheckInvariants(); broken != nil {
		t.Fatal(broken)
	}
	record := w.b.Record()
	if record.Epoch != 8 || record.Now != later || record.NextIncarnation != 99 || record.SequenceFloor != 5+sequenceGap {
		t.Errorf("record %+v after %+v", record, before)
	}
	if got := w.b.View().Setting(SettingClusterID); got != "new" {
		t.Errorf("cluster id %q", got)
	}

	remove := &DeleteMessages{Queue: "q.fifo", Handles: []string{held.Handle.String()}}
	if _, refused := w.apply(remove); refused == nil || refused.Code != refusal.ReceiptHandleIsInvalid {
		t.Errorf("a handle of the epoch before: %v", refused)
	}
	if again := w.send("q.fifo", "g", "d1", "m1"); again.MessageID != first.MessageID || again.Sequence != first.Sequence {
		t.Errorf("a duplicate got %+v, the original %+v", again, first)
	}
	if next := w.send("q.fifo", "g", "d3", "m3"); next.Sequence != 3+sequenceGap {
		t.Errorf("sequence number %d", next.Sequence)
	}
	w.create("later.fifo")
	if next := w.send("later.fifo", "g", "d", "m"); next.Sequence <= sequenceGap {
		t.Errorf("a new queue begins at %d", next.Sequence)
	}
	w.pass(logtime.Hour)
	if got := bodies(w.receive("q.fifo", 10)); got != "m1 m2 m3 " {
		t.Errorf("received %q", got)
	}
}

// A Restorer refuses records that no state contains: repeated or unordered numbers, and repeated
// ids.
func TestRestorerRefuses(t *testing.T) {
	stored := func(n SequenceNumber) MessageRecord { return MessageRecord{Sequence: n, GroupID: "g"} }
	scheduled := func(n SequenceNumber) MessageRecord {
		return MessageRecord{Sequence: n, Scheduled: true, Timed: true, DeliveryRecord: DeliveryRecord{VisibleAt: 5}}
	}
	deferred := func(n SequenceNumber) MessageRecord {
		return MessageRecord{Sequence: n, GroupID: "g", Timed: true, DeliveryRecord: DeliveryRecord{Deliveries: 1, Deferred: true}}
	}
	timeless := scheduled(2)
	timeless.Timed = false
	id := func(n SequenceNumber, key byte) DeduplicationRecord {
		return DeduplicationRecord{Order: uint64(n) << 1, Sequence: n, Key: [16]byte{15: key}}
	}
	unknownScope := id(2, 2)
	unknownScope.Scope = deduplication.ScopePartitionKey + 1
	type messages = []MessageRecord
	type ids = [][]DeduplicationRecord
	for _, c := range []struct {
		name     string
		messages messages
		ids      ids
		want     string // empty: accepted
	}{
		{"in order", messages{stored(1), stored(3), stored(200), scheduled(2), scheduled(201), deferred(150)},
			ids{{id(1, 1), id(2, 2)}, {id(9, 3)}}, ""},
		{"number twice", messages{stored(1), stored(1)}, nil, "message 1 is out of order or appears twice"},
		{"in the wrong order", messages{stored(2), stored(1)}, nil, "message 1 is out of order"},
		{"in the wrong order of pages", messages{stored(200), stored(1)}, nil, "message 1 is out of order"},
		{"number zero", messages{stored(0)}, nil, "message 0 is out of order"},
		{"behind the last number", messages{stored(301)}, nil, "message 301 is out of order"},
		{"behind a scheduled one", messages{stored(1), scheduled(2), stored(3)}, nil, "message 3 is out of order"},
		{"behind a deferred one", messages{deferred(2), stored(3)}, nil, "message 3 is out of order"},
		{"stored and scheduled", messages{stored(1), stored(2), scheduled(1)}, nil, "message 1 is out of order or appears twice"},
		{"stored and deferred", messages{stored(1), deferred(1)}, nil, "message 1 is out of order or appears twice"},
		{"scheduled and deferred", messages{scheduled(1), deferred(1)}, nil, "message 1 is out of order or appears twice"},
		{"scheduled twice", messages{scheduled(1), scheduled(1)}, nil, "message 1 is out of order or appears twice"},
		{"scheduled for no time", messages{timeless}, nil, "has no time"},
		{"id in the wrong order", nil, ids{{id(2, 1), id(1, 2)}}, "record 2 is out of order"},
		{"id in the wrong order later", nil, ids{{id(2, 1)}, {id(1, 2)}}, "record 2 is out of order"},
		{"key twice", nil, ids{{id(1, 1), id(2, 2), id(3, 1)}}, "record 6 repeats a key"},
		{"key twice later", nil, ids{{id(1, 1)}, {id(2, 1)}}, "record 4 repeats a key"},
		{"id of a later message", nil, ids{{id(301, 1)}}, "record 602 is out of order"},
		{"id under an unknown scope", nil, ids{{id(1, 1), unknownScope}}, "record 4 is out of order"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, err := NewRestorer(BrokerRecord{NextIncarnation: 10})
			if err != nil {
				t.Fatal(err)
			}
			err = r.AddQueue(QueueRecord{Name: "q.fifo", Incarnation: 2, Attributes: QueueAttributes{FIFO: true}, LastSequence: 300})
			for i := 0; i < len(c.messages) && err == nil; i++ {
				err = r.AddMessage(&c.messages[i])
			}
			for i := 0; i < len(c.ids) && err == nil; i++ {
				err = r.AddDeduplication(c.ids[i])
			}
			if c.want != "" {
				if err == nil || !strings.Contains(err.Error(), c.want) {
					t.Errorf("got %v", err)
				}
				return
			}
			b, finished := r.Finish()
			if err != nil || finished != nil {
				t.Fatal(err, finished)
			}
			if broken := b.CheckInvariants(); broken != nil {
				t.Error(broken)
			}
		})
	}
}
