package client

import (
	"context"
	"slices"

	"github.com/seriatimq/seriatim/transport/grpc/seriatimpb"
)

// reasonMessageLockLost is the refusal of a settlement that came too late.
const reasonMessageLockLost = "MessageLockLost"

// Consume calls handle for the messages of the session, in order and one at a time, until
// ctx ends (no error) or the lock of the session is lost (SessionLockLost): then others are
// delivered what was not settled. It goes on over another node when one fails, under the
// same lock and with what the session had in flight. What was received in the session
// before, and is not settled, is given back first and handled, too. A session has one
// Consume at a time. The lock stays when it returns.
func (s *Session) Consume(ctx context.Context, options ConsumeOptions, handle Handler) error {
	return s.client.consume(ctx, s.queue, s, options, handle)
}

// abandoning reports whether messages of a session were abandoned without an answer yet.
// Those that come until then may have to come after them, so no handler begins.
func (s *consumer) abandoning() bool {
	if s.session == nil {
		return false
	}
	for _, u := range s.unanswered {
		if u.kind == seriatimpb.SettlementKind_SETTLEMENT_KIND_ABANDON {
			return true
		}
	}
	return false
}

// goOn begins the handler that waited for the answer to an abandonment.
func (s *consumer) goOn() {
	if s.session == nil || s.abandoning() {
		return
	}
	for _, lane := range s.lanes {
		if len(lane) > 0 && lane[0].cancel == nil {
			s.begin(lane[0])
		}
	}
}

// abandonBehind abandons what waits for the answer to an abandonment that an earlier
// stream did not give: what of it comes again comes first.
func (s *consumer) abandonBehind() {
	if !s.abandoning() {
		return
	}
	for _, lane := range s.lanes {
		for _, h := range lane {
			delete(s.held, h.handle())
		}
		for batch := range slices.Chunk(lane, frameMessages) {
			s.number++
			s.unanswered[s.number] = &settlement{kind: seriatimpb.SettlementKind_SETTLEMENT_KIND_ABANDON, deliveries: batch}
		}
	}
	clear(s.lanes)
}

// openSession says which session a stream consumes, and what of it the client has.
func (s *consumer) openSession(open *seriatimpb.ConsumeOpen) {
	open.Session = &seriatimpb.ConsumeSession{Locked: s.session.ref, LockSeconds: &s.session.lock}
	// The server gives back what is in flight and not named.
	for _, u := range s.unanswered {
		for _, h := range u.deliveries {
			open.Held = append(open.Held, h.handle())
		}
	}
}

// settledBefore reports whether a failure means that the settlement took effect when it
// was first sent. Under the lock of the session nobody else had the message meanwhile.
func (s *consumer) settledBefore(u *settlement, f *seriatimpb.Failure) bool {
	return s.session != nil && u.again && f.GetReason() == reasonMessageLockLost
}
