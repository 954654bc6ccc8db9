package queue

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/seriatimq/seriatim/queue/deduplication"
	"github.com/seriatimq/seriatim/queue/message"
	"github.com/seriatimq/seriatim/queue/notification"
	"github.com/seriatimq/seriatim/queue/packedmap"
	"github.com/seriatimq/seriatim/queue/topic"
)

// Restorer builds a Broker from records. Call AddTombstone and AddMoveTask first. Then for each
// queue call AddQueue, and add its messages, deduplication records, attempts and sessions. Then for
// each topic call AddTopic, and add its subscriptions, deduplication records, archive, HTTP deliveries
// and scheduled messages. End with AddAccess and Finish. Methods refuse records that no valid state contains.
type Restorer struct {
	b *Broker
	q *Queue       // added last
	t *topic.Topic // added last
	// loader packs messages of q. message is the one added last; last is its number.
	loader  packedmap.Loader[Message, messageCodec]
	message Message
	last    uint64
	sender  *string // of the message added last
	// records is a reused buffer. The field read keeps the compiler from removing reads, see
	// Deduplicator.Warm.
	records []deduplication.Record
	read    uint64
	// publications of the messages and HTTP deliveries added so far; never iterated.
	publications map[MessageID]*topic.Publication
}

// NewRestorer starts with the state outside of queues and topics.
func NewRestorer(r BrokerRecord) (*Restorer, error) {
	b := New()
	b.now, b.formatVersion, b.epoch = r.Now, r.FormatVersion, r.Epoch
	b.nextIncarnation, b.nextMoveTask, b.sequenceFloor = r.NextIncarnation, r.NextMoveTask, r.SequenceFloor
	for _, s := range r.Settings {
		if _, twice := b.settings.Set(s.Name, s.Value); twice {
			return nil, fmt.Errorf("setting %q appears twice", s.Name)
		}
	}
	b.useSettings()
	return &Restorer{b: b, publications: map[MessageID]*topic.Publication{}}, nil
}

// AddTombstone adds a deleted queue.
func (r *Restorer) AddTombstone(t TombstoneRecord) error {
	if _, known := r.b.tombstones.byName.Get(t.Queue); known || t.Queue == "" {
		return fmt.Errorf("tombstone of queue %q is empty or appears twice", t.Queue)
	}
	r.b.tombstones.byName.Set(t.Queue, t.DeletedAt)
	r.b.tombstones.byTime.Set(queueDeadline{at: t.DeletedAt, name: t.Queue})
	r.b.sum.Add(tombstoneSum(r.b.key, t.Queue, t.DeletedAt))
	return nil
}

// AddMoveTask adds a move task.
func (r *Restorer) AddMoveTask(t MoveTaskRecord) error {
	if _, known := r.b.moveTasks.byNumber.Get(t.Number); known || t.Number == 0 || t.Number > r.b.nextMoveTask {
		return fmt.Errorf("move task number %d is out of order or appears twice", t.Number)
	}
	if t.Status < MoveTaskRunning || t.Status > MoveTaskFailed {
		return fmt.Errorf("move task %d has the unknown status %d", t.Number, t.Status)
	}
	r.b.putMoveTask(&t)
	return nil
}

// AddQueue adds a queue. Later calls add records to it.
func (r *Restorer) AddQueue(rec QueueRecord) error {
	if r.b.View().QueueExists(rec.Name) || rec.Name == "" {
		return fmt.Errorf("queue %q is nameless or appears twice", rec.Name)
	}
	if rec.Incarnation == 0 || rec.Incarnation > r.b.nextIncarnation {
		return fmt.Errorf("queue %q has the incarnation %d, the newest is %d",
			rec.Name, rec.Incarnation, r.b.nextIncarnation)
	}
	if rec.Attributes.FIFO != isFIFOName(rec.Name) {
		return fmt.Errorf("queue %q has the wrong type for its name", rec.Name)
	}
	r.endMessages()
	q := r.b.newQueue(rec.Name, rec.Incarnation, rec.Attributes)
	q.tags = rec.Tags
	q.createdAt, q.modifiedAt, q.purgedAt = rec.CreatedAt, rec.ModifiedAt, rec.PurgedAt
	q.forgotAt, q.usedAt = rec.ForgotAt, rec.UsedAt
	q.lastSequence, q.attempts.last = rec.LastSequence, rec.LastAttempt
	q.groups.sessions.SetLastLock(rec.LastLock)
	q.deduplication.SetDeadBefore(rec.DeadBefore)
	q.timers.fired = timed{rec.FiredAt, rec.FiredSequence}
	r.b.queues.Set(q.name, q)
	r.b.access = r.b.access.WithQueuePolicy(q.name, rec.Attributes.Policy)
	r.b.followRedrive(q, "")
	r.b.scratch.changed = append(r.b.scratch.changed, q)
	r.q, r.last = q, 0
	return nil
}

