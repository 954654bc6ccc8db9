package reference

import (
	"maps"
	"slices"
)

// Outlook describes a message in the words of an explanation.
type Outlook struct {
	State  string // empty: the queue does not have the message
	Until  int64  // when a delay, a visibility timeout or the lock of its group ends; 0: no such time
	Before int    // earlier messages of its group, unless it waits outside of the group
	Due    bool   // a receive that takes it moves it to the dead-letter queue
	// ExpiresAt is the end of its retention, 0 for a deferred message.
	ExpiresAt int64
	// Left is the number of receives before it moves to the dead-letter queue Target; empty: none.
	Left   int
	Target string
	Source string
	// Dedup is its deduplication id. The id of a message that stands for one is not a text of the
	// product.
	Dedup   DedupID
	DedupOf int
}

// Outlook returns the state of the message with a number, and its end.
func (b *Broker) Outlook(q *Queue, number int) (s Outlook) {
	m := q.numbered(number)
	if m == nil {
		return s
	}
	s.ExpiresAt, s.Source = b.ends(q, m, m.SentAt), m.Source
	s.Due = b.deadLetterTarget(q, m) != nil
	if s.DedupOf = m.DedupOf; q.FIFO {
		s.Dedup = DedupID{m.DedupID, m.Group, m.Partition}
		if s.DedupOf != 0 {
			s.Dedup.ID = messageIDText(s.DedupOf)
		}
	}
	if r := q.redrive(); b.queues[r.Target] != nil && r.Target != q.Name {
		s.Target, s.Left = r.Target, int(r.MaxReceives)-m.HandedOut
	}
	switch {
	case m.Scheduled:
		s.State, s.Until, s.ExpiresAt = "scheduled", m.DueAt, b.ends(q, m, m.DueAt)
		return s
	case m.Deferred:
		s.State, s.ExpiresAt, s.Target = "deferred", 0, ""
		if b.inFlight(q, m) {
			s.State, s.Until = "in-flight", b.freeAt(q, m)
		}
		return s
	}
	line := b.lineOf(q, m)
	s.Before = slices.Index(line, m)
	switch {
	case b.inFlight(q, m):
		s.State, s.Until = "in-flight", b.freeAt(q, m)
	case b.inSession(q, m):
		s.State, s.Until = "session", q.sessions[m.Group].until
	case s.Before > 0:
		s.State = "waiting"
	case !b.available(q, m):
		s.State, s.Until = "delayed", b.availableSince(q, m)
	default:
		s.State = b.headState(q, m)
	}
	return s
}

// headState is the state of a message that only its queue can keep from a receive.
func (b *Broker) headState(q *Queue, m *Message) string {
	switch {
	case q.Withheld() != "":
		return q.Withheld()
	case b.deadLetterTarget(q, m) != nil:
		return "dead-letter"
	}
	return "ready"
}

// inSession reports whether the group of a message is locked as a session.
func (b *Broker) inSession(q *Queue, m *Message) bool {
	return q.FIFO && m.Grouped && q.lockOf(m.Group, b.now) != 0
}

// freeAt returns when a message in flight is visible again.
func (b *Broker) freeAt(q *Queue, m *Message) int64 {
	if m.Lock != 0 {
		return q.sessions[m.Group].until
	}
	return m.HiddenTill
}

// lineOf returns the sequence of messages in which a message is delivered.
func (b *Broker) lineOf(q *Queue, m *Message) []*Message {
	for _, line := range b.lines(q) {
		if slices.Contains(line, m) {
			return line
		}
	}
	return nil
}

// GroupOutlook describes a message group. Number is that of its first message.
type GroupOutlook struct {
	State              string
	Until              int64
	Number             int
	Messages, InFlight int
}

// GroupOutlook returns the state of a group.
func (b *Broker) GroupOutlook(q *Queue, group string) GroupOutlook {
	g := GroupOutlook{State: "empty"}
	var head *Message
	for _, line := range b.lines(q) {
		if q.FIFO && line[0].Grouped && line[0].Group == group {
			head, g.Messages, g.Number = line[0], len(line), line[0].Number
			for _, m := range line {
				if b.inFlight(q, m) {
					g.InFlight++
				}
			}
		}
	}
	switch {
	case q.lockOf(group, b.now) != 0:
		g.State, g.Until = "session", q.sessions[group].until
	case head == nil:
	case b.inFlight(q, head):
		g.State, g.Until = "in-flight", head.HiddenTill
	case !b.available(q, head):
		g.State, g.Until = "delayed", b.availableSince(q, head)
	default:
		g.State = b.headState(q, head)
	}
	return g
}

// Groups returns the names of the groups with messages or a lock.
func (b *Broker) Groups(q *Queue) []string {
	names := map[string]bool{}
	for _, m := range q.messages {
		if q.FIFO && m.Grouped {
			names[m.Group] = true
		}
	}
	for name := range q.sessions {
		names[name] = true
	}
	return slices.Sorted(maps.Keys(names))
}

