package queue

import (
	"crypto/sha256"
	"strconv"
	"strings"

	"github.com/seriatimq/seriatim/queue/deduplication"
	"github.com/seriatimq/seriatim/queue/identifier"
	"github.com/seriatimq/seriatim/queue/limits"
	"github.com/seriatimq/seriatim/queue/logtime"
	"github.com/seriatimq/seriatim/queue/message"
	"github.com/seriatimq/seriatim/queue/refusal"
)

// SendMessages is the command for SendMessage and SendMessageBatch.
type SendMessages struct {
	Queue    string
	SenderID string
	Batch    bool // selects the error texts of the batch action
	Entries  []SendEntry
	// Streamed permits up to StreamEntriesMax entries, for a stream of the native API.
	Streamed bool
	// Atomic stores all entries of a Batch or none, and permits up to AtomicEntriesMax of them.
	Atomic bool
	// RepeatedSince is set if the log may already contain this send, at this log time or later. The
	// whole send is refused unless the queue still remembers every id accepted since then. Zero:
	// not proposed before.
	RepeatedSince Timestamp
}

// QueueName implements Command.
func (c *SendMessages) QueueName() string { return c.Queue }

// Validate checks the entries by the rules for the queue's name. A batch is refused only as a
// whole, or if all entries are refused.
func (c *SendMessages) Validate() *Error {
	_, err := c.check()
	return err
}

func (c *SendMessages) entriesMax() int {
	if c.Atomic {
		return limits.AtomicEntriesMax
	}
	return entriesMax(c.Streamed)
}

// wellFormed checks the number of entries and the sender id.
func (c *SendMessages) wellFormed() *Error {
	if err := checkEntries(len(c.Entries), c.entriesMax(), "SendMessageBatchRequestEntry"); err != nil {
		return err
	}
	if c.Atomic && !c.Batch {
		return refusal.InvalidParameter("An atomic send is a batch.")
	}
	if len(c.SenderID) > senderIDLengthMax || message.BadCharacter(c.SenderID) {
		return refusal.InvalidParameter("The sender id is longer than ", strconv.Itoa(senderIDLengthMax),
			" bytes or has invalid characters.")
	}
	return nil
}

