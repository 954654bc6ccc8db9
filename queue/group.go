package queue

import (
	"math"
	"slices"
	"strings"

	"github.com/tidwall/btree"

	"github.com/seriatimq/seriatim/queue/content"
	"github.com/seriatimq/seriatim/queue/limits"
	"github.com/seriatimq/seriatim/queue/refusal"
	"github.com/seriatimq/seriatim/queue/session"
)

// messageGroups knows the order of messages inside each MessageGroupId. It follows
// from the messages and no Frozen state reads it, so that all generations of a queue
// share it, except for the sessions.
type messageGroups struct {
	byName map[string]*MessageGroup // never walked
	most   int                      // groups that byName had since it was made
	names  *btree.Set[string]       // of byName, in order
	recent *MessageGroup            // that of the last change: a command looks for its group several times
	spare  []*MessageGroup          // that lost their last message, to be used again
	newest uint64                   // highest sequence number that was ever added
	// sessions are what is known of groups beside their messages, and outlives them.
	sessions session.Table
}

// MessageGroup is one group id with messages. It exists only while it has any. Most
// have one message, others get theirs at the end and lose them at the head: a slice
// is a quarter of the work of a tree that has all messages of all groups.
type MessageGroup struct {
	name string // shared by the messages of the group
	head uint64
	rest []uint64 // the sequence numbers behind the head, ascending
}

func newMessageGroups() messageGroups {
	return messageGroups{byName: map[string]*MessageGroup{}, names: new(btree.Set[string])}
}

func (g messageGroups) clone() messageGroups {
	g.sessions = g.sessions.Clone()
	return g
}

// find is nil if the group has no messages.
func (g *messageGroups) find(name string) *MessageGroup {
	if g.recent != nil && g.recent.name == name {
		return g.recent
	}
	return g.byName[name]
}

// recall is find for who changes the queue: readers of the state are many at a time.
func (g *messageGroups) recall(name string) *MessageGroup {
	group := g.find(name)
	if group != nil {
		g.recent = group
	}
	return group
}

func (g *messageGroups) add(m *Message) {
	group := g.recall(m.group)
	switch {
	case group == nil:
		g.recent = g.take()
		*g.recent = MessageGroup{name: m.group, head: m.sequence}
		g.byName[m.group] = g.recent
		g.most = max(g.most, len(g.byName))
		g.names.Insert(m.group)
	case m.sequence > g.newest:
		// Where the end of the group is looked at first, the processor waits for memory:
		// with a thousand groups a twentieth of what a restart takes.
		group.rest = append(group.rest, m.sequence)
	default:
		group.insert(m.sequence)
	}
	g.newest = max(g.newest, m.sequence)
}

func (g *messageGroups) remove(m *Message) {
	group := g.recall(m.group)
	if group.head == m.sequence && len(group.rest) == 0 {
		delete(g.byName, m.group)
		if len(g.byName) == 0 && g.most > roomGroupsMax { // a map never gets smaller
			g.byName, g.most = map[string]*MessageGroup{}, 0
		}
		g.names.Delete(m.group)
		g.recent = nil
		*group = MessageGroup{}
		if len(g.spare) < spareGroupsMax {
			g.spare = append(g.spare, group)
		}
		return
	}
	group.delete(m.sequence)
}

// take is a group to be filled in.
func (g *messageGroups) take() *MessageGroup {
	last := len(g.spare) - 1
	if last < 0 {
		return new(MessageGroup)
	}
	group := g.spare[last]
	g.spare = g.spare[:last]
	return group
}

// spareGroupsMax: one message of most groups comes and goes, many at a time.
const spareGroupsMax = 64

// roomGroupsMax is for how many groups a queue without any keeps room. A new map for fewer
// costs more than their memory is worth: small queues are empty often.
const roomGroupsMax = 1024

// intern returns the group's own copy of a name, so that all its messages
// share one string.
func (g *messageGroups) intern(name string) string {
	if group := g.recall(name); group != nil {
		return group.name
	}
	return name
}

// own is intern for a name that the group, if it is new, must not keep.
func (g *messageGroups) own(name string) string {
	if group := g.recall(name); group != nil {
		return group.name
	}
	return strings.Clone(name)
}

// head is the lowest sequence number in a group, 0 if the group is empty.
func (g *messageGroups) head(name string) uint64 {
	if group := g.find(name); group != nil {
		return group.head
	}
	return 0
}

// walk visits the sequence numbers of a group in order.
func (g *messageGroups) walk(name string, visit func(sequence uint64) bool) {
	g.walkFrom(name, 0, visit)
}

// walkFrom visits the sequence numbers of a group from one on, in order.
func (g *messageGroups) walkFrom(name string, from uint64, visit func(sequence uint64) bool) {
	group := g.find(name)
	if group == nil || from <= group.head && !visit(group.head) {
		return
	}
	start, _ := slices.BinarySearch(group.rest, from)
	for _, sequence := range group.rest[start:] {
		if !visit(sequence) {
			return
		}
	}
}

// len counts the messages of the group.
func (g *MessageGroup) len() int64 { return int64(len(g.rest)) + 1 }

func (g *MessageGroup) insert(sequence uint64) {
	if sequence < g.head {
		g.head, sequence = sequence, g.head
	}
	if n := len(g.rest); n == 0 || g.rest[n-1] < sequence {
		g.rest = append(g.rest, sequence)
		return
	}
	at, _ := slices.BinarySearch(g.rest, sequence)
	g.rest = slices.Insert(g.rest, at, sequence)
}

