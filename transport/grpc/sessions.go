package grpc

import (
	"context"
	"encoding/binary"
	"strconv"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/seriatimq/seriatim/cluster"
	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/limits"
	"github.com/seriatimq/seriatim/queue/refusal"
	"github.com/seriatimq/seriatim/queue/session"
	"github.com/seriatimq/seriatim/transport/grpc/seriatimpb"
)

// sessions implements the service Sessions. Safe for concurrent use.
type sessions struct {
	seriatimpb.UnimplementedSessionsServer
	server *Server
}

var errNoSession = newError(codes.DeadlineExceeded, reasonNoSession,
	"No session had a message to receive and was free until the wait was over. Accept again.")

// AcceptSession locks a session by its id, or the next one that is free.
func (s *sessions) AcceptSession(ctx context.Context, in *seriatimpb.AcceptSessionRequest) (*seriatimpb.Session, error) {
	c := callOf(ctx)
	if err := c.on(in.GetQueue()); err != nil {
		return nil, err
	}
	wait := time.Duration(in.GetWaitSeconds()) * time.Second
	if wait < 0 || wait > limits.WaitSecondsMax*time.Second {
		return nil, c.refuse(ctx, refusal.InvalidValue(strconv.Itoa(int(in.GetWaitSeconds())), "wait_seconds", "Must be >= 0 and <= 20, if provided."))
	}
	locked, err := c.accept(ctx, &queue.AcceptSession{
		Queue: c.queue, SessionID: in.GetSessionId(), SessionIDGiven: in.SessionId != nil, LockSeconds: domainInt(in.LockSeconds),
		AttemptID: in.GetAttemptId(), AttemptIDGiven: in.AttemptId != nil,
	}, wait)
	if err != nil {
		return nil, err
	}
	return wireSession(&locked), nil
}

// accept locks a session, waiting for one that is free.
func (c *call) accept(ctx context.Context, cmd *queue.AcceptSession, wait time.Duration) (queue.SessionLocked, error) {
	locked, err := resultOf[queue.SessionLocked](c.await(ctx, wait, func(ctx context.Context) (cluster.Reply, error) {
		return c.server.Node.AcceptSession(ctx, cmd, wait)
	}))
	if err == nil && locked.SessionID == "" {
		err = errNoSession
	}
	return locked, err
}

func wireSession(locked *queue.SessionLocked) *seriatimpb.Session {
	return &seriatimpb.Session{
		Session:       &seriatimpb.SessionRef{SessionId: locked.SessionID, Token: locked.Token.String()},
		LockedUntilMs: int64(locked.LockedUntil),
	}
}

// session is a reference in the form of the domain, zero if it is absent. One that is
// given and empty is a mistake, and not none.
func (c *call) session(ctx context.Context, in *seriatimpb.SessionRef) (queue.SessionRef, error) {
	out := queue.SessionRef{SessionID: in.GetSessionId(), Token: in.GetToken()}
	if in != nil && out == (queue.SessionRef{}) {
		return out, c.refuse(ctx, refusal.MissingParameter("session.session_id"))
	}
	return out, nil
}

// onSession says which queue and session a call is about, which needs one.
func (c *call) onSession(ctx context.Context, name string, in *seriatimpb.SessionRef) (queue.SessionRef, error) {
	if err := c.on(name); err != nil {
		return queue.SessionRef{}, err
	}
	if in == nil {
		return queue.SessionRef{}, c.refuse(ctx, refusal.MissingParameter("session"))
	}
	return c.session(ctx, in)
}

// RenewSession lets a lock last on.
func (s *sessions) RenewSession(ctx context.Context, in *seriatimpb.RenewSessionRequest) (*seriatimpb.Session, error) {
	c := callOf(ctx)
	ref, err := c.onSession(ctx, in.GetQueue(), in.GetSession())
	if err != nil {
		return nil, err
	}
	locked, err := resultOf[queue.SessionLocked](c.Submit(ctx, &queue.RenewSession{Queue: c.queue, Session: ref, LockSeconds: domainInt(in.LockSeconds)}))
	if err != nil {
		return nil, err
	}
	return wireSession(&locked), nil
}

