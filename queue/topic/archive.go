package topic

import (
	"github.com/tidwall/btree"

	"github.com/seriatimq/seriatim/queue/logtime"
	"github.com/seriatimq/seriatim/queue/statehash"
)

// archive is what a topic with an ArchivePolicy keeps for replays. The publications are
// those that the deliveries refer to, in the order of their numbers, which is that of
// their times.
type archive struct {
	publications *btree.Map[uint64, *Publication]
	sum          statehash.Sum
	bytes        int64 // as publishers sent them; not part of the hash
	// since is before everything that may be replayed: when the policy was set, or how
	// far back it reached when it was changed.
	since logtime.Timestamp
}

func newArchive(since logtime.Timestamp) archive {
	return archive{publications: new(btree.Map[uint64, *Publication]), since: since}
}

// ArchivedSince is the time before which nothing is replayed whatever the retention;
// zero without an ArchivePolicy.
func (t *Topic) ArchivedSince() logtime.Timestamp { return t.archive.since }

// SetArchivedSince sets it in a topic that is restored.
func (t *Topic) SetArchivedSince(at logtime.Timestamp) { t.archive.since = at }

// Archived is how many publications the archive has, with those that are due to expire.
func (t *Topic) Archived() int { return t.archive.publications.Len() }

// ArchiveBegin is BeginningArchiveTime: what was published earlier is not replayed.
func (t *Topic) ArchiveBegin(now logtime.Timestamp) logtime.Timestamp {
	return max(t.archive.since, now.Add(-t.retention()))
}

func (t *Topic) retention() logtime.Duration {
	return logtime.Seconds(t.Attributes.Archive.Days * 24 * 60 * 60)
}

// Archive keeps a publication, whose number has to be the highest.
func (t *Topic) Archive(k statehash.Key, p *Publication) {
	p.Hold()
	t.archive.publications.Set(uint64(p.content.SequenceNumber), p)
	t.archive.sum.Add(t.archivedSum(k, p))
	t.countArchived(1, p.SentBytes())
}

func (t *Topic) countArchived(messages, bytes int64) {
	t.archive.bytes += bytes
	t.Keep(messages, bytes)
}

func (t *Topic) archivedSum(k statehash.Key, p *Publication) statehash.Sum {
	var buf [32]byte
	r := append(statehash.Record(buf[:0]), statehash.KindArchived).Num(t.Incarnation)
	return k.Sum(r.Num(uint64(p.content.SequenceNumber)).Num(p.hash))
}

// ScanArchive visits the archive from a number on, until visit returns false. Some of it
// may be due to expire, which ArchiveBegin tells.
func (t *Topic) ScanArchive(from uint64, visit func(*Publication) bool) {
	t.archive.publications.Ascend(from, func(_ uint64, p *Publication) bool { return visit(p) })
}

// LastArchived is the newest publication of the archive, nil if it is empty.
func (t *Topic) LastArchived() *Publication {
	_, p, _ := t.archive.publications.Max()
	return p
}

// FirstArchived is the number of the first publication of the archive that is not
// earlier than at; one above the last if all are.
func (t *Topic) FirstArchived(at logtime.Timestamp) uint64 {
	all := t.archive.publications
	first, end := 0, all.Len() // those before first are earlier, those from end on are not
	for first < end {
		middle := (first + end) / 2
		if _, p, _ := all.GetAt(middle); p.content.Timestamp < at {
			first = middle + 1
		} else {
			end = middle
		}
	}
	if number, _, ok := all.GetAt(first); ok {
		return number
	}
	return t.LastSequence + 1
}

// expireArchive drops at most budget publications that are older than the retention and
// returns what is left of the budget.
func (t *Topic) expireArchive(k statehash.Key, now logtime.Timestamp, budget int) int {
	for budget > 0 {
		number, p, ok := t.archive.publications.Min()
		if !ok || p.content.Timestamp.Add(t.retention()) >= now {
			break
		}
		budget--
		t.archive.publications.Delete(number)
		t.archive.sum.Sub(t.archivedSum(k, p))
		t.countArchived(-1, -p.SentBytes())
		p.Release()
	}
	return budget
}

// archiveDeadline is when the first publication expires, zero if there is none.
func (t *Topic) archiveDeadline() logtime.Timestamp {
	_, p, ok := t.archive.publications.Min()
	if !ok {
		return 0
	}
	return p.content.Timestamp.Add(t.retention()) + 1
}

// changeArchive follows a change of the ArchivePolicy to so many days, none for 0. What
// the archive loses as a whole is returned; it is still held.
func (t *Topic) changeArchive(days int64, now logtime.Timestamp) (dropped Dropped) {
	switch before := t.Attributes.Archive.Days; {
	case before == days:
	case before == 0:
		t.archive = newArchive(now)
	case days == 0:
		dropped.publications = t.archive.publications
		t.countArchived(-int64(t.Archived()), -t.archive.bytes)
		t.archive = newArchive(0)
	default:
		// A longer retention brings nothing back.
		t.archive.since = t.ArchiveBegin(now)
	}
	return dropped
}

// Dropped is an archive that a topic has no longer, whose publications are still held.
type Dropped struct {
	publications *btree.Map[uint64, *Publication]
	next         uint64 // those below are released
}

// Empty reports whether there was nothing in the archive.
func (d *Dropped) Empty() bool { return d.publications == nil || d.publications.Len() == 0 }

// Release releases at most budget publications and returns what is left of the budget,
// and whether none is held any more.
func (d *Dropped) Release(budget int) (left int, over bool) {
	over = true
	d.publications.Ascend(d.next, func(number uint64, p *Publication) bool {
		if budget == 0 {
			d.next, over = number, false
			return false
		}
		budget--
		p.Release()
		return true
	})
	return budget, over
}

// Scan visits the publications that are still held.
func (d *Dropped) Scan(visit func(*Publication)) {
	d.publications.Ascend(d.next, func(_ uint64, p *Publication) bool {
		visit(p)
		return true
	})
}
