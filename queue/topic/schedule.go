package topic

import (
	"github.com/tidwall/btree"

	"github.com/seriatimq/seriatim/queue/logtime"
	"github.com/seriatimq/seriatim/queue/statehash"
)

// schedule holds the publications that a FIFO topic accepted for a later time, by the number of their
// acceptance. Their Timestamp is the time at which they are due.
type schedule struct {
	publications *btree.Map[uint64, *Publication]
	byTime       *btree.BTreeG[timed]
	sum          statehash.Sum
	bytes        int64 // message and attributes as sent; not part of the hash
}

func newSchedule() schedule {
	return schedule{publications: new(btree.Map[uint64, *Publication]), byTime: newTimedTree()}
}

func (s schedule) clone() schedule {
	s.publications, s.byTime = s.publications.Copy(), s.byTime.Copy()
	return s
}

// timed orders numbers by a time.
type timed struct {
	at     logtime.Timestamp
	number uint64
}

func (a timed) less(b timed) bool {
	if a.at != b.at {
		return a.at < b.at
	}
	return a.number < b.number
}

func newTimedTree() *btree.BTreeG[timed] {
	return btree.NewBTreeGOptions(timed.less, btree.Options{NoLocks: true})
}

func dueOf(p *Publication) timed { return timed{p.content.Timestamp, uint64(p.content.SequenceNumber)} }

// Schedule adds a publication, whose number must be new.
func (t *Topic) Schedule(k statehash.Key, p *Publication) {
	p.Hold()
	t.schedule.publications.Set(uint64(p.content.SequenceNumber), p)
	t.schedule.byTime.Set(dueOf(p))
	t.schedule.sum.Add(t.scheduledSum(k, p))
	t.countScheduled(1, p.SentBytes())
}

// Unschedule removes a scheduled publication and releases it.
func (t *Topic) Unschedule(k statehash.Key, p *Publication) {
	t.schedule.publications.Delete(uint64(p.content.SequenceNumber))
	t.schedule.byTime.Delete(dueOf(p))
	t.schedule.sum.Sub(t.scheduledSum(k, p))
	t.countScheduled(-1, -p.SentBytes())
	p.Release()
}

func (t *Topic) countScheduled(messages, bytes int64) {
	t.schedule.bytes += bytes
	t.Keep(messages, bytes)
}

func (t *Topic) scheduledSum(k statehash.Key, p *Publication) statehash.Sum {
	var buf [32]byte
	r := append(statehash.Record(buf[:0]), statehash.KindScheduled).Num(t.Incarnation)
	return k.Sum(r.Num(uint64(p.content.SequenceNumber)).Num(p.hash))
}

// Scheduled returns the scheduled publication with a number, nil if there is none. A due publication is
// no longer scheduled, even before it is published.
func (t *Topic) Scheduled(number uint64, now logtime.Timestamp) *Publication {
	p, ok := t.schedule.publications.Get(number)
	if !ok || p.content.Timestamp <= now {
		return nil
	}
	return p
}

// FirstScheduled returns the publication that is due first, nil if none is scheduled.
func (t *Topic) FirstScheduled() *Publication {
	first, _ := t.schedule.byTime.Min()
	p, _ := t.schedule.publications.Get(first.number)
	return p
}

// ScheduledLen returns the number of scheduled publications.
func (t *Topic) ScheduledLen() int { return t.schedule.publications.Len() }

// ScanScheduled visits the scheduled publications by number, starting at from, until visit returns
// false.
func (t *Topic) ScanScheduled(from uint64, visit func(*Publication) bool) {
	t.schedule.publications.Ascend(from, func(_ uint64, p *Publication) bool { return visit(p) })
}

// DropSchedule returns the scheduled publications of a topic that is deleted, which are not released
// yet.
func (t *Topic) DropSchedule() Dropped {
	t.Keep(-int64(t.ScheduledLen()), -t.schedule.bytes)
	return Dropped{publications: t.schedule.publications}
}
