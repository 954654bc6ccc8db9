package queue

import (
	"crypto/sha256"
	"strconv"
	"strings"

	"github.com/seriatimq/seriatim/queue/content"
	"github.com/seriatimq/seriatim/queue/deduplication"
	"github.com/seriatimq/seriatim/queue/identifier"
	"github.com/seriatimq/seriatim/queue/logtime"
	"github.com/seriatimq/seriatim/queue/refusal"
)

// SendMessages is SendMessage and SendMessageBatch.
type SendMessages struct {
	Queue    string
	SenderID string
	Batch    bool // selects the error texts of the batch action
	Entries  []SendEntry
	// Streamed says that the messages are those of a stream of the native API, of
	// which one command may have more than a batch: StreamEntriesMax.
	Streamed bool
	// RepeatedSince is set on a send that may be in the log already, at this log
	// time or later: it is refused, whole, unless the queue still knows every id
	// accepted since then. Zero: it was not proposed before.
	RepeatedSince Timestamp
}

// QueueName implements Command.
func (c *SendMessages) QueueName() string { return c.Queue }

// Validate checks what every queue of this name demands of a message. A batch
// is refused only as a whole, or if each of its entries is.
func (c *SendMessages) Validate() *Error {
	_, err := c.check()
	return err
}

// wellFormed checks the number of entries and the sender id.
func (c *SendMessages) wellFormed() *Error {
	if err := checkEntries(len(c.Entries), c.Streamed, "SendMessageBatchRequestEntry"); err != nil {
		return err
	}
	if len(c.SenderID) > senderIDLengthMax || content.BadCharacter(c.SenderID) {
		return refusal.InvalidParameter("The sender id is longer than ", strconv.Itoa(senderIDLengthMax), " bytes or has invalid characters.")
	}
	return nil
}

// check is what needs no state: the refusals of single entries, and that of
// the whole command, which is refused if every entry is.
func (c *SendMessages) check() (entries entryRefusals, whole *Error) {
	if err := c.wellFormed(); err != nil {
		return entries, err
	}
	if err := checkQueueName(c.Queue); err != nil {
		return entries, err
	}
	if err := checkBatchBytes(c); err != nil {
		return entries, err
	}
	rules := rulesOfName(c.Queue)
	for i := range c.Entries {
		entries.add(i, len(c.Entries), rules.check(&c.Entries[i], c.Batch))
	}
	if entries.count == len(c.Entries) {
		return entries, entries.first
	}
	return entries, nil
}

func (c *SendMessages) prepare() (Prepared, *Error) {
	refused, err := c.check()
	if err != nil {
		return Prepared{}, err
	}
	ready := *c
	ready.Entries = withoutRefused(c.Entries, refused, func(e SendEntry) SendEntry {
		return SendEntry{GroupIDGiven: e.GroupIDGiven, DeduplicationIDGiven: e.DeduplicationIDGiven}
	})
	if isFIFOName(c.Queue) {
		ready.hashContents()
	}
	return Prepared{Command: &ready, refusals: refused.errs}, nil
}

func (c *SendMessages) refuse(_ *Broker, q *Queue) (Result, *Error) {
	if err := c.wellFormed(); err != nil {
		return nil, err
	}
	if err := checkSendBatch(&q.attributes, c); err != nil {
		return nil, err
	}
	out := MessagesSent{Entries: make([]SentEntry, len(c.Entries))}
	for i := range c.Entries {
		err := checkSend(&q.attributes, &c.Entries[i], c.Batch)
		if !c.Batch || err == nil {
			return nil, err
		}
		out.Entries[i].Err = err
	}
	return out, nil
}

// hashContents computes the content hashes that a FIFO queue may deduplicate
// by, so that the state machine of every node need not.
func (c *SendMessages) hashContents() {
	for i := range c.Entries {
		if e := &c.Entries[i]; !e.DeduplicationIDGiven && e.ContentHash == nil && e.Body != "" {
			sum := sha256.Sum256([]byte(e.Body))
			e.ContentHash = sum[:]
		}
	}
}

// apply is SendMessage and SendMessageBatch. Entries are accepted in
// order, so a repeated deduplication id inside one batch is a duplicate of the
// earlier entry.
func (c *SendMessages) apply(b *Broker) (Result, *Error) {
	q := b.beginNow(c.Queue)
	if q == nil {
		return nil, refusal.NoSuchQueue()
	}
	if c.RepeatedSince != 0 && !q.remembersSince(c.RepeatedSince, b.now) {
		return nil, refusal.New(refusal.UnsupportedOperation, "The send may have been accepted before, and the queue would not know it.")
	}
	if err := checkSendBatch(&q.attributes, c); err != nil {
		return nil, err
	}
	out := MessagesSent{Entries: b.sent.Take(len(c.Entries))}
	for i := range c.Entries {
		sent := b.sendEntry(q, &c.Entries[i], c)
		if sent.Err != nil && !c.Batch {
			return nil, sent.Err
		}
		out.Entries[i] = sent
	}
	return out, nil
}