// check makes the checks that need no state. whole is also set if all entries are refused.
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
		e := &c.Entries[i]
		err := rules.check(e, c.Batch)
		if err == nil {
			err = checkSections(e.Body, e.Encoded)
		}
		entries.add(i, len(c.Entries), err)
	}
	if entries.count == len(c.Entries) || c.Atomic {
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

// hashContents computes the content hashes for a FIFO queue once, for all replicas.
func (c *SendMessages) hashContents() {
	for i := range c.Entries {
		if e := &c.Entries[i]; !e.DeduplicationIDGiven && e.ContentHash == nil && (e.Body != "" || !e.Encoded.IsText()) {
			sum := sha256.Sum256([]byte(e.Body))
			e.ContentHash = sum[:]
		}
	}
}

// apply stores the entries in order, so a repeated deduplication id within the batch is a
// duplicate.
func (c *SendMessages) apply(b *Broker) (Result, *Error) {
	q := b.beginNow(c.Queue)
	if q == nil {
		return nil, refusal.NoSuchQueue()
	}
	if c.RepeatedSince != 0 && !q.remembersSince(c.RepeatedSince, b.now) {
		return nil, refusal.New(refusal.UnsupportedOperation, "The queue can no longer detect whether it accepted this send before.")
	}
	if err := c.refusedBy(b, q); err != nil {
		return nil, err
	}
	out := MessagesSent{Entries: b.scratch.sent.Take(len(c.Entries))}
	for i := range c.Entries {
		sent := b.sendEntry(q, &c.Entries[i], c)
		if sent.Err != nil && !c.Batch {
			return nil, sent.Err
		}
		out.Entries[i] = sent
	}
	return out, nil
}

// refusedBy returns the error that refuses the send as a whole.
func (c *SendMessages) refusedBy(b *Broker, q *Queue) *Error {
	if err := q.refusesSends(); err != nil {
		return err
	}
	if err := checkSendBatch(&q.attributes, c); err != nil {
		return err
	}
	if c.Atomic {
		return b.checkAtomic(q, c)
	}
	return nil
}

// checkAtomic refuses a send unless every entry will be stored or was stored before, so that a repeated
// send has its answer also in a full queue. It counts duplicates within the send as if they were stored.
func (b *Broker) checkAtomic(q *Queue, c *SendMessages) *Error {
	messages, ids, bytes := int64(0), int64(0), int64(0)
	for i := range c.Entries {
		e := &c.Entries[i]
		if err := checkSend(&q.attributes, e, c.Batch); err != nil {
			return err
		}
		p, err := placingOf(e.Attributes, e.GroupID, e.Options, q.attributes.ReservedAttributes)
		if err != nil {
			return err
		}
		if id := q.deduplicationIDs(e, p.partition); q.attributes.FIFO && !q.attributes.Deduplication.Disabled {
			if _, found := q.deduplication.Find(b.key, id, b.now); found {
				continue
			}
			ids += entriesOf(id)
		}
		messages++
		bytes += e.size()
	}
	if messages == 0 {
		return nil
	}
	if err := b.roomForIDs(q, ids); err != nil {
		return err
	}
	return b.roomForMessages(q, messages, bytes)
}

// remembersSince reports whether the queue remembers every id accepted at a log time or later. A
// change of the queue at that very time counts as later.
func (q *Queue) remembersSince(since, now Timestamp) bool {
	return q.deduplication.Remembers(since, now) && max(q.createdAt, q.modifiedAt, q.purgedAt, q.forgotAt) < since
}

func (b *Broker) sendEntry(q *Queue, e *SendEntry, c *SendMessages) SentEntry {
	if err := checkSend(&q.attributes, e, c.Batch); err != nil {
		return SentEntry{Err: err}
	}
	s := sending{entry: e, encoded: e.Encoded.OrNil()}
	var err *Error
	if s.placing, err = placingOf(e.Attributes, e.GroupID, e.Options, q.attributes.ReservedAttributes); err != nil {
		return SentEntry{Err: err}
	}
	s.ids = q.deduplicationIDs(e, s.placing.partition)
	if e.DeduplicationIDGiven {
		s.ids = b.scratch.prefetched.withKey(s.ids)
	}
	deduplicates := q.attributes.FIFO && !q.attributes.Deduplication.Disabled
	if deduplicates {
		if first, found := q.deduplication.Find(b.key, s.ids, b.now); found {
			return SentEntry{
				MessageID: identifier.NewMessageID(b.key, q.incarnation, first.Sequence()),
				Sequence:  SequenceNumber(first.Sequence()),
				Duplicate: true,

				FirstAcceptedAt:  Timestamp(first.AcceptedAt),
				FirstIsScheduled: q.isScheduled(first.Sequence(), b.now),
			}
		}
	}
	if !c.Atomic { // checkAtomic found room for all
		if err := b.roomForEntry(q, &s, deduplicates); err != nil {
			return SentEntry{Err: err}
		}
	}
	if deduplicates {
		q.deduplication.Remember(b.key, s.ids, q.lastSequence+1, b.now)
	}
	return b.accept(q, &s, b.intern(c.SenderID))
}

// roomForEntry refuses a message for which the queue has no room.
func (b *Broker) roomForEntry(q *Queue, s *sending, deduplicates bool) *Error {
	if deduplicates {
		if err := b.roomForIDs(q, entriesOf(s.ids)); err != nil {
			return err
		}
	}
	return b.roomFor(q, s)
}

// roomForIDs refuses n more deduplication ids than MaxDeduplicationEntries allows.
func (b *Broker) roomForIDs(q *Queue, n int64) *Error {
	if limit := q.attributes.Deduplication.EntriesMax; limit == 0 || n == 0 || q.deduplication.CountLive(b.now)+n <= limit {
		return nil
	}
	return refusal.New(refusal.OverLimit, "The queue remembers as many deduplication ids as "+
		"MaxDeduplicationEntries allows. Raise the limit, shorten the window, or retry when ids have expired.")
}

// prefetchBatch is the number of ids to prefetch at once. Larger batches evict entries from the CPU
// cache before they are used.
const prefetchBatch = 64

// prefetched holds the keys of deduplication ids of the next sends, in order.
type prefetched struct {
	keys []deduplication.PrefetchedKey
	next int
	read uint64 // keeps the compiler from removing reads, see Deduplicator.Warm
}

func (s *prefetched) reset() {
	clear(s.keys)
	s.keys, s.next = s.keys[:0], 0
}

// withKey adds the prefetched key of ids, if there is one.
func (s *prefetched) withKey(ids deduplication.IDs) deduplication.IDs {
	for s.next < len(s.keys) {
		s.next++
		if with, known := ids.WithKey(&s.keys[s.next-1]); known {
			return with
		}
	}
	return ids
}

// prefetch computes the keys of deduplication ids in commands and loads their records into the CPU
// cache. It returns the number of commands it handled, at least one.
func (b *Broker) prefetch(commands []Command) (n int) {
	ahead := &b.scratch.prefetched
	ahead.reset()
	for n < len(commands) && len(ahead.keys) < prefetchBatch {
		switch c := commands[n].(type) {
		case *SendMessages:
			b.prefetchFor(c)
		case *CommitTransaction:
			for i := range c.Sends {
				b.prefetchFor(&c.Sends[i])
			}
		}
		n++
	}
	return n
}

func (b *Broker) prefetchFor(c *SendMessages) {
	q, _ := b.queues.Get(c.Queue)
	if q == nil || !q.attributes.FIFO {
		return
	}
	ahead := &b.scratch.prefetched
	first := len(ahead.keys)
	for i := range c.Entries {
		if e := &c.Entries[i]; e.DeduplicationIDGiven {
			ahead.keys = append(ahead.keys, q.deduplication.PrefetchKey(b.key, e.DeduplicationID, e.GroupID))
		}
	}
	ahead.read |= q.deduplication.Warm(ahead.keys[first:])
}

// entriesOf returns the number of records that an accepted send adds.
func entriesOf(ids deduplication.IDs) int64 {
	if ids.Second() != "" {
		return 2
	}
	return 1
}

// sending is an entry that is being sent.
type sending struct {
	placing   placing
	entry     *SendEntry
	moved     bool      // body is set, instead of the text in entry
	id        MessageID // zero: a new one
	body      Body
	ids       deduplication.IDs
	encoded   *Encoded
	published *publishedMessage // replaces body and attributes

	deadLetterSource string // of a dead letter of a topic
}

// deduplicationIDs returns the ids of a send.
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
	ttl := q.attributes.TimeToLive(s.placing.timeToLive)
	attributes, partition := s.placing.attributes, s.placing.partition
	if len(attributes) > 0 || s.entry.TraceHeader != "" || partition != "" || s.published != nil || s.encoded != nil ||
		s.id != (MessageID{}) || ttl != 0 || s.placing.hops != 0 {
		m.extra = &messageExtra{
			id: s.id, attributes: attributes, traceHeader: s.entry.TraceHeader, partition: partition, published: s.published,
			timeToLive: ttl, encoded: s.encoded, hops: s.placing.hops, deadLetterSource: s.deadLetterSource,
		}
	}
	sent := SentEntry{MessageID: m.id(b.key, q.incarnation)}
	if q.attributes.FIFO {
		sent.Sequence = SequenceNumber(m.sequence)
	}
	m.seal(b.key)
	if s.placing.scheduledAt > b.now {
		m.delivery = &delivery{visibleAt: s.placing.scheduledAt}
		q.insertScheduled(b.key, m)
		return sent
	}
	if delay := q.delayFor(s.entry); delay > 0 {
		m.delivery = &delivery{visibleAt: b.now.Add(delay)}
	}
	q.insert(b.key, m)
	return sent
}

