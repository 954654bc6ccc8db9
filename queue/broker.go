package queue

import (
	"slices"
	"strings"

	"github.com/tidwall/btree"

	"github.com/seriatimq/seriatim/queue/access"
	"github.com/seriatimq/seriatim/queue/account"
	"github.com/seriatimq/seriatim/queue/checking"
	"github.com/seriatimq/seriatim/queue/content"
	"github.com/seriatimq/seriatim/queue/outbox"
	"github.com/seriatimq/seriatim/queue/pages"
	"github.com/seriatimq/seriatim/queue/refusal"
	"github.com/seriatimq/seriatim/queue/statehash"
	"github.com/seriatimq/seriatim/queue/topic"
)

// Broker is the whole replicated state: queues, topics and move tasks, the clock, the
// settings and the counters for identifiers. Used by one goroutine.
type Broker struct {
	now           Timestamp
	formatVersion uint32
	epoch         uint32

	// Counters of what must have a number of its own for ever.
	nextIncarnation uint64 // of queues, topics and subscriptions
	nextMoveTask    uint64
	sequenceFloor   uint64

	// The configuration by operators, for the whole cluster.
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
	sum        statehash.Sum // over the records of queues, tombstones, tasks

	outbox       outbox.Outbox
	publications topic.Ledger
	releases     releases

	// The size of the state, and where bodies are. It is not state.
	bytes  int64 // estimated size of all queues
	usage  account.Usages
	bodies content.Store // of messages; publications are in memory

	workspace
	senders   *btree.Map[string, *string] // shares equal sender ids; not state
	unchecked int                         // commands since the last check, build tag invariants
}

// workspace is what commands need while they are applied, and what they leave for the end
// of their entry. It is not state.
type workspace struct {
	changed  []*Queue // by the command being applied
	behind   []*Queue // changed by commands before it, in ApplyAll
	events   []Event
	selected []*Message // empty, to be used again by receives
	sought   sought
	sent     pages.Blocks[SentEntry]
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
		usage:      account.NewUsages(),
		bodies:     content.Memory{},
	}
}

// UseStore has bodies from now on put into a store, which must have those that messages
// refer to already. Where bodies are is no part of the state.
func (b *Broker) UseStore(store content.Store) { b.bodies = store }

// keep is the body of a new message. A text that stays in memory stays as it is.
func (b *Broker) keep(text string) Body {
	if !b.stores(text) {
		return content.NewBody(text)
	}
	return b.bodies.Append(text, b.key.HashText(text))
}

// stores reports whether the body of a new message goes into the store.
func (b *Broker) stores(text string) bool {
	return b.bodies.Keeps(len(text))
}

// textOf reads a body for a rule that goes by the text. Few do: a task that moves to a
// queue which compares contents, and a cancellation that forgets ids. A node that cannot
// read its copy cannot go on, as it would decide differently from the others.
func (b *Broker) textOf(body Body) string {
	read, err := b.bodies.Require(body)
	if err != nil {
		panic(&UnreadableBody{err})
	}
	return read.String()
}

// UnreadableBody is what Apply panics with if it cannot read a body that the command goes
// by. No invariant is broken, but the command is half applied.
type UnreadableBody struct{ Err error }

// Error is why it cannot be read.
func (u *UnreadableBody) Error() string { return u.Err.Error() }

// Unwrap is that, too.
func (u *UnreadableBody) Unwrap() error { return u.Err }

// Apply executes cmd at log time at and returns its result or its refusal. A
// refused command changes nothing but the clock, and what the clock makes due
// on the queue it names. It panics if an invariant of the state is broken, and with an
// UnreadableBody.
func (b *Broker) Apply(at Timestamp, cmd Command) (Result, *Error) {
	result, err := b.execute(at, cmd)
	b.catchUp()
	return result, err
}

// ApplyAll is Apply for the commands of one entry, in order; answered is called with what
// each of them gave. What follows from the records of a queue (its part of the state hash,
// its deadline, whether a receive would find something) is computed once for all of them:
// nobody sees the state in between.
func (b *Broker) ApplyAll(at Timestamp, commands []Command, answered func(i int, result Result, err *Error)) {
	through := 0 // the commands before it were sought
	for i, cmd := range commands {
		if i == through {
			through += b.seek(commands[i:])
		}
		result, err := b.execute(at, cmd)
		answered(i, result, err)
	}
	b.sought.reset()
	b.catchUp()
}

