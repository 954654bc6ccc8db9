package reference

import "slices"

// Transaction holds sends, publishes and settlements that happen together or not at all.
type Transaction struct {
	Settlements []Settlement
	Sends       []TransactionSend
	Publishes   []TransactionPublish
}

// Settlement ends the delivery of one message. How is complete, abandon, give back, defer or dead-letter.
type Settlement struct {
	How                 string
	Queue               string
	Session             *SessionRef
	Handle              Handle
	Reason, Description string
	Changes             []Change
}

// TransactionSend sends to one queue.
type TransactionSend struct {
	Queue, Sender string
	Entries       []SendEntry
}

// TransactionPublish publishes to one topic.
type TransactionPublish struct {
	Topic, Sender, Endpoint string
	Entries                 []PublishEntry
}

// Committed has the answers to the sends and publishes of a transaction.
type Committed struct {
	Sent      [][]Sent
	Published [][]Published
}

// Commit checks all parts before it applies the first. Completed messages make room for those that are
// sent.
func (b *Broker) Commit(t Transaction) (done Committed, err *Error) {
	if err := b.beginTransaction(t); err != nil {
		return done, err
	}
	err = b.checkParts(t)
	for _, q := range b.queues {
		q.planned = 0
	}
	if err != nil {
		return done, err
	}
	b.committing = true
	defer func() { b.committing = false }()
	for _, s := range t.Settlements {
		b.applySettlement(s)
	}
	for _, s := range t.Sends {
		b.Use(s.Queue)
		var sent []Sent
		for _, e := range s.Entries {
			sent = append(sent, b.accept(b.queues[s.Queue], s.Sender, e))
		}
		done.Sent = append(done.Sent, sent)
	}
	for _, p := range t.Publishes {
		b.topics[p.Topic].usedAt = b.now
		var published []Published
		for _, e := range p.Entries {
			published = append(published, b.publish(b.topics[p.Topic], p.Sender, p.Endpoint, e))
		}
		done.Published = append(done.Published, published)
	}
	return done, nil
}

// beginTransaction begins the use of the queues, unless one of them or a topic does not exist.
func (b *Broker) beginTransaction(t Transaction) *Error {
	var names []string
	for _, s := range t.Settlements {
		names = append(names, s.Queue)
	}
	for _, s := range t.Sends {
		names = append(names, s.Queue)
	}
	for _, name := range names {
		if b.queues[name] == nil {
			return &Error{"QueueDoesNotExist", "The specified queue does not exist."}
		}
	}
	for _, p := range t.Publishes {
		if b.topics[p.Topic] == nil {
			return topicNotFound()
		}
	}
	for i, name := range names {
		if !slices.Contains(names[:i], name) {
			b.begin(b.queues[name])
		}
	}
	return nil
}

func (b *Broker) checkParts(t Transaction) *Error {
	settled := map[*Message]bool{}
	for _, s := range t.Settlements {
		if err := b.checkSettlement(s, settled); err != nil {
			return err
		}
	}
	for _, s := range t.Sends {
		q := b.queues[s.Queue]
		if err := b.refusesSend(q, true, true, s.Entries); err != nil {
			return err
		}
		for _, e := range s.Entries {
			q.planned += e.size()
		}
	}
	for _, p := range t.Publishes {
		if err := b.refusesPublish(b.topics[p.Topic], p.Entries); err != nil {
			return err
		}
	}
	return nil
}

func (b *Broker) checkSettlement(s Settlement, settled map[*Message]bool) *Error {
	q := b.queues[s.Queue]
	if s.How != "abandon" && s.How != "give back" {
		if err := q.keeps(); err != nil {
			return err
		}
	}
	if target := b.queues[q.redrive().Target]; s.How == "dead-letter" && (target == nil || target == q || target.FIFO != q.FIFO) {
		return &Error{Code: "UnsupportedOperation"}
	}
	m, err := b.locked(q, s.Handle, s.Session)
	if err != nil {
		return err
	}
	if settled[m] {
		return &Error{Code: "MessageLockLost"}
	}
	settled[m] = true
	if s.How == "complete" {
		q.planned -= m.bytes()
	}
	_, err = m.Sent.Parts.with(s.Changes)
	return err
}

// applySettlement applies a settlement that checkSettlement accepted.
func (b *Broker) applySettlement(s Settlement) {
	b.Use(s.Queue)
	var entries []*Error
	var err *Error
	switch s.How {
	case "complete":
		entries, err = b.Complete(s.Queue, s.Session, []Handle{s.Handle})
	case "abandon", "give back":
		entries, err = b.Abandon(s.Queue, s.Session, true, []VisibilityEntry{
			{Handle: s.Handle, Uncounted: s.How == "give back", Changes: s.Changes},
		})
	case "defer":
		entries, err = b.Defer(s.Queue, s.Session, []Handle{s.Handle}, s.Changes)
	case "dead-letter":
		entries, err = b.DeadLetter(s.Queue, s.Session, []DeadLetterEntry{
			{Handle: s.Handle, Reason: s.Reason, Description: s.Description},
		}, s.Changes)
	}
	if err != nil || entries[0] != nil {
		panic("the model accepted a transaction that it cannot apply")
	}
}
