package faults

import (
	"context"
	"fmt"
	"time"

	"github.com/seriatimq/seriatim/test/oracle/history"
	"github.com/seriatimq/seriatim/transport/grpc/seriatimpb"
)

// lockSeconds is the duration of session locks, short enough to expire often.
const lockSeconds = 2

// held is a session that the client has locked.
type held struct{ queue, session, token string }

func (h *held) ref() *seriatimpb.SessionRef {
	return &seriatimpb.SessionRef{SessionId: h.session, Token: h.token}
}

// event returns the event of a call under the lock. Receives and settlements are recorded for the
// queue, other calls for the session.
func (h *held) event(action string) history.Event {
	e := history.Event{Action: action, Queue: h.queue, Group: h.session}
	if e.Session = h.token; action == history.Receive || action == history.Delete || action == history.Abandon {
		e.Group = ""
	}
	return e
}

// accept tries once to lock a session, or the next one if none is named. It returns nil unless the
// call succeeded.
func (c *client) accept(ctx context.Context, queue, session string) *held {
	e := history.Event{Action: history.AcceptSession, Queue: queue, Group: session}
	e.Next = session == ""
	in := &seriatimpb.AcceptSessionRequest{Queue: queue, LockSeconds: new(int32(lockSeconds))}
	if !e.Next {
		in.SessionId = &session
	}
	out, sent := ask(ctx, c, &e, seriatimpb.NewSessionsClient, seriatimpb.SessionsClient.AcceptSession, in)
	if done(&e) {
		e.Group, e.Session, e.Until = out.GetSession().GetSessionId(), out.GetSession().GetToken(), out.GetLockedUntilMs()
	}
	if !c.note(sent, e) {
		return nil
	}
	return &held{queue: queue, session: e.Group, token: e.Session}
}

// renew and the following methods try once, and report whether the call succeeded.
func (c *client) renew(ctx context.Context, h *held) bool {
	e := h.event(history.RenewSession)
	out, sent := ask(ctx, c, &e, seriatimpb.NewSessionsClient, seriatimpb.SessionsClient.RenewSession,
		&seriatimpb.RenewSessionRequest{Queue: h.queue, Session: h.ref(), LockSeconds: new(int32(lockSeconds))})
	e.Until = out.GetLockedUntilMs()
	return c.note(sent, e)
}

func (c *client) giveUp(ctx context.Context, h *held) bool {
	e := h.event(history.ReleaseSession)
	_, sent := ask(ctx, c, &e, seriatimpb.NewSessionsClient, seriatimpb.SessionsClient.ReleaseSession,
		&seriatimpb.ReleaseSessionRequest{Queue: h.queue, Session: h.ref()})
	return c.note(sent, e)
}

// setState sets a state that is unique in the run.
func (c *client) setState(ctx context.Context, h *held) bool {
	e := h.event(history.SetState)
	c.counter++
	e.State = fmt.Sprintf("state-%d-%d", c.number, c.counter)
	_, sent := ask(ctx, c, &e, seriatimpb.NewSessionsClient, seriatimpb.SessionsClient.SetSessionState,
		&seriatimpb.SetSessionStateRequest{Queue: h.queue, Session: h.ref(), State: []byte(e.State)})
	return c.note(sent, e)
}

func (c *client) readState(ctx context.Context, h *held) bool {
	e := h.event(history.GetState)
	out, sent := ask(ctx, c, &e, seriatimpb.NewSessionsClient, seriatimpb.SessionsClient.GetSessionState,
		&seriatimpb.GetSessionStateRequest{Queue: h.queue, Session: h.ref()})
	e.State = string(out.GetState())
	return c.note(sent, e)
}

// receiveIn receives in a session. known is false if its messages are unknown.
func (c *client) receiveIn(ctx context.Context, h *held, most int) (messages []history.Message, known bool) {
	e := h.event(history.Receive)
	e.Most, e.Attempt = most, c.attempt()
	out, sent := ask(ctx, c, &e, seriatimpb.NewQueuesClient, seriatimpb.QueuesClient.Receive,
		&seriatimpb.ReceiveRequest{Queue: h.queue, Session: h.ref(), MaxMessages: new(int32(most)), WaitSeconds: new(int32(0)),
			AttemptId: &e.Attempt})
	e.Messages = deliveredNatively(out.GetMessages())
	c.note(sent, e)
	return e.Messages, !sent || e.Result != history.Unknown
}

// complete deletes or abandons a message under the lock of its session.
func (c *client) complete(ctx context.Context, h *held, action string, m history.Message) {
	e := h.event(action)
	e.Handle, e.Message = m.Handle, m.ID
	var outcomes interface {
		GetOutcomes() []*seriatimpb.Outcome
	}
	var sent bool
	if action == history.Delete {
		outcomes, sent = ask(ctx, c, &e, seriatimpb.NewMessagesClient, seriatimpb.MessagesClient.Complete,
			&seriatimpb.CompleteRequest{Queue: h.queue, Session: h.ref(), ReceiptHandles: []string{m.Handle}})
	} else {
		outcomes, sent = ask(ctx, c, &e, seriatimpb.NewMessagesClient, seriatimpb.MessagesClient.Abandon,
			&seriatimpb.AbandonRequest{Queue: h.queue, Session: h.ref(), ReceiptHandles: []string{m.Handle}})
	}
	recordOutcome(&e, outcomes.GetOutcomes())
	c.note(sent, e)
}

// sessions sends to a few sessions and locks one of them, by its id or as the next one. Holders
// receive, set states, abandon messages, and release sessions. Some renew their lock, and some
// continue after it has ended.
func (c *client) sessions(ctx context.Context) {
	for range 2 {
		body := c.body()
		c.persist(ctx, fmt.Sprint("s", c.random.IntN(6)), keyOf(body), body)
	}
	session := ""
	if c.random.IntN(2) == 0 {
		session = fmt.Sprint("s", c.random.IntN(6))
	}
	h := c.accept(ctx, c.queue(), session)
	if h == nil {
		return
	}
	c.readState(ctx, h)
	var left []history.Message
	for range 1 + c.random.IntN(4) {
		messages, known := c.receiveIn(ctx, h, 1+c.random.IntN(3))
		if !known {
			break // the messages return with the end of the lock
		}
		left = append(left, messages...)
		if len(left) > 0 && c.random.IntN(4) == 0 {
			c.complete(ctx, h, history.Abandon, left[0])
			left = left[1:]
		}
		for len(left) > 1 {
			c.complete(ctx, h, history.Delete, left[0])
			left = left[1:]
		}
		kept := c.setState(ctx, h)
		// A refused holder reads the state to find out whether it still has the session.
		if !c.readState(ctx, h) || !kept || c.random.IntN(5) == 0 {
			c.renew(ctx, h)
		}
	}
	if c.random.IntN(6) == 0 && pause(ctx, lockSeconds*time.Second) {
		c.setState(ctx, h)
	}
	for _, m := range left {
		c.complete(ctx, h, history.Delete, m)
	}
	if c.random.IntN(5) > 0 {
		c.giveUp(ctx, h)
	}
}
