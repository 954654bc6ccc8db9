package topic

import (
	"github.com/tidwall/btree"

	"github.com/seriatimq/seriatim/queue/logtime"
	"github.com/seriatimq/seriatim/queue/statehash"
)

// archive holds the publications that a topic with an ArchivePolicy keeps for replays, by number,
// which rises with time.
type archive struct {
	publications *btree.Map[uint64, *Publication]
	sum          statehash.Sum
	bytes        int64 // message and attributes as sent; not part of the hash
	// since is the time of the policy, or the beginning of the archive when the policy was changed.
	// Nothing earlier can be replayed.
	since logtime.Timestamp
}

func newArchive(since logtime.Timestamp) archive {
	return archive{publications: new(btree.Map[uint64, *Publication]), since: since}
}

// ArchivedSince returns the earliest time of a replay regardless of retention, zero without an
// ArchivePolicy.
func (t *Topic) ArchivedSince() logtime.Timestamp { return t.archive.since }

// SetArchivedSince sets ArchivedSince in a restored topic.
func (t *Topic) SetArchivedSince(at logtime.Timestamp) { t.archive.since = at }

// Archived returns the number of publications in the archive, including expired ones.
func (t *Topic) Archived() int { return t.archive.publications.Len() }

// ArchiveBegin returns BeginningArchiveTime, the earliest time of a replay.
func (t *Topic) ArchiveBegin(now logtime.Timestamp) logtime.Timestamp {
	return max(t.archive.since, now.Add(-t.retention()))
}

func (t *Topic) retention() logtime.Duration {
	return logtime.Seconds(t.Attributes.Archive.Days * 24 * 60 * 60)
}

// Archive adds a publication, whose number must be the highest.
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

// ScanArchive visits the archive, starting at a number, until visit returns false. It includes
// expired publications, see ArchiveBegin.
func (t *Topic) ScanArchive(from uint64, visit func(*Publication) bool) {
	t.archive.publications.Ascend(from, func(_ uint64, p *Publication) bool { return visit(p) })
}

// LastArchived returns the newest publication of the archive, nil if it is empty.
func (t *Topic) LastArchived() *Publication {
	_, p, _ := t.archive.publications.Max()
	return p
}

// FirstArchived returns the number of the first publication at or after a time, LastSequence+1 if
// there is none.
func (t *Topic) FirstArchived(at logtime.Timestamp) uint64 {
	all := t.archive.publications
	first, end := 0, all.Len() // earlier before first, not earlier from end on
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

// expireArchive drops at most budget expired publications and returns the remaining budget.
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

// archiveDeadline returns the time when the first publication expires, zero if the archive is
// empty.
func (t *Topic) archiveDeadline() logtime.Timestamp {
	_, p, ok := t.archive.publications.Min()
	if !ok {
		return 0
	}
	return p.content.Timestamp.Add(t.retention()) + 1
}

// changeArchive applies a new retention in days, 0 for none. It returns the archive that was
// removed, whose publications are not released yet.
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
		// A longer retention restores no publication.
		t.archive.since = t.ArchiveBegin(now)
	}
	return dropped
}

// Dropped is a removed archive or schedule, whose publications are not released yet.
type Dropped struct {
	publications *btree.Map[uint64, *Publication]
	next         uint64 // lower numbers are released
}

// Empty reports whether there were none.
func (d *Dropped) Empty() bool { return d.publications == nil || d.publications.Len() == 0 }

// Release releases at most budget publications. It returns the remaining budget and whether it is
// done.
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

// Scan visits the publications that are not released yet.
func (d *Dropped) Scan(visit func(*Publication)) {
	d.publications.Ascend(d.next, func(_ uint64, p *Publication) bool {
		visit(p)
		return true
	})
}
