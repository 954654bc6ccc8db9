package session

import (
	"github.com/seriatimq/seriatim/queue/logtime"
	"github.com/seriatimq/seriatim/queue/statehash"
)

// Record is one session. It is replaced, never changed in place.
type Record struct {
	Name string
	// Lock is the number of the lock, zero if nobody holds the session. What is
	// above State belongs to it.
	Lock        uint64
	LockedUntil logtime.Timestamp
	// Next is the number behind the highest message delivered under the lock, zero if
	// none was. What is below and not in flight was given back.
	Next uint64
	// AttemptID is the attempt id under which the lock was taken, empty if there was none.
	AttemptID string
	// State is what receivers keep with the session; a state that was never set, or
	// cleared, differs from an empty one.
	State      string
	StateGiven bool
	StateSetAt logtime.Timestamp
}

// Locked reports whether a lock is in force at now.
func (r *Record) Locked(now logtime.Timestamp) bool { return r.Lock != 0 && r.LockedUntil > now }

// unlocked is the record without its lock.
func (r Record) unlocked() Record {
	r.Lock, r.LockedUntil, r.Next, r.AttemptID = 0, 0, 0, ""
	return r
}

// empty records say nothing and are not kept.
func (r *Record) empty() bool { return r.Lock == 0 && !r.StateGiven }

func (r *Record) sum(k statehash.Key, incarnation uint64) statehash.Sum {
	var buf [256]byte
	b := append(statehash.Record(buf[:0]), statehash.KindSession).Num(incarnation).Text(r.Name)
	b = b.Num(r.Lock).Time(r.LockedUntil).Num(r.Next).Text(r.AttemptID)
	return k.Sum(b.Flag(r.StateGiven).Num(k.HashText(r.State)).Num(uint64(len(r.State))).Time(r.StateSetAt))
}

// overhead is what a record costs beside its texts, see package queue.
const overhead = 320

func (r *Record) size() int64 { return int64(overhead + len(r.Name) + len(r.AttemptID) + len(r.State)) }
