package client

import (
	"context"
	"iter"
	"time"

	"github.com/seriatimq/seriatim/transport/grpc/seriatimpb"
)

// SessionInfo describes a session with a state.
type SessionInfo struct {
	ID          string
	StateSetAt  time.Time
	StateBytes  int64
	LockedUntil time.Time // zero: it is not locked
}

// Sessions lists the sessions of a queue whose state was set since a time, in the order of
// that time; the zero time lists all with a state. It ends with the first error, which comes
// with an empty session.
func (c *Client) Sessions(ctx context.Context, queue string, since time.Time) iter.Seq2[SessionInfo, error] {
	var from int64
	if !since.IsZero() {
		from = since.UnixMilli()
	}
	return pages(func(token string) (list []SessionInfo, next string, err error) {
		in := &seriatimpb.ListSessionsRequest{Queue: queue, UpdatedSinceMs: from, PageToken: token}
		out, err := Call(ctx, c, true, seriatimpb.NewSessionsClient, seriatimpb.SessionsClient.ListSessions, in)
		for _, s := range out.GetSessions() {
			list = append(list, SessionInfo{
				ID: s.GetSessionId(), StateSetAt: timeOf(s.GetStateSetAtMs()), StateBytes: s.GetStateBytes(),
				LockedUntil: timeOf(s.GetLockedUntilMs()),
			})
		}
		return list, out.GetNextPageToken(), err
	})
}
