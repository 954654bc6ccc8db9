package servicebus

import (
	"slices"
	"strings"
	"testing"
	"time"

	bus "github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"
	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus/admin"
)

// detecting creates a queue with duplicate detection.
func (f *fixture) detecting(p admin.QueueProperties) string {
	f.Helper()
	p.RequiresDuplicateDetection = new(true)
	return f.queue(p)
}

func TestDuplicateIsDropped(t *testing.T) {
	f := newFixture(t)
	path := f.detecting(admin.QueueProperties{})
	f.send(path, named("first", "a"), named("other", "b"), named("second", "a"))
	f.same(bodies(f.drain(path, 2)), []string{"first", "other"}, "bodies")
	f.send(path, named("third", "a")) // the id outlives its message
	f.drain(path, 0)
}

func TestDuplicatesInOneBatch(t *testing.T) {
	f := newFixture(t)
	path := f.detecting(admin.QueueProperties{})
	f.sendBatch(path, named("1", "a"), named("2", "b"), named("3", "a"))
	f.sendBatch(path, named("4", "b"), named("5", "c"))
	f.same(bodies(f.drain(path, 3)), []string{"1", "2", "5"}, "bodies")
}

func TestWithoutDetection(t *testing.T) {
	f := newFixture(t)
	path := f.queue(admin.QueueProperties{})
	f.send(path, named("1", "a"), named("2", "a"))
	f.same(bodies(f.drain(path, 2)), []string{"1", "2"}, "bodies")
}

func TestIDsAreComparedExactly(t *testing.T) {
	f := newFixture(t)
	path := f.detecting(admin.QueueProperties{})
	ids := []string{"a", "A", " a", "a ", "ä", strings.Repeat("é", 128), "a/b.c_d", "世界"}
	var got []string
	for range 2 {
		for _, id := range ids {
			f.send(path, named(id, id))
		}
	}
	for _, m := range f.drain(path, len(ids)) {
		got = append(got, m.MessageID)
	}
	f.same(got, ids, "ids")
}

func TestNothingButTheIDCounts(t *testing.T) {
	f := newFixture(t)
	path := f.detecting(admin.QueueProperties{})
	f.send(path, &bus.Message{Body: []byte("1"), MessageID: new("a"), SessionID: new("s"), Subject: new("x")},
		&bus.Message{Body: []byte("2"), MessageID: new("a"), SessionID: new("t"), ApplicationProperties: map[string]any{"a": int64(1)}})
	f.same(bodies(f.drain(path, 1)), []string{"1"}, "bodies")
}

func TestScheduledFirst(t *testing.T) {
	f := newFixture(t)
	path := f.detecting(admin.QueueProperties{})
	f.schedule(path, later(4*time.Second), named("scheduled", "a"))
	f.send(path, named("plain", "a"))
	f.same(bodies(f.drain(path, 1)), []string{"scheduled"}, "bodies")
}

func TestScheduledSecond(t *testing.T) {
	f := newFixture(t)
	path := f.detecting(admin.QueueProperties{})
	f.send(path, named("plain", "a"))
	numbers := f.schedule(path, later(time.Hour), named("scheduled", "a"))
	f.same(len(numbers), 1, "numbers")
	f.refused(f.sender(path).CancelScheduledMessages(f.ctx, numbers, nil), bus.CodeNotFound)
	f.same(bodies(f.drain(path, 1)), []string{"plain"}, "bodies")
}

func TestCancelledIDsStay(t *testing.T) {
	f := newFixture(t)
	path := f.detecting(admin.QueueProperties{})
	f.must(f.sender(path).CancelScheduledMessages(f.ctx, f.schedule(path, later(time.Hour), named("1", "a")), nil))
	f.send(path, named("2", "a"))
	f.drain(path, 0)
}

func TestWindowEnds(t *testing.T) {
	f := newFixture(t)
	path := f.detecting(admin.QueueProperties{DuplicateDetectionHistoryTimeWindow: new("PT20S")})
	f.send(path, named("1", "a"))
	pass(12 * time.Second)
	f.send(path, named("2", "a")) // does not renew the window
	pass(10 * time.Second)
	f.send(path, named("3", "a"))
	f.same(bodies(f.drain(path, 2)), []string{"1", "3"}, "bodies")
}

func TestPartitions(t *testing.T) {
	f := newFixture(t)
	path := f.detecting(admin.QueueProperties{EnablePartitioning: new(true)})
	in := func(body, id, partition string) *bus.Message {
		return &bus.Message{Body: []byte(body), MessageID: &id, PartitionKey: &partition}
	}
	f.send(path, in("1", "a", "p"), in("2", "a", "q"), in("3", "a", "p"), named("4", "b"), named("5", "b"))
	got := bodies(f.drain(path, 3))
	slices.Sort(got)
	f.same(got, []string{"1", "2", "4"}, "bodies")
}

func TestDeferredAndDeadIDsStay(t *testing.T) {
	f := newFixture(t)
	path := f.detecting(admin.QueueProperties{})
	f.send(path, named("1", "a"), named("2", "b"))
	r := f.receiver(path)
	got := f.take(r, 2)
	f.must(r.DeferMessage(f.ctx, got[0], nil))
	f.must(r.DeadLetterMessage(f.ctx, got[1], nil))
	f.send(path, named("3", "a"), named("4", "b"))
	f.drain(path, 0)
}
