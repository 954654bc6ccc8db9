package queue

import (
	"crypto/sha256"
	"errors"
	"slices"

	"github.com/seriatimq/seriatim/queue/deduplication"
	"github.com/seriatimq/seriatim/queue/identifier"
	"github.com/seriatimq/seriatim/queue/limits"
	"github.com/seriatimq/seriatim/queue/message"
	"github.com/seriatimq/seriatim/queue/notification"
	"github.com/seriatimq/seriatim/queue/refusal"
	"github.com/seriatimq/seriatim/queue/topic"
)

// Publish is the command for Publish and PublishBatch of SNS. One log entry accepts the messages
// and delivers them to the subscribed queues.
type Publish struct {
	Topic    string
	SenderID string
	Endpoint string // URL at which the publisher reached the server, without a trailing slash
	Batch    bool
	Entries  []PublishEntry
	// Large permits the sizes of a queue's atomic send, instead of those of SNS.
	Large bool
	// RepeatedSince is documented at SendMessages.
	RepeatedSince Timestamp
}

// PublishEntry is one message to publish.
type PublishEntry struct {
	// Message is the text for queues, already extracted from a MessageStructure.
	Message              string
	Subject              string
	SubjectGiven         bool               // an empty Subject is an error if given
	Attributes           []MessageAttribute // in the order of the request
	GroupID              string
	GroupIDGiven         bool
	DeduplicationID      string
	DeduplicationIDGiven bool
	// TraceHeader is the AWSTraceHeader, empty if absent.
	TraceHeader string
	// ContentHash is the SHA-256 of Message, nil unless Prepare computed it.
	ContentHash []byte
	// Native selects the rules of the native API for ids, instead of those of SNS.
	Native  bool
	Encoded *Encoded // nil for text
	// Options extend the SNS API; nil for SNS clients.
	Options *SendOptions
}

// QueueName implements Command.
func (*Publish) QueueName() string { return "" }

// Validate makes the checks that need no topic. One bad entry refuses the whole batch (recorded at
// SNS).
func (c *Publish) Validate() *Error {
	if err := c.wellFormed(); err != nil {
		return err
	}
	if err := checkTopic(c.Topic); err != nil {
		return err
	}
	total := int64(0)
	for i := range c.Entries {
		e := &c.Entries[i]
		if err := e.check(isFIFOName(c.Topic), c.messageBytesMax()); err != nil {
			return err
		}
		if err := checkSections(e.Message, e.Encoded); err != nil {
			return err
		}
		total += e.size()
	}
	if c.Batch && total > c.messageBytesMax() {
		return refusal.New(refusal.BatchRequestTooLong, "The length of all the messages put together is more than the limit.")
	}
	return nil
}

// messageBytesMax bounds each message, and all messages of a batch together.
func (c *Publish) messageBytesMax() int64 {
	if c.Large {
		return limits.BatchBytesMax
	}
	return limits.PublishBytesMax
}

func (c *Publish) entriesMax() int {
	if c.Large {
		return limits.AtomicEntriesMax
	}
	return limits.BatchEntriesMax
}

// publishEndpointLengthMax bounds the URL that messages carry; ours.
const publishEndpointLengthMax = 512

// wellFormed checks the number of entries, the sender and the endpoint.
func (c *Publish) wellFormed() *Error {
	switch n := len(c.Entries); {
	case n == 0:
		return refusal.New(refusal.EmptyBatchRequest, "The batch request doesn't contain any entries.")
	case n > c.entriesMax() || n > 1 && !c.Batch:
		return refusal.New(refusal.TooManyEntriesInBatchRequest, "The batch request contains more entries than permissible.")
	case len(c.SenderID) > senderIDLengthMax || message.BadCharacter(c.SenderID):
		return refusal.SNSInvalid("the sender id is too long or has invalid characters")
	case len(c.Endpoint) > publishEndpointLengthMax || message.BadCharacter(c.Endpoint):
		return refusal.SNSInvalid("the endpoint is too long or has invalid characters")
	}
	return nil
}

// check checks one entry, in the order of sns.md 3.5.
func (e *PublishEntry) check(fifo bool, bytesMax int64) *Error {
	if err := e.checkMessage(bytesMax); err != nil {
		return err
	}
	if err := e.checkIDs(fifo); err != nil {
		return err
	}
	if e.Encoded != nil {
		if err := e.Encoded.Check(e.Message); err != nil {
			return err
		}
	}
	if e.Encoded.IsText() && message.BadCharacter(e.Message) {
		return refusal.SNSInvalid("Message Reason: invalid characters found")
	}
	if !message.ValidTraceHeader(e.TraceHeader) {
		return refusal.SNSInvalid("AWSTraceHeader Reason: it is too long or has invalid characters")
	}
	return nil
}

