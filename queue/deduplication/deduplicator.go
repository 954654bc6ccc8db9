package deduplication

import (
	"github.com/seriatimq/seriatim/queue/logtime"
	"github.com/seriatimq/seriatim/queue/statehash"
)

// Deduplicator is the engine of one entity, a queue or a topic: what it remembers,
// the rules in force, and the sum of the record hashes. Used by one goroutine, except
// that a Clone may be read by another one, as that of a Window.
type Deduplicator struct {
	window      Window
	rules       Rules
	incarnation uint64 // of the entity, part of every record hash
	sum         statehash.Sum
	read        uint64 // means nothing, see Warm
}

// New remembers nothing.
func New(incarnation uint64, rules Rules) Deduplicator {
	return Deduplicator{rules: rules, incarnation: incarnation}
}

// Clone is a copy to go on with. The original must not be changed any more.
func (d Deduplicator) Clone() Deduplicator {
	d.window = d.window.Clone()
	return d
}

// Rules are the rules in force.
func (d *Deduplicator) Rules() Rules { return d.rules }

// SetRules changes the rules at now. A longer window never brings an id back.
func (d *Deduplicator) SetRules(rules Rules, now logtime.Timestamp) {
	if rules.WindowSeconds != d.rules.WindowSeconds {
		d.window.Resize(d.length(), int64(now))
	}
	d.rules = rules
}

// length is that of the window in milliseconds.
func (d *Deduplicator) length() int64 { return int64(logtime.Seconds(d.rules.WindowSeconds)) }

// Remembers reports whether an id accepted at t is still remembered at now.
func (d *Deduplicator) Remembers(t, now logtime.Timestamp) bool {
	return d.window.Live(int64(t), int64(now), d.length())
}

// Find looks for a live record of one of the ids, under every scope that has
// records. Of several, which takes a scope change or a second key, the one accepted
// first is the original.
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

// Seek computes the key of an own id under the scope in force.
func (d *Deduplicator) Seek(k statehash.Key, id, group string) SoughtKey {
	ids := IDs{Own: id, Group: group}
	return SoughtKey{id: id, group: group, scope: d.rules.Scope, key: ids.key(k, d.rules.Scope, id)}
}

// Warm reads where keys would be found, so that the processor has it when they are looked
// for: reads that do not wait for each other take hardly more time than one, and each of
// them was a fifth of what a send takes. The result means nothing.
func (d *Deduplicator) Warm(keys []SoughtKey) (read uint64) {
	for i := range keys {
		read |= d.window.index.home(keys[i].key.fingerprint())
	}
	return read
}

// WarmRecords is Warm for records that will be added.
func (d *Deduplicator) WarmRecords(records []Record) (read uint64) {
	for i := range records {
		read |= d.window.index.home(records[i].Key.fingerprint())
	}
	return read
}

// Remember records what was accepted under its ids.
func (d *Deduplicator) Remember(k statehash.Key, ids IDs, sequence uint64, now logtime.Timestamp) {
	for i, id := range [2]string{ids.Own, ids.Second()} {
		if id != "" {
			key := ids.key(k, d.rules.Scope, id)
			d.Add(k, NewRecord(key, int64(now), sequence<<1|uint64(i), d.rules.Scope))
		}
	}
}

// Add adds a record. One of the same id, dead but not yet forgotten, is replaced,
// which it reports.
func (d *Deduplicator) Add(k statehash.Key, r Record) (replaced bool) {
	old, replaced := d.window.Add(r)
	if replaced {
		d.sum.Sub(d.recordSum(k, old))
	}
	d.sum.Add(d.recordSum(k, r))
	return replaced
}

// ForgetMessage frees the ids under which the message of a number is remembered,
// whatever scope they were recorded under. What others have sent since stays.
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

// Free frees live ids under every scope, and reports whether there was one.
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

// Oldest is the record accepted first.
func (d *Deduplicator) Oldest() (Record, bool) { return d.window.Oldest() }

// Newest is the record accepted last.
func (d *Deduplicator) Newest() (Record, bool) { return d.window.Newest() }

// Len counts the records, dead ones that are not forgotten yet included.
func (d *Deduplicator) Len() int { return d.window.Len() }

// ByScope counts the records of each scope.
func (d *Deduplicator) ByScope() [Scopes]int64 { return d.window.ByScope() }

// CountLive counts the ids that are remembered at now.
func (d *Deduplicator) CountLive(now logtime.Timestamp) int64 {
	return d.window.CountLive(int64(now), d.length())
}

// Scan visits the records in the order of acceptance until visit returns false.
func (d *Deduplicator) Scan(visit func(Record) bool) { d.window.Scan(visit) }

// DeadBefore is the time up to which accepted ids are dead, whatever the length of
// the window.
func (d *Deduplicator) DeadBefore() logtime.Timestamp { return logtime.Timestamp(d.window.DeadBefore) }

// SetDeadBefore restores DeadBefore.
func (d *Deduplicator) SetDeadBefore(t logtime.Timestamp) { d.window.DeadBefore = int64(t) }

// forgetLag is how long a record may be dead before it is forgotten. Records
// then go in runs, and not one with every send.
const forgetLag = 1 * logtime.Second

// forgetTogether is how many records are looked for in memory at the same time, see Warm.
const forgetTogether = 16

// Forget drops dead records, at most budget of them, if the oldest is overdue; it
// returns what is left of the budget.
func (d *Deduplicator) Forget(k statehash.Key, now logtime.Timestamp, budget int) int {
	if d.window.Len() == 0 || d.Deadline() > now {
		return budget
	}
	for forgotten := 0; budget > 0; budget, forgotten = budget-1, forgotten+1 {
		if forgotten%forgetTogether == 0 {
			d.read |= d.window.warmOldest(min(budget, forgetTogether))
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

// Deadline is when the oldest record is to be forgotten, zero if there is none.
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

// Clear forgets everything (PurgeQueue, recorded on AWS).
func (d *Deduplicator) Clear() {
	d.window.Clear()
	d.sum = statehash.Sum{}
}

// Sum is the sum of the record hashes.
func (d *Deduplicator) Sum() statehash.Sum { return d.sum }

// ComputeSum computes Sum from scratch.
func (d *Deduplicator) ComputeSum(k statehash.Key) (sum statehash.Sum) {
	d.window.Scan(func(r Record) bool {
		sum.Add(d.recordSum(k, r))
		return true
	})
	return sum
}

// recordSum is the record hash of a remembered id.
func (d *Deduplicator) recordSum(k statehash.Key, r Record) statehash.Sum {
	var buf [64]byte
	b := append(statehash.Record(buf[:0]), statehash.KindDeduplication).Num(d.incarnation).Num(r.Key.High).Num(r.Key.Low)
	return k.Sum(b.Num(uint64(r.AcceptedAt)).Num(r.Position()))
}
