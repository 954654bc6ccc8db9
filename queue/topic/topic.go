package topic

import (
	"github.com/tidwall/btree"

	"github.com/seriatimq/seriatim/queue/access"
	"github.com/seriatimq/seriatim/queue/attributes"
	"github.com/seriatimq/seriatim/queue/deduplication"
	"github.com/seriatimq/seriatim/queue/logtime"
	"github.com/seriatimq/seriatim/queue/statehash"
)

// Topic is one topic with its subscriptions and deduplication window. Change only a topic that
// Registry.Begin returned.
type Topic struct {
	Name         string
	ARN          string
	Incarnation  uint64
	Attributes   attributes.Topic
	Tags         []attributes.Tag // sorted by key, replaced as a whole
	CreatedAt    logtime.Timestamp
	ModifiedAt   logtime.Timestamp
	LastSequence uint64
	// Unsubscribed counts removed subscriptions (SubscriptionsDeleted).
	Unsubscribed uint64
	// ForgotAt is the last time an id was forgotten by command, zero: never.
	ForgotAt logtime.Timestamp
	// UsedAt is the last use by a client, from which the time until the topic is idle counts.
	UsedAt        logtime.Timestamp
	Deduplication deduplication.Deduplicator

	archive       archive
	schedule      schedule
	kept          *access.Kept // usage of the account by all its topics
	subscriptions *btree.Map[uint64, *Subscription]
	byEndpoint    *btree.Map[string, uint64] // queue or URL to number
	byID          *btree.Map[string, uint64] // text of the id to number
	rules         int                        // of all subscriptions
	sums          sums
	generation    uint64
	deadline      logtime.Timestamp // as in Registry.deadlines, zero if absent
	due           logtime.Timestamp // as in Registry.due, zero if absent
	idle          logtime.Timestamp // as in Registry.idle, zero if absent
}

// sums holds the topic's share of the state hash.
type sums struct {
	header        statehash.Sum // of name, attributes, tags, times
	subscriptions statehash.Sum
	counted       statehash.Sum // share of Registry.sum
	headerStale   bool          // header must be recomputed
	changed       bool          // listed in Registry.changed
	bytes         int64         // estimated size of the subscriptions; not part of the hash
	countedBytes  int64         // share of Registry.bytes
}

// New returns a topic without subscriptions; Registry.Add adds it to the state. kept is the usage
// of the account by its topics.
func New(name, arn string, incarnation uint64, a attributes.Topic, kept *access.Kept) *Topic {
	return &Topic{
		kept: kept,
		Name: name, ARN: arn, Incarnation: incarnation, Attributes: a,
		Deduplication: deduplication.New(incarnation, a.Deduplication),
		archive:       newArchive(0),
		schedule:      newSchedule(),
		subscriptions: new(btree.Map[uint64, *Subscription]),
		byEndpoint:    new(btree.Map[string, uint64]),
		byID:          new(btree.Map[string, uint64]),
		sums:          sums{headerStale: true},
	}
}

// clone copies the topic for a new generation; the trees copy their nodes on write.
func (t *Topic) clone(generation uint64) *Topic {
	c := *t
	c.generation = generation
	c.subscriptions, c.byEndpoint, c.byID = t.subscriptions.Copy(), t.byEndpoint.Copy(), t.byID.Copy()
	c.Deduplication = t.Deduplication.Clone()
	c.archive.publications = t.archive.publications.Copy()
	c.schedule = t.schedule.clone()
	return &c
}

// Keep adds messages to the account's usage; negative numbers subtract.
func (t *Topic) Keep(messages, bytes int64) { t.kept.Add(messages, bytes) }

// SetAttributes changes attributes, deduplication rules and archive. It returns the archive if it
// was removed.
func (t *Topic) SetAttributes(a attributes.Topic, now logtime.Timestamp) Dropped {
	dropped := t.changeArchive(a.Archive.Days, now)
	t.Attributes = a
	t.Deduplication.SetRules(a.Deduplication, now)
	t.ModifiedAt = now
	t.sums.headerStale = true
	return dropped
}

// Forget removes at most budget expired ids and publications and returns the remaining budget.
func (t *Topic) Forget(k statehash.Key, now logtime.Timestamp, budget int) int {
	return t.expireArchive(k, now, t.Deduplication.Forget(k, now, budget))
}

// SetTags replaces the tags, which must be sorted by key.
func (t *Topic) SetTags(tags []attributes.Tag) {
	t.Tags = tags
	t.sums.headerStale = true
}

// Remembers reports whether the topic remembers every id accepted at a log time or later. A change
// of the topic at that very time counts as later.
func (t *Topic) Remembers(since, now logtime.Timestamp) bool {
	return t.Deduplication.Remembers(since, now) && max(t.CreatedAt, t.ModifiedAt, t.ForgotAt) < since
}

