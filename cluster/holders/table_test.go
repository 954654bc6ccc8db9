package holders

import (
	"fmt"
	"strings"
	"testing"

	"github.com/seriatimq/seriatim/queue"
)

// received returns messages of one group with these sequence numbers.
func received(group string, numbers ...uint64) (all []queue.ReceivedMessage) {
	for _, n := range numbers {
		all = append(all, queue.ReceivedMessage{GroupID: group, Sequence: queue.SequenceNumber(n)})
	}
	return all
}

func client(n int) Holder {
	return Holder{Address: fmt.Sprintf("10.0.0.%d:4000", n), AccessKey: fmt.Sprint("key", n)}
}

func TestFindsTheLastReceive(t *testing.T) {
	t.Parallel()
	var table Table
	if _, ok := table.Find(Hold{Queue: "q", Group: "g", Sequence: 1, ReceivedAt: 1}); ok {
		t.Error("an empty table has a holder")
	}
	table.Received(client(1), "q.fifo", append(received("a", 1, 2, 5), received("b", 3, 4)...), 1000, false)
	table.Received(client(2), "r.fifo", received("a", 1), 1000, false)
	table.Received(client(3), "q.fifo", received("c", 7), 2000, false)
	table.Received(client(4), "q.fifo", received("c", 7), 3000, true) // repeated with its attempt id
	table.Received(client(5), "q.fifo", received("", 8), 3000, false) // without a group
	table.Locked(client(6), "q.fifo", "a", 77, 4000)
	none := Holder{}
	for _, tc := range []struct {
		hold Hold
		want Holder
	}{
		{Hold{Queue: "q.fifo", Group: "a", Sequence: 1, ReceivedAt: 1000}, client(1)},
		{Hold{Queue: "q.fifo", Group: "a", Sequence: 5, ReceivedAt: 1000}, client(1)},
		{Hold{Queue: "q.fifo", Group: "b", Sequence: 4, ReceivedAt: 1000}, client(1)},
		{Hold{Queue: "r.fifo", Group: "a", Sequence: 1, ReceivedAt: 1000}, client(2)},
		{Hold{Queue: "q.fifo", Group: "c", Sequence: 7, ReceivedAt: 2000}, client(4)},
		{Hold{Queue: "q.fifo", Group: "a", Lock: 77}, client(6)},
		{Hold{Queue: "q.fifo", Group: "a", Lock: 78}, none},
		{Hold{Queue: "q.fifo", Group: "a", Sequence: 6, ReceivedAt: 1000}, none},
		{Hold{Queue: "q.fifo", Group: "a", Sequence: 1, ReceivedAt: 1001}, none}, // another node served that receive
		{Hold{Queue: "q.fifo", Group: "a", Sequence: 1, ReceivedAt: 999}, none},
		{Hold{Queue: "q.fifo", Group: "c", Sequence: 7, ReceivedAt: 3001}, none},
		{Hold{Queue: "q.fifo", Group: "", Sequence: 8, ReceivedAt: 3000}, none},
		{Hold{Queue: "x.fifo", Group: "a", Sequence: 1, ReceivedAt: 1000}, none},
	} {
		found, ok := table.Find(tc.hold)
		if found.Holder != tc.want || ok != (tc.want != none) {
			t.Errorf("%+v is held by %+v, %v, want %+v", tc.hold, found, ok, tc.want)
		}
	}
	table.Received(client(7), "q.fifo", received("a", 1), 5000, false)
	if _, ok := table.Find(Hold{Queue: "q.fifo", Group: "a", Sequence: 1, ReceivedAt: 1000}); ok {
		t.Error("the receive before the last one is remembered")
	}
}

// The record of a blocked group stays while few others are busy, and the memory is bounded.
func TestForgetsTheOldest(t *testing.T) {
	t.Parallel()
	var table Table
	blocked := Hold{Queue: "q.fifo", Group: "blocked", Sequence: 1, ReceivedAt: 1}
	table.Received(client(0), "q.fifo", received("blocked", 1), 1, false)
	for i := range 200_000 {
		table.Received(client(i), "q.fifo", received(fmt.Sprint(i%1000), uint64(i+2)), queue.Timestamp(i+2), false)
	}
	if found, ok := table.Find(blocked); !ok || found.Holder != client(0) {
		t.Errorf("after 200,000 receives of 1,000 groups: %+v, %v", found, ok)
	}
	for i := range 4 * ways * setsMax {
		table.Received(client(i), "q.fifo", received(fmt.Sprint("more", i), uint64(i+300_000)), queue.Timestamp(i+300_000), false)
	}
	if _, ok := table.Find(blocked); ok {
		t.Error("the oldest receive is remembered behind 262,144 newer ones")
	}
	if n := len(table.holders); n > holdersShared {
		t.Errorf("%d clients are shared", n)
	}
	known := 0
	const newest = ways * setsMax / 8
	for i := 4*ways*setsMax - newest; i < 4*ways*setsMax; i++ {
		hold := Hold{Queue: "q.fifo", Group: fmt.Sprint("more", i), Sequence: uint64(i + 300_000), ReceivedAt: queue.Timestamp(i + 300_000)}
		if found, ok := table.Find(hold); ok && found.Holder == client(i) {
			known++
		}
	}
	if known < newest*9/10 {
		t.Errorf("%d of the newest %d receives are known", known, newest)
	}
}

func BenchmarkReceived(b *testing.B) {
	var table Table
	groups := make([][]queue.ReceivedMessage, 1000)
	for i := range groups {
		groups[i] = received(fmt.Sprint("customer-", i), uint64(i+1))
	}
	by := client(1)
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		table.Received(by, "orders.fifo", groups[i%len(groups)], queue.Timestamp(i), false)
		i++
	}
}

// A message of a standard queue is found by its id and its receive count.
func TestMessagesOfStandardQueues(t *testing.T) {
	t.Parallel()
	var table Table
	message := queue.ReceivedMessage{MessageID: queue.MessageID{1, 2, 3}, ReceiveCount: 2}
	by := NewHolder("10.0.0.1:1", "key", "json", strings.Repeat("u", 1000))
	hold := Hold{Queue: "jobs", MessageID: message.MessageID[:], Receives: 2}
	if _, found := table.Find(hold); found {
		t.Error("an empty table finds a holder")
	}
	table.ReceivedSingle(by, "jobs", []queue.ReceivedMessage{message}, 7)
	if f, found := table.Find(hold); !found || f.Holder != by || f.Since != 7 || len(f.UserAgent) != textMax {
		t.Errorf("%+v, %t", f, found)
	}
	for _, other := range []Hold{
		{Queue: "jobs", MessageID: message.MessageID[:], Receives: 3}, {Queue: "other", MessageID: message.MessageID[:], Receives: 2},
		{Queue: "jobs", MessageID: []byte{1}, Receives: 2}, {Queue: "jobs", Group: "g", Sequence: 2},
	} {
		if f, found := table.Find(other); found {
			t.Errorf("%+v finds %+v", other, f)
		}
	}
}
