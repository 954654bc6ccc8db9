package queue

import (
	"testing"

	"github.com/seriatimq/seriatim/queue/logtime"
	"github.com/seriatimq/seriatim/queue/refusal"
)

func TestDeleteAndCreateAgain(t *testing.T) {
	s := newScript(t)
	s.run("s:a-1 r1=a-1")
	before := s.send("q.fifo", "g", "d", "x")
	handle := s.handles["a-1"]
	s.must(&DeleteQueue{Queue: "q.fifo"})
	if err := s.refusal(&ReceiveMessages{Queue: "q.fifo"}); err.Code != refusal.QueueDoesNotExist {
		t.Fatalf("receive from a deleted queue: %v", err)
	}
	s.create("q.fifo")
	after := s.send("q.fifo", "g", "d", "x")
	if after.Duplicate || after.Sequence <= before.Sequence {
		t.Fatalf("after creating it again %+v, before %+v", after, before)
	}
	if err := s.refusal(&DeleteMessages{Queue: "q.fifo", Handles: []string{handle}}); err.Code != refusal.ReceiptHandleIsInvalid {
		t.Fatalf("handle of the deleted queue: %v", err)
	}
}

func TestCooldowns(t *testing.T) {
	w := newWorld(t)
	w.must(&SetClusterSetting{SettingAWSCooldowns, "true"})
	w.create("q")
	w.must(&PurgeQueue{Queue: "q"})
	if err := w.refusal(&PurgeQueue{Queue: "q"}); err.Code != refusal.PurgeQueueInProgress ||
		err.Message != "Only one PurgeQueue operation on q is allowed every 60 seconds." {
		t.Fatal(err)
	}
	w.must(&DeleteQueue{Queue: "q"})
	w.pass(59 * logtime.Second)
	if err := w.refusal(&CreateQueue{Queue: "q"}); err.Code != refusal.QueueDeletedRecently {
		t.Fatal(err)
	}
	w.pass(1 * logtime.Second)
	w.create("q")
	w.pass(logtime.Minute)
	w.must(&AdvanceClock{})
	if next := w.b.NextDeadline(); next != 0 {
		t.Fatalf("next deadline %d with nothing to do", next)
	}
}

func TestCreateExisting(t *testing.T) {
	w := newWorld(t)
	w.create("q", Attribute{Name: "DelaySeconds", Value: "1"})
	w.must(&CreateQueue{Queue: "q"})
	w.must(&CreateQueue{Queue: "q", Attributes: []Attribute{{Name: "DelaySeconds", Value: "1"}}})
	err := w.refusal(&CreateQueue{Queue: "q", Attributes: []Attribute{{Name: "DelaySeconds", Value: "2"}}})
	if err.Code != refusal.QueueNameExists ||
		err.Message != "A queue already exists with the same name and a different value for attribute DelaySeconds" {
		t.Fatal(err)
	}
}

func TestClusterSettings(t *testing.T) {
	w := newWorld(t)
	if err := w.refusal(&SetClusterSetting{SettingReceiptKey,
		"ff0102030405060708090a0b0c0d0e0f"}); err.Code != refusal.InvalidClusterSetting {
		t.Fatalf("a second key: %v", err)
	}
	w.must(&SetFormatVersion{2})
	if err := w.refusal(&SetFormatVersion{1}); err.Code != refusal.InvalidFormatVersion {
		t.Fatalf("going back: %v", err)
	}
}

func TestListing(t *testing.T) {
	w := newWorld(t)
	for _, name := range []string{"b-1", "a-1", "a-2", "c"} {
		w.create(name)
	}
	v := w.b.View()
	if got := v.ListQueues("a-", "", 10); len(got) != 2 || got[0] != "a-1" {
		t.Fatalf("prefix: %v", got)
	}
	if got := v.ListQueues("", "a-1", 2); len(got) != 2 || got[0] != "a-2" || got[1] != "b-1" {
		t.Fatalf("page: %v", got)
	}
	w.must(&SetQueueTags{Queue: "c", Set: []Tag{{Key: "A", Value: "1"}, {Key: "a", Value: "2"}}})
	w.must(&SetQueueTags{Queue: "c", Set: []Tag{{Key: "a", Value: "3"}}, Remove: []string{"A", "missing"}})
	if got, _ := v.Tags("c"); len(got) != 1 || got[0] != (Tag{Key: "a", Value: "3"}) {
		t.Fatalf("tags: %v", got)
	}
}
