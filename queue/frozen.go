package queue

import "github.com/tidwall/btree"

// Frozen is an immutable copy of a Broker's state. Walks visit records in the
// order a Restorer takes them; yield returns false to stop early.
type Frozen struct {
	record     BrokerRecord
	hash       [16]byte
	key        keyed
	queues     *btree.Map[string, *Queue]
	tombstones *btree.Map[string, Timestamp]
	moveTasks  *btree.Map[uint64, *MoveTaskRecord]
}

// Freeze captures the state in time independent of its size. The Frozen state
// may be read by another goroutine while commands go on being applied: from
// here on the Broker changes clones of queues, never the frozen ones.
func (b *Broker) Freeze() *Frozen {
	b.generation++
	return &Frozen{
		record:     b.record(),
		hash:       b.StateHash(),
		key:        b.key,
		queues:     b.queues.Copy(),
		tombstones: b.tombstones.byName.Copy(),
		moveTasks:  b.moveTasks.byNumber.Copy(),
	}
}

func (b *Broker) record() BrokerRecord {
	r := BrokerRecord{
		Now:             b.now,
		FormatVersion:   b.formatVersion,
		Epoch:           b.epoch,
		NextIncarnation: b.nextIncarnation,
		NextMoveTask:    b.nextMoveTask,
		SequenceFloor:   b.sequenceFloor,
	}
	b.settings.Scan(func(name, value string) bool {
		r.Settings = append(r.Settings, Attribute{name, value})
		return true
	})
	return r
}

// Broker is the record of what belongs to no queue.
func (f *Frozen) Broker() BrokerRecord { return f.record }

// StateHash is Broker.StateHash at the time of Freeze.
func (f *Frozen) StateHash() [16]byte { return f.hash }

// Tombstones visits the deleted queues by name.
func (f *Frozen) Tombstones(yield func(TombstoneRecord) bool) {
	f.tombstones.Scan(func(name string, at Timestamp) bool { return yield(TombstoneRecord{name, at}) })
}

// MoveTasks visits all move tasks by number.
func (f *Frozen) MoveTasks(yield func(MoveTaskRecord) bool) {
	f.moveTasks.Scan(func(_ uint64, t *MoveTaskRecord) bool { return yield(*t) })
}

// Queues visits the queues by name.
func (f *Frozen) Queues(yield func(FrozenQueue) bool) {
	f.queues.Scan(func(_ string, q *Queue) bool { return yield(FrozenQueue{q}) })
}

// FrozenQueue is one queue of a Frozen state.
type FrozenQueue struct{ q *Queue }

// Record is the queue without its messages.
func (f FrozenQueue) Record() QueueRecord {
	q := f.q
	return QueueRecord{
		Name:          q.name,
		Incarnation:   q.incarnation,
		Attributes:    q.attributes,
		Tags:          q.tags,
		CreatedAt:     q.createdAt,
		ModifiedAt:    q.modifiedAt,
		PurgedAt:      q.purgedAt,
		LastSequence:  q.lastSequence,
		LastAttempt:   q.attempts.last,
		DeadBefore:    q.deduplication.deadBefore,
		FiredAt:       q.timers.fired.at,
		FiredSequence: q.timers.fired.sequence,
	}
}

// Messages visits messages by sequence number, then the scheduled ones.
func (f FrozenQueue) Messages(yield func(MessageRecord) bool) {
	more := true
	visit := func(scheduled bool) func(uint64, *Message) bool {
		return func(_ uint64, m *Message) bool {
			more = yield(m.record(scheduled))
			return more
		}
	}
	f.q.messages.Scan(visit(false))
	if more {
		f.q.scheduled.messages.Scan(visit(true))
	}
}

func (m *Message) record(scheduled bool) MessageRecord {
	r := MessageRecord{
		Sequence:        SequenceNumber(m.sequence),
		Body:            m.body,
		GroupID:         m.group,
		DeduplicationID: m.deduplicationID,
		SenderID:        *m.sender,
		SentAt:          m.sentAt,
		Scheduled:       scheduled,
	}
	if e := m.extra; e != nil {
		r.MessageID, r.TraceHeader, r.Attributes = e.id, e.traceHeader, e.attributes
		r.DeadLetterSource, r.PartitionKey, r.KeepsAge = e.deadLetterSource, e.partition, e.keepsAge
	}
	if d := m.delivery; d != nil {
		r.Timed = true
		r.VisibleAt, r.Deliveries, r.ReceiveCount = d.visibleAt, d.count, d.receiveCount
		r.FirstReceivedAt, r.ReceivedAt = d.firstReceivedAt, d.receivedAt
		r.AttemptID, r.AttemptNumber = d.attemptID, d.attemptNumber
	}
	return r
}

// Deduplication visits the remembered ids in order of acceptance.
func (f FrozenQueue) Deduplication(yield func(DeduplicationRecord) bool) {
	accepted := &f.q.deduplication.accepted
	accepted.scan(func(r deduplicationRecord) bool {
		return yield(DeduplicationRecord{
			Order:      r.order(),
			Key:        sum128(r.key).bytes(),
			Scope:      r.scope(),
			AcceptedAt: r.acceptedAt,
			Sequence:   SequenceNumber(r.sequence()),
		})
	})
}

// Attempts visits the remembered receive attempts by number.
func (f FrozenQueue) Attempts(yield func(AttemptRecord) bool) {
	f.q.attempts.order.Scan(func(_ uint64, id string) bool {
		a, _ := f.q.attempts.byID.Get(id)
		return yield(AttemptRecord{
			ID: a.id, Number: a.number, ReceivedAt: a.receivedAt, Invalid: a.invalid, Deliveries: a.deliveries,
		})
	})
}
