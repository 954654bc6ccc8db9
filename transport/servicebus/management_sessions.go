package servicebus

import (
	"slices"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/session"
	"github.com/seriatimq/seriatim/transport/amqp/wire"
)

// requiredSession returns the session that the body must name.
func (m *managed) requiredSession() (queue.SessionRef, *heldSession, error) {
	ref, held, err := m.sessionRef()
	if err == nil && held == nil {
		err = argument("session-id", "it is missing")
	}
	return ref, held, err
}

// renewSession renews the lock of a session.
func (m *managed) renewSession() (wire.Value, error) {
	ref, held, err := m.requiredSession()
	if err != nil {
		return nil, err
	}
	locked, _, err := submit[queue.SessionLocked](m.call, &queue.RenewSession{Queue: m.call.queue, Session: ref})
	if err != nil {
		return nil, err
	}
	held.renewed(locked.LockedUntil)
	return mapOf("expiration", wire.AppendTimestamp(nil, int64(locked.LockedUntil))), nil
}

// sessionState returns the state of a session, null if there is none.
func (m *managed) sessionState() (wire.Value, error) {
	ref, _, err := m.requiredSession()
	if err != nil {
		return nil, err
	}
	state, given := "", false
	err = m.call.look(m.call.ctx, func(v queue.View) error {
		var refused *queue.Error
		if state, given, refused = v.SessionState(m.call.queue, ref); refused != nil {
			return refused
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	value := wire.AppendNull(nil)
	if given {
		value = wire.AppendBinary(nil, []byte(state))
	}
	return mapOf("session-state", value), nil
}

// setSessionState stores the state of a session, or clears it.
func (m *managed) setSessionState() (wire.Value, error) {
	ref, _, err := m.requiredSession()
	if err != nil {
		return nil, err
	}
	state, given := m.field("session-state").Binary()
	if !given && !m.field("session-state").IsNull() {
		return nil, argument("session-state", "it is not binary")
	}
	// An empty state is none: the SDK for Go clears the state so.
	cmd := &queue.SetSessionState{Queue: m.call.queue, Session: ref, State: string(state), StateGiven: len(state) > 0}
	if _, _, err := submit[queue.Done](m.call, cmd); err != nil {
		return nil, err
	}
	return emptyMap(), nil
}

const (
	// farFuture is the time from which on a client asks for all sessions instead of those whose state
	// has changed since: the year 9999.
	farFuture = 253_370_764_800_000
	// sessionsMax bounds one page.
	sessionsMax = 100
	// sessionsRead bounds the sessions in a list.
	sessionsRead = 10_000
)

// sessions lists sessions with messages or a state, or those whose state was set since a time.
func (m *managed) sessions() (wire.Value, error) {
	since, given := m.field("last-updated-time").Timestamp()
	skip, top := int(max(m.integer("skip", 0), 0)), int(m.integer("top", sessionsMax))
	if top < 1 || skip > sessionsRead {
		return nil, argument("top or skip", "it is out of range")
	}
	top = min(top, sessionsMax)
	var ids []string
	err := m.call.look(m.call.ctx, func(v queue.View) error {
		var refused *queue.Error
		if given && since < farFuture {
			ids, refused = withState(v, m.call.queue, since, skip+top)
		} else {
			ids, refused = withContent(v, m.call.queue, skip+top)
		}
		if refused != nil {
			return refused
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if len(ids) <= skip {
		return nil, errNothing
	}
	ids = ids[skip:]
	array, mark := wire.BeginArray(nil, wire.String)
	for _, id := range ids {
		array = wire.AppendTextItem(array, id)
	}
	b, whole := wire.BeginMap(nil)
	b = wire.AppendInt(wire.AppendString(b, "skip"), int32(skip+len(ids))) //nolint:gosec // bounded
	b = append(wire.AppendString(b, "sessions-ids"), mark.EndArray(array, len(ids))...)
	return whole.End(b), nil
}

func withState(v queue.View, name string, since int64, limit int) (ids []string, err *queue.Error) {
	list, err := v.Sessions(name, session.Position{}, sessionsRead)
	for i := range list {
		if int64(list[i].StateSetAt) >= since && len(ids) < limit {
			ids = append(ids, sessionOf(list[i].SessionID))
		}
	}
	return ids, err
}

// withContent returns the first sessions with messages or a state, by name.
func withContent(v queue.View, name string, limit int) (ids []string, err *queue.Error) {
	groups, err := v.Groups(name, "", "", limit)
	if err != nil {
		return nil, err
	}
	states, err := v.Sessions(name, session.Position{}, sessionsRead)
	if err != nil {
		return nil, err
	}
	for i := range groups {
		ids = append(ids, groups[i].Name)
	}
	for i := range states {
		ids = append(ids, states[i].SessionID)
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
	ids = ids[:min(len(ids), limit)]
	for i := range ids {
		ids[i] = sessionOf(ids[i])
	}
	return ids, nil
}
