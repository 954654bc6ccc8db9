package model

import (
	"strings"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/identifier"
	"github.com/seriatimq/seriatim/test/oracle/reference"
)

// numberRef refers to a sequence number by the send, receive or publish that returned it.
type numberRef struct{ step, index int }

// lockRef refers to the lock of a session by the step that accepted it; 0 is none.
type lockRef int

type (
	accept struct {
		name    string
		id      *string
		seconds *int64
		attempt *string
	}
	renew struct {
		name    string
		lock    lockRef
		seconds *int64
	}
	release struct {
		name string
		lock lockRef
	}
	setState struct {
		name  string
		lock  lockRef
		state *string
	}
	// busReceive receives in a session, or deletes the received messages, or both.
	busReceive struct {
		name    string
		lock    lockRef
		max     *int64
		hidden  *int64
		remove  bool
		attempt *string
	}
	settlement struct {
		how     string // complete, abandon, defer, dead-letter
		name    string
		lock    lockRef
		handles []handleRef
		tokens  bool // lock tokens instead of handles
		timeout int64
		reason  string
		changes []reference.Change
	}
	fetch struct {
		name    string
		lock    lockRef
		numbers []numberRef
		hidden  *int64
		remove  bool
	}
	cancel struct {
		name    string // a queue, or "topic " and a topic
		numbers []numberRef
		forget  bool
	}
	forgetID struct {
		name string
		id   reference.DedupID
	}
	releaseGroup struct{ name, group string }
	// commit is a transaction.
	commit struct {
		settlements []settlement // with one handle each
		sends       []send
		publishes   []publish
	}
)

// lock returns the session of a step, or one without a lock.
func (w *world) lock(l lockRef) queue.SessionRef {
	if l == 0 {
		return queue.SessionRef{}
	}
	if s, ok := w.locks[int(l)]; ok {
		return s
	}
	return queue.SessionRef{SessionID: "a", Token: strings.Repeat("0", 48)}
}

func (w *world) number(n numberRef) queue.SequenceNumber {
	if list := w.numbers[n.step]; n.index < len(list) && list[n.index] != 0 { // 0: of a standard queue
		return list[n.index]
	}
	return queue.SequenceNumber(1<<40 + n.step<<4 + n.index)
}

func (w *world) allNumbers(refs []numberRef) (list []queue.SequenceNumber) {
	for _, n := range refs {
		list = append(list, w.number(n))
	}
	return list
}

func (c accept) command(*world) queue.Command {
	cmd := &queue.AcceptSession{Queue: c.name, LockSeconds: given(c.seconds)}
	if c.id != nil {
		cmd.SessionID, cmd.SessionIDGiven = *c.id, true
	}
	if c.attempt != nil {
		cmd.AttemptID, cmd.AttemptIDGiven = *c.attempt, true
	}
	return cmd
}

func (c renew) command(w *world) queue.Command {
	return &queue.RenewSession{Queue: c.name, Session: w.lock(c.lock), LockSeconds: given(c.seconds)}
}

func (c release) command(w *world) queue.Command {
	return &queue.ReleaseSession{Queue: c.name, Session: w.lock(c.lock)}
}

func (c setState) command(w *world) queue.Command {
	cmd := &queue.SetSessionState{Queue: c.name, Session: w.lock(c.lock)}
	if c.state != nil {
		cmd.State, cmd.StateGiven = *c.state, true
	}
	return cmd
}

func (c busReceive) command(w *world) queue.Command {
	cmd := &queue.ReceiveMessages{
		Queue: c.name, MaxMessages: given(c.max), VisibilityTimeout: given(c.hidden),
		Options: &queue.ReceiveOptions{Session: w.lock(c.lock), Delete: c.remove},
	}
	if c.attempt != nil {
		cmd.AttemptID, cmd.AttemptIDGiven = *c.attempt, true
	}
	return cmd
}

func (c settlement) allHandles(w *world) (handles []string) {
	for _, h := range c.handles {
		text := w.handle(h)
		if parsed, ok := identifier.ParseReceiptHandle(text); ok && c.tokens {
			text = parsed.LockToken().String()
		}
		handles = append(handles, text)
	}
	return handles
}

func (c settlement) command(w *world) queue.Command {
	handles := c.allHandles(w)
	in := w.lock(c.lock)
	switch c.how {
	case "complete":
		return &queue.DeleteMessages{Queue: c.name, Batch: true, Handles: handles, Options: &queue.SettlementOptions{Session: in}}
	case "abandon", "give back":
		cmd := &queue.ChangeMessageVisibility{
			Queue: c.name, Batch: true, Options: &queue.SettlementOptions{Session: in}, Changes: changes(c.changes),
		}
		cmd.Options.Uncounted = c.how == "give back"
		for _, h := range handles {
			cmd.Entries = append(cmd.Entries, queue.VisibilityEntry{Handle: h, VisibilityTimeout: queue.Some(c.timeout)})
		}
		return cmd
	case "defer":
		return &queue.Defer{Queue: c.name, Session: in, Handles: handles, Changes: changes(c.changes)}
	}
	cmd := &queue.DeadLetter{Queue: c.name, Session: in, Changes: changes(c.changes)}
	for i, h := range handles {
		e := queue.DeadLetterEntry{Handle: h, Reason: c.reason}
		if i == 0 {
			e.Description = "description of " + c.reason
		}
		cmd.Entries = append(cmd.Entries, e)
	}
	return cmd
}

func (c commit) command(w *world) queue.Command {
	cmd := &queue.CommitTransaction{}
	for _, s := range c.settlements {
		one := queue.Settlement{Queue: s.name, Session: w.lock(s.lock), Action: actions[s.how], Changes: changes(s.changes)}
		one.Handle = s.allHandles(w)[0]
		if one.Action == queue.DeadLetterMessage {
			one.Reason = s.reason
		}
		cmd.Settlements = append(cmd.Settlements, one)
	}
	for _, s := range c.sends {
		cmd.Sends = append(cmd.Sends, *s.command(w).(*queue.SendMessages))
	}
	for _, p := range c.publishes {
		cmd.Publishes = append(cmd.Publishes, *p.command(w).(*queue.Publish))
	}
	return cmd
}

var actions = map[string]queue.SettlementAction{
	"complete": queue.CompleteMessage, "abandon": queue.AbandonMessage, "give back": queue.GiveBackMessage, "defer": queue.DeferMessage,
	"dead-letter": queue.DeadLetterMessage,
}

func (c fetch) command(w *world) queue.Command {
	return &queue.ReceiveDeferred{
		Queue: c.name, Session: w.lock(c.lock), Sequences: w.allNumbers(c.numbers), VisibilityTimeout: given(c.hidden), Delete: c.remove,
	}
}

func (c cancel) command(w *world) queue.Command {
	cmd := &queue.CancelScheduled{Queue: c.name, Sequences: w.allNumbers(c.numbers), ForgetDeduplicationID: c.forget}
	if name, topic := strings.CutPrefix(c.name, "topic "); topic {
		cmd.Queue, cmd.Topic = "", name
	}
	return cmd
}

func (c forgetID) command(*world) queue.Command {
	return &queue.ForgetDeduplication{Queue: c.name, DeduplicationID: queue.DeduplicationID{
		ID: c.id.ID, GroupID: c.id.Group, PartitionKey: c.id.Partition,
	}}
}

func (c releaseGroup) command(*world) queue.Command {
	return &queue.ReleaseGroup{Queue: c.name, Group: c.group}
}
