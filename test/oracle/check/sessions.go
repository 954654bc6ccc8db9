package check

import (
	"cmp"
	"maps"
	"slices"

	"github.com/seriatimq/seriatim/test/oracle/history"
)

// A session has one holder at a time. The log times of answers tell when a lock begins and ends. A
// release, even without an answer, may have ended it earlier, and a renewal may have extended it.
// Only what is certain in both respects is judged.

// lock is one lock of a session.
type lock struct {
	accept   *history.Event
	renewals []*history.Event // that may have succeeded, in order of their call
	releases []*history.Event
	uses     []*history.Event // that succeeded under it, including renewals and releases
}

// sessions contains the locks of a history, and the data of their sessions.
type sessions struct {
	byToken   map[string]*lock
	locks     map[string][]*lock          // by queue and session, in the order of the log
	states    map[string][]*history.Event // sets and reads, by queue and session
	abandoned map[string][]*history.Event // by handle
	lost      map[string]int64            // by token: call of the first receive without an answer
}

func newSessions() sessions {
	return sessions{
		byToken: map[string]*lock{}, locks: map[string][]*lock{}, states: map[string][]*history.Event{},
		abandoned: map[string][]*history.Event{}, lost: map[string]int64{},
	}
}

// indexSession records a call of a session. In a history, calls under a lock may be before its
// accept.
func (c *checker) indexSession(e *history.Event) {
	s := &c.sessions
	key := e.Queue + "\x00" + e.Group
	switch e.Action {
	case history.AcceptSession:
		if e.Result != history.OK || e.Error != "" || e.Session == "" {
			return
		}
		if other := s.byToken[e.Session]; other != nil {
			c.violate("I19", e.Return, "accept %d and %d of session %q have one token", other.accept.ID, e.ID, e.Group)
			return
		}
		l := &lock{accept: e}
		s.byToken[e.Session] = l
		s.locks[key] = append(s.locks[key], l)
	case history.GetState, history.SetState:
		s.states[key] = append(s.states[key], e)
	}
}

// holds sorts the calls under each lock.
func (c *checker) holds() {
	s := &c.sessions
	for _, locks := range s.locks {
		slices.SortFunc(locks, func(a, b *lock) int {
			return cmp.Or(cmp.Compare(a.accept.Index, b.accept.Index), cmp.Compare(a.accept.Return, b.accept.Return))
		})
	}
	for i := range c.events {
		e := &c.events[i]
		if e.Kind != history.KindOp || e.Session == "" || e.Action == history.AcceptSession {
			continue
		}
		if e.Error == history.SessionLockLost || e.Error == history.MessageLockLost {
			c.report.Counts["calls under a lost lock refused"]++
		}
		if first, known := s.lost[e.Session]; e.Action == history.Receive && e.Result == history.Unknown && (!known || e.Call < first) {
			s.lost[e.Session] = e.Call
		}
		if e.Action == history.Abandon {
			s.abandoned[e.Handle] = append(s.abandoned[e.Handle], e)
		}
		l := s.byToken[e.Session]
		if l == nil || !e.Possible() {
			continue // its accept is in an earlier part, or did not succeed
		}
		switch e.Action {
		case history.RenewSession:
			l.renewals = append(l.renewals, e)
		case history.ReleaseSession:
			l.releases = append(l.releases, e)
		}
		if e.Result == history.OK {
			l.uses = append(l.uses, e)
		}
	}
}

// follows reports whether an answered call is certainly after another one in the log, by their
// entries or else by the times of the clients.
func follows(second, first *history.Event) bool {
	if second.Index > 0 && first.Index > 0 && second.Index != first.Index {
		return second.Index > first.Index
	}
	return second.Call > first.Return
}

// until returns the latest end of a lock that is certain at a later call, in log time.
func (l *lock) until(at *history.Event) int64 {
	end := l.accept.Until
	for _, r := range l.renewals {
		if r.Result == history.OK && follows(at, r) {
			end = r.Until // a renewal may also shorten the lock
		}
	}
	for _, r := range l.renewals {
		if r.Result == history.Unknown && r.Call < at.Return {
			return min(end, l.accept.Until) // their order is unknown
		}
	}
	return end
}

// released reports whether a release may have ended the lock before a call.
func (l *lock) released(at *history.Event) bool {
	return slices.ContainsFunc(l.releases, func(r *history.Event) bool {
		return r.Call < at.Return && (r.Result == history.Unknown || !follows(r, at))
	})
}

// over reports whether the lock had certainly ended before a call in the log. It returns false if a
// renewal without an answer may have extended the lock.
func (l *lock) over(at *history.Event) bool {
	end := l.accept.Until
	for _, r := range l.renewals {
		if r.Call < at.Return {
			if r.Result != history.OK {
				return false
			}
			end = max(end, r.Until)
		}
	}
	return at.LogTime >= end
}

