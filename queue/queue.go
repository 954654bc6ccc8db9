package queue

import (
	"github.com/tidwall/btree"

	"github.com/seriatimq/seriatim/queue/account"
	"github.com/seriatimq/seriatim/queue/content"
	"github.com/seriatimq/seriatim/queue/deduplication"
	"github.com/seriatimq/seriatim/queue/logtime"
	"github.com/seriatimq/seriatim/queue/session"
	"github.com/seriatimq/seriatim/queue/statehash"
)

// Queue is one queue with its messages and indexes. Only messages, aside,
// deduplication and attempts are state; ready, timers, groups and byAge follow
// from them and are rebuilt by a Restorer.
//
// A Queue belongs to one generation of the Broker: Freeze starts a new one,
// and the first change afterwards works on a clone (see Broker.begin), so that
// the frozen one never changes.
type Queue struct {
	name        string
	incarnation uint64
	attributes  QueueAttributes
	tags        []Tag // sorted by key, replaced as a whole
	changeTimes
	lastSequence  uint64
	timedMax      uint64      // highest number among stored messages that have a timer, see hasTimer, or above it
	messages      *messageMap // by sequence, without scheduled ones
	made          messageBlocks
	byAge         *btree.BTreeG[timed] // messages whose sentAt is out of order, by sentAt
	aside         messagesAside
	groups        messageGroups
	ready         readyIndex
	timers        timerIndex
	deduplication deduplication.Deduplicator
	attempts      attemptIndex
	sums          queueSums
	bodies        content.Store // of Broker
	generation    uint64
	deadline      Timestamp // as registered in Broker.deadlines, zero if not
}

// changeTimes is when a queue was changed as a whole, in log time; zero is never.
type changeTimes struct {
	createdAt  Timestamp
	modifiedAt Timestamp // its attributes
	purgedAt   Timestamp
	forgotAt   Timestamp // an id was freed before its time
}

// timed orders messages by a point in time, then by sequence.
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

// messagesAside are the stored messages that take no turn.
type messagesAside struct {
	// scheduled wait outside their group for their time of enqueueing.
	scheduled *messageMap
	byTime    *btree.BTreeG[timed] // scheduled ones, by that time
	deferred  *messageMap
}

func newMessagesAside() messagesAside {
	return messagesAside{scheduled: new(messageMap), byTime: newTimedTree(), deferred: new(messageMap)}
}

func (a messagesAside) clone() messagesAside {
	a.scheduled, a.deferred = a.scheduled.Copy(), a.deferred.Copy() // byTime follows from them, see Queue.clone
	return a
}

// queueSums are the parts of the state hash that belong to one queue, kept
// apart so that a purge or a deletion subtracts them at once.
type queueSums struct {
	messages     statehash.Sum
	attempts     statehash.Sum
	header       statehash.Sum // name, attributes, tags
	counted      statehash.Sum // what Broker.sum holds for this queue
	headerStale  bool          // header has to be computed again
	published    int64         // messages that topics delivered; not part of the hash
	stored       int64         // messages with a stored body; not part of the hash
	messageBytes int64         // estimated size of the messages; not part of the hash
	countedBytes int64         // what Broker.bytes holds for this queue
	behind       bool          // is in Broker.behind
	contentBytes int64         // what usage holds for this queue, as does the number of messages
	usage        *account.Usage
}

func (b *Broker) newQueue(name string, incarnation uint64, attributes QueueAttributes) *Queue {
	q := &Queue{name: name, incarnation: incarnation, attributes: attributes, sums: queueSums{headerStale: true}, bodies: b.bodies}
	q.sums.usage = b.usage.Of(account.OwnerOf(name))
	q.sums.usage.Queues++
	q.setNoMessages()
	q.groups.sessions = session.New(incarnation)
	q.deduplication = deduplication.New(incarnation, attributes.Deduplication)
	q.attempts = newAttemptIndex()
	return q
}

// clearMessages drops every message, in whatever state, with its indexes.
func (q *Queue) clearMessages() {
	q.leaveUsage()
	q.setNoMessages()
}

// leaveUsage takes the messages of the queue out of what its account has.
func (q *Queue) leaveUsage() {
	q.sums.usage.Messages -= int64(q.messages.Len() + q.aside.scheduled.Len() + q.aside.deferred.Len())
	q.sums.usage.Bytes -= q.sums.contentBytes
}

func (q *Queue) setNoMessages() {
	q.messages = new(messageMap)
	q.byAge = newTimedTree()
	q.aside = newMessagesAside()
	sessions := q.groups.sessions
	q.groups = newMessageGroups()
	q.groups.sessions = sessions
	q.groups.sessions.ForgetMessages()
	q.ready.firstDelivery, q.ready.redelivered, q.ready.single = newTimedTree(), newTimedTree(), 0
	q.timers = timerIndex{pending: newTimedTree(), fired: q.timers.fired}
	q.sums.messages, q.sums.messageBytes, q.sums.contentBytes = statehash.Sum{}, 0, 0
	q.sums.published, q.sums.stored = 0, 0
}