// execute applies a command, after which catchUp has to be called some time.
func (b *Broker) execute(at Timestamp, cmd Command) (Result, *Error) {
	b.now = max(b.now, at)
	result, err := b.apply(cmd)
	b.endCommand()
	if checking.EveryCommand && b.dueForCheck() {
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
	return cmd.apply(b)
}

// begin returns a queue for changing, nil if there is none. After a Freeze the
// first change of a queue clones it; endCommand and catchUp complete all that were begun.
func (b *Broker) begin(name string) *Queue {
	q, ok := b.queues.Get(name)
	if !ok {
		return nil
	}
	q = b.own(q)
	b.refresh(q)
	return q
}

// own returns a queue that no Frozen state shares: q, or its clone.
func (b *Broker) own(q *Queue) *Queue {
	if q.generation != b.generation {
		q = q.clone(b.generation)
		b.queues.Set(q.name, q)
	}
	return q
}

// beginNow begins a change of a queue and brings it up to the present time.
func (b *Broker) beginNow(name string) *Queue {
	q := b.begin(name)
	if q != nil {
		b.expire(q, queueExpiryBudget)
	}
	return q
}

// refresh has catchUp bring the broker-wide indexes up to date with q.
func (b *Broker) refresh(q *Queue) {
	if !slices.Contains(b.changed, q) {
		b.changed = append(b.changed, q)
	}
}

// finish ends a command that nothing follows in its entry.
func (b *Broker) finish() {
	b.endCommand()
	b.catchUp()
}

// endCommand notes which queues catchUp has to do with.
func (b *Broker) endCommand() {
	for i, q := range b.changed {
		if !q.sums.behind {
			q.sums.behind = true
			b.behind = append(b.behind, q)
		}
		b.changed[i] = nil
	}
	b.changed = b.changed[:0]
	b.topics.Finish(b.key)
	b.releases.step(releaseBudget)
}

// catchUp brings the broker-wide indexes up to date with the queues that commands changed,
// and tells what happened to them.
func (b *Broker) catchUp() {
	b.index()
	for i, q := range b.behind {
		if q.deliverable(b.now) {
			b.emit(MessagesAvailable, q.name, 0)
		}
		for _, name := range q.groups.sessions.TakeWoken() {
			b.events = append(b.events, Event{Kind: SessionAvailable, Queue: q.name, Session: name})
		}
		q.sums.behind = false
		b.behind[i] = nil
	}
	b.behind = b.behind[:0]
}

// index is the part of catchUp that may be needed before the end of an entry.
func (b *Broker) index() {
	for _, q := range b.behind {
		b.count(q)
		b.register(q)
	}
}

// leave takes a queue that is deleted out of the broker-wide indexes.
func (b *Broker) leave(q *Queue) {
	b.sum.Sub(q.sums.counted)
	b.bytes -= q.sums.countedBytes
	if q.deadline != 0 {
		b.deadlines.Delete(queueDeadline{q.deadline, q.incarnation, q.name})
	}
	b.behind = slices.DeleteFunc(b.behind, func(other *Queue) bool { return other == q })
}

// count carries the change of a queue's record hashes into the broker's sum.
func (b *Broker) count(q *Queue) {
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
	b.events = append(b.events, Event{Kind: kind, Queue: queue, Count: count})
}

// TakeEvents appends the events since the last call to dst and forgets them.
func (b *Broker) TakeEvents(dst []Event) []Event {
	dst = append(dst, b.events...)
	b.events = b.events[:0]
	return dst
}

// Now is the log time: the highest stamp applied so far.
func (b *Broker) Now() Timestamp { return b.now }

// FormatVersion is the version set by SetFormatVersion, 0 in a new state.
func (b *Broker) FormatVersion() uint32 { return b.formatVersion }

// View reads the present state.
func (b *Broker) View() View { return View{b} }

// StateHash is the incremental 128-bit hash over all records.
func (b *Broker) StateHash() [16]byte {
	sum := b.sum
	sum.Add(b.topics.Sum())
	sum.Add(b.outbox.Sum())
	sum.Add(b.access.Sum())
	sum.Add(b.recordSum())
	return sum.Bytes()
}

// recordSum hashes what belongs to no queue.
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

// intern shares equal sender ids: there are few, and every message has one.
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

// sendersShared bounds the table of shared sender ids.
const sendersShared = 4096
