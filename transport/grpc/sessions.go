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
	"github.com/seriatimq/seriatim/queue/message"
	"github.com/seriatimq/seriatim/queue/refusal"
	"github.com/seriatimq/seriatim/queue/session"
	"github.com/seriatimq/seriatim/transport/grpc/seriatimpb"
	"github.com/seriatimq/seriatim/transport/service"
)

// sessions implements the service Sessions. Safe for concurrent use.
type sessions struct {
	seriatimpb.UnimplementedSessionsServer
	server *Server
}

var errNoSession = newError(codes.DeadlineExceeded, reasonNoSession,
	"No session had a message to receive and was free until the wait was over. Accept again.")

// AcceptSession locks a session by its id, or the next free one.
func (s *sessions) AcceptSession(ctx context.Context, in *seriatimpb.AcceptSessionRequest) (*seriatimpb.Session, error) {
	c := callOf(ctx)
	wait := time.Duration(in.GetWaitSeconds()) * time.Second
	if wait < 0 || wait > limits.WaitSecondsMax*time.Second {
		return nil, c.refuse(ctx, refusal.InvalidValue(strconv.Itoa(int(in.GetWaitSeconds())), "wait_seconds",
			"Must be >= 0 and <= 20, if provided."))
	}
	locked, err := c.accept(ctx, &queue.AcceptSession{
		Queue: c.queue, SessionID: groupID(in.SessionId), SessionIDGiven: in.SessionId != nil, LockSeconds: domainInt(in.LockSeconds),
		AttemptID: in.GetAttemptId(), AttemptIDGiven: in.AttemptId != nil,
	}, wait)
	if err != nil {
		return nil, err
	}
	return wireSession(&locked), nil
}

// accept locks a session, waiting for a free one.
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

// session converts a reference, zero if it is absent. An empty reference is an error.
func (c *call) session(ctx context.Context, in *seriatimpb.SessionRef) (queue.SessionRef, error) {
	out := queue.SessionRef{SessionID: in.GetSessionId(), Token: in.GetToken()}
	if in != nil && out == (queue.SessionRef{}) {
		return out, c.refuse(ctx, refusal.MissingParameter("session.session_id"))
	}
	if in != nil && out.SessionID == "" {
		out.SessionID = message.EmptyGroup
	}
	return out, nil
}

// requiredSession converts a reference that must not be absent.
func (c *call) requiredSession(ctx context.Context, in *seriatimpb.SessionRef) (queue.SessionRef, error) {
	if in == nil {
		return queue.SessionRef{}, c.refuse(ctx, refusal.MissingParameter("session"))
	}
	return c.session(ctx, in)
}

// RenewSession renews a lock.
func (s *sessions) RenewSession(ctx context.Context, in *seriatimpb.RenewSessionRequest) (*seriatimpb.Session, error) {
	c := callOf(ctx)
	ref, err := c.requiredSession(ctx, in.GetSession())
	if err != nil {
		return nil, err
	}
	locked, err := service.Submit[queue.SessionLocked](ctx, &c.Call,
		&queue.RenewSession{Queue: c.queue, Session: ref, LockSeconds: domainInt(in.LockSeconds)})
	if err != nil {
		return nil, err
	}
	return wireSession(&locked), nil
}

// ReleaseSession ends a lock.
func (s *sessions) ReleaseSession(ctx context.Context, in *seriatimpb.ReleaseSessionRequest) (*seriatimpb.ReleaseSessionResponse, error) {
	c := callOf(ctx)
	ref, err := c.requiredSession(ctx, in.GetSession())
	if err == nil {
		_, err = c.Submit(ctx, &queue.ReleaseSession{Queue: c.queue, Session: ref})
	}
	return &seriatimpb.ReleaseSessionResponse{}, err
}

// GetSessionState reads the state of a session.
func (s *sessions) GetSessionState(ctx context.Context, in *seriatimpb.GetSessionStateRequest) (*seriatimpb.GetSessionStateResponse,
	error) {
	c := callOf(ctx)
	ref, err := c.requiredSession(ctx, in.GetSession())
	if err != nil {
		return nil, err
	}
	return service.ReadValue(ctx, &c.Call, func(v queue.View) (*seriatimpb.GetSessionStateResponse, *queue.Error) {
		out := &seriatimpb.GetSessionStateResponse{}
		state, given, refused := v.SessionState(c.queue, ref)
		if given {
			out.State = []byte(state)
		}
		return out, refused
	})
}

// SetSessionState sets or clears the state of a session.
func (s *sessions) SetSessionState(ctx context.Context, in *seriatimpb.SetSessionStateRequest) (*seriatimpb.SetSessionStateResponse,
	error) {
	c := callOf(ctx)
	ref, err := c.requiredSession(ctx, in.GetSession())
	if err == nil {
		_, err = c.Submit(ctx, &queue.SetSessionState{Queue: c.queue, Session: ref, State: string(in.GetState()),
			StateGiven: in.State != nil})
	}
	return &seriatimpb.SetSessionStateResponse{}, err
}

// ListSessions lists the sessions that have a state.
func (s *sessions) ListSessions(ctx context.Context, in *seriatimpb.ListSessionsRequest) (*seriatimpb.ListSessionsResponse, error) {
	c := callOf(ctx)
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
	found, err := service.ReadValue(ctx, &c.Call, func(v queue.View) ([]queue.SessionInfo, *queue.Error) {
		return v.Sessions(c.queue, after, p.size+1)
	})
	found, token := cut(p, found, func(last queue.SessionInfo) string {
		return positionText(session.Position{At: last.StateSetAt, Name: last.SessionID})
	})
	out := &seriatimpb.ListSessionsResponse{NextPageToken: token}
	for _, info := range found {
		out.Sessions = append(out.Sessions, &seriatimpb.SessionInfo{
			SessionId: info.SessionID, StateSetAtMs: int64(info.StateSetAt), StateBytes: int64(info.StateBytes),
			LockedUntilMs: int64(info.LockedUntil),
		})
	}
	return out, err
}

// positionText encodes a position in a list of sessions for a page token.
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
