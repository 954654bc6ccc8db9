package topic

import (
	"github.com/tidwall/btree"

	"github.com/seriatimq/seriatim/queue/account"
	"github.com/seriatimq/seriatim/queue/attributes"
	"github.com/seriatimq/seriatim/queue/deduplication"
	"github.com/seriatimq/seriatim/queue/logtime"
	"github.com/seriatimq/seriatim/queue/statehash"
)

// Topic is one topic with its subscriptions and the ids it remembers. Change only one
// that Registry.Begin returned: it belongs to no Frozen copy.
type Topic struct {
	Name         string
	ARN          string
	Incarnation  uint64
	Attributes   attributes.Topic
	Tags         []attributes.Tag // sorted by key, replaced as a whole
	CreatedAt    logtime.Timestamp
	ModifiedAt   logtime.Timestamp
	LastSequence uint64
	// Unsubscribed counts the subscriptions that were removed (SubscriptionsDeleted).
	Unsubscribed  uint64
	Deduplication deduplication.Deduplicator

	archive       archive
	kept          *account.Kept // what quotas count of all topics of the account
	subscriptions *btree.Map[uint64, *Subscription]
	byEndpoint    *btree.Map[string, uint64] // name of the queue, or URL
	sums          sums
	generation    uint64
	deadline      logtime.Timestamp // as registered in Registry.deadlines, zero if not
}

// sums are the parts of the state hash that belong to one topic.
type sums struct {
	header        statehash.Sum // name, attributes, tags
	subscriptions statehash.Sum
	counted       statehash.Sum // what Registry.sum holds for this topic
	headerStale   bool          // header has to be computed again
	changed       bool          // the topic is in Registry.changed
	bytes         int64         // estimated size of the subscriptions; not part of the hash
	countedBytes  int64         // what Registry.bytes holds for this topic
}

// New is a topic without subscriptions that remembers nothing. It is part of the state
// once Registry.Add has it. kept counts what the topics of its account store.
func New(name, arn string, incarnation uint64, a attributes.Topic, kept *account.Kept) *Topic {
	return &Topic{
		kept: kept,
		Name: name, ARN: arn, Incarnation: incarnation, Attributes: a,
		Deduplication: deduplication.New(incarnation, a.Deduplication),
		archive:       newArchive(0),
		subscriptions: new(btree.Map[uint64, *Subscription]),
		byEndpoint:    new(btree.Map[string, uint64]),
		sums:          sums{headerStale: true},
	}
}

// clone copies the topic for a new generation: the trees share their nodes until one
// side changes them.
func (t *Topic) clone(generation uint64) *Topic {
	c := *t
	c.generation = generation
	c.subscriptions, c.byEndpoint = t.subscriptions.Copy(), t.byEndpoint.Copy()
	c.Deduplication = t.Deduplication.Clone()
	c.archive.publications = t.archive.publications.Copy()
	return &c
}

// Keep counts messages that the topic stores itself, or fewer, for the quota of its account.
func (t *Topic) Keep(messages, bytes int64) { t.kept.Add(messages, bytes) }

// SetAttributes changes the attributes, and with them the rules of deduplication and
// the archive, which is dropped when it is turned off.
func (t *Topic) SetAttributes(a attributes.Topic, now logtime.Timestamp) Dropped {
	dropped := t.changeArchive(a.Archive.Days, now)
	t.Attributes = a
	t.Deduplication.SetRules(a.Deduplication, now)
	t.ModifiedAt = now
	t.sums.headerStale = true
	return dropped
}

// Forget forgets ids and archived publications that are due, at most budget of them, and
// returns what is left of the budget.
func (t *Topic) Forget(k statehash.Key, now logtime.Timestamp, budget int) int {
	return t.expireArchive(k, now, t.Deduplication.Forget(k, now, budget))
}

// SetTags replaces the tags, which must be sorted by key.
func (t *Topic) SetTags(tags []attributes.Tag) {
	t.Tags = tags
	t.sums.headerStale = true
}

// Remembers reports whether whatever was accepted at a log time or later is still known
// by the rules in force now. A change at that very time may have been before or after.
func (t *Topic) Remembers(since, now logtime.Timestamp) bool {
	return t.Deduplication.Remembers(since, now) && t.CreatedAt < since && t.ModifiedAt < since
}

// headerSum hashes what rarely changes: name, attributes, tags, times.
func (t *Topic) headerSum(k statehash.Key) statehash.Sum {
	r := append(statehash.Record(nil), statehash.KindTopic).Num(t.Incarnation).Text(t.Name).Text(t.ARN).Flag(t.Attributes.FIFO)
	for _, a := range t.Attributes.List() {
		r = r.Text(a.Name).Text(a.Value)
	}
	// What List leaves out: an attribute that is not set or never listed, and the window
	// before it is.
	r = r.Text(t.Attributes.DataProtection).Num(uint64(t.Attributes.Extensions)).Num(uint64(t.Attributes.Deduplication.WindowSeconds)).Num(uint64(len(t.Tags)))
	for _, tag := range t.Tags {
		r = r.Text(tag.Key).Text(tag.Value)
	}
	return k.Sum(r.Time(t.CreatedAt).Time(t.ModifiedAt))
}

// countersSum hashes what changes with every publish.
func (t *Topic) countersSum(k statehash.Key) statehash.Sum {
	var buf [64]byte
	r := append(statehash.Record(buf[:0]), statehash.KindTopicCounters).Num(t.Incarnation).Num(t.LastSequence)
	r = r.Num(t.Unsubscribed).Num(uint64(t.Deduplication.DeadBefore()))
	if t.archive.since != 0 {
		r = r.Time(t.archive.since)
	}
	return k.Sum(r)
}

// total is the sum over all records of the topic.
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
	return sum
}

// computeTotal computes total from scratch.
func (t *Topic) computeTotal(k statehash.Key) statehash.Sum {
	sum := t.headerSum(k)
	sum.Add(t.countersSum(k))
	t.subscriptions.Scan(func(_ uint64, s *Subscription) bool {
		sum.Add(s.sum(k, t.Incarnation))
		return true
	})
	sum.Add(t.Deduplication.ComputeSum(k))
	t.archive.publications.Scan(func(_ uint64, p *Publication) bool {
		sum.Add(t.archivedSum(k, p))
		return true
	})
	return sum
}

// Estimates of the memory that records take, with room to spare, as for queues.
const (
	topicOverhead         = 4 << 10
	subscriptionOverhead  = 1 << 10
	deduplicationOverhead = 64
	archivedOverhead      = 64 // beside the publication, which counts once for all that share it
)

func (t *Topic) size() int64 {
	return topicOverhead + t.sums.bytes + int64(t.Attributes.TextBytes()) + int64(t.Deduplication.Len())*deduplicationOverhead +
		int64(t.Archived())*archivedOverhead
}

// forgetStep is how long a remembered id may be dead before the topic asks for the clock
// to be advanced: an idle cluster then writes one entry for many of them, as for queues.
const forgetStep = 10 * logtime.Second

// nextDeadline is when the topic has something to forget, zero if never.
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
