package queue

import (
	"github.com/seriatimq/seriatim/queue/content"
	"github.com/seriatimq/seriatim/queue/refusal"
)

// ReleaseGroup takes a message group away from whoever holds it: an operator's way out
// when a receiver is stuck. A session lock ends, and messages in flight come back, as if
// their time were over. What the receiver does with them afterwards is refused.
type ReleaseGroup struct {
	Queue string
	Group string
}

// GroupReleased answers ReleaseGroup.
type GroupReleased struct {
	Messages int64 // that were in flight
	Session  bool  // a session lock was in force
}

func (GroupReleased) result() {}

// QueueName implements Command.
func (c *ReleaseGroup) QueueName() string { return c.Queue }

// Validate checks the type of the queue and the group id.
func (c *ReleaseGroup) Validate() *Error {
	if err := checkQueueName(c.Queue); err != nil {
		return err
	}
	if !isFIFOName(c.Queue) {
		return fifoOnly("Message groups that can be released")
	}
	if !content.ValidID(c.Group) {
		return content.InvalidID(c.Group, "MessageGroupId")
	}
	return nil
}

// apply is fine with a group that nobody holds, or that has no messages.
func (c *ReleaseGroup) apply(b *Broker) (Result, *Error) {
	q := b.beginNow(c.Queue)
	if q == nil {
		return nil, refusal.NoSuchQueue()
	}
	var out GroupReleased
	if r, ok := q.groups.sessions.Get(c.Group); ok && r.Lock != 0 {
		if out.Session = r.Locked(b.now); out.Session {
			out.Messages = q.groups.sessions.InFlightOf(c.Group)
		}
		q.unlockSession(b.key, c.Group)
	}
	for _, m := range q.groupInFlight(c.Group, b.now) {
		q.endAttempt(b.key, m, false)
		d := *m.delivery
		d.visibleAt = b.now
		q.replace(b.key, m, m.withDelivery(&d))
		out.Messages++
	}
	return out, nil
}
