package queue

import (
	"slices"
	"strconv"
	"strings"

	"github.com/tidwall/btree"

	"github.com/seriatimq/seriatim/queue/access"
	"github.com/seriatimq/seriatim/queue/attributes"
	"github.com/seriatimq/seriatim/queue/limits"
	"github.com/seriatimq/seriatim/queue/logtime"
	"github.com/seriatimq/seriatim/queue/refusal"
	"github.com/seriatimq/seriatim/queue/statehash"
)

// CreateQueue creates a queue, or confirms that an equal queue exists.
type CreateQueue struct {
	Queue      string
	Attributes []Attribute // sorted by name, names distinct
	Tags       []Tag       // sorted by key, keys distinct
}

// QueueName implements Command.
func (c *CreateQueue) QueueName() string { return "" }

// Validate checks the name, the tags, and the attributes except for limits that are cluster
// settings.
func (c *CreateQueue) Validate() *Error {
	if err := c.wellFormed(); err != nil {
		return err
	}
	return c.checkAttributes(attributes.AnyWindow())
}

func (c *CreateQueue) checkAttributes(in attributes.Assignment) *Error {
	return attributes.Check(isFIFOName(c.Queue), c.Attributes, in)
}

// wellFormed checks the name, by the rule that FifoQueue selects, and the tags.
func (c *CreateQueue) wellFormed() *Error {
	if err := c.checkName(limits.FIFONameLengthMax); err != nil {
		return err
	}
	return attributes.CheckTags(access.PlainName(c.Queue), c.Tags)
}

// CheckSQSName refuses the name of a FIFO queue that is too long for SQS.
func (c *CreateQueue) CheckSQSName() *Error { return c.checkName(limits.QueueNameLengthMax) }

func (c *CreateQueue) checkName(fifoMax int) *Error {
	name := access.PlainName(c.Queue)
	value, _ := attributes.ValueOf(c.Attributes, attributes.NameFIFO)
	if on, _ := attributes.ParseBool(value); on {
		if base, isFIFO := strings.CutSuffix(name, ".fifo"); !isFIFO || !plainName(base) || len(name) > fifoMax {
			return refusal.InvalidParameter("The name of a FIFO queue can only include alphanumeric characters, hyphens, or underscores, ",
				"must end with .fifo suffix and be 1 to ", strconv.Itoa(fifoMax), " in length.")
		}
	} else if !plainName(name) || len(name) > limits.QueueNameLengthMax {
		// AWS returns the same text for a name that ends in .fifo.
		return refusal.InvalidParameter(nameRule)
	}
	return nil
}

func (c *CreateQueue) accessPolicy() (AccessPolicy, bool) { return queuePolicy(c.Queue, c.Attributes) }

// apply creates a queue, or confirms an existing one whose attributes equal those of the request.
// Tags are not compared.
func (c *CreateQueue) apply(b *Broker) (Result, *Error) {
	if q, exists := b.queues.Get(c.Queue); exists {
		name, err := q.attributes.Differs(c.Attributes, b.assignment())
		switch {
		case err != nil:
			return nil, err
		case name != "":
			return nil, refusal.New(refusal.QueueNameExists,
				"A queue already exists with the same name and a different value for attribute ", name)
		}
		return QueueCreated{Queue: c.Queue}, nil
	}
	fifo := isFIFOName(c.Queue)
	wanted, err := attributes.Create(fifo, c.Attributes, b.assignment())
	if err == nil {
		err = b.checkRedrive(c.Queue, fifo, wanted.Redrive, c.Attributes)
	}
	if err == nil {
		err = b.checkForward(c.Queue, &wanted, c.Attributes)
	}
	if err == nil {
		err = checkImplicit(c.Queue, &wanted)
	}
	if err == nil {
		err = b.roomForQueues(c.Queue, 1, &wanted)
	}
	if err != nil {
		return nil, err
	}
	if b.cooldowns() && b.tombstones.within(c.Queue, b.now, deletionWait) {
		return nil, refusal.New(refusal.QueueDeletedRecently,
			"You must wait 60 seconds after deleting a queue before you can create another with the same name.")
	}
	b.addQueue(c.Queue, wanted, c.Tags)
	return QueueCreated{Queue: c.Queue}, nil
}

