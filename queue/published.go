package queue

import (
	"github.com/seriatimq/seriatim/queue/content"
	"github.com/seriatimq/seriatim/queue/notification"
	"github.com/seriatimq/seriatim/queue/topic"
)

// publishedMessage is what a message has that a topic delivered: instead of a body and
// attributes, the publication it shares with the other deliveries. Never changed.
type publishedMessage struct {
	publication  *topic.Publication
	subscription *string // ARN, shared by the messages of the subscription
	raw          bool
	replayed     bool // from the archive of the topic
}

// text is what a receiver gets as the body. An envelope is written anew for each receive,
// and is the same each time.
func (p *publishedMessage) text() Body {
	n := p.publication.Content()
	if p.raw {
		return n.Message
	}
	return content.NewBody(n.Envelope(notification.Delivery{SubscriptionARN: *p.subscription, Replayed: p.replayed}))
}

// attributes are what a receiver gets as message attributes: those of the publish, which
// an envelope has inside. What an envelope says of a replay is an attribute without one,
// which takes the place of another one of its name.
func (p *publishedMessage) attributes() []MessageAttribute {
	if !p.raw {
		return nil
	}
	given := p.publication.Content().Attributes
	if !p.replayed {
		return given
	}
	all := make([]MessageAttribute, 0, len(given)+1)
	for _, a := range given {
		if a.Name != attributeReplayed {
			all = append(all, a)
		}
	}
	return append(all, MessageAttribute{Name: attributeReplayed, DataType: "String", Value: "true"})
}

const attributeReplayed = "Replayed"

// published is the publication of a message, nil for one that was sent to its queue.
func (m *Message) published() *publishedMessage {
	if m.extra == nil {
		return nil
	}
	return m.extra.published
}

// carriedBytes is about how much a delivery of the message carries. Receives go by it, so
// it must not depend on where this node has the body.
func (m *Message) carriedBytes() int64 {
	n := m.size() + int64(m.body.Len()-m.body.MemoryLen())
	if p := m.published(); p != nil {
		n += int64(p.publication.Content().Message.Len())
	}
	return n
}

// contentBytes is what clients sent: body and attributes.
func (m *Message) contentBytes() int64 {
	n := int64(m.body.Len())
	if m.extra == nil {
		return n
	}
	n += content.Size("", m.extra.attributes)
	if p := m.published(); p != nil {
		n += p.publication.SentBytes()
	}
	return n
}

// use counts messages for the quota of the account.
func (q *Queue) use(messages, bytes int64) {
	q.sums.usage.Messages += messages
	q.sums.usage.Bytes += bytes
	q.sums.contentBytes += bytes
}

// hold counts a message that is stored in the queue.
func (q *Queue) hold(m *Message) {
	q.sums.messageBytes += m.size()
	q.use(1, m.contentBytes())
	if m.body.Stored() {
		q.bodies.Hold(m.body)
		q.sums.stored++
	}
	if p := m.published(); p != nil {
		p.publication.Hold()
		q.sums.published++
	}
}

// release takes back hold.
func (q *Queue) release(m *Message) {
	q.sums.messageBytes -= m.size()
	q.use(-1, -m.contentBytes())
	if m.body.Stored() {
		q.bodies.Free(m.body)
		q.sums.stored--
	}
	if p := m.published(); p != nil {
		p.publication.Release()
		q.sums.published--
	}
}

// releases are the messages of purged and deleted queues, whose bodies and
// publications still count them, the archives that were turned
// off, and the deliveries over HTTP to subscriptions that are gone, whose publications
// still count them. Each takes the same time whatever it drops, so the publications are
// released by the commands that follow, some with each. Only the size of the state depends on it,
// which is no part of the state: a replica restored meanwhile has none of this to do.
type releases struct {
	pending []droppedMessages
	others  []droppedPublications
}

func (r *releases) some() bool { return len(r.pending)+len(r.others) > 0 }

// droppedPublications are a topic.Dropped or an outbox.Dropped.
type droppedPublications interface {
	// Release releases at most budget publications and returns what is left of the
	// budget, and whether none is held any more.
	Release(budget int) (left int, over bool)
	// Scan visits the publications that are still held.
	Scan(visit func(*topic.Publication))
}

type droppedMessages struct {
	messages *messageMap
	bodies   content.Store
	next     uint64 // those below are released
}

const (
	releaseBudget      = 256  // messages looked at with every command
	releaseClockBudget = 4096 // with AdvanceClock, which an idle leader proposes for it
)

// drop notes what a queue loses as a whole, before it does.
func (r *releases) drop(q *Queue) {
	if q.sums.published+q.sums.stored == 0 {
		return
	}
	for _, messages := range []*messageMap{q.messages, q.aside.scheduled, q.aside.deferred} {
		r.pending = append(r.pending, droppedMessages{messages: messages, bodies: q.bodies})
	}
}

// dropArchive notes the archive that a topic lost.
func (r *releases) dropArchive(d topic.Dropped) {
	if !d.Empty() {
		r.others = append(r.others, &d)
	}
}

// dropDeliveries drops those to a subscription that is gone.
func (b *Broker) dropDeliveries(t *topic.Topic, subscription uint64) {
	if d := b.outbox.DropAll(subscription); d != nil {
		t.Keep(-d.Kept.Messages, -d.Kept.Bytes)
		b.releases.others = append(b.releases.others, d)
	}
}

// step looks at no more than budget messages.
func (r *releases) step(budget int) {
	for budget > 0 && len(r.pending) > 0 {
		first, over := &r.pending[0], true
		first.messages.Ascend(first.next, func(sequence uint64, m *Message) bool {
			if budget == 0 {
				first.next, over = sequence, false
				return false
			}
			budget--
			if p := m.published(); p != nil {
				p.publication.Release()
			}
			if m.body.Stored() {
				first.bodies.Free(m.body)
			}
			return true
		})
		if over {
			*first = droppedMessages{}
			r.pending = r.pending[1:]
		}
	}
	for budget > 0 && len(r.others) > 0 {
		left, over := r.others[0].Release(budget)
		if budget = left; over {
			r.others[0] = nil
			r.others = r.others[1:]
		}
	}
}

// scan visits the publications that are still to be released.
func (r *releases) scan(visit func(*topic.Publication)) {
	for _, d := range r.pending {
		d.messages.Ascend(d.next, func(_ uint64, m *Message) bool {
			if p := m.published(); p != nil {
				visit(p.publication)
			}
			return true
		})
	}
	for _, d := range r.others {
		d.Scan(visit)
	}
}