// CheckMessage checks subject, message, attributes and size by the rules of SNS, without ids and
// characters.
func (e *PublishEntry) CheckMessage() *Error { return e.checkMessage(limits.PublishBytesMax) }

func (e *PublishEntry) checkMessage(bytesMax int64) *Error {
	var wrong error
	switch {
	case e.SubjectGiven && notification.CheckSubject(e.Subject) != nil:
		wrong = notification.ErrSubject
	case e.Encoded.IsText() && notification.CheckNotEmpty(e.Message) != nil:
		wrong = notification.ErrEmptyMessage
	default:
		if wrong = notification.CheckAttributes(e.Attributes); wrong == nil {
			wrong = notification.CheckSize(e.size(), bytesMax)
		}
	}
	if wrong != nil {
		return publishError(wrong)
	}
	return nil
}

// size returns the bytes that count in the size of a message.
func (e *PublishEntry) size() int64 { return message.Size(e.Message, e.Attributes) + e.Encoded.Size() }

// checkIDs checks the ids that ordering and deduplication depend on, and the options.
func (e *PublishEntry) checkIDs(fifo bool) *Error {
	valid, validGroup, invalid := message.ValidID, message.ValidID, badPublishID
	if e.Native {
		valid, validGroup, invalid = message.ValidNativeID, message.ValidNativeGroup, message.InvalidNativeID
	}
	switch {
	case e.Options != nil && !fifo:
		return fifoTopicOnly("Scheduled messages, partition keys and times to live")
	case !fifo && e.DeduplicationIDGiven:
		return refusal.SNSInvalid("MessageDeduplicationId Reason: The request includes MessageDeduplicationId " +
			"parameter that is not valid for this topic type")
	case e.DeduplicationIDGiven && !valid(e.DeduplicationID):
		return invalid(e.DeduplicationID, "MessageDeduplicationId")
	case e.GroupIDGiven && !validGroup(e.GroupID):
		return invalid(e.GroupID, "MessageGroupId")
	}
	if e.Options != nil {
		if err := e.Options.check(e.GroupID); err != nil {
			return refusal.SNSInvalid(err.Message)
		}
	}
	return nil
}

// publishing is an entry that is being published.
type publishing struct {
	placing placing
	entry   *PublishEntry
	ids     deduplication.IDs
}

// size returns the bytes that the topic stores.
func (p *publishing) size() int64 {
	return message.Size(p.entry.Message, p.placing.attributes) + p.entry.Encoded.Size()
}

// begin checks an entry against the attributes of its topic.
func (e *PublishEntry) begin(a *TopicAttributes) (p publishing, err *Error) {
	if err := e.checkIDs(a.FIFO); err != nil {
		return p, err
	}
	switch {
	case a.FIFO && !a.GroupOptional && !e.GroupIDGiven:
		return p, refusal.SNSInvalid("The MessageGroupId parameter is required for FIFO topics")
	case a.FIFO && !e.DeduplicationIDGiven && !a.Deduplication.ContentBased && !a.Deduplication.Disabled:
		return p, refusal.SNSInvalid("The topic should either have ContentBasedDeduplication enabled or " +
			"MessageDeduplicationId provided explicitly")
	}
	p.entry = e
	if p.placing, err = placingOf(e.Attributes, e.GroupID, e.Options, a.ReservedAttributes); err != nil {
		return p, refusal.New(refusal.ParameterValueInvalid, err.Message)
	}
	p.placing.timeToLive = a.TimeToLive(p.placing.timeToLive)
	p.ids = deduplication.IDs{Group: e.GroupID, Partition: p.placing.partition}
	if a.FIFO {
		p.ids.Own = e.DeduplicationID
		p.ids = a.Deduplication.WithContent(p.ids, e.Message, e.ContentHash)
	}
	return p, nil
}

func publishError(err error) *Error {
	if _, ok := errors.AsType[notification.AttributeError](err); ok {
		return refusal.New(refusal.ParameterValueInvalid, err.Error())
	}
	return refusal.New(refusal.SNSInvalidParameter, err.Error())
}

func badPublishID(_, name string) *Error {
	return refusal.SNSInvalid(name, " Reason: can only include alphanumeric and punctuation characters. 1 to 128 in length")
}

// prepare computes the content hashes for a FIFO topic once, for all replicas.
func (c *Publish) prepare() (Prepared, *Error) {
	if err := c.Validate(); err != nil {
		return Prepared{}, err
	}
	if !isFIFOName(c.Topic) {
		return Prepared{Command: c}, nil
	}
	ready := *c
	ready.Entries = slices.Clone(c.Entries)
	for i := range ready.Entries {
		if e := &ready.Entries[i]; !e.DeduplicationIDGiven && e.ContentHash == nil {
			sum := sha256.Sum256([]byte(e.Message))
			e.ContentHash = sum[:]
		}
	}
	return Prepared{Command: &ready}, nil
}