// QueueCreated answers CreateQueue.
type QueueCreated struct{ Queue string }

func (QueueCreated) result() {}

// Cool-offs of AWS, with the setting aws-cooldowns: before a name can be created again, and between
// two purges.
const (
	deletionWait = 60 * logtime.Second
	purgeWait    = 60 * logtime.Second
)

func (b *Broker) addQueue(name string, attributes QueueAttributes, tags []Tag) {
	b.nextIncarnation++
	q := b.newQueue(name, b.nextIncarnation, attributes)
	q.tags = tags
	q.createdAt, q.modifiedAt, q.usedAt = b.now, b.now, b.now
	q.timers.fired = timed{b.now, lastTimed}
	q.generation = b.generation
	// A deleted queue may have had this name, and a sequence number is never reused under one name.
	q.lastSequence = b.sequenceFloor
	b.queues.Set(name, q)
	b.access = b.access.WithQueuePolicy(name, attributes.Policy)
	b.touch(q)
	b.followRedrive(q, "")
	b.addImplicit(q)
}

// implicitQueues returns the names of the queues that come with the attributes of a queue. They are
// ordinary queues.
func implicitQueues(name string, a *QueueAttributes) (names []string) {
	if a.ImplicitDeadLetterQueue && a.Redrive.Target == "" {
		names = append(names, ImplicitDeadLetterName(name))
	}
	if a.ForwardTo != "" || a.ForwardDeadLetters != "" {
		names = append(names, TransferDeadLetterName(name))
	}
	return names
}

// checkImplicit refuses attributes if the name of an implicit queue would be too long.
func checkImplicit(name string, a *QueueAttributes) *Error {
	switch {
	case a.ImplicitDeadLetterQueue && tooLongName(ImplicitDeadLetterName(name)):
		return refusal.New(refusal.InvalidAttributeValue, "Invalid value for the parameter ImplicitDeadLetterQueue. "+
			"Reason: the name of the queue is too long to append -dlq to it.")
	case slices.ContainsFunc(implicitQueues(name, a), tooLongName):
		return refusal.New(refusal.InvalidAttributeValue, "Invalid value for the parameter ", attributes.NameForwardTo,
			". Reason: the name of the queue is too long to append -transferdlq to it.")
	}
	return nil
}

// addImplicit creates the implicit queues that q needs.
func (b *Broker) addImplicit(q *Queue) {
	for _, name := range implicitQueues(q.name, &q.attributes) {
		if _, exists := b.queues.Get(name); !exists {
			b.addDefaultQueue(name)
		}
	}
}

// addDefaultQueue creates a queue with the attributes of a queue that was created without any.
func (b *Broker) addDefaultQueue(name string) {
	fifo := isFIFOName(name)
	usual, err := attributes.Create(fifo, fifoAttribute(fifo), b.assignment())
	if err != nil {
		panic("queue: default attributes are refused: " + err.Message)
	}
	b.addQueue(name, usual, nil)
}

func fifoAttribute(fifo bool) []Attribute {
	if !fifo {
		return nil
	}
	return []Attribute{{Name: "FifoQueue", Value: "true"}}
}

// headerSum hashes the fields that rarely change: name, attributes, tags, times.
func (q *Queue) headerSum(k statehash.Key) statehash.Sum {
	r := append(statehash.Record(nil), statehash.KindHeader).Num(q.incarnation).Text(q.name).Flag(q.attributes.FIFO)
	for _, a := range q.attributes.List() {
		r = r.Text(a.Name).Text(a.Value)
	}
	r = r.Num(uint64(q.attributes.Extensions)).Num(uint64(len(q.tags)))
	for _, t := range q.tags {
		r = r.Text(t.Key).Text(t.Value)
	}
	return k.Sum(r.Time(q.createdAt).Time(q.modifiedAt))
}

// countersSum hashes the fields that most commands change.
func (q *Queue) countersSum(k statehash.Key) statehash.Sum {
	var buf [96]byte
	r := append(statehash.Record(buf[:0]), statehash.KindCounters).Num(q.incarnation).Time(q.purgedAt).Num(q.lastSequence)
	r = r.Num(q.attempts.last).Num(uint64(q.deduplication.DeadBefore()))
	r = r.Time(q.timers.fired.at).Num(q.timers.fired.sequence).Time(q.usedAt)
	if last := q.groups.sessions.LastLock(); last != 0 || q.forgotAt != 0 {
		r = r.Num(last)
	}
	if q.forgotAt != 0 {
		r = r.Time(q.forgotAt)
	}
	return k.Sum(r)
}

