package queue

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/seriatimq/seriatim/queue/access"
	"github.com/seriatimq/seriatim/queue/attributes"
	"github.com/seriatimq/seriatim/queue/limits"
	"github.com/seriatimq/seriatim/queue/logtime"
	"github.com/seriatimq/seriatim/queue/message"
	"github.com/seriatimq/seriatim/queue/refusal"
)

// View reads the Broker. No command may be applied during a call.
type View struct{ b *Broker }

// QueueStats are the counters of one queue at its last command, or its last AdvanceClock. The
// leader proposes AdvanceClock for due timers, so the counters lag by milliseconds. Expired
// messages may be counted for up to one more second.
type QueueStats struct {
	Visible              int64 // includes FIFO messages behind a blocked head
	NotVisible           int64
	Delayed              int64
	Deferred             int64 // in no other count
	Bytes                int64 // bodies and attributes of all messages, as sent
	Groups               int64
	BlockedGroups        int64     // whose first message is in flight, or which are locked as a session
	DeduplicationEntries int64     // in memory, including expired ones
	OldestSentAt         Timestamp // zero if empty
	OldestAcceptedAt     Timestamp // of the deduplication ids, zero without ids
	DeadLetterTarget     bool      // another queue's RedrivePolicy names it
}

// PeekedMessage is a stored message for an operator. Peeking is not a receive, and there is no
// handle.
type PeekedMessage struct {
	ReceivedMessage
	State     string // "visible", "in flight", "delayed", "scheduled", "deferred"
	VisibleAt Timestamp
}

// Now returns the log time.
func (v View) Now() Timestamp { return v.b.now }

// Setting returns a cluster setting, empty if unset.
func (v View) Setting(name string) string {
	value, _ := v.b.settings.Get(name)
	return value
}

// QueueExists reports whether the queue exists.
func (v View) QueueExists(queue string) bool {
	_, ok := v.b.queues.Get(queue)
	return ok
}

// Queues returns the number of queues.
func (v View) Queues() int { return v.b.queues.Len() }

// Attributes lists every attribute with a value, counters and timestamps, sorted by name. The
// protocol layer adds QueueArn. Deferred messages count as not visible, so that AWS's three
// counters add up to all messages.
func (v View) Attributes(queue string) ([]Attribute, *Error) {
	q, ok := v.b.queues.Get(queue)
	if !ok {
		return nil, refusal.NoSuchQueue()
	}
	s := q.stats(v.b.now)
	list := append(q.attributes.List(),
		Attribute{Name: "ApproximateNumberOfMessages", Value: strconv.FormatInt(s.Visible, 10)},
		Attribute{Name: "ApproximateNumberOfMessagesNotVisible", Value: strconv.FormatInt(s.NotVisible+s.Deferred, 10)},
		Attribute{Name: "ApproximateNumberOfMessagesDelayed", Value: strconv.FormatInt(s.Delayed, 10)},
		Attribute{Name: "CreatedTimestamp", Value: epochSeconds(q.createdAt)},
		Attribute{Name: "LastModifiedTimestamp", Value: epochSeconds(q.modifiedAt)})
	if s.Deferred > 0 { // ours, hidden from clients of AWS
		list = append(list, Attribute{Name: attributes.NameMessagesDeferred, Value: strconv.FormatInt(s.Deferred, 10)})
	}
	slices.SortFunc(list, func(a, b Attribute) int { return strings.Compare(a.Name, b.Name) })
	return list, nil
}

func epochSeconds(t Timestamp) string { return strconv.FormatInt(int64(t)/int64(logtime.Second), 10) }

// Typed returns the typed attributes of a queue.
func (v View) Typed(queue string) (QueueAttributes, *Error) {
	q, ok := v.b.queues.Get(queue)
	if !ok {
		return QueueAttributes{}, refusal.NoSuchQueue()
	}
	return q.attributes, nil
}

// Tags lists the tags of a queue by key.
func (v View) Tags(queue string) ([]Tag, *Error) {
	q, ok := v.b.queues.Get(queue)
	if !ok {
		return nil, refusal.NoSuchQueue()
	}
	return q.tags, nil
}

// Stats returns the counters of a queue.
func (v View) Stats(queue string) (QueueStats, *Error) {
	q, ok := v.b.queues.Get(queue)
	if !ok {
		return QueueStats{}, refusal.NoSuchQueue()
	}
	stats := q.stats(v.b.now)
	stats.DeadLetterTarget = v.b.isDeadLetterQueue(queue)
	return stats, nil
}