// AddMessage adds a message to the last queue: ordinary messages by number, then scheduled, then
// deferred ones. It does not keep the record, and keeps its texts only if a topic delivered the
// message.
func (r *Restorer) AddMessage(rec *MessageRecord) error {
	q := r.q
	if q == nil {
		return errors.New("message without a queue")
	}
	ordinary := !rec.Scheduled && !rec.Deferred
	if err := r.checkNumber(q, uint64(rec.Sequence), ordinary); err != nil {
		return err
	}
	published, err := r.published(rec)
	if err != nil {
		return fmt.Errorf("queue %q: message %d: %w", q.name, rec.Sequence, err)
	}
	if err := checkDelivery(q, rec); err != nil {
		return err
	}
	if rec.Scheduled && !rec.Timed {
		return fmt.Errorf("queue %q: scheduled message %d has no time", q.name, rec.Sequence)
	}
	m := &r.message
	r.fill(m, rec, published)
	if !ordinary { // detached because it is not packed
		m = m.detached()
	}
	m.seal(r.b.key)
	switch {
	case rec.Scheduled:
		q.insertScheduled(r.b.key, m)
	case rec.Deferred:
		q.insertDeferred(r.b.key, m)
	default:
		m.hashed = m.sum(r.b.key, q.incarnation, false)
		r.loader.Add(q.messages, m.sequence, m)
		q.index(m)
	}
	return nil
}

// checkNumber refuses a message whose number is taken or out of order.
func (r *Restorer) checkNumber(q *Queue, sequence uint64, ordinary bool) error {
	twice := sequence <= r.last || q.scheduled.Len()+q.deferred.Len() > 0
	if !ordinary {
		r.endMessages()
		_, stored := q.messages.Get(sequence)
		_, scheduled := q.scheduled.Get(sequence)
		_, deferred := q.deferred.Get(sequence)
		twice = stored || scheduled || deferred
	}
	if twice || sequence == 0 || sequence > q.lastSequence {
		return fmt.Errorf("queue %q: message %d is out of order or appears twice", q.name, sequence)
	}
	if ordinary {
		r.last = sequence
	}
	return nil
}

// endMessages completes the messages of the last queue.
func (r *Restorer) endMessages() {
	if r.q != nil {
		r.loader.End(r.q.messages)
	}
}

// fill converts a record into m.
func (r *Restorer) fill(m *Message, rec *MessageRecord, published *publishedMessage) {
	if r.sender == nil || *r.sender != rec.SenderID {
		r.sender = r.b.intern(rec.SenderID)
	}
	*m = Message{
		sequence:        uint64(rec.Sequence),
		body:            r.kept(rec.Body),
		group:           rec.GroupID,
		deduplicationID: rec.DeduplicationID,
		sentAt:          rec.SentAt,
		sender:          r.sender,
	}
	if r.q.ordered(m) {
		m.group = r.q.groups.own(m.group)
	}
	if rec.MessageID != (MessageID{}) || rec.TraceHeader != "" || len(rec.Attributes) > 0 ||
		rec.DeadLetterSource != "" || rec.PartitionKey != "" || rec.KeepsAge || rec.TimeToLive != 0 || rec.Hops != 0 ||
		rec.Encoded.OrNil() != nil || published != nil {
		m.extra = &messageExtra{
			id: rec.MessageID, attributes: rec.Attributes, traceHeader: rec.TraceHeader,
			deadLetterSource: rec.DeadLetterSource, partition: rec.PartitionKey, keepsAge: rec.KeepsAge,
			published: published, timeToLive: rec.TimeToLive, encoded: rec.Encoded.OrNil(), hops: rec.Hops,
		}
	}
	if rec.Timed {
		m.delivery = &delivery{
			count: rec.Deliveries, receiveCount: rec.ReceiveCount,
			firstReceivedAt: rec.FirstReceivedAt, receivedAt: rec.ReceivedAt, visibleAt: rec.VisibleAt,
			attemptID: rec.AttemptID, attemptNumber: rec.AttemptNumber,
			session: rec.SessionLock, takenBack: rec.TakenBack, deferred: rec.Deferred,
		}
	}
}