// checkSessions checks I19.
func (c *checker) checkSessions() {
	for _, key := range slices.Sorted(maps.Keys(c.sessions.locks)) {
		locks := c.sessions.locks[key]
		for i, l := range locks {
			c.report.Counts["sessions accepted"]++
			if l.accept.Next {
				c.report.Counts["sessions accepted as the next one"]++
			}
			c.checkUses(l)
			if i+1 < len(locks) {
				c.checkHandover(l, locks[i+1])
			}
		}
	}
	c.checkOutsiders()
	for _, key := range slices.Sorted(maps.Keys(c.sessions.states)) {
		c.checkKept(c.sessions.states[key])
	}
}

// checkUses checks that no call succeeds under a lock that is over.
func (c *checker) checkUses(l *lock) {
	for _, e := range l.uses {
		if e.LogTime > 0 && follows(e, l.accept) && l.over(e) {
			c.violate("I19", e.Return, "%s %d of session %q was done %d ms after the end of its lock", e.Action, e.ID, l.accept.Group,
				e.LogTime-l.accept.Until)
		}
	}
}

// checkHandover checks that a locked session is not locked again, and that calls of a former holder
// fail.
func (c *checker) checkHandover(l, next *lock) {
	a := next.accept
	switch end := l.until(a); {
	case l.released(a):
	case a.LogTime > 0 && a.LogTime < end && follows(a, l.accept):
		c.violate("I19", a.Return, "accept %d locked session %q, which accept %d holds for another %d ms", a.ID, a.Group, l.accept.ID,
			end-a.LogTime)
	default:
		c.report.Counts["locks that ran out"]++
	}
	for _, e := range l.uses {
		if follows(e, a) {
			c.violate("I19", e.Return, "%s %d of session %q was done under the lock of accept %d, after accept %d", e.Action, e.ID, a.Group,
				l.accept.ID, a.ID)
		}
	}
}

// checkOutsiders checks that only the holder receives the messages of a locked session.
func (c *checker) checkOutsiders() {
	for _, m := range c.order {
		for _, l := range c.sessions.locks[m.queue+"\x00"+m.group] {
			for _, d := range m.deliveries {
				e := d.receive
				if e.Session == l.accept.Session || e.LogTime == 0 || e.Index == 0 || d.replay {
					continue
				}
				if e.Index > l.accept.Index && e.LogTime < l.until(e) && !l.released(e) {
					c.violate("I19", e.Return, "receive %d was given message %s of session %q, which accept %d holds", e.ID, m.id, m.group,
						l.accept.ID)
				}
			}
		}
	}
}

// heldWith reports whether a delivery in a session may overtake an earlier message, because its
// receiver has that message under the same lock. An abandoned message must come first.
func (c *checker) heldWith(m *message, d *delivery) bool {
	token := d.receive.Session
	if token == "" {
		return false
	}
	if call, lost := c.sessions.lost[token]; lost && call < d.receive.Return {
		return true // its messages are unknown
	}
	held := false
	for _, before := range m.deliveries {
		if before.receive.Session == token && before.receive.Call < d.receive.Return {
			held = !slices.ContainsFunc(c.sessions.abandoned[before.message.Handle], func(a *history.Event) bool {
				return a.Result == history.OK && a.Error == "" && a.Return < d.receive.Call
			})
		}
	}
	return held
}

// kept is one state of a session. from is the first return and last the last call that shows it. If
// from is after last, it may have existed only for a moment between them.
type kept struct {
	state      string
	from, last int64
}

// checkKept checks I19: the states of a session are linearizable. Each state is set once, so it is
// enough that no state is read before it is set, that no two exist at the same time, and that none
// must have existed entirely within the time of another one (Gibbons and Korach, Testing Shared
// Memories).
func (c *checker) checkKept(calls []*history.Event) {
	zones := map[string]*kept{"": {from: -1, last: -1}}
	set := map[string]*history.Event{}
	for _, e := range calls {
		if e.Action == history.SetState && e.Possible() {
			set[e.State] = e
			zones[e.State] = &kept{state: e.State, from: lasts(e), last: e.Call}
		}
	}
	for _, e := range calls {
		if e.Action != history.GetState || e.Result != history.OK || e.Error != "" {
			continue
		}
		c.report.Counts["states of sessions read"]++
		z := zones[e.State]
		if z == nil || e.State != "" && e.Return < set[e.State].Call {
			c.violate("I19", e.Return, "read %d of session %q: nobody had set the state %.40q", e.ID, e.Group, e.State)
			continue
		}
		z.from, z.last = min(z.from, e.Return), max(z.last, e.Call)
	}
	var there, moments []*kept
	for _, state := range slices.Sorted(maps.Keys(zones)) {
		switch z := zones[state]; {
		case z.from == never: // set without an answer, and never read
		case z.from < z.last:
			there = append(there, z)
		default:
			moments = append(moments, z)
		}
	}
	slices.SortFunc(there, func(a, b *kept) int { return cmp.Compare(a.from, b.from) })
	for i, z := range there {
		if i > 0 && z.from < there[i-1].last {
			c.violate("I19", z.from, "session %q had the states %.40q and %.40q at the same time", calls[0].Group, there[i-1].state,
				z.state)
		}
		for _, m := range moments {
			if z.from < m.last && m.from < z.last {
				c.violate("I19", z.last, "session %q was read with state %.40q, in whose place %.40q had been put", calls[0].Group, z.state,
					m.state)
			}
		}
	}
}
