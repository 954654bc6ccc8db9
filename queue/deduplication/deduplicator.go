package deduplication

import (
	"slices"

	"github.com/seriatimq/seriatim/queue/logtime"
	"github.com/seriatimq/seriatim/queue/statehash"
)

// Deduplicator remembers the ids of one queue or topic by the rules in force, with the sum of their
// record hashes. One goroutine uses it; another one may read a Clone.
type Deduplicator struct {
	window      Window
	rules       Rules
	incarnation uint64 // of the queue or topic; part of every record hash
	sum         statehash.Sum
	read        uint64 // keeps the compiler from removing reads, see Warm
}

// New returns an empty Deduplicator.
func New(incarnation uint64, rules Rules) Deduplicator {
	return Deduplicator{rules: rules, incarnation: incarnation}
}

// Clone returns a writable copy. Stop changing the original.
func (d Deduplicator) Clone() Deduplicator {
	d.window = d.window.Clone()
	return d
}

// Rules returns the rules in force.
func (d *Deduplicator) Rules() Rules { return d.rules }

// SetRules changes the rules at now. A longer window does not revive expired ids.
func (d *Deduplicator) SetRules(rules Rules, now logtime.Timestamp) {
	if rules.WindowSeconds != d.rules.WindowSeconds {
		d.window.Resize(d.length(), int64(now))
	}
	d.rules = rules
}

// length returns the length of the window in milliseconds.
func (d *Deduplicator) length() int64 { return int64(logtime.Seconds(d.rules.WindowSeconds)) }

// Remembers reports whether an id accepted at t is still remembered at now.
func (d *Deduplicator) Remembers(t, now logtime.Timestamp) bool {
	return d.window.Live(int64(t), int64(now), d.length())
}

// Find returns the live record of an id under any scope. If a scope change or a second key leaves
// several, the first accepted one counts.
func (d *Deduplicator) Find(k statehash.Key, ids IDs, now logtime.Timestamp) (first Record, found bool) {
	byScope := d.window.ByScope()
	for scope := range ScopePartitionKey + 1 {
		if byScope[scope] == 0 {
			continue
		}
		for _, id := range [2]string{ids.Own, ids.Content} {
			if id == "" {
				continue
			}
			r, ok := d.window.Find(ids.key(k, scope, id))
			if ok && d.Remembers(logtime.Timestamp(r.AcceptedAt), now) && (!found || r.Position() < first.Position()) {
				first, found = r, true
			}
		}
	}
	return first, found
}

// PrefetchKey computes the key of an own id under the scope in force.
func (d *Deduplicator) PrefetchKey(k statehash.Key, id, group string) PrefetchedKey {
	ids := IDs{Own: id, Group: group}
	return PrefetchedKey{id: id, group: group, scope: d.rules.Scope, key: ids.key(k, d.rules.Scope, id)}
}

// Warm reads the index slots of keys, so that they are in the CPU cache when they are needed.
// Reading many slots at once takes hardly longer than reading one; before, the cache miss for each
// id was a fifth of the cost of a send. The result has no meaning, but must be kept, or the
// compiler drops the reads.
func (d *Deduplicator) Warm(keys []PrefetchedKey) (read uint64) {
	for i := range keys {
		read |= d.window.index.home(keys[i].key.fingerprint())
	}
	return read
}

// WarmRecords is Warm for records to be added.
func (d *Deduplicator) WarmRecords(records []Record) (read uint64) {
	for i := range records {
		read |= d.window.index.home(records[i].Key.fingerprint())
	}
	return read
}

// Remember records the ids of an accepted message.
func (d *Deduplicator) Remember(k statehash.Key, ids IDs, sequence uint64, now logtime.Timestamp) {
	for i, id := range [2]string{ids.Own, ids.Second()} {
		if id != "" {
			key := ids.key(k, d.rules.Scope, id)
			d.Add(k, NewRecord(key, int64(now), sequence<<1|uint64(i), d.rules.Scope))
		}
	}
}

// Batch holds the ids of messages that are sent together.
type Batch []Key

// Adds returns how many records a message would add after those of a batch, zero for a duplicate. It
// adds the message to the batch.
func (d *Deduplicator) Adds(k statehash.Key, ids IDs, sent *Batch, now logtime.Timestamp) (records int64) {
	if _, found := d.Find(k, ids, now); found {
		return 0
	}
	keys := make([]Key, 0, 2)
	for _, id := range [2]string{ids.Own, ids.Second()} {
		if id == "" {
			continue
		}
		key := ids.key(k, d.rules.Scope, id)
		if slices.Contains(*sent, key) {
			return 0
		}
		keys = append(keys, key)
	}
	*sent = append(*sent, keys...)
	return int64(len(keys))
}

