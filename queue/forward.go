package queue

import (
	"slices"
	"strings"

	"github.com/seriatimq/seriatim/queue/access"
	"github.com/seriatimq/seriatim/queue/attributes"
	"github.com/seriatimq/seriatim/queue/refusal"
	"github.com/seriatimq/seriatim/queue/topic"
)

// A queue with ForwardTo moves its messages to another queue or to a topic, in the log entry that makes
// them available (Service Bus). One command forwards a bounded number; the clock forwards the rest.

// forwardBudget bounds the messages that one command forwards. To a topic, a message costs one unit more
// for each subscription.
const forwardBudget = 5000

// hopsMax is the number of times that a message can be forwarded (Service Bus).
const hopsMax = 4

// reasonTooManyHops is the reason of Service Bus.
const reasonTooManyHops = "MaxTransferHopCountExceeded"

// forwards reports whether the queue forwards its messages now.
func (q *Queue) forwards() bool { return q.attributes.Withheld() == attributes.WithheldForwarding }

// forwardChanged forwards from the queues that the command changed. A queue that gets a message by that
// is changed, too.
func (b *Broker) forwardChanged() {
	for budget, moved := forwardBudget, true; moved; {
		moved = false
		for i := 0; i < len(b.scratch.changed); i++ {
			left := b.forwardFrom(b.scratch.changed[i], budget)
			moved = moved || left < budget
			budget = left
		}
	}
}

// forwardFrom forwards from one queue and returns the remaining budget.
func (b *Broker) forwardFrom(q *Queue, budget int) int {
	if budget <= 0 || !q.forwards() {
		return max(0, budget)
	}
	s := selection{q: q, now: b.now, limit: budget, ignoreGroup: true}
	s.run()
	for _, m := range s.deliver {
		if budget <= 0 {
			break
		}
		budget -= b.forward(q, q, m, q.attributes.ForwardTo)
	}
	return max(0, budget)
}

// hops counts the times that the message was forwarded.
func (m *Message) hops() uint8 {
	if m.extra == nil {
		return 0
	}
	return m.extra.hops
}

// forward moves a message on from holder, the queue that has it, and returns the cost. source is the queue
// whose attributes say so: its transfer dead-letter queue gets a message that cannot be forwarded.
func (b *Broker) forward(holder, source *Queue, m *Message, to string) (cost int) {
	cost = 1
	var refused *Error
	name, isTopic := attributes.ForwardTarget(to)
	name = access.Sibling(source.name, name)
	switch {
	case m.hops() >= hopsMax:
		b.stop(holder, m)
		return cost
	case isTopic:
		var subscriptions int
		subscriptions, refused = b.forwardToTopic(holder, m, name)
		cost += subscriptions
	default:
		refused = b.forwardToQueue(holder, m, name)
	}
	if refused != nil {
		b.moveUnforwarded(holder, source, m, refusedBecause(refused, to))
	}
	return cost
}

// refusedBecause says why a message could not be forwarded.
func refusedBecause(refused *Error, to string) DeadLetterEntry {
	reason, text := "QuotaExceededException", " has no room for the message."
	switch refused.Code {
	case refusal.QueueDoesNotExist, refusal.NotFound:
		reason, text = "MessagingEntityNotFoundException", " does not exist."
	case refusal.EntityDisabled:
		reason, text = "MessagingEntityDisabledException", " is disabled."
	case refusal.InvalidParameterValue:
		reason, text = "Session id is null.", " doesn't allow a message whose session identifier is null."
	}
	return DeadLetterEntry{Reason: reason, Description: "The entity " + to + text}
}

// needsSession refuses a message without a group where every message must have one.
func needsSession() *Error { return refusal.InvalidParameter("Every message needs a message group.") }

