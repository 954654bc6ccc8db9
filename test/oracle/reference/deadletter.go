package reference

import (
	"fmt"
	"strings"
)

// implicitReceives is maxReceiveCount of the built-in dead-letter queue: ten, like the default of
// Service Bus.
const implicitReceives = 10

// implicitName returns the name of the built-in dead-letter queue of ImplicitDeadLetterQueue=true
// (servicebus.md 5.1).
func implicitName(source string) string {
	if base, fifo := strings.CutSuffix(source, ".fifo"); fifo {
		return base + "-dlq.fifo"
	}
	return source + "-dlq"
}

// redrive returns the policy in force: the explicit one, or else the built-in one.
func (q *Queue) redrive() Redrive {
	if q.Settings.Redrive.Target == "" && q.Settings.Implicit {
		return Redrive{Target: implicitName(q.Name), MaxReceives: implicitReceives}
	}
	return q.Settings.Redrive
}

// makeImplicit creates the built-in dead-letter queues if there are none.
func (b *Broker) makeImplicit(q *Queue) {
	r := q.redrive()
	if q.Settings.Redrive.Target == "" && r.Target != "" && b.queues[r.Target] == nil {
		b.addQueue(r.Target, q.FIFO, defaults())
	}
	if name := transferName(q.Name); (q.Settings.ForwardTo != "" || q.Settings.ForwardDead != "") && b.queues[name] == nil {
		b.addQueue(name, q.FIFO, defaults())
	}
}

// deadLetterTarget returns the queue to which a receive must move m instead of delivering it, or
// nil. It moves m if this queue has delivered it maxReceiveCount times since it arrived (decision
// 22), and the target exists and is another queue (sqs.md 6).
func (b *Broker) deadLetterTarget(q *Queue, m *Message) *Queue {
	r := q.redrive()
	count := m.HandedOut
	if r.Target == "" || r.Target == q.Name || count < int(r.MaxReceives) {
		return nil
	}
	return b.queues[r.Target] // nil: m stays and is delivered
}

// deadLetterByCount moves m because it was received too often. Consumers that know Service Bus find
// that service's reason in it (servicebus.md 4).
func (b *Broker) deadLetterByCount(q, target *Queue, m *Message) {
	if q.Settings.Profile == "servicebus" || q.Settings.Reserved || q.Settings.Implicit {
		m.Sent.Attributes = withAttribute(m.Sent.Attributes, "DeadLetterReason", "MaxDeliveryCountExceeded")
		m.Sent.Attributes = withAttribute(m.Sent.Attributes, "DeadLetterErrorDescription",
			fmt.Sprintf("Message could not be consumed after %d delivery attempts.", q.redrive().MaxReceives))
	}
	b.deadLetter(q, target, m)
}

// deadLetter moves m. The copy keeps message id, body, group, and receive count, and gets a new
// number. In a FIFO queue its retention starts again, and its deduplication id becomes the message
// id unless the source keeps it (sqs.md 4.11, servicebus.md 5.2). The ids remembered by the target
// are neither used nor extended (servicebus.md 5.4).
func (b *Broker) deadLetter(q, target *Queue, m *Message) {
	c := b.moveDead(q, target, q, m)
	if to := q.Settings.ForwardDead; to != "" {
		b.forward(target, q, c, to)
	}
}

// moveDead moves m from q to a dead-letter queue of source.
func (b *Broker) moveDead(q, target, source *Queue, m *Message) *Message {
	b.mark(target)
	target.lingering.aged = 0
	q.remove(m)
	c := &Message{
		ID: m.ID, Sent: m.Sent, Sender: m.Sender, Group: m.Group, Grouped: m.Grouped,
		DedupID: m.DedupID, DedupOf: m.DedupOf, Partition: m.Partition, Source: source.Name, Hops: m.Hops,
		TimeToLive: target.timeToLive(0),
		SentAt:     m.SentAt, Counts: Counts{Receives: m.Receives, FirstAt: m.FirstAt},
	}
	if q.FIFO {
		c.SentAt = b.now
		if !source.Settings.DeadLetterKeepsID {
			c.DedupID, c.DedupOf = "", m.ID
		}
	} else {
		// A move is not a send: the target's DelaySeconds does not apply, and the copy is available
		// at once.
		c.StartDelay = b.now - c.SentAt
	}
	b.insert(target, c)
	return c
}