// clone copies the queue for a new generation: the trees share their nodes
// until one side changes them. What follows from the messages goes over to the clone
// as it is, for a Frozen state reads only records: to copy these trees, too, made the
// sends after each snapshot dearer, a node of each tree at a time.
func (q *Queue) clone(generation uint64) *Queue {
	c := *q
	c.generation = generation
	c.messages = q.messages.Copy()
	c.aside = q.aside.clone()
	c.groups = q.groups.clone()
	c.deduplication = q.deduplication.Clone()
	c.attempts = q.attempts.clone()
	return &c
}

// ordered reports whether m takes its turn in a group. Messages of standard
// queues never do, there the group id only names a tenant (fair queues); on
// FIFO queues with MessageGroupIdMode=Optional those without a group do not.
func (q *Queue) ordered(m *Message) bool { return q.attributes.FIFO && m.group != "" }

// hasTimer reports whether m.delivery.visibleAt decides when m is visible.
func (q *Queue) hasTimer(m *Message) bool {
	if q.attributes.FIFO {
		return m.delivered() || m.wasScheduled()
	}
	return m.delivery != nil
}

// hides reports whether m has a timer of its own; a session lock has one for all.
func (q *Queue) hides(m *Message) bool { return q.hasTimer(m) && m.delivery.session == 0 }

// pending reports whether the timer of m has still to fire.
func (q *Queue) pending(m *Message) bool { return q.hides(m) && q.timers.fired.less(q.timers.key(m)) }

// held reports whether m is in flight under the lock that its group has.
func (q *Queue) held(m *Message) bool {
	return m.delivery != nil && m.delivery.session != 0 && q.groups.sessions.HasLock(m.group, m.delivery.session)
}

// availableAt is when m can be received as far as its own delay and
// visibility timeout go. The delay of a FIFO queue counts from the queue's
// present setting: AWS documents its change as retroactive.
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

// expired reports whether retention has passed for m at now.
func (q *Queue) expired(m *Message, now Timestamp) bool {
	return !m.deferred() && now.Sub(m.sentAt) >= logtime.Seconds(q.attributes.RetentionSeconds)
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

// index counts a message that was stored, and files it in the indexes. It does not keep it.
func (q *Queue) index(m *Message) {
	q.sums.messages.Add(m.hashed)
	q.hold(m)
	if m.extra != nil && m.extra.keepsAge {
		q.byAge.Set(timed{m.sentAt, m.sequence})
	}
	if q.hasTimer(m) {
		q.timedMax = max(q.timedMax, m.sequence)
	}
	if q.ordered(m) {
		q.groups.add(m)
	}
	q.enqueue(m)
}

// hashOf is the record hash of a stored message that is not set aside.
func (q *Queue) hashOf(k statehash.Key, m *Message) statehash.Sum {
	if m.hashed != (statehash.Sum{}) {
		return m.hashed
	}
	return m.sum(k, q.incarnation, false)
}

// replace stores another state of the same message.
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
	m.hashed = m.sum(k, q.incarnation, false)
	q.sums.messages.Sub(q.hashOf(k, old))
	q.sums.messages.Add(m.hashed)
	q.sums.messageBytes += m.size() - old.size()
	q.messages.Set(m.sequence, m)
	q.enqueue(m)
}

// remove takes a message out for ever. The next message of its group becomes
// the head and is receivable at once if it is available.
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

// enqueue puts m into the index that fits its state: timers while it is hidden,
// ready if it can be received or will be after the queue's delay. Behind the
// head of its group it needs neither.
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

// show files a message that no timer hides.
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

// promote makes m, which has become the head of its group, receivable unless
// it is hidden by a timer of its own.
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

// unshow undoes show.
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

// readyIndex holds what can be received next: single messages, and of each
// group its head. AWS recordings show groups served by the time at which their
// first receivable message became available (sqs.md 4.4).
type readyIndex struct {
	firstDelivery *btree.BTreeG[timed] // never handed out here, by sentAt; a FIFO queue's delay is added on reading
	redelivered   *btree.BTreeG[timed] // delay or visibility timeout over, by that time, or by sentAt
	single        int64                // messages in both that are in no group
}

func (r readyIndex) index(timer bool) *btree.BTreeG[timed] {
	if timer {
		return r.redelivered
	}
	return r.firstDelivery
}

func (q *Queue) readyKey(m *Message) timed {
	if q.attributes.FIFO && q.hasTimer(m) {
		return timed{m.delivery.visibleAt, m.sequence}
	}
	return timed{m.sentAt, m.sequence}
}

// firstDeliveryDelay is what the availability of a message lies behind its key before its
// first delivery.
func (q *Queue) firstDeliveryDelay() logtime.Duration {
	if q.attributes.FIFO {
		return logtime.Seconds(q.attributes.DelaySeconds)
	}
	return 0
}