// delete takes out one of several messages. What is in front of it moves, not what is
// behind: messages are deleted near the head, however many there are.
func (g *MessageGroup) delete(sequence uint64) {
	if sequence == g.head {
		g.head = g.rest[0]
	} else {
		at, _ := slices.BinarySearch(g.rest, sequence)
		copy(g.rest[1:at+1], g.rest[:at])
	}
	g.rest = g.rest[1:]
}

// lastTimed sorts behind every message at a time.
const lastTimed = math.MaxUint64

// ReleaseGroup takes a message group away from whoever holds it: an operator's way out
// when a receiver is stuck. A session lock ends, and messages in flight come back, as if
// their time were over. What the receiver does with them afterwards is refused.
type ReleaseGroup struct {
	Queue string
	Group string
}

// GroupReleased answers ReleaseGroup.
type GroupReleased struct {
	Messages int64 // that were in flight
	Session  bool  // a session lock was in force
}

func (GroupReleased) result() {}

// QueueName implements Command.
func (c *ReleaseGroup) QueueName() string { return c.Queue }

// Validate checks the type of the queue and the group id.
func (c *ReleaseGroup) Validate() *Error {
	if err := checkQueueName(c.Queue); err != nil {
		return err
	}
	if !isFIFOName(c.Queue) {
		return fifoOnly("Message groups that can be released")
	}
	if !content.ValidID(c.Group) {
		return content.InvalidID(c.Group, "MessageGroupId")
	}
	return nil
}

// apply is fine with a group that nobody holds, or that has no messages.
func (c *ReleaseGroup) apply(b *Broker) (Result, *Error) {
	q := b.beginNow(c.Queue)
	if q == nil {
		return nil, refusal.NoSuchQueue()
	}
	var out GroupReleased
	if r, ok := q.groups.sessions.Get(c.Group); ok && r.Lock != 0 {
		if out.Session = r.Locked(b.now); out.Session {
			out.Messages = q.groups.sessions.InFlightOf(c.Group)
		}
		q.unlockSession(b.key, c.Group)
	}
	for _, m := range q.groupInFlight(c.Group, b.now) {
		q.endAttempt(b.key, m, false)
		d := *m.delivery
		d.visibleAt = b.now
		q.replace(b.key, m, m.withDelivery(&d))
		out.Messages++
	}
	return out, nil
}

// GroupState is why the messages of a group are handed out now, or are not.
type GroupState uint8

// States of a group.
const (
	GroupEmpty      GroupState = iota + 1 // no messages, and nobody holds it
	GroupReady                            // the next receive can get its first message
	GroupInSession                        // a receiver has locked it as a session
	GroupInFlight                         // its first message is with a receiver
	GroupDelayed                          // the queue's delay hides its first message
	GroupDeadLetter                       // the next receive moves its first message to the dead-letter queue
	GroupAtLimit                          // it would be ready, but for the number of messages in flight
)

// GroupInfo is a message group as an operator sees it.
type GroupInfo struct {
	Name     string
	Messages int64 // scheduled and deferred ones do not count
	InFlight int64
	State    GroupState
	Until    Timestamp     // when State ends by itself; 0: never
	First    PeekedMessage // zero without messages
	// Of a state that a receiver causes: when it received First, or the seal of the token of
	// its session lock.
	ReceivedAt Timestamp
	Lock       uint64
}

// Groups lists at most limit groups that have messages, with a prefix and behind a
// name.
func (v View) Groups(queue, prefix, after string, limit int) (list []GroupInfo, err *Error) {
	q, err := v.grouped(queue)
	if err != nil {
		return nil, err
	}
	q.groups.names.Ascend(max(prefix, after), func(name string) bool {
		if len(list) == limit || !strings.HasPrefix(name, prefix) {
			return false
		}
		if name > after {
			list = append(list, v.group(q, name))
		}
		return true
	})
	return list, nil
}

// Group describes a group, also one without messages.
func (v View) Group(queue, name string) (GroupInfo, *Error) {
	q, err := v.grouped(queue)
	if err != nil {
		return GroupInfo{}, err
	}
	if !content.ValidID(name) {
		return GroupInfo{}, content.InvalidID(name, "MessageGroupId")
	}
	return v.group(q, name), nil
}

// grouped finds a queue that knows the groups of its messages.
func (v View) grouped(queue string) (*Queue, *Error) {
	q, ok := v.b.queues.Get(queue)
	switch {
	case !ok:
		return nil, refusal.NoSuchQueue()
	case !q.attributes.FIFO:
		return nil, fifoOnly("Message groups in order")
	}
	return q, nil
}

func (v View) group(q *Queue, name string) GroupInfo {
	g := GroupInfo{Name: name, State: GroupEmpty}
	if group := q.groups.byName[name]; group != nil {
		g.Messages = group.len()
	}
	g.InFlight = int64(len(q.groupInFlight(name, v.b.now)))
	var first *Message
	if head := q.groups.head(name); head != 0 {
		first, _ = q.messages.Get(head)
		g.First, g.State = v.peek(q, first), GroupReady
	}
	r, known := q.groups.sessions.Get(name)
	switch {
	case known && r.Locked(v.b.now):
		g.State, g.Until = GroupInSession, r.LockedUntil
		g.Lock = v.b.sessionLocked(q, r).Token.Seal()
		g.InFlight += q.groups.sessions.InFlightOf(name)
	case first == nil:
	case q.availableAt(first) > v.b.now && first.delivered():
		g.State, g.Until, g.ReceivedAt = GroupInFlight, q.availableAt(first), first.delivery.receivedAt
	case q.availableAt(first) > v.b.now:
		g.State, g.Until = GroupDelayed, q.availableAt(first)
	case v.b.redriveRule(q).due(first):
		g.State = GroupDeadLetter
	case q.inFlight() >= limits.InFlightMax:
		g.State = GroupAtLimit
	}
	return g
}