// ReleaseSession ends a lock.
func (s *sessions) ReleaseSession(ctx context.Context, in *seriatimpb.ReleaseSessionRequest) (*seriatimpb.ReleaseSessionResponse, error) {
	c := callOf(ctx)
	ref, err := c.onSession(ctx, in.GetQueue(), in.GetSession())
	if err == nil {
		_, err = c.Submit(ctx, &queue.ReleaseSession{Queue: c.queue, Session: ref})
	}
	return &seriatimpb.ReleaseSessionResponse{}, err
}

// GetSessionState reads the state of a session.
func (s *sessions) GetSessionState(ctx context.Context, in *seriatimpb.GetSessionStateRequest) (*seriatimpb.GetSessionStateResponse, error) {
	c := callOf(ctx)
	ref, err := c.onSession(ctx, in.GetQueue(), in.GetSession())
	if err != nil {
		return nil, err
	}
	out := &seriatimpb.GetSessionStateResponse{}
	err = c.Read(ctx, func(v queue.View) error {
		state, given, refused := v.SessionState(c.queue, ref)
		if refused != nil {
			return refused
		}
		if given {
			out.State = []byte(state)
		}
		return nil
	})
	return out, err
}

// SetSessionState sets or clears the state of a session.
func (s *sessions) SetSessionState(ctx context.Context, in *seriatimpb.SetSessionStateRequest) (*seriatimpb.SetSessionStateResponse, error) {
	c := callOf(ctx)
	ref, err := c.onSession(ctx, in.GetQueue(), in.GetSession())
	if err == nil {
		_, err = c.Submit(ctx, &queue.SetSessionState{Queue: c.queue, Session: ref, State: string(in.GetState()), StateGiven: in.State != nil})
	}
	return &seriatimpb.SetSessionStateResponse{}, err
}

// ListSessions lists the sessions that have a state.
func (s *sessions) ListSessions(ctx context.Context, in *seriatimpb.ListSessionsRequest) (*seriatimpb.ListSessionsResponse, error) {
	c := callOf(ctx)
	if err := c.on(in.GetQueue()); err != nil {
		return nil, err
	}
	p, refused := readPage(in.GetPageSize(), in.GetPageToken())
	if refused != nil {
		return nil, c.refuse(ctx, refused)
	}
	after := session.Position{At: queue.Timestamp(in.GetUpdatedSinceMs())}
	if p.after != "" {
		if after, refused = positionOf(p.after, in.GetPageToken()); refused != nil {
			return nil, c.refuse(ctx, refused)
		}
	}
	var found []queue.SessionInfo
	err := c.Read(ctx, func(v queue.View) error {
		if found, refused = v.Sessions(c.queue, after, p.size+1); refused != nil {
			return refused
		}
		return nil
	})
	out := &seriatimpb.ListSessionsResponse{}
	for i, info := range found {
		if i == p.size {
			last := found[i-1]
			out.NextPageToken = pageToken(positionText(session.Position{At: last.StateSetAt, Name: last.SessionID}))
			break
		}
		out.Sessions = append(out.Sessions, &seriatimpb.SessionInfo{
			SessionId: info.SessionID, StateSetAtMs: int64(info.StateSetAt), StateBytes: int64(info.StateBytes), LockedUntilMs: int64(info.LockedUntil),
		})
	}
	return out, err
}

// positionText is a position in a list of sessions as text, for a page token.
func positionText(p session.Position) string {
	return string(binary.BigEndian.AppendUint64(nil, uint64(p.At))) + p.Name
}

// positionOf is the inverse of positionText.
func positionOf(text, token string) (session.Position, *queue.Error) {
	if len(text) < 9 {
		return session.Position{}, badPageToken(token)
	}
	return session.Position{At: queue.Timestamp(binary.BigEndian.Uint64([]byte(text[:8]))), Name: text[8:]}, nil
}