// remembersSince reports whether whatever was accepted at a log time or later is
// still known by the rules in force now, and no id was forgotten on request. A change at
// that very time may have been before or after.
func (q *Queue) remembersSince(since, now Timestamp) bool {
	return q.deduplication.Remembers(since, now) && max(q.createdAt, q.modifiedAt, q.purgedAt, q.forgotAt) < since
}

func (b *Broker) sendEntry(q *Queue, e *SendEntry, c *SendMessages) SentEntry {
	if err := checkSend(&q.attributes, e, c.Batch); err != nil {
		return SentEntry{Err: err}
	}
	s := sending{entry: e, attributes: e.Attributes}
	if q.attributes.ReservedAttributes {
		if err := s.takeReserved(); err != nil {
			return SentEntry{Err: err}
		}
	}
	s.takeOptions()
	s.ids = q.deduplicationIDs(e, s.partition)
	if e.DeduplicationIDGiven {
		s.ids = b.sought.complete(s.ids)
	}
	if deduplicates := q.attributes.FIFO && !q.attributes.Deduplication.Disabled; deduplicates {
		if first, found := q.deduplication.Find(b.key, s.ids, b.now); found {
			return SentEntry{
				MessageID: identifier.NewMessageID(b.key, q.incarnation, first.Sequence()),
				Sequence:  SequenceNumber(first.Sequence()),
				Duplicate: true,

				FirstAcceptedAt:  Timestamp(first.AcceptedAt),
				FirstIsScheduled: q.isScheduled(first.Sequence(), b.now),
			}
		}
		if limit := q.attributes.Deduplication.EntriesMax; limit > 0 && q.deduplication.CountLive(b.now)+entriesOf(s.ids) > limit {
			return SentEntry{Err: refusal.New(refusal.OverLimit, "The queue remembers as many deduplication ids as "+
				"MaxDeduplicationEntries allows. Raise the limit, shorten the window, or retry when ids have expired.")}
		}
		if err := b.roomFor(q, &s); err != nil {
			return SentEntry{Err: err}
		}
		q.deduplication.Remember(b.key, s.ids, q.lastSequence+1, b.now)
	} else if err := b.roomFor(q, &s); err != nil {
		return SentEntry{Err: err}
	}
	return b.accept(q, &s, b.intern(c.SenderID))
}

// soughtTogether is for how many ids the processor reads ahead: what is read for thousands
// is out of its caches again before it is needed.
const soughtTogether = 64

// sought are the deduplication ids of the next sends of an entry, in order.
type sought struct {
	keys []deduplication.SoughtKey
	next int
	read uint64 // means nothing, see Deduplicator.Warm
}

func (s *sought) reset() {
	clear(s.keys)
	s.keys, s.next = s.keys[:0], 0
}

// complete is ids with their key, if it is known.
func (s *sought) complete(ids deduplication.IDs) deduplication.IDs {
	for s.next < len(s.keys) {
		s.next++
		if with, known := ids.WithKey(&s.keys[s.next-1]); known {
			return with
		}
	}
	return ids
}

// seek computes the keys of the ids that the next sends of an entry bring along, and has
// the processor read where they would be, all at the same time. n is how many commands it
// did this for, at least one.
func (b *Broker) seek(commands []Command) (n int) {
	b.sought.reset()
	for n < len(commands) && len(b.sought.keys) < soughtTogether {
		if c, sends := commands[n].(*SendMessages); sends {
			b.seekFor(c)
		}
		n++
	}
	return n
}

func (b *Broker) seekFor(c *SendMessages) {
	q, _ := b.queues.Get(c.Queue)
	if q == nil || !q.attributes.FIFO {
		return
	}
	first := len(b.sought.keys)
	for i := range c.Entries {
		if e := &c.Entries[i]; e.DeduplicationIDGiven {
			b.sought.keys = append(b.sought.keys, q.deduplication.Seek(b.key, e.DeduplicationID, e.GroupID))
		}
	}
	b.sought.read |= q.deduplication.Warm(b.sought.keys[first:])
}

// entriesOf is how many entries of the window an accepted send takes.
func entriesOf(ids deduplication.IDs) int64 {
	if ids.Second() != "" {
		return 2
	}
	return 1
}

// sending is one entry on its way into the queue.
type sending struct {
	entry       *SendEntry
	moved       bool // with body; else entry has the text
	body        Body
	ids         deduplication.IDs
	attributes  []MessageAttribute
	scheduledAt Timestamp
	partition   string
	published   *publishedMessage // instead of a body and attributes
}

