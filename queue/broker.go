package queue

import (
	"slices"
	"strings"

	"github.com/tidwall/btree"

	"github.com/seriatimq/seriatim/queue/access"
	"github.com/seriatimq/seriatim/queue/invariant"
	"github.com/seriatimq/seriatim/queue/message"
	"github.com/seriatimq/seriatim/queue/outbox"
	"github.com/seriatimq/seriatim/queue/packedmap"
	"github.com/seriatimq/seriatim/queue/refusal"
	"github.com/seriatimq/seriatim/queue/statehash"
	"github.com/seriatimq/seriatim/queue/topic"
)

// Broker is the whole replicated state: queues, topics, move tasks, clock, settings and the
// counters for identifiers. One goroutine uses it.
type Broker struct {
	now           Timestamp
	formatVersion uint32
	epoch         uint32

	// Counters for identifiers, which are never reused.
	nextIncarnation uint64 // for queues, topics and subscriptions
	nextMoveTask    uint64
	sequenceFloor   uint64

	// Cluster-wide configuration.
	settings *btree.Map[string, string]
	key      statehash.Key // from SettingReceiptKey
	access   *access.Table

	queues     *btree.Map[string, *Queue]
	topics     topic.Registry
	sources    *btree.Map[string, struct{}] // dead-letter target NUL source
	tombstones tombstones
	moveTasks  moveTasks
	deadlines  *btree.BTreeG[queueDeadline]
	generation uint64
	sum        statehash.Sum // of the records of queues, tombstones and tasks

	outbox       outbox.Outbox
	publications topic.Ledger
	releases     releases

	// The size of the state and the location of bodies, which are not part of the state.
	bytes  int64 // estimated size of all queues
	usage  access.Usages
	bodies message.Store // bodies of messages; publications are in memory

	scratch   scratch
	senders   *btree.Map[string, *string] // shares equal sender ids; not part of the state
	unchecked int                         // commands since the last check, with build tag invariants
}

// scratch holds buffers for the command being applied, and the work that is left for the end of its
// entry. It is not part of the state.
type scratch struct {
	changed    []*Queue // by the command being applied
	dirty      []*Queue // changed by earlier commands of the entry
	events     []Event
	selected   []*Message // empty, kept for its capacity
	prefetched prefetched
	sent       packedmap.Blocks[SentEntry]
}

// New returns an empty Broker.
func New() *Broker {
	return &Broker{
		settings:   new(btree.Map[string, string]),
		access:     access.NewTable(),
		queues:     new(btree.Map[string, *Queue]),
		topics:     topic.NewRegistry(),
		sources:    new(btree.Map[string, struct{}]),
		tombstones: newTombstones(),
		moveTasks:  newMoveTasks(),
		deadlines:  btree.NewBTreeGOptions(queueDeadline.less, btree.Options{NoLocks: true}),
		outbox:     outbox.New(),
		senders:    new(btree.Map[string, *string]),
		usage:      access.NewUsages(),
		bodies:     message.Memory{},
	}
}

// UseStore stores the bodies of new messages in store, which must hold the bodies of existing
// messages. The location of bodies is not part of the state.
func (b *Broker) UseStore(store message.Store) { b.bodies = store }

// keep returns the body of a new message, in the store or in memory.
func (b *Broker) keep(text string) Body {
	if !b.stores(text) {
		return message.NewBody(text)
	}
	return b.bodies.Append(text, b.key.HashText(text))
}

// stores reports whether the body of a new message goes into the store.
func (b *Broker) stores(text string) bool {
	return b.bodies.Keeps(len(text))
}

// textOf reads a body for a rule that depends on the text: a move to a queue with content-based
// deduplication, or a cancellation that forgets ids. It panics with UnreadableBody if the body is
// damaged: without it, this replica would decide differently from the others.
func (b *Broker) textOf(body Body) string {
	read, err := b.bodies.Require(body)
	if err != nil {
		panic(&UnreadableBody{err})
	}
	return read.String()
}

// UnreadableBody is the panic value of Apply if it cannot read a body that the command depends on.
// No invariant is broken, but the command is half applied.
type UnreadableBody struct{ Err error }