func (q *Queue) stats(now Timestamp) QueueStats {
	oldest, _ := q.oldest()
	s := QueueStats{
		NotVisible:           q.inFlight(),
		Delayed:              q.timers.delayed + q.delayedFirst(now),
		Deferred:             int64(q.deferred.Len()),
		Bytes:                q.sums.contentBytes,
		Groups:               int64(len(q.groups.byName)),
		DeduplicationEntries: int64(q.deduplication.Len()),
		OldestSentAt:         oldest,
	}
	// A group without a receiver has its first message in the ready index.
	s.BlockedGroups = s.Groups - int64(q.ready.firstDelivery.Len()+q.ready.redelivered.Len()) + q.ready.single
	if first, found := q.deduplication.Oldest(); found {
		s.OldestAcceptedAt = Timestamp(first.AcceptedAt)
	}
	s.Visible = int64(q.messages.Len()) - s.NotVisible - s.Delayed
	s.Delayed += int64(q.scheduled.Len())
	return s
}

// delayedFirst counts messages hidden by a FIFO queue's delay. Binary search finds them, because
// sequence numbers rise with sentAt. Messages with a timer of their own do not count.
func (q *Queue) delayedFirst(now Timestamp) int64 {
	delay := q.firstDeliveryDelay()
	if delay == 0 {
		return 0
	}
	from, _, some := q.messages.Search(func(m *Message) bool { return m.sentAt.Add(delay) > now })
	if !some {
		return 0
	}
	delayed := int64(q.messages.CountFrom(from))
	if from <= q.timedMax {
		q.messages.Ascend(from, func(sequence uint64, m *Message) bool {
			if q.hasTimer(m) {
				delayed--
			}
			return sequence < q.timedMax
		})
	}
	return delayed
}

// ListQueues lists at most limit qualified names with a prefix, in order, after a name.
func (v View) ListQueues(prefix, after string, limit int) (names []string) {
	v.b.queues.Ascend(max(prefix, after), func(name string, _ *Queue) bool {
		if !strings.HasPrefix(name, prefix) && name > prefix || len(names) == limit {
			return false
		}
		if name > after && strings.HasPrefix(name, prefix) {
			names = append(names, name)
		}
		return true
	})
	return names
}

// QueuesOf lists at most limit queues of an account, empty for the cluster's own, whose plain names
// have a prefix, in order, after a name. Names are qualified.
func (v View) QueuesOf(owner, prefix, after string, limit int) (names []string) {
	if owner != "" {
		return v.ListQueues(access.Qualify(owner, prefix), after, limit)
	}
	scan := func(from string) (next string) {
		v.b.queues.Ascend(from, func(name string, _ *Queue) bool {
			if !strings.HasPrefix(name, prefix) && name > prefix || len(names) == limit {
				return false
			}
			if other := access.OwnerOf(name); other != "" {
				next = access.Behind(other)
				return false
			}
			if name > after && strings.HasPrefix(name, prefix) {
				names = append(names, name)
			}
			return true
		})
		return next
	}
	for next := scan(max(prefix, after)); next != ""; {
		next = scan(next)
	}
	return names
}

// DeadLetterSources lists at most limit queues that use queue as dead-letter queue, in order, after
// a name.
func (v View) DeadLetterSources(queue, after string, limit int) (names []string, err *Error) {
	if !v.QueueExists(queue) {
		return nil, refusal.NoSuchQueue()
	}
	prefix := sourceKey(queue, "")
	v.b.sources.Ascend(sourceKey(queue, after), func(key string, _ struct{}) bool {
		if !strings.HasPrefix(key, prefix) || len(names) == limit {
			return false
		}
		if name := key[len(prefix):]; name > after {
			names = append(names, name)
		}
		return true
	})
	return names, nil
}

// DeadLetterQueue returns the dead-letter queue of a queue, empty if there is none.
func (v View) DeadLetterQueue(name string) (target string) {
	if q, ok := v.b.queues.Get(name); ok {
		target, _ = q.deadLetterTarget()
	}
	return target
}

// MoveTasks lists at most limit move tasks of a source queue, newest first.
func (v View) MoveTasks(source string, limit int) ([]MoveTaskRecord, *Error) {
	if !v.QueueExists(source) {
		return nil, refusal.NoSuchResource("SourceArn")
	}
	tasks := v.b.moveTasksOf(source)
	var newest []MoveTaskRecord
	for i := len(tasks) - 1; i >= 0 && len(newest) < limit; i-- {
		newest = append(newest, *tasks[i])
	}
	return newest, nil
}

// RunningMoveTasks lists all running move tasks by number.
func (v View) RunningMoveTasks() (running []MoveTaskRecord) {
	v.b.moveTasks.byNumber.Scan(func(_ uint64, t *MoveTaskRecord) bool {
		if t.Status == MoveTaskRunning {
			running = append(running, *t)
		}
		return true
	})
	return running
}

// Deliverable reports whether a receive now would deliver or dead-letter a message. A message that expired
// while a session held it counts until the next command removes it.
func (v View) Deliverable(queue string) bool {
	q, ok := v.b.queues.Get(queue)
	return ok && q.deliverable(v.b.now)
}