// forwardToQueue sends a message to another queue, which detects duplicates by its own rules.
func (b *Broker) forwardToQueue(holder *Queue, m *Message, name string) *Error {
	to, ok := b.queues.Get(name)
	if !ok {
		return refusal.NoSuchQueue()
	}
	if err := to.refusesSends(); err != nil {
		return err
	}
	if needsGroupID(&to.attributes) && m.group == "" {
		return needsSession()
	}
	to = b.beginWithin(name)
	s := b.sentAgain(to, m)
	detects := to.attributes.FIFO && !to.attributes.Deduplication.Disabled && s.ids.Own != ""
	if detects {
		if _, found := to.deduplication.Find(b.key, s.ids, b.now); found {
			holder.remove(b.key, m)
			return nil
		}
		if err := b.roomForIDs(to, entriesOf(s.ids)); err != nil {
			return err
		}
	}
	if err := to.roomForBytes(m.contentBytes()); err != nil {
		return err
	}
	s.placing.timeToLive, s.placing.hops = m.timeToLive(), m.hops()+1
	if m.extra != nil {
		s.deadLetterSource = strings.Clone(m.extra.deadLetterSource)
	}
	holder.remove(b.key, m) // after sentAgain: removing frees the body
	to.usedAt = b.now
	if detects {
		to.deduplication.Remember(b.key, s.ids, to.lastSequence+1, b.now)
	}
	b.accept(to, s, m.sender)
	return nil
}

// forwardToTopic publishes a message. It returns the number of subscriptions.
func (b *Broker) forwardToTopic(holder *Queue, m *Message, name string) (subscriptions int, refused *Error) {
	t, ok := b.topics.Get(name)
	if !ok {
		return 0, refusal.NoSuchTopic()
	}
	if err := refusesPublish(t); err != nil {
		return 0, err
	}
	if t.Attributes.FIFO && !t.Attributes.GroupOptional && m.group == "" {
		return 0, needsSession()
	}
	p := b.publishedAgain(t, holder, m)
	if err := b.checkOutbox(t, 1); err != nil {
		return 0, err
	}
	if err := b.roomForPublish(t, []publishing{p}); err != nil {
		return 0, err
	}
	t = b.beginTopic(name)
	sender := *m.sender
	holder.remove(b.key, m)
	b.publish(t, &p, &Publish{SenderID: sender})
	return t.Subscriptions(), nil
}

// publishedAgain returns a stored message in the form of a publish. The message of another topic is
// published as it was published there, without its envelope. A message without a deduplication id gets
// its MessageId, so that a topic that needs one takes it.
func (b *Broker) publishedAgain(t *topic.Topic, holder *Queue, m *Message) publishing {
	id := m.id(b.key, holder.incarnation).String()
	m = m.detached()
	e := &PublishEntry{GroupID: m.group}
	p := publishing{entry: e}
	p.placing.timeToLive, p.placing.hops, p.ids.Own, p.ids.Group = m.timeToLive(), m.hops()+1, m.deduplicationID, m.group
	if x := m.extra; x != nil {
		p.placing.attributes, p.placing.partition, e.TraceHeader, e.Encoded = x.attributes, x.partition, x.traceHeader, x.encoded
	}
	if from := m.published(); from != nil {
		whole := publishedMessage{publication: from.publication, raw: true, changes: from.changes}
		n := from.publication.Content()
		e.Message, e.Subject, e.TraceHeader, e.Encoded = n.Message.String(), n.Subject, n.TraceHeader, whole.encoded(e.Encoded)
		p.placing.attributes = withAttributes(n.Attributes, p.placing.attributes)
	} else {
		e.Message = b.textOf(m.body)
	}
	p.ids.Partition = p.placing.partition
	if t.Attributes.FIFO {
		p.ids = t.Attributes.Deduplication.WithContent(p.ids, e.Message, nil)
	}
	if p.ids.Own == "" && t.Deduplicates() {
		p.ids.Own = id
	}
	return p
}

