package queue

import (
	"testing"

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
