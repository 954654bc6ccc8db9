package session

import "github.com/tidwall/btree"

// Locked reports whether a session has a lock, be it in force or over.
func (t *Table) Locked(name string) bool {
	if t.byEnd.Len() == 0 {
		return false
	}
	r, ok := t.records.Get(name)
	return ok && r.Lock != 0
}

// HasLock reports whether a lock of a session, be it in force or over, is the one of
// a number.
func (t *Table) HasLock(name string, number uint64) bool {
	r, ok := t.records.Get(name)
	return ok && r.Lock == number
}

// claim is what is noted about a locked session.
func (t *Table) claim(name string) *claim {
	c, ok := t.claims.Get(name)
	if !ok {
		if r, known := t.records.Get(name); known {
			name = r.Name // that of the caller may share the memory of many messages
		}
		c = &claim{}
		t.claims.Set(name, c)
	}
	return c
}

// Claim counts one more message in flight under the lock of a session, or one less.
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

// Return notes that the holder of a session can receive a message now: one that is in
// no more flight, or a new one.
func (t *Table) Return(name string, sequence uint64) {
	t.wake(name)
	r, _ := t.records.Get(name)
	if sequence < r.Next {
		t.claim(name).returned.Set(sequence, struct{}{})
	}
}

// Unreturn undoes Return.
func (t *Table) Unreturn(name string, sequence uint64) {
	if c, ok := t.claims.Get(name); ok {
		c.returned.Delete(sequence)
	}
}

// Returned visits what was delivered under the lock of a session and is receivable
// again, in order, until visit returns false.
func (t *Table) Returned(name string, visit func(sequence uint64) bool) {
	if c, ok := t.claims.Get(name); ok {
		c.returned.Scan(func(sequence uint64, _ struct{}) bool { return visit(sequence) })
	}
}

// ForgetMessages is for a queue that has lost all messages. Locks and states stay.
func (t *Table) ForgetMessages() {
	t.claims, t.inFlight = new(btree.Map[string, *claim]), 0
}

// Wake notes that the holders of all sessions may have something to receive.
func (t *Table) Wake() {
	t.byEnd.Scan(func(p Position) bool {
		t.wake(p.Name)
		return true
	})
}

// wake notes that whoever waits in a session is to look.
func (t *Table) wake(name string) {
	if n := len(t.woken); n == 0 || t.woken[n-1] != name {
		t.woken = append(t.woken, name)
	}
}

// TakeWoken are the sessions, some more than once, whose holders were given something
// to receive since the last call, or lost their lock.
func (t *Table) TakeWoken() []string {
	woken := t.woken
	t.woken = nil
	return woken
}
