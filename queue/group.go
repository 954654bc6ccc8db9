package queue

import (
	"math"

	"github.com/tidwall/btree"

	"github.com/seriatimq/seriatim/queue/content"
	"github.com/seriatimq/seriatim/queue/refusal"
	"github.com/seriatimq/seriatim/queue/session"
)

// messageGroups knows the order of messages inside each MessageGroupId. One
// tree serves all groups, keyed by a short group number, so that a group costs
// little and a million of them are no problem.
type messageGroups struct {
	byName *btree.Map[string, MessageGroup]
	order  *btree.BTreeG[groupEntry]
	last   uint64 // highest group number handed out; numbers are local to this replica
	// sessions are what is known of groups beside their messages, and outlives them.
	sessions session.Table
}

// MessageGroup is one group id with messages. It exists only while it has any.
type MessageGroup struct {
	name     string // shared by the messages of the group
	number   uint64
	messages int64
}

type groupEntry struct{ group, sequence uint64 }

func (a groupEntry) less(b groupEntry) bool {
	if a.group != b.group {
		return a.group < b.group
	}
	return a.sequence < b.sequence
}

func newMessageGroups() messageGroups {
	return messageGroups{
		byName: new(btree.Map[string, MessageGroup]),
		order:  btree.NewBTreeGOptions(groupEntry.less, btree.Options{NoLocks: true}),
	}
}

func (g messageGroups) clone() messageGroups {
	g.byName, g.order, g.sessions = g.byName.Copy(), g.order.Copy(), g.sessions.Clone()
	return g
}

func (g *messageGroups) add(m *Message) {
	group, known := g.byName.Get(m.group)
	if !known {
		g.last++
		group = MessageGroup{name: m.group, number: g.last}
	}
	group.messages++
	g.byName.Set(group.name, group)
	g.order.Set(groupEntry{group.number, m.sequence})
}

func (g *messageGroups) remove(m *Message) {
	group, _ := g.byName.Get(m.group)
	g.order.Delete(groupEntry{group.number, m.sequence})
	if group.messages--; group.messages == 0 {
		g.byName.Delete(m.group)
	} else {
		g.byName.Set(group.name, group)
	}
}

// intern returns the group's own copy of a name, so that all its messages
// share one string.
func (g *messageGroups) intern(name string) string {
	if group, known := g.byName.Get(name); known {
		return group.name
	}
	return name
}

// head is the lowest sequence number in a group, 0 if the group is empty.
func (g *messageGroups) head(name string) (head uint64) {
	group, known := g.byName.Get(name)
	if !known {
		return 0
	}
	g.order.Ascend(groupEntry{group.number, 0}, func(e groupEntry) bool {
		head = e.sequence
		return false
	})
	return head
}

// walk visits the sequence numbers of a group in order.
func (g *messageGroups) walk(name string, visit func(sequence uint64) bool) {
	g.walkFrom(name, 0, visit)
}

// walkFrom visits the sequence numbers of a group from one on, in order.
func (g *messageGroups) walkFrom(name string, from uint64, visit func(sequence uint64) bool) {
	group, known := g.byName.Get(name)
	if !known {
		return
	}
	g.order.Ascend(groupEntry{group.number, from}, func(e groupEntry) bool {
		return e.group == group.number && visit(e.sequence)
	})
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
