package session

import (
	"github.com/tidwall/btree"

	"github.com/seriatimq/seriatim/queue/logtime"
	"github.com/seriatimq/seriatim/queue/statehash"
)

// Table holds the sessions of one queue. One goroutine uses it; another one may read the records of
// a Clone.
type Table struct {
	incarnation uint64 // of the queue; part of every record hash
	records     *btree.Map[string, *Record]
	byEnd       *btree.BTreeG[Position]    // locked ones, by the end of their lock
	byState     *btree.BTreeG[Position]    // those with a state, by StateSetAt
	byAttempt   *btree.Map[string, string] // names of locked ones, by attempt id
	lastLock    uint64
	sum         statehash.Sum
	bytes       int64
	claims      *btree.Map[string, *claim] // of locked sessions; invalid in older copies
	inFlight    int64                      // under all locks
	woken       []string                   // sessions to wake; not part of the state
}

// Position orders sessions by time, then by name.
type Position struct {
	At   logtime.Timestamp
	Name string
}

func (a Position) less(b Position) bool {
	if a.At != b.At {
		return a.At < b.At
	}
	return a.Name < b.Name
}

// claim holds data of a locked session that follows from its messages.
type claim struct {
	inFlight int64
	returned btree.Map[uint64, struct{}] // below Next and available again
}

// New returns an empty Table.
func New(incarnation uint64) Table {
	tree := func() *btree.BTreeG[Position] {
		return btree.NewBTreeGOptions(Position.less, btree.Options{NoLocks: true})
	}
	return Table{
		incarnation: incarnation, records: new(btree.Map[string, *Record]), byEnd: tree(), byState: tree(),
		byAttempt: new(btree.Map[string, string]), claims: new(btree.Map[string, *claim]),
	}
}

// Clone returns a writable copy. Stop changing the original.
func (t Table) Clone() Table {
	t.records, t.byEnd, t.byState, t.claims = t.records.Copy(), t.byEnd.Copy(), t.byState.Copy(), t.claims.Copy()
	t.byAttempt = t.byAttempt.Copy()
	return t
}

// Get finds a session that is locked or has a state.
func (t *Table) Get(name string) (*Record, bool) { return t.records.Get(name) }

// OfAttempt finds the session that an attempt id locked.
func (t *Table) OfAttempt(id string) (*Record, bool) {
	name, ok := t.byAttempt.Get(id)
	if !ok {
		return nil, false
	}
	return t.records.Get(name)
}

// Put stores or replaces a session. Messages in flight stay in flight if the lock stays.
func (t *Table) Put(k statehash.Key, r Record) {
	before := t.take(k, r.Name)
	if before == nil || before.Lock != r.Lock {
		t.dropClaim(r.Name)
	}
	if r.empty() {
		return
	}
	t.records.Set(r.Name, &r)
	t.sum.Add(r.sum(k, t.incarnation))
	t.bytes += r.size()
	if r.Lock != 0 {
		t.byEnd.Set(Position{r.LockedUntil, r.Name})
	}
	if r.AttemptID != "" {
		t.byAttempt.Set(r.AttemptID, r.Name)
	}
	if r.StateGiven {
		t.byState.Set(Position{r.StateSetAt, r.Name})
	}
}

// take removes a record, but not its claim.
func (t *Table) take(k statehash.Key, name string) *Record {
	r, was := t.records.Delete(name)
	if !was {
		return nil
	}
	t.sum.Sub(r.sum(k, t.incarnation))
	t.bytes -= r.size()
	if r.Lock != 0 {
		t.byEnd.Delete(Position{r.LockedUntil, r.Name})
	}
	if r.AttemptID != "" {
		t.byAttempt.Delete(r.AttemptID)
	}
	if r.StateGiven {
		t.byState.Delete(Position{r.StateSetAt, r.Name})
	}
	return r
}

// Unlock ends the lock of a session. Its messages are no longer in flight.
func (t *Table) Unlock(k statehash.Key, name string) {
	if r, ok := t.records.Get(name); ok {
		t.Put(k, r.unlocked())
		t.wake(name)
	}
}

func (t *Table) dropClaim(name string) {
	if c, was := t.claims.Delete(name); was {
		t.inFlight -= c.inFlight
	}
}

// NewLock returns the number of the next lock.
func (t *Table) NewLock() uint64 {
	t.lastLock++
	return t.lastLock
}

// LastLock returns the number of the newest lock.
func (t *Table) LastLock() uint64 { return t.lastLock }

// SetLastLock sets LastLock in a restored table.
func (t *Table) SetLastLock(number uint64) { t.lastLock = number }

// FirstEnd returns the session whose lock ends first.
func (t *Table) FirstEnd() (Position, bool) { return t.byEnd.Min() }

// ScanEnds visits the locked sessions in order of the ends of their locks, until visit returns false.
func (t *Table) ScanEnds(visit func(end Position) bool) { t.byEnd.Scan(visit) }

// Len counts the sessions that are locked or have a state.
func (t *Table) Len() int { return t.records.Len() }

// Locks counts the locked sessions.
func (t *Table) Locks() int { return t.byEnd.Len() }

// Scan visits all sessions in order of name until visit returns false.
func (t *Table) Scan(visit func(*Record) bool) {
	t.records.Scan(func(_ string, r *Record) bool { return visit(r) })
}

// WithState visits the sessions with a state after a position, in order of StateSetAt, until visit
// returns false.
func (t *Table) WithState(after Position, visit func(*Record) bool) {
	t.byState.Ascend(after, func(p Position) bool {
		if p == after {
			return true
		}
		r, _ := t.records.Get(p.Name)
		return visit(r)
	})
}

// Sum returns the sum of the record hashes.
func (t *Table) Sum() statehash.Sum { return t.sum }

// ComputeSum computes Sum from scratch.
func (t *Table) ComputeSum(k statehash.Key) (sum statehash.Sum) {
	t.Scan(func(r *Record) bool {
		sum.Add(r.sum(k, t.incarnation))
		return true
	})
	return sum
}

// Bytes estimates the memory of all sessions.
func (t *Table) Bytes() int64 { return t.bytes }
