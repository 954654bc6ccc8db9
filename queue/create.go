package queue

import (
	"strconv"

	"github.com/tidwall/btree"
)

// deletionWait is how long AWS refuses a deleted name, and purgeWait how long
// a second purge; both only with the setting aws-cooldowns (decision 13).
const (
	deletionWait = 60 * Second
	purgeWait    = 60 * Second
)

// createQueue creates a queue. An existing one with equal attributes is
// confirmed; attributes not in the request are not compared, nor are tags.
func (b *Broker) createQueue(c *CreateQueue) (Result, *Error) {
	if q, exists := b.queues.Get(c.Queue); exists {
		name, err := q.attributes.differs(c.Attributes, b.assignment(c.Policies))
		switch {
		case err != nil:
			return nil, err
		case name != "":
			return nil, errorf(QueueNameExists,
				"A queue already exists with the same name and a different value for attribute ", name)
		}
		return QueueCreated{Queue: c.Queue}, nil
	}
	fifo := isFIFOName(c.Queue)
	attributes, err := createAttributes(fifo, c.Attributes, b.assignment(c.Policies))
	if err == nil {
		err = b.checkRedrive(c.Queue, fifo, attributes.Redrive, c.Attributes)
	}
	if err == nil {
		err = b.checkImplicitDeadLetter(c.Queue, &attributes)
	}
	if err != nil {
		return nil, err
	}
	if b.cooldowns() && b.tombstones.within(c.Queue, b.now, deletionWait) {
		return nil, errorf(QueueDeletedRecently,
			"You must wait 60 seconds after deleting a queue before you can create another with the same name.")
	}
	b.addQueue(c.Queue, attributes, c.Tags)
	return QueueCreated{Queue: c.Queue}, nil
}

func (b *Broker) addQueue(name string, attributes QueueAttributes, tags []Tag) {
	b.nextIncarnation++
	q := b.newQueue(name, b.nextIncarnation, attributes)
	q.tags = tags
	q.createdAt, q.modifiedAt = b.now, b.now
	q.timers.fired = timed{b.now, lastTimed}
	q.generation = b.generation
	// Numbers go on above those of any deleted queue: one of them may have
	// had this name, and a number is never used twice under one name.
	q.lastSequence = b.sequenceFloor
	b.queues.Set(name, q)
	b.touch(q)
	b.followRedrive(q, "")
	b.addImplicitDeadLetter(q)
}

// checkImplicitDeadLetter refuses ImplicitDeadLetterQueue where the built-in
// queue could not have its name.
func (b *Broker) checkImplicitDeadLetter(name string, a *QueueAttributes) *Error {
	if a.ImplicitDeadLetterQueue && len(implicitDeadLetterName(name)) > QueueNameLengthMax {
		return errorf(InvalidAttributeValue, "Invalid value for the parameter ImplicitDeadLetterQueue. "+
			"Reason: the name of the queue is too long to append -dlq to it.")
	}
	return nil
}

// addImplicitDeadLetter creates the built-in dead-letter queue if it is asked
// for and missing. It is an ordinary queue in every other way.
func (b *Broker) addImplicitDeadLetter(q *Queue) {
	if !q.attributes.ImplicitDeadLetterQueue || q.attributes.Redrive.Target != "" {
		return
	}
	name := implicitDeadLetterName(q.name)
	if _, exists := b.queues.Get(name); !exists {
		attributes, err := createAttributes(q.attributes.FIFO, fifoAttribute(q.attributes.FIFO), b.assignment(Policies{}))
		if err != nil {
			panic("queue: default attributes are refused: " + err.Message)
		}
		b.addQueue(name, attributes, nil)
	}
}

func fifoAttribute(fifo bool) []Attribute {
	if !fifo {
		return nil
	}
	return []Attribute{{Name: "FifoQueue", Value: "true"}}
}

// deleteQueue removes a queue with its messages, records and tags. Queues that
// redrive to it keep their policy and their messages.
func (b *Broker) deleteQueue(c *DeleteQueue) (Result, *Error) {
	q, ok := b.queues.Get(c.Queue)
	if !ok {
		return nil, noSuchQueue()
	}
	b.queues.Delete(q.name)
	b.sum.sub(q.sums.counted)
	b.bytes -= q.sums.countedBytes
	if q.deadline != 0 {
		b.deadlines.Delete(queueDeadline{q.deadline, q.incarnation, q.name})
	}
	if target, _ := q.deadLetterTarget(); target != "" {
		b.sources.Delete(sourceKey(target, q.name))
	}
	b.sequenceFloor = max(b.sequenceFloor, q.lastSequence)
	b.dropMoveTasks(q.name)
	b.tombstones.bury(b, q.name)
	b.emit(QueueDeleted, q.name, 0)
	return Done{}, nil
}

// setQueueAttributes merges attributes, all or none.
func (b *Broker) setQueueAttributes(q *Queue, c *SetQueueAttributes) (Result, *Error) {
	attributes, err := q.attributes.withChanges(c.Attributes, b.assignment(c.Policies))
	if err == nil {
		err = b.checkRedrive(q.name, attributes.FIFO, attributes.Redrive, c.Attributes)
	}
	if err == nil {
		err = b.checkImplicitDeadLetter(q.name, &attributes)
	}
	if err != nil {
		return nil, err
	}
	target, _ := q.deadLetterTarget()
	window := q.attributes.Deduplication.WindowSeconds
	q.attributes = attributes
	q.changeWindow(window, b.now)
	q.modified(b.now)
	b.followRedrive(q, target)
	b.addImplicitDeadLetter(q)
	return Done{}, nil
}