// Add adds a record. It replaces an expired record of the same id and reports that.
func (d *Deduplicator) Add(k statehash.Key, r Record) (replaced bool) {
	old, replaced := d.window.Add(r)
	if replaced {
		d.sum.Sub(d.recordSum(k, old))
	}
	d.sum.Add(d.recordSum(k, r))
	return replaced
}

// ForgetMessage frees the ids of one message under every scope. Later messages with these ids keep
// their records.
func (d *Deduplicator) ForgetMessage(k statehash.Key, ids IDs, sequence uint64) {
	byScope := d.window.ByScope()
	for scope := range ScopePartitionKey + 1 {
		if byScope[scope] == 0 {
			continue
		}
		for _, id := range [2]string{ids.Own, ids.Content} {
			if id == "" {
				continue
			}
			key := ids.key(k, scope, id)
			if r, known := d.window.Find(key); known && r.Sequence() == sequence {
				d.window.Free(key)
				d.sum.Sub(d.recordSum(k, r))
			}
		}
	}
}

// Free frees live ids under every scope and reports whether there were any.
func (d *Deduplicator) Free(k statehash.Key, ids IDs, now logtime.Timestamp) (freed bool) {
	for {
		r, found := d.Find(k, ids, now)
		if !found {
			return freed
		}
		d.window.Free(r.Key)
		d.sum.Sub(d.recordSum(k, r))
		freed = true
	}
}

// Oldest returns the record accepted first.
func (d *Deduplicator) Oldest() (Record, bool) { return d.window.Oldest() }

// Newest returns the record accepted last.
func (d *Deduplicator) Newest() (Record, bool) { return d.window.Newest() }

// Len counts the records, including expired ones.
func (d *Deduplicator) Len() int { return d.window.Len() }

// ByScope counts the records of each scope.
func (d *Deduplicator) ByScope() [Scopes]int64 { return d.window.ByScope() }

// CountLive counts the ids that are remembered at now.
func (d *Deduplicator) CountLive(now logtime.Timestamp) int64 {
	return d.window.CountLive(int64(now), d.length())
}

// Scan visits the records in order of acceptance until visit returns false.
func (d *Deduplicator) Scan(visit func(Record) bool) { d.window.Scan(visit) }

// DeadBefore returns the time up to which accepted ids are expired, whatever the length of the
// window.
func (d *Deduplicator) DeadBefore() logtime.Timestamp { return logtime.Timestamp(d.window.DeadBefore) }

// SetDeadBefore restores DeadBefore.
func (d *Deduplicator) SetDeadBefore(t logtime.Timestamp) { d.window.DeadBefore = int64(t) }

// forgetLag delays the removal of expired records, so that they go in runs instead of one with
// every send.
const forgetLag = 1 * logtime.Second

// forgetBatch is the number of records to warm together, see Warm.
const forgetBatch = 16

// Forget removes at most budget expired records if the oldest is overdue, and returns the remaining
// budget.
func (d *Deduplicator) Forget(k statehash.Key, now logtime.Timestamp, budget int) int {
	if d.window.Len() == 0 || d.Deadline() > now {
		return budget
	}
	for forgotten := 0; budget > 0; budget, forgotten = budget-1, forgotten+1 {
		if forgotten%forgetBatch == 0 {
			d.read |= d.window.warmOldest(min(budget, forgetBatch))
		}
		r, ok := d.window.Oldest()
		if !ok || d.Remembers(logtime.Timestamp(r.AcceptedAt), now) {
			break
		}
		d.window.ForgetOldest()
		d.sum.Sub(d.recordSum(k, r))
	}
	return budget
}

// Deadline returns the time to remove the oldest record, zero if there is none.
func (d *Deduplicator) Deadline() logtime.Timestamp {
	oldest, ok := d.window.Oldest()
	if !ok {
		return 0
	}
	if oldest.AcceptedAt <= d.window.DeadBefore {
		return logtime.Timestamp(oldest.AcceptedAt)
	}
	return logtime.Timestamp(oldest.AcceptedAt + d.length()).Add(forgetLag)
}

// Clear removes everything (PurgeQueue, recorded on AWS).
func (d *Deduplicator) Clear() {
	d.window.Clear()
	d.sum = statehash.Sum{}
}

// Sum returns the sum of the record hashes.
func (d *Deduplicator) Sum() statehash.Sum { return d.sum }

// ComputeSum computes Sum from scratch.
func (d *Deduplicator) ComputeSum(k statehash.Key) (sum statehash.Sum) {
	d.window.Scan(func(r Record) bool {
		sum.Add(d.recordSum(k, r))
		return true
	})
	return sum
}

func (d *Deduplicator) recordSum(k statehash.Key, r Record) statehash.Sum {
	var buf [64]byte
	b := append(statehash.Record(buf[:0]), statehash.KindDeduplication).Num(d.incarnation).Num(r.Key.High).Num(r.Key.Low)
	return k.Sum(b.Num(uint64(r.AcceptedAt)).Num(r.Position()))
}
