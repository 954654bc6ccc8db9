package client

import (
	"context"
	"iter"
	"time"

	"google.golang.org/grpc"

	"github.com/seriatimq/seriatim/transport/grpc/seriatimpb"
)

// SessionInfo is a session with a state, as a list shows it.
type SessionInfo struct {
	ID          string
	StateSetAt  time.Time
	StateBytes  int64
	LockedUntil time.Time // zero: it is not locked
}

// Sessions visits the sessions of a queue whose state was set at a time or later, by that
// time; the zero time visits all that have a state. It stops at an error, which it returns
// with an empty session.
func (c *Client) Sessions(ctx context.Context, queue string, since time.Time) iter.Seq2[SessionInfo, error] {
	var from int64
	if !since.IsZero() {
		from = since.UnixMilli()
	}
	return pages(func(token string) (list []SessionInfo, next string, err error) {
		in := &seriatimpb.ListSessionsRequest{Queue: queue, UpdatedSinceMs: from, PageToken: token}
		var out *seriatimpb.ListSessionsResponse
		err = c.CallOn(ctx, true, func(ctx context.Context, on grpc.ClientConnInterface, o ...grpc.CallOption) (err error) {
			out, err = seriatimpb.NewSessionsClient(on).ListSessions(ctx, in, o...)
			return err
		})
		for _, s := range out.GetSessions() {
			list = append(list, SessionInfo{
				ID: s.GetSessionId(), StateSetAt: timeOf(s.GetStateSetAtMs()), StateBytes: s.GetStateBytes(), LockedUntil: timeOf(s.GetLockedUntilMs()),
			})
		}
		return list, out.GetNextPageToken(), err
	})
}
