package queue

import (
	"strconv"

	"github.com/seriatimq/seriatim/queue/limits"
	"github.com/seriatimq/seriatim/queue/message"
	"github.com/seriatimq/seriatim/queue/refusal"
)

// CommitTransaction sends messages and ends the delivery of received ones, all or none (Service Bus). An
// error says that nothing changed.
type CommitTransaction struct {
	Sends       []SendMessages // atomic ones, at most one for each queue
	Publishes   []Publish      // at most one for each topic
	Settlements []Settlement
}

// Settlement ends the delivery of one message under its lock.
type Settlement struct {
	Queue   string
	Session SessionRef // zero if it was received without a session
	Action  SettlementAction
	// DeadLetterEntry has a reason and a description for DeadLetterMessage only.
	DeadLetterEntry
	Changes []PropertyChange // none for CompleteMessage
}

// SettlementAction is the end of a delivery.
type SettlementAction uint8

// Actions. The log contains the numbers.
const (
	CompleteMessage   SettlementAction = 1 // deletes it
	AbandonMessage    SettlementAction = 2 // makes it available
	GiveBackMessage   SettlementAction = 3 // makes it available, and the delivery does not count
	DeferMessage      SettlementAction = 4
	DeadLetterMessage SettlementAction = 5
)

// QueueName implements Command: a transaction is not about one queue.
func (*CommitTransaction) QueueName() string { return "" }

// Validate makes the checks that need no state.
func (c *CommitTransaction) Validate() *Error {
	if err := c.wellFormed(); err != nil {
		return err
	}
	for i := range c.Sends {
		if err := c.Sends[i].Validate(); err != nil {
			return err
		}
	}
	for i := range c.Publishes {
		if err := c.Publishes[i].Validate(); err != nil {
			return err
		}
	}
	for i := range c.Settlements {
		if err := c.Settlements[i].check(); err != nil {
			return err
		}
	}
	return nil
}

// wellFormed checks the size of the transaction and the form of its parts.
func (c *CommitTransaction) wellFormed() *Error {
	entries, bytes := len(c.Settlements), int64(0)
	named := map[string]bool{} // queues, and topics after a blank
	for i := range c.Sends {
		s := &c.Sends[i]
		if err := s.wellFormed(); err != nil {
			return err
		}
		if !s.Atomic || s.RepeatedSince != 0 || named[s.Queue] {
			return refusal.InvalidParameter("A transaction has one atomic send for each queue.")
		}
		named[s.Queue] = true
		entries += len(s.Entries)
		for j := range s.Entries {
			bytes += s.Entries[j].size()
		}
	}
	for i := range c.Publishes {
		p := &c.Publishes[i]
		if err := p.wellFormed(); err != nil {
			return err
		}
		if p.RepeatedSince != 0 || named[" "+p.Topic] {
			return refusal.InvalidParameter("A transaction has one publish for each topic.")
		}
		named[" "+p.Topic] = true
		entries += len(p.Entries)
		for j := range p.Entries {
			bytes += p.Entries[j].size()
		}
	}
	for i := range c.Settlements {
		s := &c.Settlements[i]
		if s.Action < CompleteMessage || s.Action > DeadLetterMessage {
			return refusal.InvalidParameter("A settlement has an unknown action.")
		}
		if err := checkSession(s.Queue, s.Session); err != nil {
			return err
		}
		bytes += s.size()
	}
	if err := checkEntries(entries, limits.AtomicEntriesMax, "entry"); err != nil {
		return err
	}
	if bytes > limits.BatchBytesMax {
		return refusal.New(refusal.BatchRequestTooLong, "A transaction cannot be longer than ", strconv.Itoa(limits.BatchBytesMax),
			" bytes. This one has ", strconv.FormatInt(bytes, 10), " bytes.")
	}
	return nil
}

// size returns the bytes that count against the limit of a transaction.
func (s *Settlement) size() int64 {
	n := len(s.Queue) + len(s.Session.SessionID) + len(s.Handle) + len(s.Reason) + len(s.Description)
	for i := range s.Changes {
		n += len(s.Changes[i].Name) + len(s.Changes[i].Value)
	}
	return int64(n)
}

// check makes the checks that need no state.
func (s *Settlement) check() *Error {
	if err := checkQueueName(s.Queue); err != nil {
		return err
	}
	if !(&SettlementOptions{}).readable(s.Handle) {
		return invalidHandle(s.Handle)
	}
	switch {
	case s.Action != DeadLetterMessage && (s.Reason != "" || s.Description != ""):
		return refusal.InvalidParameter("Only a dead letter has a reason and a description.")
	case s.Action == CompleteMessage && len(s.Changes) > 0:
		return refusal.InvalidParameter("A completed message has no changed properties.")
	}
	if err := s.DeadLetterEntry.check(); err != nil {
		return err
	}
	return message.CheckChanges(s.Changes)
}

// prepare makes the checks, and computes the content hashes once for all replicas.
func (c *CommitTransaction) prepare() (Prepared, *Error) {
	if err := c.Validate(); err != nil {
		return Prepared{}, err
	}
	ready := *c
	ready.Sends, ready.Publishes = make([]SendMessages, len(c.Sends)), make([]Publish, len(c.Publishes))
	for i := range c.Sends {
		p, err := c.Sends[i].prepare()
		if err != nil {
			return Prepared{}, err
		}
		ready.Sends[i] = *p.Command.(*SendMessages)
	}
	for i := range c.Publishes {
		p, err := c.Publishes[i].prepare()
		if err != nil {
			return Prepared{}, err
		}
		ready.Publishes[i] = *p.Command.(*Publish)
	}
	return Prepared{Command: &ready}, nil
}

