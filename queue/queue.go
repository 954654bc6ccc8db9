package queue

import (
	"github.com/tidwall/btree"

	"github.com/seriatimq/seriatim/queue/access"
	"github.com/seriatimq/seriatim/queue/deduplication"
	"github.com/seriatimq/seriatim/queue/logtime"
	"github.com/seriatimq/seriatim/queue/message"
	"github.com/seriatimq/seriatim/queue/session"
	"github.com/seriatimq/seriatim/queue/statehash"
)

// Queue is one queue with its messages and indexes. The state consists of messages, scheduled,
// deferred, deduplication and attempts. A Restorer rebuilds the other indexes from it.
//
// A Queue belongs to one generation of the Broker. Freeze starts a new generation, in which the
// first change clones the queue: a frozen Queue never changes.
type Queue struct {
	name        string
	incarnation uint64
	attributes  QueueAttributes
	tags        []Tag // sorted by key, replaced as a whole
	// Times of changes of the queue as a whole, in log time; zero: never.
	createdAt  Timestamp
	modifiedAt Timestamp // of the attributes
	purgedAt   Timestamp
	forgotAt   Timestamp // an id was forgotten by command
	usedAt     Timestamp // by a client, see NoteUse

	lastSequence    uint64
	timedMax        uint64      // at least the highest number among messages with a timer, see hasTimer
	messages        *messageMap // by sequence, without scheduled and deferred ones
	made            messageBlocks
	byAge           *btree.BTreeG[timed] // messages whose sentAt is out of order, by sentAt
	byTimeToLive    *btree.BTreeG[timed] // messages with a time to live, see timeToLiveKey
	mortal          int                  // messages with a time to live, but deferred ones
	scheduled       *messageMap          // outside their groups until they are due
	scheduledByTime *btree.BTreeG[timed]
	deferred        *messageMap
	groups          messageGroups
	ready           readyIndex
	timers          timerIndex
	deduplication   deduplication.Deduplicator
	attempts        attemptIndex
	sums            queueSums
	bodies          message.Store // of Broker
	generation      uint64
	deadline        Timestamp // as in Broker.deadlines, zero if absent
}

// timed sorts messages by time, then by sequence.
type timed struct {
	at       Timestamp
	sequence uint64
}

func (a timed) less(b timed) bool {
	if a.at != b.at {
		return a.at < b.at
	}
	return a.sequence < b.sequence
}

func newTimedTree() *btree.BTreeG[timed] {
	return btree.NewBTreeGOptions(timed.less, btree.Options{NoLocks: true})
}

// queueSums holds the queue's share of the state hash, so that a purge or deletion can subtract it
// at once.
type queueSums struct {
	messages     statehash.Sum
	attempts     statehash.Sum
	header       statehash.Sum // of name, attributes, tags, times
	counted      statehash.Sum // share of Broker.sum
	headerStale  bool          // header must be recomputed
	published    int64         // messages from topics; not part of the hash
	stored       int64         // messages with a stored body; not part of the hash
	messageBytes int64         // estimated size of the messages; not part of the hash
	countedBytes int64         // share of Broker.bytes
	dirty        bool          // listed in scratch.dirty of Broker
	contentBytes int64         // share of usage, as is the number of messages
	usage        *access.Usage
}

func (b *Broker) newQueue(name string, incarnation uint64, attributes QueueAttributes) *Queue {
	q := &Queue{name: name, incarnation: incarnation, attributes: attributes, sums: queueSums{headerStale: true}, bodies: b.bodies}
	q.sums.usage = b.usage.Of(access.OwnerOf(name))
	q.sums.usage.Queues++
	q.setNoMessages()
	q.groups.sessions = session.New(incarnation)
	q.deduplication = deduplication.New(incarnation, attributes.Deduplication)
	q.attempts = newAttemptIndex()
	return q
}

// clearMessages drops every message with its indexes.
func (q *Queue) clearMessages() {
	q.leaveUsage()
	q.setNoMessages()
}

// leaveUsage subtracts the messages of the queue from the account's usage.
func (q *Queue) leaveUsage() {
	q.sums.usage.Messages -= int64(q.messages.Len() + q.scheduled.Len() + q.deferred.Len())
	q.sums.usage.Bytes -= q.sums.contentBytes
}

