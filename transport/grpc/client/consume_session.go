package client

import (
	"context"
	"slices"

	"github.com/seriatimq/seriatim/transport/grpc/seriatimpb"
)

// reasonMessageLockLost is the reason of a settlement that came too late.
const reasonMessageLockLost = "MessageLockLost"

// Consume calls handle for the messages of the session, in order and one at a time. It returns when
// ctx ends (no error, the lock stays) or the lock is lost (SessionLockLost): others then receive
// the remaining messages. When a node fails, it continues over another one under the same lock. It
// first handles messages that were received in the session before and not completed. For one
// session, do not call it twice at the same time.
func (s *Session) Consume(ctx context.Context, options ConsumeOptions, handle Handler) error {
	return s.client.consume(ctx, s.queue, s, options, handle)
}

// abandoning reports whether an abandonment in the session has no answer yet. Until then no
// handler starts, because later messages may already be on their way.
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

// resume starts the handler that waited for the answer to an abandonment.
func (s *consumer) resume() {
	if s.session == nil || s.abandoning() {
		return
	}
	for _, lane := range s.lanes {
		if len(lane) > 0 && lane[0].cancel == nil {
			s.begin(lane[0])
		}
	}
}

// abandonBehind also abandons the messages that wait behind an abandonment whose answer was
// lost with its stream, so that all of them come again in order.
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
			s.unanswered[s.number] = &unsettled{kind: seriatimpb.SettlementKind_SETTLEMENT_KIND_ABANDON, deliveries: batch}
		}
	}
	clear(s.lanes)
}

// openSession names the session of a stream and the messages of it that the client has.
func (s *consumer) openSession(open *seriatimpb.ConsumeOpen) {
	open.Session = &seriatimpb.ConsumeSession{Locked: s.session.ref, LockSeconds: &s.session.lock}
	// The server makes messages in flight visible that are not named here.
	for _, u := range s.unanswered {
		for _, h := range u.deliveries {
			open.Held = append(open.Held, h.handle())
		}
	}
}

// settledBefore reports whether a failure means that the settlement was executed when it was
// first sent: under the session lock no other client can have received the message.
func (s *consumer) settledBefore(u *unsettled, f *seriatimpb.Failure) bool {
	return s.session != nil && u.again && f.GetReason() == reasonMessageLockLost
}