// QueueState is the state of a queue.
func (b *Broker) QueueState(q *Queue) string {
	c := b.Counters(q)
	groups, blocked := 0, 0
	for _, line := range b.lines(q) {
		if !q.FIFO || !line[0].Grouped {
			continue
		}
		groups++
		if b.inFlight(q, line[0]) || b.inSession(q, line[0]) {
			blocked++
		}
	}
	switch {
	case q.Withheld() != "":
		return q.Withheld()
	case b.Deliverable(q):
		return "ready"
	case len(q.messages) == 0:
		return "empty"
	case blocked > 0 && blocked == groups:
		return "blocked"
	case c.NotVisible > 0:
		return "in-flight"
	case c.Delayed > 0:
		return "delayed"
	}
	return "deferred"
}

// Receivable reports whether a receive can take the message with a number: whether it delivers it, or
// moves it to the dead-letter queue.
func (b *Broker) Receivable(q *Queue, number int) (delivers, moves bool) {
	if q.Withheld() != "" {
		return false, false
	}
	for _, line := range b.servingOrder(q) {
		for _, m := range line {
			if m.Number == number {
				moves = b.deadLetterTarget(q, m) != nil
				return !moves, moves
			}
		}
	}
	return false, false
}

// IDOf returns the message with a number, and NumberOf the reverse; 0: there is none.
func (q *Queue) IDOf(number int) int {
	if m := q.numbered(number); m != nil {
		return m.ID
	}
	return 0
}

// NumberOf returns the number of a message, 0 if the queue does not have it.
func (q *Queue) NumberOf(id int) int {
	for _, m := range q.messages {
		if m.ID == id {
			return m.Number
		}
	}
	return 0
}

// Later returns a copy of the model in which one queue has only aged until a time. The copy shares the
// other queues, which it does not change: use it to read.
func (b *Broker) Later(name string, at int64) *Broker {
	q := b.queues[name]
	aged := *q
	aged.messages, aged.sessions, aged.attempts = nil, map[string]*session{}, nil
	copies := map[*attempt]*attempt{nil: nil}
	for _, a := range q.attempts {
		copies[a] = new(*a)
		aged.attempts = append(aged.attempts, copies[a])
	}
	for _, m := range q.messages {
		m = new(*m)
		m.attempt = copies[m.attempt]
		aged.messages = append(aged.messages, m)
	}
	for name, s := range q.sessions {
		aged.sessions[name] = new(*s)
	}
	aged.history.rules = &aged.Settings.Deduplication
	aged.quietUntil = 0
	later := *b
	later.queues = maps.Clone(b.queues)
	later.queues[name] = &aged
	later.lastNumber = maps.Clone(b.lastNumber)
	later.age(name, at)
	return &later
}

// age lets time pass for one queue of a copy.
func (b *Broker) age(name string, at int64) {
	one := *b
	one.queues, one.topics = map[string]*Queue{name: b.queues[name]}, nil
	one.Advance(at)
	one.Tick() // it has no dead-letter queue here, and loses what expired
	b.now = one.now
}

// NextDeliverable returns the first time at which a receive delivers or dead-letters a message, if
// there are no commands until then; 0: never.
func (b *Broker) NextDeliverable(name string) int64 {
	later := b.Later(name, b.now)
	for {
		q := later.queues[name]
		if later.Deliverable(q) {
			return later.now
		}
		deadlines := later.Deadlines(q)
		if len(deadlines) == 0 {
			return 0
		}
		later.age(name, slices.Min(deadlines))
	}
}

// FreeAt returns when a queue accepts a send with an id again, 0 if it does now. After a change of the
// scope, an id may be known in several.
func (b *Broker) FreeAt(q *Queue, id DedupID) int64 { return b.freeAtOf(&q.history, id) }

// TopicFreeAt is FreeAt for a publish to a FIFO topic.
func (b *Broker) TopicFreeAt(t *Topic, id DedupID) int64 { return b.freeAtOf(&t.history, id) }

func (b *Broker) freeAtOf(h *history, id DedupID) (at int64) {
	for _, r := range h.accepted {
		if b.matches(h, r, id) {
			at = max(at, r.acceptedAt+h.rules.Window*1000)
		}
	}
	return at
}

// TopicIDs returns the remembered ids of a topic.
func (b *Broker) TopicIDs(t *Topic) (list []DedupID) {
	for _, r := range t.history.accepted {
		if b.live(&t.history, r) {
			id := DedupID{ID: r.id}
			if r.scope != scopeQueue && r.part != r.id {
				id.Group = r.part
			}
			list = append(list, id)
		}
	}
	return list
}

// HistoryFull reports whether MaxDeduplicationEntries refuses a send with an id that is not known, and
// a body that is not known.
func (b *Broker) HistoryFull(q *Queue, id string) bool {
	return !q.Settings.DeduplicationOff && b.historyFull(&q.history, len(b.deduplicationIDs(&q.history, id, "")))
}

// Passes reports whether a publish passes the filter of a subscription, and Fits whether the queue of a
// subscription can take it.
func (s *Subscription) Passes(e PublishEntry) bool {
	return s.passes(&Publication{Text: e.Message, Attributes: e.Attributes})
}

// Fits reports whether a topic can deliver to the queue of a subscription.
func (b *Broker) Fits(t *Topic, s *Subscription) bool {
	q := b.queues[s.Queue]
	return q != nil && (t.FIFO || !q.FIFO)
}

// UpToDate reports whether nothing in a queue is overdue. After a shorter MessageRetentionPeriod, old
// messages leave with the next command.
func (b *Broker) UpToDate(q *Queue) bool {
	return !slices.ContainsFunc(q.messages, func(m *Message) bool { return b.over(q, m) })
}
