package queue

import (
	"slices"
	"strings"

	"github.com/seriatimq/seriatim/queue/account"
	"github.com/seriatimq/seriatim/queue/arn"
	"github.com/seriatimq/seriatim/queue/attributes"
	"github.com/seriatimq/seriatim/queue/policy"
)

// redriveRule says when a message goes to which dead-letter queue instead of
// being delivered. The zero value never moves anything.
type redriveRule struct {
	target *Queue
	after  int64 // receives
}

// due reports whether m was received often enough from this queue. What it was
// received before it came here stays in its ApproximateReceiveCount, but does
// not count: else a dead-letter queue with a smaller maximum would move it on
// before anyone has seen it there.
func (r redriveRule) due(m *Message) bool {
	return r.target != nil && m.handOuts() >= r.after
}

// deadLetterBudget bounds the moves to a dead-letter queue that one receive makes.
const deadLetterBudget = 100

// implicitReceiveCount is MaxDeliveryCount's default on Service Bus, used for
// ImplicitDeadLetterQueue without a RedrivePolicy.
const implicitReceiveCount = 10

// deadLetterTarget names the dead-letter queue in force and after how many
// receives it is used; empty if there is none.
func (q *Queue) deadLetterTarget() (name string, after int64) {
	switch {
	case q.attributes.Redrive.Target != "":
		return account.Sibling(q.name, q.attributes.Redrive.Target), q.attributes.Redrive.MaxReceiveCount
	case q.attributes.ImplicitDeadLetterQueue:
		return ImplicitDeadLetterName(q.name), implicitReceiveCount
	default:
		return "", 0
	}
}

// ImplicitDeadLetterName is the built-in dead-letter queue of a queue: <name>-dlq, or
// <name>-dlq.fifo.
func ImplicitDeadLetterName(name string) string {
	if isFIFOName(name) {
		return strings.TrimSuffix(name, ".fifo") + "-dlq.fifo"
	}
	return name + "-dlq"
}

// redriveRule finds the dead-letter queue of q. If it no longer exists, or is
// q itself, messages stay and are delivered: nothing may be lost or go round
// in circles.
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

// deadLetter moves messages to the dead-letter queue. Kept: MessageId, body,
// attributes, group, receive count. On FIFO queues sent time and retention
// start again and the deduplication id becomes the MessageId, so that the
// target's deduplication cannot swallow two messages that shared an id; on
// standard queues the sent time stays. The target's history is neither read
// nor written.
//
// A consumer that knows Service Bus finds the reason in the message; one of AWS or
// Yandex finds what it finds there.
func (b *Broker) deadLetter(q *Queue, messages []*Message) {
	var why []MessageAttribute
	if a := &q.attributes; a.Profile == attributes.ProfileServiceBus || a.ReservedAttributes || a.ImplicitDeadLetterQueue {
		why = []MessageAttribute{{Name: deadLetterReason, DataType: "String", Value: reasonTooManyDeliveries}}
	}
	b.deadLetterFor(q, messages, why)
}

// deadLetterFor moves messages to the dead-letter queue and gives them more attributes.
func (b *Broker) deadLetterFor(q *Queue, messages []*Message, more []MessageAttribute) {
	if len(messages) == 0 {
		return
	}
	name, _ := q.deadLetterTarget()
	target := b.beginNow(name)
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
		extra.deadLetterSource = q.name
		extra.attributes = withAttributes(extra.attributes, more)
		extra.keepsAge = !q.attributes.FIFO
		moved.extra = &extra
		if q.attributes.FIFO {
			moved.sentAt = b.now
			if !q.attributes.Deduplication.DeadLetterKeepsID {
				moved.deduplicationID = extra.id.String()
			}
		}
		moved.delivery = &delivery{
			receiveCount:    m.receiveCount(),
			firstReceivedAt: m.delivery.firstReceivedAt,
			visibleAt:       b.now,
		}
		moved.group = target.groups.intern(moved.group)
		moved.seal(b.key)
		target.insert(b.key, &moved)
	}
	b.emit(MessagesDeadLettered, q.name, len(messages))
}

// sourceKey is a key of Broker.sources.
func sourceKey(target, source string) string { return target + "\x00" + source }

// followRedrive keeps Broker.sources in step when the target of q changes
// from before.
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

// isDeadLetterQueue reports whether some queue redrives to name.
func (b *Broker) isDeadLetterQueue(name string) (found bool) {
	prefix := sourceKey(name, "")
	b.sources.Ascend(prefix, func(key string, _ struct{}) bool {
		found = len(key) > len(prefix) && key[:len(prefix)] == prefix
		return false
	})
	return found
}

// checkRedrive checks the state-dependent rules of a RedrivePolicy that given
// sets on a queue. Refusals quote the policy as it was sent.
func (b *Broker) checkRedrive(source string, fifo bool, p policy.Redrive, given []Attribute) *Error {
	i := slices.IndexFunc(given, func(a Attribute) bool { return a.Name == "RedrivePolicy" })
	owner, name := account.Split(source)
	if i < 0 || p.Target == "" {
		return nil
	}
	sent := given[i].Value
	if !b.isOf(owner, policy.RedriveTargetARN(p.Text)) {
		return attributes.RedriveTargetElsewhere(sent)
	}
	if p.Target == name { // recorded: AWS accepts a queue as its own target
		return nil
	}
	target, ok := b.queues.Get(account.Qualify(owner, p.Target))
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

// isOf reports whether an ARN is of an account. The number of the cluster's own account is
// not known here: any that no other account has stands for it, so that clients moved here
// from elsewhere keep their ARNs.
func (b *Broker) isOf(owner, resource string) bool {
	named := arn.AccountOf(resource)
	if owner != "" {
		return named == owner
	}
	_, other := b.access.Account(named)
	return named == "" || !other
}
