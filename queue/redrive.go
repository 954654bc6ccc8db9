package queue

import (
	"slices"
	"strconv"
	"strings"

	"github.com/seriatimq/seriatim/queue/access"
	"github.com/seriatimq/seriatim/queue/arn"
	"github.com/seriatimq/seriatim/queue/attributes"
	"github.com/seriatimq/seriatim/queue/policy"
)

// redriveRule names the dead-letter queue for messages that reach a receive count. The zero value
// moves no message.
type redriveRule struct {
	target *Queue
	after  int64 // deliveries
}

// due reports whether this queue delivered m often enough. Receives before a move stay in
// ApproximateReceiveCount but do not count: a dead-letter queue with a redrive policy would move
// the message on at once.
func (r redriveRule) due(m *Message) bool {
	return r.target != nil && m.handOuts() >= r.after
}

// deadLetterBudget bounds the dead-letter moves of one receive.
const deadLetterBudget = 100

// implicitReceiveCount applies to ImplicitDeadLetterQueue without a RedrivePolicy. It is the
// default MaxDeliveryCount of Service Bus.
const implicitReceiveCount = 10

// deadLetterTarget returns the name of the dead-letter queue, empty if none, and the receive count
// that moves a message to it.
func (q *Queue) deadLetterTarget() (name string, after int64) {
	switch {
	case q.attributes.Redrive.Target != "":
		return access.Sibling(q.name, q.attributes.Redrive.Target), q.attributes.Redrive.MaxReceiveCount
	case q.attributes.ImplicitDeadLetterQueue:
		return ImplicitDeadLetterName(q.name), implicitReceiveCount
	default:
		return "", 0
	}
}

// Suffixes of the names of built-in dead-letter queues, before .fifo.
const (
	deadLetterSuffix = "-dlq"
	transferSuffix   = "-transferdlq"
)

// ImplicitDeadLetterName returns the name of the implicit dead-letter queue: <name>-dlq, or
// <name>-dlq.fifo.
func ImplicitDeadLetterName(name string) string {
	return withSuffix(name, deadLetterSuffix)
}

// withSuffix adds a suffix to a name, before .fifo.
func withSuffix(name, suffix string) string {
	if stem, fifo := strings.CutSuffix(name, ".fifo"); fifo {
		return stem + suffix + ".fifo"
	}
	return name + suffix
}

// redriveRule returns the rule of q. Messages stay and are delivered if the dead-letter queue does
// not exist or is q itself.
func (b *Broker) redriveRule(q *Queue) redriveRule {
	name, after := q.deadLetterTarget()
	if name == "" || name == q.name {
		return redriveRule{}
	}
	target, ok := b.queues.Get(name)
	if !ok || target.attributes.FIFO != q.attributes.FIFO {
		return redriveRule{}
	}
	return redriveRule{target: target, after: after}
}

// expiresTo returns the dead-letter queue to which m moves when it expires, empty if it is deleted. Its age
// counts from a time.
func (b *Broker) expiresTo(q *Queue, m *Message, from Timestamp) string {
	rule, end := b.redriveRule(q), q.expiry(m, from, b.now)
	retention := q.attributes.Retention()
	if !q.attributes.DeadLetterExpired || rule.target == nil || m.timeToLive() == 0 || retention > 0 && end >= from.Add(retention) {
		return ""
	}
	return rule.target.name
}

// deadLetter moves messages to the dead-letter queue. They keep MessageId, body, attributes, group
// and receive count. On FIFO queues sent time and retention restart, and the MessageId becomes the
// deduplication id, so that messages with equal ids stay distinct. On standard queues the sent time
// stays. The target's deduplication is not involved.
//
// Only queues with Service Bus features add the reason and its description as message attributes.
func (b *Broker) deadLetter(q *Queue, messages []*Message) {
	var why []MessageAttribute
	if a := &q.attributes; a.Profile == attributes.ProfileServiceBus || a.ReservedAttributes || a.ImplicitDeadLetterQueue {
		_, after := q.deadLetterTarget()
		why = (&DeadLetterEntry{
			Reason:      reasonTooManyDeliveries,
			Description: "Message could not be consumed after " + strconv.FormatInt(after, 10) + " delivery attempts.",
		}).attributes()
	}
	b.deadLetterFor(q, messages, why, nil)
}