// BodyDigest returns the keyed hash that Body.Digest has for a text.
func (r *Restorer) BodyDigest(text string) uint64 { return r.b.key.HashText(text) }

// UseStore stores bodies in store and counts the bodies already there. Call it before the first
// record.
func (r *Restorer) UseStore(store message.Store) { r.b.UseStore(store) }

// kept returns a body, stored if it belongs in the store.
func (r *Restorer) kept(body Body) Body {
	if body.Stored() {
		return body
	}
	return r.b.keep(body.String())
}

// published returns the publication of a message record, nil if there is none.
func (r *Restorer) published(rec *MessageRecord) (*publishedMessage, error) {
	p := &rec.Published
	if p.PublicationID == (MessageID{}) {
		if *p != (PublishedRecord{}) || len(rec.RuleChanges) > 0 {
			return nil, errors.New("a publication without an id")
		}
		return nil, nil
	}
	if rec.Body.Len() > 0 {
		return nil, errors.New("a body beside that of a publication")
	}
	known, err := r.publication(p.PublicationID, p.Content)
	if err != nil {
		return nil, err
	}
	r.publications[p.PublicationID] = known
	return &publishedMessage{
		publication: known, subscription: r.b.intern(p.SubscriptionARN), raw: p.Raw, replayed: p.Replayed, changes: rec.RuleChanges,
	}, nil
}

// publication returns the publication of an id: a known one, or a new one with the content.
func (r *Restorer) publication(id MessageID, content *notification.Notification) (*topic.Publication, error) {
	known := r.publications[id]
	switch {
	case known != nil && content != nil && content != known.Content():
		return nil, fmt.Errorf("publication %s appears twice", id)
	case known == nil && (content == nil || content.MessageID != id):
		return nil, fmt.Errorf("publication %s is missing or has another content", id)
	case known == nil:
		known = topic.NewPublication(r.b.key, content, &r.b.publications)
	}
	return known, nil
}

// checkDelivery checks the fields that only messages delivered by a FIFO queue have.
func checkDelivery(q *Queue, rec *MessageRecord) error {
	if rec.SessionLock == 0 && rec.TakenBack == 0 && !rec.Deferred {
		return nil
	}
	if !q.attributes.FIFO || rec.Scheduled || !rec.Timed || rec.Deliveries == 0 {
		return fmt.Errorf("queue %q: message %d cannot have been received in a session, given back or deferred", q.name, rec.Sequence)
	}
	if rec.SessionLock != 0 && rec.GroupID == "" || rec.SessionLock > q.groups.sessions.LastLock() || rec.TakenBack > rec.Deliveries {
		return fmt.Errorf("queue %q: message %d has an invalid session lock", q.name, rec.Sequence)
	}
	return nil
}

// AddDeduplication adds remembered ids to the last queue. Adding many at a time is faster. It does
// not keep the slice.
func (r *Restorer) AddDeduplication(list []DeduplicationRecord) error {
	q := r.q
	if q == nil {
		return errors.New("deduplication record without a queue")
	}
	if err := r.remember(&q.deduplication, q.lastSequence, list); err != nil {
		return fmt.Errorf("queue %q: %w", q.name, err)
	}
	return nil
}

// remember adds remembered ids to a queue or topic whose highest number is last.
func (r *Restorer) remember(d *deduplication.Deduplicator, last uint64, list []DeduplicationRecord) error {
	newest, _ := d.Newest()
	order := newest.Order()
	r.records = r.records[:0]
	for i := range list {
		rec := &list[i]
		if rec.Order <= order || rec.Order>>1 != uint64(rec.Sequence) ||
			rec.Sequence == 0 || uint64(rec.Sequence) > last || rec.Scope > deduplication.ScopePartitionKey {
			return fmt.Errorf("deduplication record %d is out of order or appears twice", rec.Order)
		}
		order = rec.Order
		key := deduplication.Key{High: binary.BigEndian.Uint64(rec.Key[:8]), Low: binary.BigEndian.Uint64(rec.Key[8:])}
		r.records = append(r.records, deduplication.NewRecord(key, int64(rec.AcceptedAt), order, rec.Scope))
	}
	r.read |= d.WarmRecords(r.records)
	for _, record := range r.records {
		if d.Add(r.b.key, record) {
			return fmt.Errorf("deduplication record %d repeats a key", record.Order())
		}
	}
	return nil
}

