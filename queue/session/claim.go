package session

import "github.com/tidwall/btree"

// Locked reports whether a session has a lock, active or expired.
func (t *Table) Locked(name string) bool {
	if t.byEnd.Len() == 0 {
		return false
	}
	r, ok := t.records.Get(name)
	return ok && r.Lock != 0
}

// HasLock reports whether a session has the lock with a number, active or expired.
func (t *Table) HasLock(name string, number uint64) bool {
	r, ok := t.records.Get(name)
	return ok && r.Lock == number
}

// claim returns the claim of a locked session, new if necessary.
func (t *Table) claim(name string) *claim {
	c, ok := t.claims.Get(name)
	if !ok {
		if r, known := t.records.Get(name); known {
			name = r.Name // the caller's name may share the memory of many messages
		}
		c = &claim{}
		t.claims.Set(name, c)
	}
	return c
}

// Claim adds to the number of messages in flight under a session's lock; by may be negative.
func (t *Table) Claim(name string, by int64) {
	t.claim(name).inFlight += by
	t.inFlight += by
}

// InFlight counts the messages in flight under all locks.
func (t *Table) InFlight() int64 { return t.inFlight }

// InFlightOf counts the messages in flight under the lock of a session.
func (t *Table) InFlightOf(name string) int64 {
	if c, ok := t.claims.Get(name); ok {
		return c.inFlight
	}
	return 0
}

// Return records that the owner of a session's lock can receive a message: a returned or a new one.
func (t *Table) Return(name string, sequence uint64) {
	t.wake(name)
	r, _ := t.records.Get(name)
	if sequence < r.Next {
		t.claim(name).returned.Set(sequence, struct{}{})
	}
}

// Unreturn reverses Return.
func (t *Table) Unreturn(name string, sequence uint64) {
	if c, ok := t.claims.Get(name); ok {
		c.returned.Delete(sequence)
	}
}

// Returned visits the messages that were delivered under a session's lock and can be received
// again, in order, until visit returns false.
func (t *Table) Returned(name string, visit func(sequence uint64) bool) {
	if c, ok := t.claims.Get(name); ok {
		c.returned.Scan(func(sequence uint64, _ struct{}) bool { return visit(sequence) })
	}
}

// ForgetMessages forgets the messages of all sessions. Locks and states stay.
func (t *Table) ForgetMessages() {
	t.claims, t.inFlight = new(btree.Map[string, *claim]), 0
}

// Wake wakes the receivers of all locked sessions.
func (t *Table) Wake() {
	t.byEnd.Scan(func(p Position) bool {
		t.wake(p.Name)
		return true
	})
}

// wake adds a session to those whose waiting receives must check again.
func (t *Table) wake(name string) {
	if n := len(t.woken); n == 0 || t.woken[n-1] != name {
		t.woken = append(t.woken, name)
	}
}

// TakeWoken returns the sessions, perhaps repeated, that were woken since the last call.
func (t *Table) TakeWoken() []string {
	woken := t.woken
	t.woken = nil
	return woken
}
