package check

import (
	"cmp"
	"maps"
	"slices"

	"github.com/seriatimq/seriatim/test/oracle/history"
)

// A topic accepts a message and delivers it to every queue whose filter it passes, in one entry of
// the log. The answer to a publish has the publication's id, which a queue shows only in an
// envelope. Without an envelope, the body identifies the publication, as it is unique.

// topic has the events of a topic in a history.
type topic struct {
	publishes    []*history.Event
	publications map[string]*publication // by id
	ofBody       map[string]string       // publication by body, as envelopes show it
	bodies       map[string]bool         // all published bodies, whatever the result
}

// publication is a message at its topic.
type publication struct {
	id, number, group, dedup string
	extra                    string
	acks                     []*history.Event // publishes answered with this id
	seen                     int64            // return of the receive that has it; never: no receive has it
}

// unwrapped returns the history with publications in place of their envelopes.
func unwrapped(events []history.Event) []history.Event {
	for i := range events {
		if r := events[i].Rules; events[i].Kind == history.KindRun && r != nil && len(r.Subscriptions) > 0 {
			return history.Unwrapped(events, r)
		}
	}
	return events
}

func (c *checker) topic(name string) *topic {
	if c.topics[name] == nil {
		c.topics[name] = &topic{publications: map[string]*publication{}, ofBody: map[string]string{}, bodies: map[string]bool{}}
	}
	return c.topics[name]
}

// indexPublish turns a publish into sends to the queues it is for.
func (c *checker) indexPublish(e *history.Event) {
	t := c.topic(e.Topic)
	t.publishes = append(t.publishes, e)
	t.bodies[e.Body] = true
	for i := range c.rules.Subscriptions {
		s := &c.rules.Subscriptions[i]
		if s.Topic != e.Topic || !s.Passes(e.Extra) {
			continue
		}
		sent := *e
		sent.Action, sent.Queue, sent.Message, sent.Sequence = history.Send, s.Queue, "", ""
		c.sends[c.bodyIn(s.Queue, e.Body)] = append(c.sends[c.bodyIn(s.Queue, e.Body)], &sent)
		key := s.Queue + "\x00" + e.Dedup
		c.byKey[key] = append(c.byKey[key], &sent)
	}
}

// resolve finds the publication of each message in a subscribed queue, and the publishes that were
// answered with its id.
func (c *checker) resolve() {
	for _, t := range c.topics {
		for _, e := range t.publishes {
			if e.Result == history.OK && e.Error == "" {
				c.acknowledge(t, e)
			}
		}
	}
	for _, m := range c.messages {
		if s := c.rules.SubscriptionOf(m.queue); s != nil {
			c.enveloped(c.topic(s.Topic), m)
		}
	}
	for _, m := range c.messages {
		if s := c.rules.SubscriptionOf(m.queue); s != nil && len(m.deliveries) > 0 {
			t := c.topic(s.Topic)
			m.publication = cmp.Or(m.publication, t.ofBody[m.deliveries[0].message.Body])
			if p := t.publications[m.publication]; p != nil {
				m.acks = p.acks
				p.seen = min(p.seen, m.deliveries[0].receive.Return)
			}
		}
	}
}

// acknowledge records an answer to a publish.
func (c *checker) acknowledge(t *topic, e *history.Event) {
	p := t.publications[e.Message]
	if p == nil {
		p = &publication{id: e.Message, number: e.Sequence, group: e.Group, dedup: e.Dedup, extra: e.Extra, seen: never}
		t.publications[e.Message] = p
	}
	if p.dedup != e.Dedup || p.number != e.Sequence {
		c.violate("I18", e.Return, "publish %d of %q was told message %s, number %s, which is number %s of %q", e.ID, e.Dedup, e.Message,
			e.Sequence, p.number, p.dedup)
		return
	}
	if len(p.acks) > 0 {
		c.report.Counts["publishes dropped as duplicates"]++
		if anyWithin(c.changes, p.acks[0].Call, e.Return) {
			c.report.Counts["publishes repeated across a leader change"]++
		}
	}
	p.acks = append(p.acks, e)
}

// enveloped reads the publication from the envelope of a message, also if no answer contained its
// id.
func (c *checker) enveloped(t *topic, m *message) {
	for _, d := range m.deliveries {
		got := d.message
		if got.Publication == "" {
			continue
		}
		if m.publication != "" && m.publication != got.Publication {
			c.violate("I18", d.receive.Return, "receive %d: message %s of %s was publication %s before, and is %s", d.receive.ID, m.id,
				m.queue, m.publication, got.Publication)
		}
		m.publication = got.Publication
		p := t.publications[got.Publication]
		if p == nil {
			p = &publication{id: got.Publication, number: got.Number, group: got.Group, dedup: got.Dedup, extra: got.Extra, seen: never}
			t.publications[p.id] = p
		}
		if p.number != got.Number || p.dedup != got.Dedup {
			c.violate("I18", d.receive.Return, "receive %d: the envelope of %q has publication %s, number %s, which is number %s of %q",
				d.receive.ID, got.Dedup, got.Publication, got.Number, p.number, p.dedup)
		}
		t.ofBody[got.Body] = p.id
	}
}

