package queue

import (
	"strconv"

	"github.com/tidwall/btree"

	"github.com/seriatimq/seriatim/queue/deduplication"
	"github.com/seriatimq/seriatim/queue/identifier"
	"github.com/seriatimq/seriatim/queue/limits"
	"github.com/seriatimq/seriatim/queue/refusal"
	"github.com/seriatimq/seriatim/queue/statehash"
)

// moveTasks holds the message move tasks of all queues. Values are replaced, never changed.
type moveTasks struct {
	byNumber *btree.Map[uint64, *MoveTaskRecord]
	byID     *btree.Map[string, uint64]
	bySource *btree.Map[string, uint64] // source NUL number, 20 digits
}

func newMoveTasks() moveTasks {
	return moveTasks{
		byNumber: new(btree.Map[uint64, *MoveTaskRecord]),
		byID:     new(btree.Map[string, uint64]),
		bySource: new(btree.Map[string, uint64]),
	}
}

func taskSourceKey(source string, number uint64) string {
	return source + "\x00" + SequenceNumber(number).String()
}

func (t *MoveTaskRecord) sum(k statehash.Key) statehash.Sum {
	r := append(statehash.Record(nil), statehash.KindTask).Text(t.ID).Num(t.Number).Text(t.Source).Text(t.Destination)
	r = r.Num(uint64(t.MaxPerSecond)).Num(uint64(t.Status)).Time(t.StartedAt)
	return k.Sum(r.Num(uint64(t.Moved)).Num(uint64(t.ToMove)).Text(t.FailureReason))
}

func (b *Broker) putMoveTask(t *MoveTaskRecord) {
	old, was := b.moveTasks.byNumber.Set(t.Number, t)
	if was {
		b.sum.Sub(old.sum(b.key))
	}
	b.sum.Add(t.sum(b.key))
	b.moveTasks.byID.Set(t.ID, t.Number)
	b.moveTasks.bySource.Set(taskSourceKey(t.Source, t.Number), t.Number)
}

func (b *Broker) dropMoveTask(t *MoveTaskRecord) {
	b.moveTasks.byNumber.Delete(t.Number)
	b.moveTasks.byID.Delete(t.ID)
	b.moveTasks.bySource.Delete(taskSourceKey(t.Source, t.Number))
	b.sum.Sub(t.sum(b.key))
}

// moveTasksOf lists the tasks of a source queue, oldest first.
func (b *Broker) moveTasksOf(source string) (tasks []*MoveTaskRecord) {
	prefix := source + "\x00"
	b.moveTasks.bySource.Ascend(prefix, func(key string, number uint64) bool {
		if len(key) < len(prefix) || key[:len(prefix)] != prefix {
			return false
		}
		t, _ := b.moveTasks.byNumber.Get(number)
		tasks = append(tasks, t)
		return true
	})
	return tasks
}

func (b *Broker) dropMoveTasks(source string) {
	for _, t := range b.moveTasksOf(source) {
		b.dropMoveTask(t)
	}
}

func (b *Broker) moveTask(id string) (*MoveTaskRecord, bool) {
	number, ok := b.moveTasks.byID.Get(id)
	if !ok {
		return nil, false
	}
	return b.moveTasks.byNumber.Get(number)
}

// Reasons of a failed task, as ListMessageMoveTasks shows them.
const (
	reasonNoQueue  = "AWS.SimpleQueueService.NonExistentQueue"
	reasonNoSource = "CouldNotDetermineMessageSource"
)

// moveMessage moves one message and returns the reason of a failure, empty on success. The message
// gets a new MessageId, sent time and receive count.
func (b *Broker) moveMessage(q *Queue, m *Message, destination string) (reason string) {
	if destination == "" {
		if m.extra == nil || m.extra.deadLetterSource == "" {
			return reasonNoSource
		}
		destination = m.extra.deadLetterSource
	}
	to := b.beginNow(destination)
	if to == nil || to.attributes.FIFO != q.attributes.FIFO {
		return reasonNoQueue
	}
	s := b.sentAgain(to, m)
	q.remove(b.key, m) // after sentAgain: removing frees the body
	b.rememberMoved(to, s.ids)
	to.usedAt, q.usedAt = b.now, b.now
	b.accept(to, s, m.sender)
	return ""
}