// Error returns the text of Err.
func (u *UnreadableBody) Error() string { return u.Err.Error() }

// Unwrap returns Err.
func (u *UnreadableBody) Unwrap() error { return u.Err }

// Apply executes cmd at a log time. A refused command changes nothing except the clock, the overdue
// records of the queue it names, and overdue scheduled messages of topics. Apply panics if an
// invariant is broken, and with UnreadableBody.
func (b *Broker) Apply(at Timestamp, cmd Command) (Result, *Error) {
	result, err := b.execute(at, cmd)
	b.updateIndexes()
	return result, err
}

// ApplyAll applies the commands of one entry in order and calls answered with each result. The
// indexes and the state hash are updated once, after the last command.
func (b *Broker) ApplyAll(at Timestamp, commands []Command, answered func(i int, result Result, err *Error)) {
	through := 0 // deduplication ids of commands below it are prefetched
	for i, cmd := range commands {
		if i == through {
			through += b.prefetch(commands[i:])
		}
		result, err := b.execute(at, cmd)
		answered(i, result, err)
	}
	b.scratch.prefetched.reset()
	b.updateIndexes()
}

// execute applies a command. The caller must call updateIndexes later.
func (b *Broker) execute(at Timestamp, cmd Command) (Result, *Error) {
	b.now = max(b.now, at)
	if b.publishScheduled(publishBudget) < publishBudget {
		b.forwardChanged()
		b.endCommand() // cmd may delete what they changed
	}
	result, err := b.apply(cmd)
	if err == nil {
		b.noteUse(cmd.QueueName())
	}
	b.forwardChanged()
	b.endCommand()
	if invariant.CheckEveryCommand && b.dueForCheck() {
		b.index()
		if broken := b.CheckInvariants(); broken != nil {
			panic(broken)
		}
	}
	if err != nil {
		return nil, err
	}
	return result, nil
}

func (b *Broker) apply(cmd Command) (Result, *Error) {
	if err := wellFormed(cmd); err != nil {
		// AWS looks the queue up before it looks at values (sqs.md 1.7).
		if name := cmd.QueueName(); name != "" && !b.View().QueueExists(name) {
			return nil, refusal.NoSuchQueue()
		}
		return nil, err
	}
	if c, ok := cmd.(applier); ok {
		return c.apply(b)
	}
	return b.applyAccess(cmd.(access.Command))
}

// begin returns a queue that the command may change, nil if there is none. The first change after a
// Freeze clones the queue.
func (b *Broker) begin(name string) *Queue {
	q, ok := b.queues.Get(name)
	if !ok {
		return nil
	}
	q = b.own(q)
	b.touch(q)
	return q
}

// own returns a version of q that no Frozen state shares: q or its clone.
func (b *Broker) own(q *Queue) *Queue {
	if q.generation != b.generation {
		q = q.clone(b.generation)
		b.queues.Set(q.name, q)
	}
	return q
}

// beginNow begins a change of a queue and expires its overdue records.
func (b *Broker) beginNow(name string) *Queue {
	q := b.begin(name)
	if q != nil {
		b.expire(q, queueExpiryBudget)
	}
	return q
}

// beginWithin is beginNow without work that changes other queues: they may be in the middle of a change.
func (b *Broker) beginWithin(name string) *Queue {
	q, ok := b.queues.Get(name)
	if ok && slices.Contains(b.scratch.changed, q) {
		return q
	}
	q = b.begin(name)
	b.expireWithin(q, queueExpiryBudget)
	return q
}

// touch marks q as changed by the present command.
func (b *Broker) touch(q *Queue) {
	if !slices.Contains(b.scratch.changed, q) {
		b.scratch.changed = append(b.scratch.changed, q)
	}
}

// finish ends a command that is the last of its entry.
func (b *Broker) finish() {
	b.endCommand()
	b.updateIndexes()
}

// endCommand adds the changed queues to the dirty ones.
func (b *Broker) endCommand() {
	for i, q := range b.scratch.changed {
		if !q.sums.dirty {
			q.sums.dirty = true
			b.scratch.dirty = append(b.scratch.dirty, q)
		}
		b.scratch.changed[i] = nil
	}
	b.scratch.changed = b.scratch.changed[:0]
	b.topics.Finish(b.key)
	b.releases.step(releaseBudget)
}