// stop puts a message that was forwarded too often into the dead-letter queue of its queue, or else into
// the transfer dead-letter queue. A dead letter stays where it is.
func (b *Broker) stop(holder *Queue, m *Message) {
	why := DeadLetterEntry{
		Reason: reasonTooManyHops, Description: "The maximum number of allowed hops when forwarding between queues has been exceeded.",
	}
	switch {
	case !holder.forwards():
	case b.redriveRule(holder).target != nil:
		b.deadLetterFor(holder, []*Message{m}, why.attributes(), nil)
	default:
		b.moveUnforwarded(holder, holder, m, why)
	}
}

// moveUnforwarded puts a message that could not be forwarded into the transfer dead-letter queue of source.
func (b *Broker) moveUnforwarded(holder, source *Queue, m *Message, why DeadLetterEntry) {
	name := TransferDeadLetterName(source.name)
	if _, exists := b.queues.Get(name); !exists { // it was deleted
		b.addDefaultQueue(name)
	}
	b.moveDead(holder, b.beginWithin(name), source, []*Message{m}, why.attributes(), nil)
	b.emit(MessagesDeadLettered, source.name, 1)
}

// TransferDeadLetterName returns the name of the queue for messages that a queue could not forward:
// <name>-transferdlq, or <name>-transferdlq.fifo.
func TransferDeadLetterName(name string) string { return withSuffix(name, transferSuffix) }

// checkForward refuses a target in given that does not exist, or from which messages come back.
func (b *Broker) checkForward(name string, a *QueueAttributes, given []Attribute) *Error {
	for _, f := range [2]struct {
		attribute string
		to        string
	}{{attributes.NameForwardTo, a.ForwardTo}, {attributes.NameForwardDeadLetters, a.ForwardDeadLetters}} {
		isGiven := slices.ContainsFunc(given, func(g Attribute) bool { return g.Name == f.attribute })
		if !isGiven || f.to == "" {
			continue
		}
		if reason := b.badForward(name, f.to, a); reason != "" {
			return refusal.New(refusal.InvalidAttributeValue, "Invalid value for the parameter ", f.attribute, ". Reason: ", reason)
		}
	}
	return nil
}

func (b *Broker) badForward(name string, to string, a *QueueAttributes) string {
	target, isTopic := attributes.ForwardTarget(to)
	target = access.Sibling(name, target)
	if isTopic {
		if _, exists := b.topics.Get(target); !exists {
			return "the topic does not exist."
		}
		return ""
	}
	if _, exists := b.queues.Get(target); !exists && target != name {
		return "the queue does not exist."
	}
	dead := Queue{name: name, attributes: *a}
	if own, _ := dead.deadLetterTarget(); own == target && to == a.ForwardDeadLetters {
		return "it is the dead-letter queue of the queue."
	}
	for range hopsMax {
		if target == name {
			return "the messages would come back to the queue."
		}
		next, ok := b.queues.Get(target)
		if !ok || next.attributes.ForwardTo == "" {
			break
		}
		if target, isTopic = attributes.ForwardTarget(next.attributes.ForwardTo); isTopic {
			break
		}
		target = access.Sibling(name, target)
	}
	return ""
}

// refusesForwarded returns the error of a queue that forwards its messages.
func (q *Queue) refusesForwarded() *Error {
	if q.attributes.ForwardTo == "" {
		return nil
	}
	return refusal.New(refusal.UnsupportedOperation, "The queue forwards its messages to ", q.attributes.ForwardTo,
		", so that nothing can be received from it.")
}

// forwardDeadline returns the time at which the queue has a message to forward, zero if there is none.
func (q *Queue) forwardDeadline() (at Timestamp) {
	if !q.forwards() {
		return 0
	}
	if t, ok := q.ready.firstDelivery.Min(); ok {
		at = t.at.Add(q.firstDeliveryDelay())
	}
	if t, ok := q.ready.redelivered.Min(); ok && (at == 0 || t.at < at) {
		at = t.at
	}
	return at
}