// envelopes reports whether every message of a topic was seen in an envelope.
func (c *checker) envelopes(topic string) bool {
	return slices.ContainsFunc(c.rules.Subscriptions, func(s history.Subscription) bool {
		_, drained := c.drained[s.Queue]
		return s.Topic == topic && !s.Raw && len(s.Shades) == 0 && drained
	})
}

// checkFanOut checks I18: a publication is in each queue whose filter it passes exactly once, in
// the topic's order in each group, and in no other queue.
func (c *checker) checkFanOut() {
	for _, name := range slices.Sorted(maps.Keys(c.topics)) {
		t := c.topics[name]
		c.checkNumbersOf(t.numbered(name))
		for i := range c.rules.Subscriptions {
			if s := &c.rules.Subscriptions[i]; s.Topic == name {
				c.checkSubscription(t, s)
			}
		}
	}
}

// numbered returns the publications of a topic as messages for checkNumbersOf.
func (t *topic) numbered(name string) []*message {
	first := map[string]int64{} // call of the first publish of a key
	for _, e := range t.publishes {
		if at, known := first[e.Dedup]; e.Result != history.Fail && (!known || e.Call < at) {
			first[e.Dedup] = e.Call
		}
	}
	var list []*message
	for _, p := range t.publications {
		m := &message{id: p.id, queue: "topic " + name, group: p.group, sequence: p.number, created: p.seen, earliest: never}
		for _, e := range p.acks {
			m.created = min(m.created, e.Return)
		}
		if at, known := first[p.dedup]; known {
			m.earliest = at
		}
		list = append(list, m)
	}
	slices.SortFunc(list, func(a, b *message) int {
		return cmp.Or(compareSequence(a.sequence, b.sequence), cmp.Compare(a.id, b.id))
	})
	return list
}

// checkSubscription judges one queue.
func (c *checker) checkSubscription(t *topic, s *history.Subscription) {
	in := map[string]*message{}   // by publication
	last := map[string]*message{} // by group, in the order of the queue
	for _, m := range c.order {
		if m.queue != s.Queue || len(m.deliveries) == 0 {
			continue
		}
		c.report.Counts["messages fanned out"]++
		at := m.deliveries[0].receive.Return
		if body := m.deliveries[0].message.Body; len(c.sendsOf(s.Queue, body)) == 0 && t.bodies[body] {
			c.violate("I18", at, "message %s was delivered to %s, whose filter refuses it", m.id, s.Queue)
		}
		p := t.publications[m.publication]
		if p == nil {
			if c.envelopes(s.Topic) {
				c.violate("I18", at, "message %s of %s was delivered there, and to no queue that shows which one it is", m.id, s.Queue)
			}
			continue
		}
		if other := in[p.id]; other != nil {
			c.violate("I18", at, "publication %s, number %s, was delivered to %s twice: messages %s and %s", p.id, p.number, s.Queue,
				other.id, m.id)
		}
		in[p.id] = m
		if before := last[m.group]; before != nil {
			if q := t.publications[before.publication]; compareSequence(q.number, p.number) > 0 {
				c.violate("I18", at, "%s has publication %s, number %s, behind number %s of its group %q", s.Queue, p.id, p.number,
					q.number, m.group)
			}
		}
		last[m.group] = m
	}
	c.checkDelivered(t, s, in)
}

// checkDelivered finds missing deliveries. One entry delivers to all queues, so if one has a
// publication, all must have it.
func (c *checker) checkDelivered(t *topic, s *history.Subscription, in map[string]*message) {
	end, drained := c.drained[s.Queue]
	for _, id := range slices.Sorted(maps.Keys(t.publications)) {
		p := t.publications[id]
		if !s.Passes(p.extra) {
			if in[id] == nil {
				c.report.Counts["messages kept back by filters"]++
			}
			continue
		}
		exists := p.seen
		for _, e := range p.acks {
			exists = min(exists, e.Return)
		}
		if drained && exists < end && in[id] == nil {
			c.violate("I18", exists, "publication %s, number %s of %q, did not come to %s; it was acknowledged %d times", p.id, p.number,
				p.dedup, s.Queue, len(p.acks))
		}
	}
}