// updateIndexes updates the broker-wide indexes for the dirty queues and emits their events.
func (b *Broker) updateIndexes() {
	b.index()
	for i, q := range b.scratch.dirty {
		if q.deliverable(b.now) {
			b.emit(MessagesAvailable, q.name, 0)
		}
		for _, name := range q.groups.sessions.TakeWoken() {
			b.scratch.events = append(b.scratch.events, Event{Kind: SessionAvailable, Queue: q.name, Session: name})
		}
		q.sums.dirty = false
		b.scratch.dirty[i] = nil
	}
	b.scratch.dirty = b.scratch.dirty[:0]
}

// index updates the indexes without events. AdvanceClock needs it before the end of an entry.
func (b *Broker) index() {
	for _, q := range b.scratch.dirty {
		b.updateSum(q)
		b.updateDeadline(q)
	}
}

// dropFromIndexes removes a deleted queue from the broker-wide indexes.
func (b *Broker) dropFromIndexes(q *Queue) {
	b.sum.Sub(q.sums.counted)
	b.bytes -= q.sums.countedBytes
	if q.deadline != 0 {
		b.deadlines.Delete(queueDeadline{q.deadline, q.incarnation, q.name})
	}
	b.scratch.dirty = slices.DeleteFunc(b.scratch.dirty, func(other *Queue) bool { return other == q })
}

// updateSum replaces the queue's share of the broker's hash and size.
func (b *Broker) updateSum(q *Queue) {
	if q.sums.headerStale {
		q.sums.header = q.headerSum(b.key)
		q.sums.headerStale = false
	}
	total := q.countersSum(b.key)
	total.Add(q.sums.header)
	total.Add(q.sums.messages)
	total.Add(q.deduplication.Sum())
	total.Add(q.sums.attempts)
	total.Add(q.groups.sessions.Sum())
	b.sum.Sub(q.sums.counted)
	b.sum.Add(total)
	q.sums.counted = total
	bytes := q.size()
	b.bytes += bytes - q.sums.countedBytes
	q.sums.countedBytes = bytes
}

func (b *Broker) emit(kind EventKind, queue string, count int) {
	b.scratch.events = append(b.scratch.events, Event{Kind: kind, Queue: queue, Count: count})
}

// TakeEvents appends the events since the last call to dst and removes them from the Broker.
func (b *Broker) TakeEvents(dst []Event) []Event {
	dst = append(dst, b.scratch.events...)
	b.scratch.events = b.scratch.events[:0]
	return dst
}

// Now returns the log time: the highest applied stamp.
func (b *Broker) Now() Timestamp { return b.now }

// FormatVersion returns the version set by SetFormatVersion, 0 in a new state.
func (b *Broker) FormatVersion() uint32 { return b.formatVersion }

// View returns a reader of the present state.
func (b *Broker) View() View { return View{b} }

// StateHash returns the incremental 128-bit hash over all records.
func (b *Broker) StateHash() [16]byte {
	sum := b.sum
	sum.Add(b.topics.Sum())
	sum.Add(b.outbox.Sum())
	sum.Add(b.access.Sum())
	sum.Add(b.recordSum())
	return sum.Bytes()
}

// recordSum hashes the state outside of queues.
func (b *Broker) recordSum() statehash.Sum {
	var buf [256]byte
	r := append(statehash.Record(buf[:0]), statehash.KindBroker).Time(b.now).Num(uint64(b.formatVersion)).Num(uint64(b.epoch))
	r = r.Num(b.nextIncarnation).Num(b.nextMoveTask).Num(b.sequenceFloor)
	b.settings.Scan(func(name, value string) bool {
		r = r.Text(name).Text(value)
		return true
	})
	return b.key.Sum(r)
}

// intern shares equal sender ids: there are few, but every message has one.
func (b *Broker) intern(sender string) *string {
	if shared, ok := b.senders.Get(sender); ok {
		return shared
	}
	if b.senders.Len() >= sendersShared {
		b.senders.Clear()
	}
	shared := new(string)
	*shared = strings.Clone(sender)
	b.senders.Set(*shared, shared)
	return shared
}

const sendersShared = 4096
