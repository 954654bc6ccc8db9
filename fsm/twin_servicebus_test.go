package fsm

import (
	"fmt"

	"github.com/seriatimq/seriatim/queue"
)

// lock is a session lock and its queue.
type lock struct {
	queue   string
	session queue.SessionRef
}

// serviceBus generates a command that SQS does not have.
func (c *commands) serviceBus() queue.Command {
	name := c.one("a.fifo", "b.fifo")
	switch n := c.random.IntN(20); {
	case n < 2:
		return &queue.SendMessages{Queue: name, SenderID: "AIDAEXAMPLE", Entries: []queue.SendEntry{{
			Body: "scheduled", GroupID: "g", GroupIDGiven: true, DeduplicationID: c.one("s", "t", "u"), DeduplicationIDGiven: true,
			Options: &queue.SendOptions{EnqueueAt: c.now.Add(2500)},
		}}}
	case n < 4:
		return &queue.CancelScheduled{Queue: name, Sequences: c.numbers(), ForgetDeduplicationID: c.random.IntN(2) == 0}
	case n < 5:
		return &queue.ReceiveMessages{Queue: name, Options: &queue.ReceiveOptions{Delete: true}}
	case n < 6:
		if c.random.IntN(2) == 0 {
			return &queue.ForgetDeduplication{Queue: name,
				DeduplicationID: queue.DeduplicationID{ID: fmt.Sprint(c.random.IntN(30)), GroupID: "g"}}
		}
		return &queue.ReleaseGroup{Queue: name, Group: c.one("g", "h", "i")}
	case n < 9:
		cmd := &queue.AcceptSession{Queue: name, LockSeconds: queue.Some(int64(1 + c.random.IntN(10)))}
		if c.random.IntN(2) == 0 {
			cmd.SessionID, cmd.SessionIDGiven = c.one("g", "h", "i", "empty"), true
		}
		return cmd
	case n < 14:
		return c.settlement()
	default:
		return c.session()
	}
}

// settlement defers, dead-letters or completes recent messages, or receives deferred ones.
func (c *commands) settlement() queue.Command {
	d, in := c.delivery(), queue.SessionRef{}
	if len(c.locks) > 0 && c.random.IntN(2) == 0 {
		in = c.locks[len(c.locks)-1].session
	}
	switch c.random.IntN(8) {
	case 0:
		cmd := &queue.CommitTransaction{
			Sends: []queue.SendMessages{{Queue: c.one("a.fifo", "b.fifo"), SenderID: "AIDAEXAMPLE", Batch: true, Atomic: true,
				Entries: []queue.SendEntry{{Body: "in a transaction", GroupID: "g", GroupIDGiven: true,
					DeduplicationID: fmt.Sprint(c.random.IntN(30)), DeduplicationIDGiven: true}},
			}},
		}
		if c.random.IntN(3) > 0 {
			cmd.Settlements = []queue.Settlement{{
				Queue: d.queue, Session: in, Action: queue.SettlementAction(1 + c.random.IntN(5)),
				DeadLetterEntry: queue.DeadLetterEntry{Handle: d.handle},
			}}
		}
		return cmd
	case 1, 2:
		return &queue.Defer{Queue: d.queue, Session: in, Handles: []string{d.handle}}
	case 3:
		return &queue.DeadLetter{Queue: d.queue, Session: in, Entries: []queue.DeadLetterEntry{{Handle: d.handle, Reason: "why"}}}
	case 4:
		return &queue.DeleteMessages{Queue: d.queue, Handles: []string{d.handle}, Options: &queue.SettlementOptions{Session: in}}
	default:
		if len(c.deferred) == 0 {
			return &queue.ReceiveDeferred{Queue: "a.fifo", Sequences: []queue.SequenceNumber{1}}
		}
		set := c.deferred[len(c.deferred)-1-c.random.IntN(min(5, len(c.deferred)))]
		return &queue.ReceiveDeferred{Queue: set.queue, Sequences: []queue.SequenceNumber{set.sequence}, Delete: c.random.IntN(3) == 0}
	}
}

// numbered is a message by number.
type numbered struct {
	queue    string
	sequence queue.SequenceNumber
}

// session generates a command of a session receiver.
func (c *commands) session() queue.Command {
	if len(c.locks) == 0 {
		return &queue.AcceptSession{Queue: "a.fifo"}
	}
	held := c.locks[len(c.locks)-1-c.random.IntN(min(4, len(c.locks)))]
	switch n := c.random.IntN(20); {
	case n < 14:
		return &queue.ReceiveMessages{
			Queue: held.queue, MaxMessages: queue.Some(int64(1 + c.random.IntN(5))),
			Options: &queue.ReceiveOptions{Session: held.session, Delete: c.random.IntN(8) == 0},
		}
	case n < 16:
		return &queue.RenewSession{Queue: held.queue, Session: held.session, LockSeconds: queue.Some(int64(1 + c.random.IntN(10)))}
	case n < 18:
		cmd := &queue.SetSessionState{Queue: held.queue, Session: held.session}
		if c.random.IntN(3) > 0 {
			cmd.State, cmd.StateGiven = c.one("x", "y"), true
		}
		return cmd
	default:
		return &queue.ReleaseSession{Queue: held.queue, Session: held.session}
	}
}

// numbers returns up to three recent sequence numbers, newest first.
func (c *commands) numbers() []queue.SequenceNumber {
	list := []queue.SequenceNumber{1}
	for i := len(c.waiting) - 1; i >= 0 && len(list) < 4; i-- {
		list = append(list, c.waiting[i])
	}
	return list
}