// sentAgain returns a stored message as a new message for another queue.
func (b *Broker) sentAgain(to *Queue, m *Message) *sending {
	m = m.detached()
	e := &SendEntry{GroupID: m.group, DeduplicationID: m.deduplicationID}
	s := &sending{entry: e, moved: true, body: m.body}
	if m.extra != nil {
		s.placing.attributes, s.placing.partition = m.extra.attributes, m.extra.partition
		e.TraceHeader, s.encoded = m.extra.traceHeader, m.extra.encoded
	}
	s.ids = deduplication.IDs{Own: m.deduplicationID, Group: m.group, Partition: s.placing.partition}
	if s.published = m.published(); s.published == nil {
		if to.attributes.FIFO && to.attributes.Deduplication.ReadsContent(s.ids) {
			e.Body = b.textOf(m.body)
		}
		s.ids = to.deduplicationIDs(e, s.placing.partition)
	}
	return s
}

// rememberMoved remembers the ids of a message that moves to a FIFO queue, so that later sends of
// them are duplicates. A live record stays. The message itself is never dropped as a duplicate,
// because it was acknowledged once.
func (b *Broker) rememberMoved(to *Queue, ids deduplication.IDs) {
	if !to.attributes.FIFO || to.attributes.Deduplication.Disabled || ids.Own == "" {
		return
	}
	if _, found := to.deduplication.Find(b.key, ids, b.now); !found {
		to.deduplication.Remember(b.key, ids, to.lastSequence+1, b.now)
	}
}

// MoveTaskStarted answers StartMoveTask.
type MoveTaskStarted struct{ TaskID string }

// MoveTaskCancelled answers CancelMoveTask.
type MoveTaskCancelled struct{ Moved int64 }

// MessagesMoved answers MoveMessages.
type MessagesMoved struct {
	Moved   int64 // in this step
	Running bool  // more steps remain
}

func (MoveTaskStarted) result() {}

func (MoveTaskCancelled) result() {}

func (MessagesMoved) result() {}

// StartMoveTask starts to move messages out of a dead-letter queue.
type StartMoveTask struct {
	Source       string // queue name
	Destination  string // queue name; empty: the source of each message
	MaxPerSecond Int    // 1..500
}

// QueueName implements Command.
func (*StartMoveTask) QueueName() string { return "" }

// Validate checks the source and the rate.
func (c *StartMoveTask) Validate() *Error {
	if c.Source == "" {
		return refusal.MissingParameter("SourceArn")
	}
	if tooLongName(c.Source) {
		return refusal.NoSuchResource("SourceArn")
	}
	if tooLongName(c.Destination) {
		return refusal.NoSuchResource("DestinationArn")
	}
	if m := c.MaxPerSecond; m.Given && (m.Value < 1 || m.Value > limits.MovePerSecondMax) {
		return refusal.InvalidValue(strconv.FormatInt(m.Value, 10), "MaxNumberOfMessagesPerSecond",
			"Must be between 1 and 500, if provided.")
	}
	return nil
}