// text formats the number for error messages.
func (i Int) text() string { return strconv.FormatInt(i.Value, 10) }

// DeleteQueue deletes a queue and its messages.
type DeleteQueue struct{ Queue string }

// QueueName implements Command.
func (c *DeleteQueue) QueueName() string { return c.Queue }

// Validate checks the length of the name.
func (c *DeleteQueue) Validate() *Error { return checkQueueName(c.Queue) }

// apply deletes a queue with its messages, records and tags. Queues that use it as dead-letter
// queue keep their policy and messages.
func (c *DeleteQueue) apply(b *Broker) (Result, *Error) {
	q := b.beginNow(c.Queue) // expired messages may belong in a dead-letter queue
	if q == nil {
		return nil, refusal.NoSuchQueue()
	}
	b.dropQueue(q)
	b.tombstones.bury(b, c.Queue)
	return Done{}, nil
}

// dropQueue deletes a queue that was begun.
func (b *Broker) dropQueue(q *Queue) {
	b.forwardChanged()
	b.endCommand()
	b.queues.Delete(q.name)
	b.access = b.access.WithQueuePolicy(q.name, "")
	q.sums.usage.Queues--
	q.leaveUsage()
	b.releases.drop(q)
	b.dropFromIndexes(q)
	if target, _ := q.deadLetterTarget(); target != "" {
		b.sources.Delete(sourceKey(target, q.name))
	}
	b.sequenceFloor = max(b.sequenceFloor, q.lastSequence)
	b.dropMoveTasks(q.name)
	b.emit(QueueDeleted, q.name, 0)
}

// tombstones record deleted queues for the 60-second rule.
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

func tombstoneSum(k statehash.Key, name string, at Timestamp) statehash.Sum {
	return k.Sum(append(statehash.Record(nil), statehash.KindTombstone).Text(name).Time(at))
}

func (t tombstones) within(name string, now Timestamp, wait logtime.Duration) bool {
	at, ok := t.byName.Get(name)
	return ok && now.Sub(at) < wait
}

func (t tombstones) bury(b *Broker, name string) {
	t.forget(b, name)
	t.byName.Set(name, b.now)
	t.byTime.Set(queueDeadline{at: b.now, name: name})
	b.sum.Add(tombstoneSum(b.key, name, b.now))
}

func (t tombstones) forget(b *Broker, name string) {
	if at, was := t.byName.Delete(name); was {
		t.byTime.Delete(queueDeadline{at: at, name: name})
		b.sum.Sub(tombstoneSum(b.key, name, at))
	}
}

func (t tombstones) deadline() Timestamp {
	if oldest, ok := t.byTime.Min(); ok {
		return roundUp(oldest.at.Add(deletionWait), forgetStep)
	}
	return 0
}

// expire forgets at most budget expired tombstones and returns the remaining budget.
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

// PurgeQueue deletes all messages of a queue.
type PurgeQueue struct{ Queue string }

// QueueName implements Command.
func (c *PurgeQueue) QueueName() string { return c.Queue }

// Validate checks the length of the name.
func (c *PurgeQueue) Validate() *Error { return checkQueueName(c.Queue) }

// apply deletes all messages and receive attempts. It also deletes deduplication records, as AWS
// does, unless PurgeClearsDeduplicationHistory is false.
func (c *PurgeQueue) apply(b *Broker) (Result, *Error) {
	q := b.beginNow(c.Queue)
	if q == nil {
		return nil, refusal.NoSuchQueue()
	}
	if b.cooldowns() && q.purgedAt != 0 && b.now.Sub(q.purgedAt) < purgeWait {
		return nil, refusal.New(refusal.PurgeQueueInProgress,
			"Only one PurgeQueue operation on ", access.PlainName(q.name), " is allowed every 60 seconds.")
	}
	b.releases.drop(q)
	q.purgedAt = b.now
	q.clearMessages()
	q.clearAttempts()
	if !q.attributes.Deduplication.PurgeKeepsHistory {
		q.deduplication.Clear()
	}
	return Done{}, nil
}