// deadLetterFor moves messages to the dead-letter queue, adds attributes and changes properties. It
// forwards them if the attributes say so.
func (b *Broker) deadLetterFor(q *Queue, messages []*Message, more []MessageAttribute, changes []PropertyChange) {
	if len(messages) == 0 {
		return
	}
	name, _ := q.deadLetterTarget()
	target := b.beginWithin(name)
	moved := b.moveDead(q, target, q, messages, more, changes)
	b.emit(MessagesDeadLettered, q.name, len(messages))
	if to := q.attributes.ForwardDeadLetters; to != "" {
		for _, m := range moved {
			b.forward(target, q, m, to)
		}
	}
}

// moveDead moves messages from q to a dead-letter queue of source, as deadLetter says, and returns them
// there.
func (b *Broker) moveDead(q, target, source *Queue, messages []*Message, more []MessageAttribute, changes []PropertyChange,
) (there []*Message) {
	for _, m := range messages {
		q.remove(b.key, m)
		target.lastSequence++
		moved := *m.detached()
		moved.sequence = target.lastSequence
		extra := messageExtra{}
		if moved.extra != nil {
			extra = *moved.extra
		}
		extra.id = m.id(b.key, q.incarnation)
		extra.deadLetterSource = source.name
		extra.attributes = withAttributes(extra.attributes, more)
		if len(changes) > 0 {
			encoded, _ := m.encodedWith(changes) // the caller checked them
			extra.encoded = encoded.Clone()
		}
		extra.keepsAge = !q.attributes.FIFO
		extra.timeToLive = target.attributes.TimeToLive(0)
		moved.extra = &extra
		if q.attributes.FIFO {
			moved.sentAt = b.now
			if !source.attributes.Deduplication.DeadLetterKeepsID {
				moved.deduplicationID = extra.id.String()
			}
		}
		moved.delivery = m.movedDelivery(q.attributes.FIFO, b.now)
		moved.group = target.groups.intern(moved.group)
		moved.seal(b.key)
		target.insert(b.key, &moved)
		there = append(there, &moved)
	}
	return there
}

// movedDelivery returns the delivery state of m in a dead-letter queue. It is nil for a message of a FIFO
// queue that expired before any receive: like a new one, it waits for the delay of the queue.
func (m *Message) movedDelivery(fifo bool, now Timestamp) *delivery {
	d := &delivery{receiveCount: m.receiveCount(), visibleAt: now}
	if m.delivery != nil {
		d.firstReceivedAt = m.delivery.firstReceivedAt
	}
	if fifo && d.firstReceivedAt == 0 {
		return nil
	}
	return d
}

// sourceKey returns a key of Broker.sources.
func sourceKey(target, source string) string { return target + "\x00" + source }

// followRedrive updates Broker.sources when the dead-letter queue of q changes from before.
func (b *Broker) followRedrive(q *Queue, before string) {
	after, _ := q.deadLetterTarget()
	if before == after {
		return
	}
	if before != "" {
		b.sources.Delete(sourceKey(before, q.name))
	}
	if after != "" {
		b.sources.Set(sourceKey(after, q.name), struct{}{})
	}
}

// isDeadLetterQueue reports whether a queue redrives to name.
func (b *Broker) isDeadLetterQueue(name string) (found bool) {
	prefix := sourceKey(name, "")
	b.sources.Ascend(prefix, func(key string, _ struct{}) bool {
		found = len(key) > len(prefix) && key[:len(prefix)] == prefix
		return false
	})
	return found
}

// checkRedrive checks a RedrivePolicy in given against the state. Errors quote the policy as sent.
func (b *Broker) checkRedrive(source string, fifo bool, p policy.Redrive, given []Attribute) *Error {
	i := slices.IndexFunc(given, func(a Attribute) bool { return a.Name == "RedrivePolicy" })
	owner, name := access.Split(source)
	if i < 0 || p.Target == "" {
		return nil
	}
	sent := given[i].Value
	if !b.isOf(owner, policy.RedriveTargetARN(p.Text)) {
		return attributes.RedriveTargetElsewhere(sent)
	}
	if p.Target == name { // recorded: AWS accepts a queue as its own dead-letter queue
		return nil
	}
	target, ok := b.queues.Get(access.Qualify(owner, p.Target))
	switch {
	case !ok:
		return attributes.RedriveTargetMissing(sent)
	case target.attributes.FIFO != fifo:
		return attributes.RedriveTargetWrongType(sent)
	case !target.attributes.RedriveAllow.Allows(name):
		return attributes.RedriveNotAllowed(sent)
	}
	return nil
}

// isOf reports whether an ARN belongs to an account. Any number that belongs to no other account
// stands for the cluster's own, so that migrated clients can keep their ARNs.
func (b *Broker) isOf(owner, resource string) bool {
	named := arn.AccountOf(resource)
	if owner != "" {
		return named == owner
	}
	_, other := b.access.Account(named)
	return named == "" || !other
}
