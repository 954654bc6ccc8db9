package queue

import (
	"slices"

	"github.com/seriatimq/seriatim/queue/deduplication"
	"github.com/seriatimq/seriatim/queue/filter"
	"github.com/seriatimq/seriatim/queue/limits"
	"github.com/seriatimq/seriatim/queue/topic"
)

// fanOut delivers what was published to every queue whose subscription lets it pass, in
// the order in which the queues were subscribed. Deliveries are independent of one
// another: what fails for one subscription goes to its dead-letter queue or is lost for
// that subscription alone (SNS).
func (b *Broker) fanOut(t *topic.Topic, p *topic.Publication) {
	f := &fan{b: b, topic: t, publication: p}
	t.ScanSubscriptions(func(s *topic.Subscription) bool {
		if s.Attributes.Takes(p.Content().Timestamp) && f.passes(s.Attributes.Filter) {
			f.deliver(s)
		}
		return true
	})
}

// fan is one publish on its way into the queues, now or from the archive.
type fan struct {
	b           *Broker
	topic       *topic.Topic
	publication *topic.Publication
	replayed    bool
	message     *filter.Message // nil until a filter needs it
}

// passes reports whether a filter lets the message pass.
func (f *fan) passes(p *filter.Policy) bool {
	if p == nil {
		return true
	}
	if f.message == nil {
		n := f.publication.Content()
		given := make([]filter.Attribute, len(n.Attributes))
		for i, a := range n.Attributes {
			given[i] = filter.Attribute(a)
		}
		f.message = filter.NewMessage(given, n.Message.String())
	}
	return p.Match(f.message)
}

// outcome is what became of a delivery to one queue.
type outcome uint8

const (
	delivered  outcome = iota + 1
	duplicated         // the queue knew the message
	failed
)

// deliver delivers to the queue of a subscription, or else to its dead-letter queue. A
// queue that does not exist or has no room is a failure that no repetition mends, since
// topic and queue share one store: it is not retried.
func (f *fan) deliver(s *topic.Subscription) {
	m := &publishedMessage{publication: f.publication, subscription: f.b.intern(s.ARN), raw: s.Attributes.RawDelivery, replayed: f.replayed}
	// SQS takes no more attributes. In the dead-letter queue they stand as they are,
	// since else the message would be lost.
	tooMany := m.raw && len(f.publication.Content().Attributes) > limits.MessageAttributesMax
	came := failed
	if !tooMany {
		came = f.put(s.Queue, m)
	}
	target := s.Attributes.DeadLetter.Target
	switch {
	case came == duplicated:
		f.emit(TopicDeliveriesDeduplicated, s.Queue)
	case came == delivered:
	case target == "":
		f.emit(TopicDeliveriesLost, s.Queue)
	default:
		switch f.put(target, m) {
		case delivered:
			f.emit(TopicDeliveriesDeadLettered, s.Queue)
		case duplicated:
			f.emit(TopicDeliveriesDeduplicated, target)
		default:
			f.emit(TopicDeliveriesLost, s.Queue)
		}
	}
}

func (f *fan) emit(kind EventKind, queue string) {
	f.b.events = append(f.b.events, Event{Kind: kind, Queue: queue, Topic: f.topic.Name, Count: 1})
}

// put stores the message in a queue unless that is not there, has no room, or knows the
// message. A FIFO queue is told the group and the effective deduplication id, and applies
// its own rules to them; it never looks at the content, whose envelope differs from
// subscription to subscription. The size limit of a queue does not count: SNS checks
// sizes at the publish alone (AWS), and an envelope, in which no accepted character takes
// more than twice its bytes, stays below what any message may have. Of what is replayed
// the queue knows most already, so that its deduplication takes no part (ours).
func (f *fan) put(name string, m *publishedMessage) outcome {
	n := f.publication.Content()
	q, ok := f.b.queues.Get(name)
	if !ok || q.attributes.FIFO && !f.topic.Attributes.FIFO {
		return failed
	}
	if !slices.Contains(f.b.changed, q) {
		q = f.b.beginNow(name) // once for all entries of a batch, since it costs time if much is due
	}
	group := n.GroupID
	if q.attributes.FIFO != f.topic.Attributes.FIFO {
		group = "" // a standard queue gets none from a FIFO topic
	}
	ids := deduplication.IDs{Own: n.DeduplicationID, Group: group}
	if rules := &q.attributes.Deduplication; q.attributes.FIFO && !rules.Disabled && !f.replayed {
		if _, found := q.deduplication.Find(f.b.key, ids, f.b.now); found {
			return duplicated
		}
		if rules.EntriesMax > 0 && q.deduplication.CountLive(f.b.now)+1 > rules.EntriesMax {
			return failed
		}
		q.deduplication.Remember(f.b.key, ids, q.lastSequence+1, f.b.now)
	}
	f.b.accept(q, &sending{entry: &SendEntry{GroupID: group}, ids: ids, published: m}, f.b.intern(n.SenderID))
	return delivered
}
