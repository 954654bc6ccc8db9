package servicebus

import (
	"testing"
	"time"

	bus "github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"
	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus/admin"
)

// schedule schedules messages, and returns their numbers.
func (f *fixture) schedule(path string, due time.Time, messages ...*bus.Message) []int64 {
	f.Helper()
	got, err := f.sender(path).ScheduleMessages(f.ctx, messages, due, nil)
	f.must(err)
	return got
}

func TestScheduleOne(t *testing.T) {
	f := newFixture(t)
	path, due := f.queue(admin.QueueProperties{}), later(4*time.Second)
	r := f.receiver(path)
	numbers := f.schedule(path, due, named("x", "m"))
	peeked := f.browse(r, 1)[0]
	f.same([]any{peeked.State, *peeked.SequenceNumber, peeked.ScheduledEnqueueTime.UTC()},
		[]any{bus.MessageStateScheduled, numbers[0], due}, "peeked")
	got := f.one(r)
	f.holds(!time.Now().Before(due), "the message came early")
	f.same([]any{got.MessageID, got.State, got.ScheduledEnqueueTime.UTC()}, []any{"m", bus.MessageStateActive, due}, "received")
	f.holds(!got.EnqueuedTime.Before(due), "enqueued at %v, due at %v", got.EnqueuedTime, due)
	f.complete(r, got)
}

func TestScheduleMany(t *testing.T) {
	f := newFixture(t)
	path := f.queue(admin.QueueProperties{})
	numbers := f.schedule(path, later(3*time.Second), numbered(30)...)
	f.same(len(numbers), 30, "numbers")
	for i, number := range numbers {
		f.same(number, numbers[0]+int64(i), "number")
	}
	f.same(bodies(f.drain(path, 30)), texts(30), "bodies")
}

func TestOrderOfTime(t *testing.T) {
	f := newFixture(t)
	path, start := f.queue(admin.QueueProperties{}), later(5*time.Second)
	for wait, name := range map[time.Duration]string{2 * time.Second: "third", 0: "first", time.Second: "second"} {
		f.schedule(path, start.Add(wait), message(name))
	}
	f.send(path, message("now"))
	f.same(bodies(f.drain(path, 4)), []string{"now", "first", "second", "third"}, "bodies")
}

func TestActivationGivesANewNumber(t *testing.T) {
	f := newFixture(t)
	path := f.queue(admin.QueueProperties{})
	number := f.schedule(path, later(3*time.Second), message("scheduled"))[0]
	f.send(path, message("plain"))
	got := f.drain(path, 2)
	f.same(bodies(got), []string{"plain", "scheduled"}, "bodies")
	f.holds(*got[1].SequenceNumber > *got[0].SequenceNumber && *got[0].SequenceNumber > number, "the number is that of the schedule")
}

func TestCancel(t *testing.T) {
	f := newFixture(t)
	path := f.queue(admin.QueueProperties{})
	s := f.sender(path)
	numbers := f.schedule(path, later(4*time.Second), numbered(3)...)
	f.must(s.CancelScheduledMessages(f.ctx, numbers[1:2], nil))
	f.refused(s.CancelScheduledMessages(f.ctx, numbers[1:2], nil), bus.CodeNotFound)
	f.same(bodies(f.drain(path, 2)), []string{"0", "2"}, "bodies")
	f.refused(s.CancelScheduledMessages(f.ctx, numbers[:1], nil), bus.CodeNotFound)
}

func TestCancelMany(t *testing.T) {
	f := newFixture(t)
	path := f.queue(admin.QueueProperties{})
	numbers := f.schedule(path, later(time.Hour), numbered(40)...)
	f.must(f.sender(path).CancelScheduledMessages(f.ctx, numbers[:39], nil))
	f.same(bodies(f.browse(f.receiver(path), 50)), []string{"39"}, "peeked")
}

func TestCancelUnknown(t *testing.T) {
	f := newFixture(t)
	path := f.queue(admin.QueueProperties{})
	f.refused(f.sender(path).CancelScheduledMessages(f.ctx, []int64{4711}, nil), bus.CodeNotFound)
}

func TestScheduleByProperty(t *testing.T) {
	f := newFixture(t)
	path, due := f.queue(admin.QueueProperties{}), later(3*time.Second)
	single, batched := message("single"), message("batched")
	single.ScheduledEnqueueTime, batched.ScheduledEnqueueTime = &due, &due
	f.send(path, single)
	f.sendBatch(path, batched, message("plain"))
	f.same(bodies(f.drain(path, 3)), []string{"plain", "single", "batched"}, "bodies")
}

func TestTimeInThePast(t *testing.T) {
	f := newFixture(t)
	path := f.queue(admin.QueueProperties{})
	f.schedule(path, later(-time.Minute), message("x"))
	f.same(bodies(f.drain(path, 1)), []string{"x"}, "bodies")
}

func TestFarFuture(t *testing.T) {
	f := newFixture(t)
	path, due := f.queue(admin.QueueProperties{}), later(400*24*time.Hour)
	numbers := f.schedule(path, due, message("x"))
	r := f.receiver(path)
	f.same(f.browse(r, 1)[0].ScheduledEnqueueTime.UTC(), due, "time")
	f.must(f.sender(path).CancelScheduledMessages(f.ctx, numbers, nil))
	f.empty(r)
}

func TestScheduleInSessions(t *testing.T) {
	f := newFixture(t)
	path := f.sessions(admin.QueueProperties{})
	numbers := f.schedule(path, later(3*time.Second), of("s", "a", "b")...)
	f.must(f.sender(path).CancelScheduledMessages(f.ctx, numbers[1:], nil))
	r := f.session(path, "s", nil)
	f.same(bodies(f.drainFrom(r, 1)), []string{"a"}, "bodies")
}

func TestScheduleAnnotatedMessages(t *testing.T) {
	f := newFixture(t)
	path := f.queue(admin.QueueProperties{})
	numbers, err := f.sender(path).ScheduleAMQPAnnotatedMessages(f.ctx, []*bus.AMQPAnnotatedMessage{
		{Body: bus.AMQPAnnotatedMessageBody{Value: "a"}, ApplicationProperties: map[string]any{"n": int64(1)}},
		{Body: bus.AMQPAnnotatedMessageBody{Value: "b"}, ApplicationProperties: map[string]any{"n": int64(2)}},
	}, later(2*time.Second), nil)
	f.must(err)
	f.same(len(numbers), 2, "numbers")
	for i, m := range f.drain(path, 2) {
		f.same([]any{m.RawAMQPMessage.Body.Value, m.ApplicationProperties["n"]}, []any{string(rune('a' + i)), int64(i + 1)}, "message")
	}
}

func TestDeferredAfterActivation(t *testing.T) {
	f := newFixture(t)
	path := f.queue(admin.QueueProperties{})
	f.schedule(path, later(2*time.Second), message("x"))
	r := f.receiver(path)
	got := f.one(r)
	f.must(r.DeferMessage(f.ctx, got, nil))
	f.complete(r, f.deferred(r, got)...)
	f.empty(r)
}