// Deduplicates reports whether the topic drops duplicates.
func (t *Topic) Deduplicates() bool { return t.Attributes.FIFO && !t.Attributes.Deduplication.Disabled }

// headerSum hashes the fields that rarely change: name, attributes, tags, times.
func (t *Topic) headerSum(k statehash.Key) statehash.Sum {
	r := append(statehash.Record(nil), statehash.KindTopic).Num(t.Incarnation).Text(t.Name).Text(t.ARN).Flag(t.Attributes.FIFO)
	for _, a := range t.Attributes.List() {
		r = r.Text(a.Name).Text(a.Value)
	}
	// List omits these.
	r = r.Text(t.Attributes.DataProtection).Num(uint64(t.Attributes.Extensions)).
		Num(uint64(t.Attributes.Deduplication.WindowSeconds)).Num(uint64(len(t.Tags)))
	for _, tag := range t.Tags {
		r = r.Text(tag.Key).Text(tag.Value)
	}
	return k.Sum(r.Time(t.CreatedAt).Time(t.ModifiedAt))
}

// countersSum hashes the fields that every publish changes.
func (t *Topic) countersSum(k statehash.Key) statehash.Sum {
	var buf [64]byte
	r := append(statehash.Record(buf[:0]), statehash.KindTopicCounters).Num(t.Incarnation).Num(t.LastSequence)
	r = r.Num(t.Unsubscribed).Num(uint64(t.Deduplication.DeadBefore())).Time(t.UsedAt)
	if t.archive.since != 0 || t.ForgotAt != 0 {
		r = r.Time(t.archive.since).Time(t.ForgotAt)
	}
	return k.Sum(r)
}

// total returns the sum over all records of the topic.
func (t *Topic) total(k statehash.Key) statehash.Sum {
	if t.sums.headerStale {
		t.sums.header = t.headerSum(k)
		t.sums.headerStale = false
	}
	sum := t.countersSum(k)
	sum.Add(t.sums.header)
	sum.Add(t.sums.subscriptions)
	sum.Add(t.Deduplication.Sum())
	sum.Add(t.archive.sum)
	sum.Add(t.schedule.sum)
	return sum
}

// computeTotal computes total from scratch.
func (t *Topic) computeTotal(k statehash.Key) statehash.Sum {
	sum := t.headerSum(k)
	sum.Add(t.countersSum(k))
	t.subscriptions.Scan(func(_ uint64, s *Subscription) bool {
		sum.Add(s.computeSum(k, t.Incarnation))
		return true
	})
	sum.Add(t.Deduplication.ComputeSum(k))
	t.archive.publications.Scan(func(_ uint64, p *Publication) bool {
		sum.Add(t.archivedSum(k, p))
		return true
	})
	t.ScanScheduled(0, func(p *Publication) bool {
		sum.Add(t.scheduledSum(k, p))
		return true
	})
	return sum
}

// Estimated memory per record, rounded up, as for queues.
const (
	topicOverhead         = 4 << 10
	subscriptionOverhead  = 1 << 10
	deduplicationOverhead = 64
	archivedOverhead      = 64 // without the shared publication
	scheduledOverhead     = 96
)

func (t *Topic) size() int64 {
	return topicOverhead + t.sums.bytes + int64(t.Attributes.TextBytes()) + int64(t.Deduplication.Len())*deduplicationOverhead +
		int64(t.Archived())*archivedOverhead + int64(t.ScheduledLen())*scheduledOverhead
}

// IdleEnd returns when a queue or topic that was last used at a time is deleted because it is idle for a
// number of seconds. It is later by the time for which a use is not noted.
func IdleEnd(used logtime.Timestamp, seconds int64) logtime.Timestamp {
	return used.Add(logtime.Seconds(seconds) + UnnotedUse(seconds))
}

// UnnotedUse is the time after a use for which a read of an entity that is deleted after a number of
// seconds needs no entry in the log.
func UnnotedUse(seconds int64) logtime.Duration { return logtime.Seconds(seconds) / 10 }

// idleDeadline returns when the topic is idle, unless it is used until then; zero if never.
func (t *Topic) idleDeadline() logtime.Timestamp {
	if t.Attributes.AutoDeleteSeconds == 0 || t.Attributes.Archive.Text != "" || t.ScheduledLen() > 0 {
		return 0
	}
	return IdleEnd(t.UsedAt, t.Attributes.AutoDeleteSeconds)
}

// forgetStep rounds up the deadlines of expired ids, so that an idle cluster forgets many of them
// with one entry.
const forgetStep = 10 * logtime.Second

// nextDeadline returns the next time at which the topic has something to forget, zero if never.
func (t *Topic) nextDeadline() logtime.Timestamp {
	at := t.Deduplication.Deadline()
	if archived := t.archiveDeadline(); at == 0 || archived != 0 && archived < at {
		at = archived
	}
	if at == 0 {
		return 0
	}
	step := logtime.Timestamp(forgetStep)
	return (at + step - 1) / step * step
}
