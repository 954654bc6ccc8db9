package cluster

import (
	"context"
	"time"

	"github.com/seriatimq/seriatim/cluster/holders"
	"github.com/seriatimq/seriatim/cluster/leader"
	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/limits"
)

// waitSecondsMax is the longest a receive can wait, for whatever reason.
const waitSecondsMax = limits.WaitSecondsMax * time.Second

// Receive executes a receive, waiting up to wait for a message: 0 is a short
// poll, and a negative wait means the queue's ReceiveMessageWaitTimeSeconds.
// Nothing is received for a ctx that ended before. Errors are those of Submit.
func (n *Node) Receive(ctx context.Context, cmd *queue.ReceiveMessages, wait time.Duration) (Reply, error) {
	return awaited(func(complete func(Reply, error)) { n.BeginReceive(ctx, cmd, wait, complete) })
}

// BeginReceive begins what Receive does. complete takes what that returns, once and maybe
// before BeginReceive returns; it may block. While the receive waits it has no goroutine.
func (n *Node) BeginReceive(ctx context.Context, cmd *queue.ReceiveMessages, wait time.Duration, complete func(Reply, error)) {
	wait = min(wait, waitSecondsMax)
	timeout := wait
	if wait < 0 {
		// The leader decides how long it waits. A node that has none must not wait for
		// one longer than the queue would let it.
		wait, timeout = -time.Millisecond, leader.WaitOf(n.replica, cmd.Queue)
	}
	if short := wait == 0; cmd.ShortPoll != short {
		changed := *cmd
		changed.ShortPoll = short
		cmd = &changed
	}
	n.beginWaiting(ctx, cmd, wait, timeout, complete)
}

// AcceptSession locks a session. If the command names none, it waits up to wait for one
// that is free, and answers with a zero SessionLocked if there is none by then. Errors
// are those of Submit.
func (n *Node) AcceptSession(ctx context.Context, cmd *queue.AcceptSession, wait time.Duration) (Reply, error) {
	if cmd.SessionIDGiven {
		return n.Submit(ctx, cmd)
	}
	wait = min(max(wait, 0), waitSecondsMax)
	return awaited(func(complete func(Reply, error)) { n.beginWaiting(ctx, cmd, wait, wait, complete) })
}

// awaited waits for the end of a call.
func awaited(begin func(complete func(Reply, error))) (Reply, error) {
	type end struct {
		reply Reply
		err   error
	}
	ended := make(chan end, 1) // the one end
	begin(func(reply Reply, err error) { ended <- end{reply, err} })
	e := <-ended
	return e.reply, e.err
}

// noteHolder records which client a receive or an acceptance of this node was answered to.
func (n *Node) noteHolder(ctx context.Context, cmd queue.Command, reply *Reply) {
	switch c := cmd.(type) {
	case *queue.ReceiveMessages:
		received, ok := reply.Result.(queue.MessagesReceived)
		if !ok || len(received.Messages) == 0 || received.Messages[0].Sequence == 0 || c.Options != nil && c.Options.Delete {
			return // nothing of it holds a group
		}
		if caller, ok := ctx.Value(holders.CallerKey{}).(holders.Caller); ok {
			n.holders.Received(caller.Caller(), c.Queue, received.Messages, reply.LogTime, received.Replayed)
		}
	case *queue.AcceptSession:
		locked, ok := reply.Result.(queue.SessionLocked)
		if !ok || locked.SessionID == "" {
			return
		}
		if caller, ok := ctx.Value(holders.CallerKey{}).(holders.Caller); ok {
			n.holders.Locked(caller.Caller(), c.Queue, locked.SessionID, locked.Token.Seal(), reply.LogTime)
		}
	}
}

// Holder is a client that holds a message group, and the node that served it.
type Holder struct {
	holders.Found
	Node string // its name
}

// holderQuestionsMax bounds the questions about holders that this node asks others at once.
const holderQuestionsMax = 2

// HolderOf finds the client that holds a message group of a queue. Each node remembers
// those that it served; if this one does not know, it asks the others. missing names the
// members that did not tell. An empty address says that the client is not known.
func (n *Node) HolderOf(ctx context.Context, name string, g *queue.GroupInfo) (h Holder, missing []string) {
	hold := holders.Hold{Queue: name, Group: g.Name, Lock: g.Lock}
	if g.Lock == 0 {
		hold.Sequence, hold.ReceivedAt = uint64(g.First.Sequence), g.ReceivedAt
	}
	if found, ok := n.holders.Find(hold); ok {
		return Holder{found, n.cfg.NodeName}, nil
	}
	select {
	case n.seeking <- struct{}{}:
		defer func() { <-n.seeking }()
	case <-ctx.Done():
		return Holder{}, nil
	}
	answers := n.askNodes(ctx, n.otherMembers(), membershipRequest{Op: opHolder, Hold: &hold})
	list := n.memberList()
	for i := range list.Members {
		m := &list.Members[i]
		a, asked := answers[m.NodeID]
		switch {
		case !asked:
		case a.err != nil || a.answer.Verdict != changeDone: // gone, or with a program that does not know the question
			missing = append(missing, list.label(m))
		case a.answer.Holder != nil && a.answer.Holder.Since >= h.Since:
			h = Holder{*a.answer.Holder, list.label(m)}
		}
	}
	return h, missing
}

// answerHolder answers another node.
func (n *Node) answerHolder(hold *holders.Hold) membershipAnswer {
	answer := answerOf(nil)
	if hold != nil {
		if found, ok := n.holders.Find(*hold); ok {
			answer.Holder = &found
		}
	}
	return answer
}