// ReceivesRefused reports whether the queue refuses receives, by its status or because it forwards its
// messages.
func (v View) ReceivesRefused(queue string) bool {
	q, ok := v.b.queues.Get(queue)
	return ok && q.refusesReceives() != nil
}

// Overdue reports whether a due timer, schedule or session lock of the queue has not expired yet, or a
// topic has not published what is due: Deliverable may then miss a message.
func (v View) Overdue(queue string) bool {
	q, ok := v.b.queues.Get(queue)
	if !ok {
		return false
	}
	hidden, found := q.timers.pending.Min()
	if found && hidden.at <= v.b.now {
		return true
	}
	scheduled, found := q.scheduledByTime.Min()
	if found && scheduled.at <= v.b.now || v.b.topics.Due(v.b.now) {
		return true
	}
	locked, found := q.groups.sessions.FirstEnd()
	return found && locked.At <= v.b.now
}

// AttemptKnown reports whether a receive with this ReceiveRequestAttemptId would repeat an earlier
// answer.
func (v View) AttemptKnown(queue, id string) bool {
	q, ok := v.b.queues.Get(queue)
	if !ok {
		return false
	}
	_, live := q.liveAttempt(id, v.b.now)
	return live && q.attributes.FIFO
}

// OverLimit reports whether the in-flight limit refuses a short poll. FIFO queues return an empty
// answer instead (AWS documentation).
func (v View) OverLimit(queue string) bool {
	q, ok := v.b.queues.Get(queue)
	return ok && !q.attributes.FIFO && !q.attributes.DeliveryPaused && q.inFlight() >= limits.InFlightMax
}

// Bodies returns a reader of message bodies, which stays valid when the state changes.
func (v View) Bodies() message.Reader { return v.b.bodies }

// BodyDigest returns the keyed hash that Body.Digest has for a text.
func (v View) BodyDigest(text string) uint64 { return v.b.key.HashText(text) }

// Peek lists at most limit messages of a queue, including scheduled and deferred ones, from a
// sequence number on. A group, if not empty, restricts the list.
func (v View) Peek(queue string, from SequenceNumber, group string, limit int) (peeked []PeekedMessage, err *Error) {
	q, ok := v.b.queues.Get(queue)
	switch {
	case !ok:
		return nil, refusal.NoSuchQueue()
	case group != "" && !q.attributes.FIFO:
		return nil, refusal.InvalidParameter("Queue " + access.PlainName(queue) +
			" is a standard queue, which has no index of message groups. Look at all messages, or name a FIFO queue.")
	}
	visit := func(sequence uint64) bool {
		m, _ := q.messages.Get(sequence)
		peeked = append(peeked, v.peek(q, m))
		return len(peeked) < limit
	}
	if group != "" {
		q.groups.walkFrom(group, uint64(from), visit)
	} else {
		q.messages.Ascend(uint64(from), func(sequence uint64, _ *Message) bool { return visit(sequence) })
	}
	return v.withUnordered(q, peeked, from, group, limit), nil
}

// withUnordered merges scheduled and deferred messages into the list.
func (v View) withUnordered(q *Queue, peeked []PeekedMessage, from SequenceNumber, group string, limit int) []PeekedMessage {
	added := false
	for _, messages := range [2]*messageMap{q.scheduled, q.deferred} {
		found := 0
		messages.Ascend(uint64(from), func(_ uint64, m *Message) bool {
			if group == "" || m.group == group {
				peeked = append(peeked, v.peekUnordered(q, m))
				found++
			}
			return found < limit
		})
		added = added || found > 0
	}
	if added {
		slices.SortFunc(peeked, func(a, b PeekedMessage) int { return cmp.Compare(a.Sequence, b.Sequence) })
	}
	return peeked[:min(limit, len(peeked))]
}

func (v View) peekUnordered(q *Queue, m *Message) PeekedMessage {
	p := v.peek(q, m)
	switch {
	case !m.deferred():
		p.State, p.VisibleAt = "scheduled", m.delivery.visibleAt
	case p.State != "in flight":
		p.State = "deferred"
	}
	return p
}

func (v View) peek(q *Queue, m *Message) PeekedMessage {
	p := PeekedMessage{ReceivedMessage: v.b.received(q, m), State: "visible", VisibleAt: q.availableAt(m)}
	p.Handle = ReceiptHandle{}
	p.Sequence = SequenceNumber(m.sequence)
	if q.held(m) {
		locked, _ := q.groups.sessions.Get(m.group)
		p.VisibleAt = locked.LockedUntil
	}
	switch {
	case p.VisibleAt <= v.b.now:
	case m.delivered():
		p.State = "in flight"
	default:
		p.State = "delayed"
	}
	return p
}