// apply starts a move task. The leader then proposes MoveMessages until the task ends.
func (c *StartMoveTask) apply(b *Broker) (Result, *Error) {
	source := b.beginNow(c.Source)
	if source == nil {
		return nil, refusal.NoSuchResource("SourceArn")
	}
	if !b.isDeadLetterQueue(c.Source) {
		return nil, refusal.InvalidParameter("Source queue must be configured as a Dead Letter Queue.")
	}
	if c.Destination != "" {
		if err := b.checkDestination(source, c.Destination, "DestinationArn"); err != nil {
			return nil, err
		}
	}
	tasks := b.moveTasksOf(c.Source)
	for _, t := range tasks {
		if t.Status == MoveTaskRunning {
			return nil, refusal.InvalidParameter("There is already a task running. " +
				"Only one active task is allowed for a source queue arn at a given time.")
		}
	}
	for len(tasks) >= limits.MoveTasksKeptPerSource {
		b.dropMoveTask(tasks[0])
		tasks = tasks[1:]
	}
	b.nextMoveTask++
	t := &MoveTaskRecord{
		ID:           identifier.NewTaskID(b.key, b.nextMoveTask, b.epoch),
		Number:       b.nextMoveTask,
		Source:       c.Source,
		Destination:  c.Destination,
		MaxPerSecond: c.MaxPerSecond.Or(0),
		Status:       MoveTaskRunning,
		StartedAt:    b.now,
		ToMove:       source.stats(b.now).Visible,
	}
	b.putMoveTask(t)
	b.emit(MoveTaskAdded, c.Source, 0)
	return MoveTaskStarted{TaskID: t.ID}, nil
}

// CancelMoveTask stops a running move task.
type CancelMoveTask struct {
	TaskID string
	Source string // queue name from the task handle
}

// QueueName implements Command.
func (*CancelMoveTask) QueueName() string { return "" }

// Validate checks the parsed task handle.
func (c *CancelMoveTask) Validate() *Error {
	if c.TaskID == "" || len(c.TaskID) > taskIDLengthMax || c.Source == "" || tooLongName(c.Source) {
		return refusal.InvalidParameter("Value for parameter TaskHandle is invalid.")
	}
	return nil
}

// apply stops a running task. Moved messages stay moved.
func (c *CancelMoveTask) apply(b *Broker) (Result, *Error) {
	if _, ok := b.queues.Get(c.Source); !ok {
		return nil, refusal.NoSuchResource("SourceArn")
	}
	t, ok := b.moveTask(c.TaskID)
	if !ok || t.Source != c.Source {
		return nil, refusal.New(refusal.ResourceNotFound, "Task does not exist.")
	}
	if t.Status != MoveTaskRunning {
		return nil, refusal.InvalidParameter("Only active tasks can be cancelled.")
	}
	ended := *t
	ended.Status = MoveTaskStopped
	b.putMoveTask(&ended)
	return MoveTaskCancelled{Moved: t.Moved}, nil
}

// MoveMessages is one bounded step of a move task. Only the leader proposes it.
type MoveMessages struct {
	TaskID string
	Max    int // 1..MoveStepMax
}

// QueueName implements Command.
func (*MoveMessages) QueueName() string { return "" }

// Validate checks the size of the step.
func (c *MoveMessages) Validate() *Error {
	if c.TaskID == "" || c.Max < 1 || c.Max > limits.MoveStepMax {
		return refusal.InvalidParameter("A step of a move task needs a task id and moves 1 to ", strconv.Itoa(limits.MoveStepMax),
			" messages.")
	}
	return nil
}

// apply moves at most c.Max available messages, in the order in which they became available, and in
// order within a group. The task completes when no message is available.
func (c *MoveMessages) apply(b *Broker) (Result, *Error) {
	t, ok := b.moveTask(c.TaskID)
	if !ok || t.Status != MoveTaskRunning {
		return MessagesMoved{}, nil
	}
	next := *t
	q := b.beginNow(t.Source)
	s := selection{q: q, now: b.now, limit: c.Max, ignoreGroup: true}
	s.run()
	moved := int64(0)
	for _, m := range s.deliver {
		if reason := b.moveMessage(q, m, t.Destination); reason != "" {
			next.Status, next.FailureReason = MoveTaskFailed, reason
			break
		}
		moved++
	}
	next.Moved += moved
	if next.Status == MoveTaskRunning && !q.available(b.now) {
		next.Status = MoveTaskCompleted
	}
	b.putMoveTask(&next)
	return MessagesMoved{Moved: moved, Running: next.Status == MoveTaskRunning}, nil
}