// apply checks every part before it changes anything. A step after the checks has no error.
func (c *CommitTransaction) apply(b *Broker) (Result, *Error) {
	if err := c.begin(b); err != nil {
		return nil, err
	}
	t := transaction{b: b, settled: map[settledMessage]bool{}}
	err := t.check(c)
	t.uncount()
	if err != nil {
		return nil, err
	}
	for i := range c.Settlements {
		t.applySettlement(&c.Settlements[i], t.messages[i])
	}
	var out TransactionCommitted
	for i := range c.Sends {
		s := &c.Sends[i]
		q := b.begin(s.Queue)
		q.usedAt = b.now
		sent := MessagesSent{Entries: make([]SentEntry, len(s.Entries))}
		for j := range s.Entries {
			sent.Entries[j] = b.sendEntry(q, &s.Entries[j], s)
		}
		out.Sends = append(out.Sends, sent)
	}
	for i := range c.Publishes {
		out.Publishes = append(out.Publishes, c.Publishes[i].publish(b, t.publishing[i]))
	}
	return out, nil
}

// TransactionCommitted answers CommitTransaction, with one element for each send and publish.
type TransactionCommitted struct {
	Sends     []MessagesSent
	Publishes []Published
}

func (TransactionCommitted) result() {}

// begin refuses unknown queues and topics, and expires overdue records of the others. This comes before
// all checks, because expiry can move messages to other queues of the transaction.
func (c *CommitTransaction) begin(b *Broker) *Error {
	var names []string
	known := map[string]bool{}
	add := func(name string) {
		if !known[name] {
			known[name] = true
			names = append(names, name)
		}
	}
	for i := range c.Settlements {
		add(c.Settlements[i].Queue)
	}
	for i := range c.Sends {
		add(c.Sends[i].Queue)
	}
	for _, name := range names {
		if _, exists := b.queues.Get(name); !exists {
			return refusal.NoSuchQueue()
		}
	}
	for i := range c.Publishes {
		if _, exists := b.topics.Get(c.Publishes[i].Topic); !exists {
			return refusal.NoSuchTopic()
		}
	}
	for _, name := range names {
		b.beginNow(name)
	}
	return nil
}

// transaction is a CommitTransaction that is being applied.
type transaction struct {
	b          *Broker
	messages   []*Message // of the settlements
	settled    map[settledMessage]bool
	publishing [][]publishing // of the publishes
	counted    []countedAhead
}

type settledMessage struct {
	queue    string
	sequence uint64
}

// countedAhead is usage that the transaction will cause. Each check finds the usage after the parts before
// it, so that completed messages make room for those that are sent.
type countedAhead struct {
	q               *Queue
	messages, bytes int64
}

func (t *transaction) count(q *Queue, messages, bytes int64) {
	q.use(messages, bytes)
	t.counted = append(t.counted, countedAhead{q, messages, bytes})
}

func (t *transaction) uncount() {
	for _, c := range t.counted {
		c.q.use(-c.messages, -c.bytes)
	}
}

// check returns the first error of a part.
func (t *transaction) check(c *CommitTransaction) *Error {
	for i := range c.Settlements {
		if err := t.checkSettlement(&c.Settlements[i]); err != nil {
			return err
		}
	}
	for i := range c.Sends {
		s := &c.Sends[i]
		q := t.b.begin(s.Queue)
		if err := s.refusedBy(t.b, q); err != nil {
			return err
		}
		bytes := int64(0)
		for j := range s.Entries {
			bytes += s.Entries[j].size()
		}
		t.count(q, int64(len(s.Entries)), bytes)
	}
	for i := range c.Publishes {
		p := &c.Publishes[i]
		of, _ := t.b.topics.Get(p.Topic)
		entries, err := p.check(t.b, of)
		if err != nil {
			return err
		}
		t.publishing = append(t.publishing, entries)
	}
	return nil
}

// checkSettlement refuses a settlement that would fail after those before it.
func (t *transaction) checkSettlement(s *Settlement) *Error {
	q := t.b.begin(s.Queue)
	if s.Action != AbandonMessage && s.Action != GiveBackMessage {
		if err := q.refusesRemoval(); err != nil {
			return err
		}
	}
	if s.Action == DeadLetterMessage && t.b.redriveRule(q).target == nil {
		return noDeadLetterQueue()
	}
	m, err := t.b.lockedMessage(q, s.Handle, s.Session)
	if err != nil {
		return err
	}
	this := settledMessage{s.Queue, m.sequence}
	if t.settled[this] {
		return messageLockLost()
	}
	if _, err := m.encodedWith(s.Changes); err != nil {
		return err
	}
	t.settled[this] = true
	t.messages = append(t.messages, m)
	if s.Action == CompleteMessage {
		t.count(q, -1, -m.contentBytes())
	}
	return nil
}

// applySettlement applies a settlement to the message that checkSettlement has found.
func (t *transaction) applySettlement(s *Settlement, m *Message) {
	q := t.b.begin(s.Queue)
	q.usedAt = t.b.now
	changed, _ := m.withChanges(t.b.key, s.Changes)
	switch s.Action {
	case CompleteMessage:
		t.b.deleteFound(q, m)
	case AbandonMessage, GiveBackMessage:
		t.b.hideUntil(q, m, changed, t.b.now, s.Action == GiveBackMessage)
	case DeferMessage:
		t.b.deferLocked(q, m, changed)
	case DeadLetterMessage:
		t.b.deadLetterLocked(q, m, &s.DeadLetterEntry, s.Changes)
	}
}