// modified notes a change of attributes or tags.
func (q *Queue) modified(now Timestamp) {
	q.modifiedAt = now
	q.sums.headerStale = true
}

// setQueueTags is TagQueue and UntagQueue. Removing unknown keys is fine.
func (b *Broker) setQueueTags(q *Queue, c *SetQueueTags) (Result, *Error) {
	var tags btree.Map[string, string]
	for _, t := range q.tags {
		tags.Set(t.Key, t.Value)
	}
	for _, t := range c.Set {
		tags.Set(t.Key, t.Value)
	}
	for _, key := range c.Remove {
		tags.Delete(key)
	}
	if tags.Len() > TagsMax {
		return nil, tooManyTags(q.name)
	}
	merged := make([]Tag, 0, tags.Len())
	tags.Scan(func(key, value string) bool {
		merged = append(merged, Tag{key, value})
		return true
	})
	q.tags = merged
	q.sums.headerStale = true
	return Done{}, nil
}

// setQueuePolicy is AddPermission and RemovePermission.
func (b *Broker) setQueuePolicy(q *Queue, c *SetQueuePolicy) (Result, *Error) {
	var policy string
	var err *Error
	if c.Remove {
		policy, err = removePermission(q.attributes.Policy, c.Label)
	} else {
		policy, err = addPermission(q.attributes.Policy, c)
	}
	if err != nil {
		return nil, err
	}
	q.attributes.Policy = policy
	q.modified(b.now)
	return Done{}, nil
}

// purgeQueue deletes all messages: available, in flight, delayed, scheduled,
// and forgets receive attempts. Deduplication records go as recorded on AWS,
// unless PurgeClearsDeduplicationHistory=false.
func (b *Broker) purgeQueue(q *Queue) (Result, *Error) {
	if b.cooldowns() && q.purgedAt != 0 && b.now.Sub(q.purgedAt) < purgeWait {
		return nil, errorf(PurgeQueueInProgress,
			"Only one PurgeQueue operation on ", q.name, " is allowed every 60 seconds.")
	}
	q.purgedAt = b.now
	q.clearMessages()
	q.clearAttempts()
	if !q.attributes.Deduplication.PurgeKeepsHistory {
		q.clearDeduplication()
	}
	return Done{}, nil
}

// headerSum hashes what rarely changes: name, attributes, tags, times.
func (q *Queue) headerSum(k keyed) sum128 {
	r := append(record(nil), kindHeader).num(q.incarnation).text(q.name).flag(q.attributes.FIFO)
	for _, a := range q.attributes.list() {
		r = r.text(a.Name).text(a.Value)
	}
	r = r.num(uint64(q.attributes.Extensions)).num(uint64(len(q.tags)))
	for _, t := range q.tags {
		r = r.text(t.Key).text(t.Value)
	}
	return k.sum(r.time(q.createdAt).time(q.modifiedAt))
}

// countersSum hashes what changes with most commands.
func (q *Queue) countersSum(k keyed) sum128 {
	var buf [96]byte
	r := append(record(buf[:0]), kindCounters).num(q.incarnation).time(q.purgedAt).num(q.lastSequence)
	r = r.num(q.attempts.last).time(q.deduplication.deadBefore)
	return k.sum(r.time(q.timers.fired.at).num(q.timers.fired.sequence))
}

// tombstones remember deleted queues for the 60-second rule.
type tombstones struct {
	byName *btree.Map[string, Timestamp]
	byTime *btree.BTreeG[queueDeadline]
}

func newTombstones() tombstones {
	return tombstones{
		byName: new(btree.Map[string, Timestamp]),
		byTime: btree.NewBTreeGOptions(func(a, b queueDeadline) bool {
			return a.at < b.at || a.at == b.at && a.name < b.name
		}, btree.Options{NoLocks: true}),
	}
}

func tombstoneSum(k keyed, name string, at Timestamp) sum128 {
	return k.sum(append(record(nil), kindTombstone).text(name).time(at))
}

func (t tombstones) within(name string, now Timestamp, wait Duration) bool {
	at, ok := t.byName.Get(name)
	return ok && now.Sub(at) < wait
}

func (t tombstones) bury(b *Broker, name string) {
	t.forget(b, name)
	t.byName.Set(name, b.now)
	t.byTime.Set(queueDeadline{at: b.now, name: name})
	b.sum.add(tombstoneSum(b.key, name, b.now))
}

func (t tombstones) forget(b *Broker, name string) {
	if at, was := t.byName.Delete(name); was {
		t.byTime.Delete(queueDeadline{at: at, name: name})
		b.sum.sub(tombstoneSum(b.key, name, at))
	}
}

func (t tombstones) deadline() Timestamp {
	if oldest, ok := t.byTime.Min(); ok {
		return roundUp(oldest.at.Add(deletionWait), forgetStep)
	}
	return 0
}

// expire forgets at most budget tombstones older than the rule.
func (t tombstones) expire(b *Broker, budget int) int {
	for ; budget > 0; budget-- {
		oldest, ok := t.byTime.Min()
		if !ok || b.now.Sub(oldest.at) < deletionWait {
			break
		}
		t.forget(b, oldest.name)
	}
	return budget
}

// text is the number as a client wrote it, for error messages.
func (i Int) text() string { return strconv.FormatInt(i.Value, 10) }