func (q *Queue) setNoMessages() {
	q.messages = new(messageMap)
	q.byAge, q.byTimeToLive, q.mortal = newTimedTree(), newTimedTree(), 0
	q.scheduled, q.scheduledByTime, q.deferred = new(messageMap), newTimedTree(), new(messageMap)
	sessions := q.groups.sessions
	q.groups = newMessageGroups()
	q.groups.sessions = sessions
	q.groups.sessions.ForgetMessages()
	q.ready.firstDelivery, q.ready.redelivered, q.ready.single = newTimedTree(), newTimedTree(), 0
	q.timers = timerIndex{pending: newTimedTree(), fired: q.timers.fired}
	q.sums.messages, q.sums.messageBytes, q.sums.contentBytes = statehash.Sum{}, 0, 0
	q.sums.published, q.sums.stored = 0, 0
}

// clone copies the queue for a new generation. The trees copy their nodes only when they change.
// The clone gets the derived indexes, which the frozen original no longer needs, since only its
// records are read.
func (q *Queue) clone(generation uint64) *Queue {
	c := *q
	c.generation = generation
	c.messages, c.scheduled, c.deferred = q.messages.Copy(), q.scheduled.Copy(), q.deferred.Copy()
	c.groups = q.groups.clone()
	c.deduplication = q.deduplication.Clone()
	c.attempts = q.attempts.clone()
	return &c
}

// ordered reports whether m is delivered in the order of its group. A group of a standard queue
// only names a tenant (fair queues). With MessageGroupIdMode=Optional, messages without a group are
// unordered.
func (q *Queue) ordered(m *Message) bool { return q.attributes.FIFO && m.group != "" }

// hasTimer reports whether m.delivery.visibleAt decides when m is visible.
func (q *Queue) hasTimer(m *Message) bool {
	if q.attributes.FIFO {
		return m.delivered() || m.wasScheduled()
	}
	return m.delivery != nil
}

// hides reports whether m has a timer of its own. Messages under a session lock share one.
func (q *Queue) hides(m *Message) bool { return q.hasTimer(m) && m.delivery.session == 0 }

// pending reports whether the timer of m has not fired yet.
func (q *Queue) pending(m *Message) bool { return q.hides(m) && q.timers.fired.less(q.timers.key(m)) }

// held reports whether m is in flight under the session lock of its group.
func (q *Queue) held(m *Message) bool {
	return m.delivery != nil && m.delivery.session != 0 && q.groups.sessions.HasLock(m.group, m.delivery.session)
}

// availableAt returns when the delay or visibility timeout of m ends. The delay of a FIFO queue
// follows the present setting: AWS documents its change as retroactive.
func (q *Queue) availableAt(m *Message) Timestamp {
	switch {
	case q.hasTimer(m):
		return m.delivery.visibleAt
	case q.attributes.FIFO:
		return m.sentAt.Add(logtime.Seconds(q.attributes.DelaySeconds))
	default:
		return m.sentAt
	}
}

// expired reports whether m is too old for its queue or for itself at now.
func (q *Queue) expired(m *Message, now Timestamp) bool {
	return !m.deferred() && (q.pastRetention(m, now) || q.outlived(m, now))
}

func (q *Queue) pastRetention(m *Message, now Timestamp) bool {
	retention := q.attributes.Retention()
	return retention > 0 && now.Sub(m.sentAt) >= retention
}

// insert stores a new message.
func (q *Queue) insert(k statehash.Key, m *Message) {
	if m.deferred() {
		q.insertDeferred(k, m)
		return
	}
	m.hashed = m.sum(k, q.incarnation, false)
	q.messages.Set(m.sequence, m)
	q.index(m)
}

// index adds a stored message to the indexes and counters. It does not keep m.
func (q *Queue) index(m *Message) {
	q.sums.messages.Add(m.hashed)
	q.hold(m)
	if m.extra != nil && m.extra.keepsAge {
		q.byAge.Set(timed{m.sentAt, m.sequence})
	}
	if m.timeToLive() != 0 {
		q.mortal++
		q.noteTimeToLive(m)
	}
	if q.hasTimer(m) {
		q.timedMax = max(q.timedMax, m.sequence)
	}
	if q.ordered(m) {
		q.groups.add(m)
	}
	q.enqueue(m)
}

// hashOf returns the record hash of a message in q.messages.
func (q *Queue) hashOf(k statehash.Key, m *Message) statehash.Sum {
	if m.hashed != (statehash.Sum{}) {
		return m.hashed
	}
	return m.sum(k, q.incarnation, false)
}