// apply accepts and delivers the entries in order. A deduplication id that repeats within the batch
// is a duplicate.
func (c *Publish) apply(b *Broker) (Result, *Error) {
	t, ok := b.topics.Get(c.Topic)
	if !ok {
		return nil, refusal.NoSuchTopic()
	}
	if c.RepeatedSince != 0 && !t.Remembers(c.RepeatedSince, b.now) {
		return nil, refusal.New(refusal.UnsupportedOperation, "The topic can no longer detect whether it accepted this publish before.")
	}
	entries, err := c.check(b, t)
	if err != nil {
		return nil, err
	}
	return c.publish(b, entries), nil
}

// check returns the entries to publish, or the error that refuses them all.
func (c *Publish) check(b *Broker, t *topic.Topic) ([]publishing, *Error) {
	if err := refusesPublish(t); err != nil {
		return nil, err
	}
	entries := make([]publishing, len(c.Entries))
	for i := range entries {
		var err *Error
		if entries[i], err = c.Entries[i].begin(&t.Attributes); err != nil {
			return nil, err
		}
	}
	if err := b.checkOutbox(t, len(entries)); err != nil {
		return nil, err
	}
	return entries, b.roomForPublish(t, entries)
}

// publish publishes entries that check has returned.
func (c *Publish) publish(b *Broker, entries []publishing) Published {
	t := b.beginTopic(c.Topic)
	out := Published{Entries: make([]PublishedEntry, len(entries))}
	for i := range entries {
		out.Entries[i] = b.publish(t, &entries[i], c)
	}
	return out
}

// refusesPublish returns the error of a topic whose status refuses messages from clients.
func refusesPublish(t *topic.Topic) *Error {
	if !t.Attributes.Status.RefusesSends() {
		return nil
	}
	return refusal.New(refusal.EntityDisabled, "Sending to the topic is disabled: its EntityStatus is ", t.Attributes.Status.String(), ".")
}

// publish accepts a message and delivers or schedules it, or answers with the message that it
// duplicates.
func (b *Broker) publish(t *topic.Topic, p *publishing, c *Publish) PublishedEntry {
	e := p.entry
	if t.Deduplicates() {
		if first, found := t.Deduplication.Find(b.key, p.ids, b.now); found {
			return PublishedEntry{
				MessageID:  identifier.NewPublicationID(b.key, t.Incarnation, first.Sequence()),
				Sequence:   SequenceNumber(first.Sequence()),
				Duplicate:  true,
				AcceptedAt: Timestamp(first.AcceptedAt),

				FirstIsScheduled: t.Scheduled(first.Sequence(), b.now) != nil,
			}
		}
		t.Deduplication.Remember(b.key, p.ids, t.LastSequence+1, b.now)
	}
	t.LastSequence++
	accepted := PublishedEntry{
		MessageID:  identifier.NewPublicationID(b.key, t.Incarnation, t.LastSequence),
		AcceptedAt: b.now,
	}
	if t.Attributes.FIFO {
		accepted.Sequence = SequenceNumber(t.LastSequence)
	}
	n := &notification.Notification{
		TopicARN: t.ARN, MessageID: accepted.MessageID, SequenceNumber: accepted.Sequence,
		Subject: e.Subject, Message: message.NewBody(e.Message), Timestamp: b.now, Attributes: p.placing.attributes,
		SenderID: *b.intern(c.SenderID), Endpoint: *b.intern(c.Endpoint), GroupID: e.GroupID, DeduplicationID: p.ids.Own,
		PartitionKey: p.placing.partition, TimeToLive: p.placing.timeToLive, Hops: p.placing.hops, TraceHeader: e.TraceHeader,
		Encoded: e.Encoded.OrNil(),
	}
	if p.placing.scheduledAt > b.now {
		n.Timestamp = p.placing.scheduledAt
		t.Schedule(b.key, topic.NewPublication(b.key, n, &b.publications))
	} else {
		b.distribute(t, n)
	}
	return accepted
}

// distribute archives and delivers a message. The archive does not depend on subscriptions and
// deliveries.
func (b *Broker) distribute(t *topic.Topic, n *notification.Notification) {
	p := topic.NewPublication(b.key, n, &b.publications)
	if t.Attributes.Archive.Days > 0 {
		t.Archive(b.key, p)
	}
	b.fanOut(t, p)
}

// Published answers Publish, with one entry for each in the request.
type Published struct{ Entries []PublishedEntry }

// PublishedEntry is the result of one PublishEntry.
type PublishedEntry struct {
	MessageID MessageID
	Sequence  SequenceNumber // zero on standard topics
	// Duplicate reports that nothing was delivered: the other fields describe the first message
	// with this deduplication id.
	Duplicate  bool
	AcceptedAt Timestamp
	// FirstIsScheduled reports, for a duplicate, that Sequence can cancel the first message.
	FirstIsScheduled bool
}

func (Published) result() {}
