package console

import "github.com/seriatimq/seriatim/transport/grpc/seriatimpb"

// sessionsShown is the number of sessions with a state that a page lists.
const sessionsShown = 100

// sessionRow is a session with a state.
type sessionRow struct {
	ID, URL     string
	Set         int64
	Bytes       int
	LockedUntil int64 // 0: it is not locked
}

// sessionsOf lists sessions with a state, the ones that were set first. It returns none if the caller
// may not see them.
func (p *page) sessionsOf(h queueHead) (rows []sessionRow, more bool) {
	out, err := p.sessionsAPI(h.Name).ListSessions(p.r.Context(), &seriatimpb.ListSessionsRequest{
		Queue: p.called(h.Name), PageSize: sessionsShown,
	})
	if err != nil {
		return nil, false
	}
	for _, s := range out.GetSessions() {
		rows = append(rows, sessionRow{
			ID: s.GetSessionId(), URL: groupURL(h.Name, s.GetSessionId()), Set: s.GetStateSetAtMs(), Bytes: int(s.GetStateBytes()),
			LockedUntil: s.GetLockedUntilMs(),
		})
	}
	return rows, out.GetNextPageToken() != ""
}