// AddAttempt adds a receive attempt to the last queue.
func (r *Restorer) AddAttempt(rec AttemptRecord) error {
	q := r.q
	if q == nil {
		return errors.New("receive attempt without a queue")
	}
	if _, known := q.attempts.byID.Get(rec.ID); known || rec.Number == 0 || rec.Number > q.attempts.last {
		return fmt.Errorf("queue %q: receive attempt %d is out of order or appears twice", q.name, rec.Number)
	}
	q.putAttempt(r.b.key, &ReceiveAttempt{
		id: rec.ID, number: rec.Number, receivedAt: rec.ReceivedAt, invalid: rec.Invalid, deliveries: rec.Deliveries,
	})
	return nil
}

// AddSession adds a session to the last queue, after its messages.
func (r *Restorer) AddSession(rec SessionRecord) error {
	q := r.q
	if q == nil {
		return errors.New("session without a queue")
	}
	r.endMessages()
	if _, known := q.groups.sessions.OfAttempt(rec.AttemptID); known {
		return fmt.Errorf("queue %q: session %q has the attempt id of another one", q.name, rec.Name)
	}
	if _, known := q.groups.sessions.Get(rec.Name); known || rec.Name == "" || !q.attributes.FIFO {
		return fmt.Errorf("queue %q: session %q is out of place or appears twice", q.name, rec.Name)
	}
	if rec.Lock == 0 && (!rec.StateGiven || rec.LockedUntil != 0 || rec.Next != 0 || rec.AttemptID != "") ||
		rec.Lock > q.groups.sessions.LastLock() || rec.Next > q.lastSequence+1 ||
		!rec.StateGiven && (rec.State != "" || rec.StateSetAt != 0) {
		return fmt.Errorf("queue %q: session %q contradicts itself", q.name, rec.Name)
	}
	q.putSession(r.b.key, rec)
	return nil
}

// Finish builds the indexes and returns the state.
func (r *Restorer) Finish() (*Broker, error) {
	r.endMessages()
	r.b.finish()
	r.b.scratch.events = nil
	return r.b, nil
}

// sequenceGap is the number of sequence numbers that a new epoch skips, at least as many as the
// abandoned history can have used. At 100,000 messages per second it lasts half a day for one
// queue.
const sequenceGap = 1 << 32

// BeginEpoch separates the state from an earlier history, after a restore from backup or if the log
// may have continued elsewhere. Receipt handles of the other history are refused, because their
// seal covers the epoch. Sequence numbers, incarnations and task numbers skip those it may have
// used. Messages, deduplication windows and receive attempts stay.
//
// clusterID names the cluster that continues with the state. replaced is the record of the state
// being replaced, zero if none; no counter and no clock falls below it.
//
// BeginEpoch is not a command: replicas that call it must start from the same state and arguments,
// or share the result by a snapshot.
func (b *Broker) BeginEpoch(clusterID string, replaced BrokerRecord) {
	b.epoch = max(b.epoch, replaced.Epoch) + 1
	b.now = max(b.now, replaced.Now)
	b.formatVersion = max(b.formatVersion, replaced.FormatVersion)
	b.nextIncarnation = max(b.nextIncarnation, replaced.NextIncarnation)
	b.nextMoveTask = max(b.nextMoveTask, replaced.NextMoveTask)
	b.sequenceFloor = max(b.sequenceFloor, replaced.SequenceFloor) + sequenceGap
	b.settings.Set(SettingClusterID, clusterID)
	names := make([]string, 0, b.queues.Len())
	b.queues.Scan(func(name string, _ *Queue) bool {
		names = append(names, name)
		return true
	})
	for _, name := range names {
		b.begin(name).lastSequence += sequenceGap
		b.finish() // one at a time: changed is short
	}
	for _, name := range b.topics.Names("", b.topics.Len()) {
		b.topics.Begin(name).LastSequence += sequenceGap
	}
	b.topics.Finish(b.key)
}

// Record returns the state outside of queues and topics.
func (b *Broker) Record() BrokerRecord { return b.record() }
