package queue

import (
	"fmt"
	"testing"

	"github.com/seriatimq/seriatim/queue/logtime"
)

// world drives one Broker and fails the test on unexpected results.
type world struct {
	t  *testing.T
	b  *Broker
	at Timestamp
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, b: New(), at: 1_000_000}
	w.must(&SetClusterSetting{SettingReceiptKey, "000102030405060708090a0b0c0d0e0f"})
	return w
}

func (w *world) apply(cmd Command) (Result, *Error) {
	w.t.Helper()
	result, err := w.b.Apply(w.at, cmd)
	if broken := w.b.CheckInvariants(); broken != nil {
		w.t.Fatalf("after %#v: %v", cmd, broken)
	}
	return result, err
}

func (w *world) must(cmd Command) Result {
	w.t.Helper()
	result, err := w.apply(cmd)
	if err != nil {
		w.t.Fatalf("%#v: %v", cmd, err)
	}
	return result
}

func (w *world) pass(d logtime.Duration) { w.at = w.at.Add(d) }

func (w *world) create(name string, attributes ...Attribute) {
	w.t.Helper()
	if isFIFOName(name) {
		attributes = append(attributes, Attribute{Name: "FifoQueue", Value: "true"})
	}
	w.must(&CreateQueue{Queue: name, Attributes: attributes})
}

func (w *world) send(queue, group, id, body string) SentEntry {
	w.t.Helper()
	e := SendEntry{Body: body, GroupID: group, GroupIDGiven: group != "", DeduplicationID: id, DeduplicationIDGiven: id != ""}
	return w.must(&SendMessages{Queue: queue, Entries: []SendEntry{e}}).(MessagesSent).Entries[0]
}

func (w *world) receive(queue string, limit int64) []ReceivedMessage {
	w.t.Helper()
	return w.must(&ReceiveMessages{Queue: queue, MaxMessages: Some(limit)}).(MessagesReceived).Messages
}

func bodies(messages []ReceivedMessage) (text string) {
	for _, m := range messages {
		text += m.Body.String() + " "
	}
	return text
}

func TestLife(t *testing.T) {
	w := newWorld(t)
	w.create("q.fifo")
	for i := range 3 {
		w.send("q.fifo", "g", fmt.Sprint("d", i), fmt.Sprint("m", i))
	}
	w.send("q.fifo", "h", "d9", "n0")
	got := w.receive("q.fifo", 10)
	if bodies(got) != "m0 m1 m2 n0 " {
		t.Fatalf("received %q", bodies(got))
	}
	if again := w.receive("q.fifo", 10); len(again) != 0 {
		t.Fatalf("received in-flight messages %q", bodies(again))
	}
	w.must(&DeleteMessages{Queue: "q.fifo", Handles: []string{got[0].Handle.String()}})
	w.pass(31 * logtime.Second)
	if again := w.receive("q.fifo", 10); bodies(again) != "m1 m2 n0 " {
		t.Fatalf("after expiry %q", bodies(again))
	}
	first := w.send("q.fifo", "h", "d0", "m0")
	if !first.Duplicate || first.MessageID != got[0].MessageID || first.Sequence != got[0].Sequence {
		t.Fatalf("duplicate answered %+v, want id %v", first, got[0].MessageID)
	}
}
