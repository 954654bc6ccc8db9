package reference

import "slices"

// MoveTask moves messages out of a dead-letter queue (sqs.md 2.16).
type MoveTask struct {
	ID          int
	Source      string
	Destination string // empty: the source of each message
	Status      string // RUNNING, COMPLETED, CANCELLED, FAILED
	Moved       int64
	ToMove      int64
}

func (b *Broker) isDeadLetterQueue(name string) bool {
	for _, q := range b.queues {
		if q.redrive().Target == name {
			return true
		}
	}
	return false
}

func (b *Broker) runningTask(source string) *MoveTask {
	for _, t := range b.tasks {
		if t.Source == source && t.Status == "RUNNING" {
			return t
		}
	}
	return nil
}

func notFound(what string) *Error {
	return &Error{
		"ResourceNotFound",
		"The resource that you specified for the " + what + " parameter doesn't exist.",
	}
}

// StartMoveTask begins a task.
func (b *Broker) StartMoveTask(source, destination string) (int, *Error) {
	q, _ := b.find(source)
	if q == nil {
		return 0, notFound("SourceArn")
	}
	if !b.isDeadLetterQueue(source) {
		return 0, &Error{"InvalidParameterValue", "Source queue must be configured as a Dead Letter Queue."}
	}
	if destination != "" {
		target := b.queues[destination]
		if target == nil {
			return 0, notFound("DestinationArn")
		}
		// The type must be the same (D). The source itself is refused, since such a task would
		// never end.
		if target.FIFO != q.FIFO || target == q {
			return 0, &Error{Code: "InvalidParameterValue"}
		}
	}
	if b.runningTask(source) != nil {
		return 0, &Error{
			"InvalidParameterValue",
			"There is already a task running. Only one active task is allowed for a source queue arn at a given time.",
		}
	}
	b.lastTask++
	t := &MoveTask{
		ID: b.lastTask, Source: source, Destination: destination,
		Status: "RUNNING", ToMove: b.Counters(q).Visible,
	}
	b.tasks = append(b.tasks, t)
	return t.ID, nil
}

// Tasks lists all tasks, oldest first.
func (b *Broker) Tasks() []*MoveTask { return b.tasks }

func (b *Broker) task(id int) *MoveTask {
	for _, t := range b.tasks {
		if t.ID == id {
			return t
		}
	}
	return nil
}

// CancelMoveTask ends a running task; moved messages stay moved.
func (b *Broker) CancelMoveTask(id int, source string) (int64, *Error) {
	if b.queues[source] == nil {
		return 0, notFound("SourceArn")
	}
	t := b.task(id)
	if t == nil || t.Source != source {
		return 0, &Error{"ResourceNotFound", "Task does not exist."}
	}
	if t.Status != "RUNNING" {
		return 0, &Error{"InvalidParameterValue", "Only active tasks can be cancelled."}
	}
	t.Status = "CANCELLED"
	return t.Moved, nil
}

// MoveStep moves at most most messages, the oldest first. The task ends when no message can be
// moved any more.
func (b *Broker) MoveStep(id int, most int64) (moved int64, running bool) {
	t := b.task(id)
	if t == nil || t.Status != "RUNNING" {
		return 0, false
	}
	q, _ := b.find(t.Source)
	if q == nil {
		t.Status = "FAILED"
		return 0, false
	}
	var previous *Message
	present := slices.Clone(q.messages) // the use of a target may add dead letters
	for moved < most {
		m := b.nextToMove(q, previous, present)
		if m == nil {
			break
		}
		name := t.Destination
		if name == "" {
			name = m.Source
		}
		target, _ := b.find(name)
		if target == nil {
			t.Status = "FAILED"
			break
		}
		q.remove(m)
		b.moveBack(target, m)
		q.usedAt, target.usedAt = b.now, b.now
		previous = m
		moved++
		t.Moved++
	}
	if t.Status == "RUNNING" && b.nextToMove(q, nil, q.messages) == nil {
		t.Status = "COMPLETED"
	}
	return moved, t.Status == "RUNNING"
}

// nextToMove returns the message that a receive would deliver first. "Oldest first" is understood
// as available for the longest time, so that messages an operator has just looked at are moved
// last. Like a receive, a step continues with the same group as far as it can. It moves messages that were
// present when it began.
func (b *Broker) nextToMove(q *Queue, previous *Message, present []*Message) *Message {
	order := slices.DeleteFunc(b.servingOrder(q), func(part []*Message) bool { return !slices.Contains(present, part[0]) })
	if previous != nil && previous.Grouped {
		for _, part := range order {
			if part[0].Grouped && part[0].Group == previous.Group && q.FIFO {
				return part[0]
			}
		}
	}
	if len(order) > 0 {
		return order[0][0]
	}
	return nil
}

// moveBack moves a message as if it was sent (sqs.md 6). It is recorded with its deduplication id,
// its content if that counts, and its partition key, but it is never dropped as a duplicate: it was
// acknowledged, and a live record may be its own (faults.md I1). In that case no second record is
// made.
func (b *Broker) moveBack(target *Queue, m *Message) {
	c := &Message{
		Sent: m.Sent, Sender: m.Sender, Group: m.Group, Grouped: m.Grouped,
		DedupID: m.DedupID, DedupOf: m.DedupOf, Partition: m.Partition, SentAt: b.now,
		TimeToLive: target.timeToLive(0),
	}
	deduplicates := target.FIFO && !target.Settings.DeduplicationOff
	ids, partition := b.movedIDs(target, c), c.Partition
	known := deduplicates && b.original(&target.history, ids, m.Group, partition) != nil
	c.ID = b.newMessageID()
	b.place(target, c, nil, reservedValues{})
	if deduplicates && !known {
		b.remember(&target.history, ids, m.Group, partition, c.ID, c.Number)
	}
}

// movedIDs returns the ids with which the target records a moved message: those of a send (sqs.md
// 4.5). A message without an id gets that of its content, if the target requires one.
func (b *Broker) movedIDs(target *Queue, c *Message) []string {
	id := c.DedupID
	switch {
	case c.DedupOf != 0:
		id = messageIDText(c.DedupOf)
	case id == "" && target.Settings.ContentBased && target.FIFO && !target.Settings.DeduplicationOff:
		id = ContentID(c.Sent.Body)
		c.DedupID = id
	case id == "":
		return nil
	}
	if c.Sent.Published != nil {
		return []string{id} // the content of a topic's message does not count (sns.md 5)
	}
	return b.deduplicationIDs(&target.history, id, c.Sent.Body)
}