// replace stores a new version of a message.
func (q *Queue) replace(k statehash.Key, old, m *Message) {
	if old.deferred() {
		q.removeDeferred(k, old)
		q.insertDeferred(k, m)
		return
	}
	q.groups.recall(m.group)
	if q.hasTimer(m) {
		q.timedMax = max(q.timedMax, m.sequence)
	}
	q.dequeue(old)
	q.forgetTimeToLive(old)
	q.noteTimeToLive(m)
	m.hashed = m.sum(k, q.incarnation, false)
	q.sums.messages.Sub(q.hashOf(k, old))
	q.sums.messages.Add(m.hashed)
	q.sums.messageBytes += m.size() - old.size()
	q.messages.Set(m.sequence, m)
	q.enqueue(m)
}

// remove deletes a message. The next message of its group becomes the head.
func (q *Queue) remove(k statehash.Key, m *Message) {
	if m.deferred() {
		q.removeDeferred(k, m)
		return
	}
	q.groups.recall(m.group)
	q.dequeue(m)
	q.messages.Delete(m.sequence)
	q.sums.messages.Sub(q.hashOf(k, m))
	q.release(m)
	if m.extra != nil && m.extra.keepsAge {
		q.byAge.Delete(timed{m.sentAt, m.sequence})
	}
	if m.timeToLive() != 0 {
		q.mortal--
		q.forgetTimeToLive(m)
	}
	if !q.ordered(m) {
		return
	}
	wasHead := q.groups.head(m.group) == m.sequence
	q.groups.remove(m)
	if head := q.groups.head(m.group); wasHead && head != 0 {
		next, _ := q.messages.Get(head)
		q.promote(next)
	}
}

// enqueue adds m to the index for its state: timers while it is hidden, else ready. A message
// behind the head of its group is in neither.
func (q *Queue) enqueue(m *Message) {
	if q.held(m) {
		q.groups.sessions.Claim(m.group, 1)
		return
	}
	if q.hides(m) && q.timers.add(m) {
		return
	}
	q.show(m)
}

// show adds a message that no timer hides to the ready index.
func (q *Queue) show(m *Message) {
	if q.ordered(m) {
		if q.groups.sessions.Locked(m.group) {
			q.groups.sessions.Return(m.group, m.sequence)
			return
		}
		if q.groups.head(m.group) != m.sequence {
			return
		}
	}
	if _, known := q.ready.index(q.hasTimer(m)).Set(q.readyKey(m)); !known && !q.ordered(m) {
		q.ready.single++
	}
}

// promote makes m, the new head of its group, ready unless its timer hides it.
func (q *Queue) promote(m *Message) {
	if q.groups.sessions.Locked(m.group) || q.pending(m) {
		return
	}
	q.ready.index(q.hasTimer(m)).Set(q.readyKey(m))
}

func (q *Queue) dequeue(m *Message) {
	if q.held(m) {
		q.groups.sessions.Claim(m.group, -1)
		return
	}
	if q.hides(m) && q.timers.remove(m) {
		return
	}
	q.unshow(m)
}

// unshow reverses show.
func (q *Queue) unshow(m *Message) {
	if q.ordered(m) {
		if q.groups.sessions.Locked(m.group) {
			q.groups.sessions.Unreturn(m.group, m.sequence)
			return
		}
		if q.groups.head(m.group) != m.sequence {
			return
		}
	}
	if _, known := q.ready.index(q.hasTimer(m)).Delete(q.readyKey(m)); known && !q.ordered(m) {
		q.ready.single--
	}
}

// readyIndex holds the messages that can be received next: ungrouped messages and the heads of
// groups. AWS serves groups by the time at which their first message became available (recorded,
// sqs.md 4.4).
type readyIndex struct {
	firstDelivery *btree.BTreeG[timed] // never delivered, by sentAt; a FIFO queue's delay is added when read
	redelivered   *btree.BTreeG[timed] // delay or visibility timeout over, by that time or, without a group, by sentAt
	single        int64                // messages without a group, in both trees
}

func (r readyIndex) index(timer bool) *btree.BTreeG[timed] {
	if timer {
		return r.redelivered
	}
	return r.firstDelivery
}

// readyKey returns the place of a message. One without a group returns to its old place, as in Service Bus.
func (q *Queue) readyKey(m *Message) timed {
	if q.ordered(m) && q.hasTimer(m) {
		return timed{m.delivery.visibleAt, m.sequence}
	}
	return timed{m.sentAt, m.sequence}
}

// firstDeliveryDelay returns the delay to add to the keys of readyIndex.firstDelivery.
func (q *Queue) firstDeliveryDelay() logtime.Duration {
	if q.attributes.FIFO {
		return logtime.Seconds(q.attributes.DelaySeconds)
	}
	return 0
}