// takeReserved splits the reserved message attributes off (servicebus.md 5.3).
func (s *sending) takeReserved() *Error {
	var err *Error
	s.scheduledAt, s.partition, s.attributes, err = content.SplitReserved(s.attributes)
	if err == nil && s.partition != "" && s.entry.GroupID != "" && s.partition != s.entry.GroupID {
		err = refusal.InvalidValue(s.partition, content.PartitionKeyName,
			"It must be equal to MessageGroupId when both are given.")
	}
	return err
}

// deduplicationIDs are the ids of a send.
func (q *Queue) deduplicationIDs(e *SendEntry, partition string) deduplication.IDs {
	ids := deduplication.IDs{Own: e.DeduplicationID, Group: e.GroupID, Partition: partition}
	if !q.attributes.FIFO {
		return ids
	}
	return q.attributes.Deduplication.WithContent(ids, e.Body, e.ContentHash)
}

// accept stores a new message.
func (b *Broker) accept(q *Queue, s *sending, sender *string) SentEntry {
	q.lastSequence++
	if !s.moved {
		b.keepTexts(q, s)
	}
	m := q.made.plain.New()
	*m = Message{
		sequence: q.lastSequence,
		body:     s.body,
		group:    q.groups.intern(s.entry.GroupID),
		sentAt:   b.now,
		sender:   sender,
	}
	if q.attributes.FIFO {
		m.deduplicationID = s.ids.Own
	}
	if len(s.attributes) > 0 || s.entry.TraceHeader != "" || s.partition != "" || s.published != nil {
		m.extra = &messageExtra{attributes: s.attributes, traceHeader: s.entry.TraceHeader, partition: s.partition, published: s.published}
	}
	sent := SentEntry{MessageID: identifier.NewMessageID(b.key, q.incarnation, m.sequence)}
	if q.attributes.FIFO {
		sent.Sequence = SequenceNumber(m.sequence)
	}
	m.seal(b.key)
	if s.scheduledAt > b.now {
		m.delivery = &delivery{visibleAt: s.scheduledAt}
		q.insertScheduled(b.key, m)
		return sent
	}
	if delay := q.delayFor(s.entry); delay > 0 {
		m.delivery = &delivery{visibleAt: b.now.Add(delay)}
	}
	q.insert(b.key, m)
	return sent
}

// keepTexts gives a new message texts of its own: those of a command share the memory of
// its whole entry.
func (b *Broker) keepTexts(q *Queue, s *sending) {
	id := s.ids.Own
	switch {
	case s.published != nil: // the publication has its own, for all
	case b.stores(s.entry.Body):
		s.body = b.keep(s.entry.Body)
		s.ids.Own = strings.Clone(id)
	case !q.attributes.FIFO || id == "":
		s.body = content.NewBody(strings.Clone(s.entry.Body))
	default: // one allocation for both
		both := s.entry.Body + id
		at := len(s.entry.Body)
		s.body, s.ids.Own = content.NewBody(both[:at]), both[at:]
	}
}

// delayFor is the delay of one message of a standard queue. FIFO queues have
// only a delay of the queue, see Queue.availableAt.
func (q *Queue) delayFor(e *SendEntry) logtime.Duration {
	if q.attributes.FIFO {
		return 0
	}
	return logtime.Seconds(e.DelaySeconds.Or(q.attributes.DelaySeconds))
}

// MessagesSent answers SendMessages, one entry each in request order.
type MessagesSent struct{ Entries []SentEntry }

// SentEntry is the outcome of one SendEntry.
type SentEntry struct {
	Err       *Error // set if this entry was refused, the rest is then empty
	MessageID MessageID
	Sequence  SequenceNumber // zero on standard queues
	// Duplicate says that nothing was stored: id and number are those of
	// the first message with this deduplication id.
	Duplicate bool
	// Of a duplicate: when the first message was accepted, and whether it still
	// waits for its time of enqueueing, so that Sequence can cancel it.
	FirstAcceptedAt  Timestamp
	FirstIsScheduled bool
}

func (MessagesSent) result() {}

// SendEntry is one message to send.
type SendEntry struct {
	Body                 string
	Attributes           []MessageAttribute // in request order, sorted by the accepting node
	TraceHeader          string             // AWSTraceHeader, empty if absent
	GroupID              string
	GroupIDGiven         bool // an empty id that was given is an error, an absent one may not be
	DeduplicationID      string
	DeduplicationIDGiven bool
	DelaySeconds         Int
	// ContentHash is the SHA-256 of Body if the accepting node computed it
	// already, else nil and the broker computes it when a rule needs it.
	ContentHash []byte
	// Options are what no SQS client asks for, nil if nothing of it was.
	Options *SendOptions
}
