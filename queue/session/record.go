package session

import (
	"github.com/seriatimq/seriatim/queue/logtime"
	"github.com/seriatimq/seriatim/queue/statehash"
)

// Record is one session. It is replaced, never changed.
type Record struct {
	Name string
	// Lock is the number of the lock, zero if unlocked. Without a lock, the fields up to AttemptID
	// are zero.
	Lock        uint64
	LockedUntil logtime.Timestamp
	// Next is the number after the highest message delivered under the lock, zero if none was.
	// Lower messages that are not in flight were returned.
	Next uint64
	// AttemptID is the attempt id of the acceptance, empty without one.
	AttemptID string
	// State is the state set by receivers. An empty state differs from none.
	State      string
	StateGiven bool
	StateSetAt logtime.Timestamp
}

// Locked reports whether the lock is active at now.
func (r *Record) Locked(now logtime.Timestamp) bool { return r.Lock != 0 && r.LockedUntil > now }

// unlocked returns the record without its lock.
func (r Record) unlocked() Record {
	r.Lock, r.LockedUntil, r.Next, r.AttemptID = 0, 0, 0, ""
	return r
}

// empty reports whether the record can be dropped.
func (r *Record) empty() bool { return r.Lock == 0 && !r.StateGiven }

func (r *Record) sum(k statehash.Key, incarnation uint64) statehash.Sum {
	var buf [256]byte
	b := append(statehash.Record(buf[:0]), statehash.KindSession).Num(incarnation).Text(r.Name)
	b = b.Num(r.Lock).Time(r.LockedUntil).Num(r.Next).Text(r.AttemptID)
	return k.Sum(b.Flag(r.StateGiven).Num(k.HashText(r.State)).Num(uint64(len(r.State))).Time(r.StateSetAt))
}

// overhead estimates the memory of a record without its texts, see package queue.
const overhead = 320

func (r *Record) size() int64 { return int64(overhead + len(r.Name) + len(r.AttemptID) + len(r.State)) }