// keepTexts copies the texts of a new message, because those of a command share the memory of its
// log entry.
func (b *Broker) keepTexts(q *Queue, s *sending) {
	id := s.ids.Own
	switch {
	case s.published != nil: // the publication has copies for all its messages
	case b.stores(s.entry.Body):
		s.body = b.keep(s.entry.Body)
		s.ids.Own = strings.Clone(id)
	case !q.attributes.FIFO || id == "":
		s.body = message.NewBody(strings.Clone(s.entry.Body))
	default: // one allocation for both
		both := s.entry.Body + id
		at := len(s.entry.Body)
		s.body, s.ids.Own = message.NewBody(both[:at]), both[at:]
	}
}

// delayFor returns the delay of a message to a standard queue. A FIFO queue has one delay for all
// messages, see Queue.availableAt.
func (q *Queue) delayFor(e *SendEntry) logtime.Duration {
	if q.attributes.FIFO {
		return 0
	}
	return logtime.Seconds(e.DelaySeconds.Or(q.attributes.DelaySeconds))
}

// MessagesSent answers SendMessages, with one entry for each in the request.
type MessagesSent struct{ Entries []SentEntry }

// SentEntry is the result of one SendEntry.
type SentEntry struct {
	Err       *Error // if set, the other fields are empty
	MessageID MessageID
	Sequence  SequenceNumber // zero on standard queues
	// Duplicate reports that nothing was stored: MessageID and Sequence are those of the first
	// message with this deduplication id.
	Duplicate bool
	// Set for a duplicate: when the first message was accepted, and whether it is still scheduled,
	// so that Sequence can cancel it.
	FirstAcceptedAt  Timestamp
	FirstIsScheduled bool
}

func (MessagesSent) result() {}

// SendEntry is one message to send.
type SendEntry struct {
	Body         string
	Attributes   []MessageAttribute // as in the request, sorted by the accepting node
	TraceHeader  string             // AWSTraceHeader, empty if absent
	GroupID      string
	GroupIDGiven bool // an empty id is an error if given
	// Native selects the rules of the native API for ids and attributes, instead of those of SQS.
	Native               bool
	DeduplicationIDGiven bool
	DeduplicationID      string
	DelaySeconds         Int
	// ContentHash is the SHA-256 of Body, nil unless Prepare computed it.
	ContentHash []byte
	// Options extend the SQS API; nil for SQS clients.
	Options *SendOptions
	Encoded *Encoded // nil for text
}
