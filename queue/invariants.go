package queue

import (
	"errors"
	"fmt"
	"slices"

	"github.com/tidwall/btree"

	"github.com/seriatimq/seriatim/queue/access"
	"github.com/seriatimq/seriatim/queue/statehash"
	"github.com/seriatimq/seriatim/queue/topic"
)

// ComputeStateHash computes StateHash from all records and bodies. A difference means damaged
// memory or a change that the incremental hash missed.
func (b *Broker) ComputeStateHash() [16]byte {
	sum := b.recordSum()
	b.tombstones.byName.Scan(func(name string, at Timestamp) bool {
		sum.Add(tombstoneSum(b.key, name, at))
		return true
	})
	b.moveTasks.byNumber.Scan(func(_ uint64, t *MoveTaskRecord) bool {
		sum.Add(t.sum(b.key))
		return true
	})
	seen := map[*topic.Publication]bool{}
	b.queues.Scan(func(_ string, q *Queue) bool {
		sum.Add(q.computeSum(b.key, seen))
		return true
	})
	sum.Add(b.topics.ComputeSum(b.key))
	sum.Add(b.outbox.ComputeSum(b.key))
	sum.Add(b.access.ComputeSum(b.key))
	return sum.Bytes()
}

// computeSum hashes all records of a queue. It hashes a publication again with the first message
// that refers to it; a changed publication changes the sum.
func (q *Queue) computeSum(k statehash.Key, seen map[*topic.Publication]bool) statehash.Sum {
	sum := q.headerSum(k)
	sum.Add(q.countersSum(k))
	message := func(scheduled bool) func(uint64, *Message) bool {
		return func(_ uint64, m *Message) bool {
			again := *m
			again.seal(k)
			if p := m.published(); p != nil && !seen[p.publication] {
				seen[p.publication] = true
				if p.publication.ComputeHash(k) != p.publication.Hash() {
					again.contentHash++
				}
			}
			sum.Add(again.sum(k, q.incarnation, scheduled))
			return true
		}
	}
	q.messages.Scan(message(false))
	q.scheduled.Scan(message(true))
	q.deferred.Scan(message(false))
	sum.Add(q.deduplication.ComputeSum(k))
	q.attempts.byID.Scan(func(_ string, a *ReceiveAttempt) bool {
		sum.Add(a.sum(k, q.incarnation))
		return true
	})
	sum.Add(q.groups.sessions.ComputeSum(k))
	return sum
}

// rebuild builds a second Broker from the records of this one.
func (b *Broker) rebuild() (*Broker, error) {
	generation := b.generation
	f := b.Freeze()
	b.generation = generation // f is discarded, so no clones are needed
	b.topics.Thaw()
	b.outbox.Thaw()
	r, err := NewRestorer(f.Broker())
	if err != nil {
		return nil, err
	}
	return r.restore(f)
}

// restore adds everything in f.
func (r *Restorer) restore(f *Frozen) (*Broker, error) {
	var err error
	keep := func(e error) bool {
		err = e
		return err == nil
	}
	f.Tombstones(func(t TombstoneRecord) bool { return keep(r.AddTombstone(t)) })
	f.MoveTasks(func(t MoveTaskRecord) bool { return keep(r.AddMoveTask(t)) })
	f.Queues(func(q FrozenQueue) bool {
		if !keep(r.AddQueue(q.Record())) {
			return false
		}
		q.Messages(func(m *MessageRecord) bool { return keep(r.AddMessage(m)) })
		q.Deduplication(func(d DeduplicationRecord) bool {
			return err == nil && keep(r.AddDeduplication([]DeduplicationRecord{d}))
		})
		q.Attempts(func(a AttemptRecord) bool { return err == nil && keep(r.AddAttempt(a)) })
		q.Sessions(func(s SessionRecord) bool { return err == nil && keep(r.AddSession(s)) })
		return err == nil
	})
	f.Topics(func(t FrozenTopic) bool {
		if err != nil || !keep(r.AddTopic(t.Record())) {
			return false
		}
		t.Subscriptions(func(s SubscriptionRecord) bool { return keep(r.AddSubscription(s)) })
		t.Rules(func(rule RuleRecord) bool { return err == nil && keep(r.AddRule(rule)) })
		t.Deduplication(func(d DeduplicationRecord) bool {
			return err == nil && keep(r.AddTopicDeduplication([]DeduplicationRecord{d}))
		})
		t.Archive(func(a ArchivedRecord) bool { return err == nil && keep(r.AddArchived(a)) })
		t.Outbox(func(o OutboxRecord) bool { return err == nil && keep(r.AddOutbox(o)) })
		t.Scheduled(func(s ScheduledRecord) bool { return err == nil && keep(r.AddScheduled(s)) })
		return err == nil
	})
	if err == nil {
		f.access.Keys(func(k access.Key) bool { return keep(r.AddAccess(k)) })
	}
	if err == nil {
		f.access.Policies(func(p access.Policy) bool { return keep(r.AddAccess(p)) })
	}
	if err == nil {
		f.access.Accounts(func(a access.Account) bool { return keep(r.AddAccess(a)) })
	}
	if key := f.access.SealingKey(); err == nil && key != nil {
		keep(r.AddAccess(key))
	}
	if err != nil {
		return nil, err
	}
	return r.Finish()
}

// CheckInvariants reports the first broken invariant: a rebuild from the records must give the same
// hash, indexes and counters. It costs O(n) and is meant for tests and the build tag invariants.
func (b *Broker) CheckInvariants() error {
	again, err := b.rebuild()
	if err != nil {
		return fmt.Errorf("the state cannot be rebuilt from its records: %w", err)
	}
	if have, want := b.StateHash(), again.StateHash(); have != want {
		return fmt.Errorf("state hash is %x, its records give %x", have, want)
	}
	if have, want := b.StateHash(), b.ComputeStateHash(); have != want {
		return fmt.Errorf("state hash is %x, computed from scratch %x", have, want)
	}
	if b.bytes != again.bytes {
		return fmt.Errorf("the size is %d bytes, the records give %d", b.bytes, again.bytes)
	}
	if have, want := b.RecordsDeadline(), again.RecordsDeadline(); have != want {
		return fmt.Errorf("next deadline is %d, its records give %d", have, want)
	}
	if have, want := b.sources.Keys(), again.sources.Keys(); !equal(have, want) {
		return fmt.Errorf("dead-letter sources are %q, the queues give %q", have, want)
	}
	if err := b.topics.Compare(&again.topics); err != nil {
		return err
	}
	if err := b.outbox.Compare(&again.outbox); err != nil {
		return err
	}
	if err := b.usage.Compare(again.usage); err != nil {
		return err
	}
	if have, want := b.access.Bytes(), again.access.Bytes(); have != want {
		return fmt.Errorf("the size of access keys and policies is %d bytes, the records give %d", have, want)
	}
	if !b.access.SameResourcePolicies(again.access) {
		return errors.New("the copied access policies differ from those of queues and topics")
	}
	if err := b.checkPublications(again.publications.Bytes()); err != nil {
		return err
	}
	b.queues.Scan(func(name string, q *Queue) bool {
		other, _ := again.queues.Get(name)
		if err = q.compareIndexes(other); err != nil {
			err = fmt.Errorf("queue %q: %w", name, err)
		}
		return err == nil
	})
	return err
}

// checkPublications recounts the references to each publication. stored is the size of the
// publications that the records refer to.
func (b *Broker) checkPublications(stored int64) error {
	held := map[*topic.Publication]int64{}
	total := int64(0)
	count := func(p *topic.Publication) {
		if held[p]++; held[p] == 1 {
			total += p.Size()
		}
	}
	b.queues.Scan(func(_ string, q *Queue) bool {
		visit := func(_ uint64, m *Message) bool {
			if p := m.published(); p != nil {
				count(p.publication)
			}
			return true
		}
		q.messages.Scan(visit)
		q.scheduled.Scan(visit)
		q.deferred.Scan(visit)
		return true
	})
	b.topics.Scan(func(t *topic.Topic) bool {
		keep := func(p *topic.Publication) bool {
			count(p)
			return true
		}
		t.ScanArchive(0, keep)
		t.ScanScheduled(0, keep)
		return true
	})
	b.outbox.ScanPublications(count)
	if total != stored {
		return fmt.Errorf("publications of messages, archives and schedules have %d bytes, the records give %d", total, stored)
	}
	b.releases.scan(count)
	if have := b.publications.Bytes(); have != total {
		return fmt.Errorf("publications have %d bytes, what refers to them gives %d", have, total)
	}
	for p, n := range held { // order does not matter: every difference is an error
		if p.Held() != n {
			return fmt.Errorf("publication %s is held %d times, by %d messages and archives", p.Content().MessageID, p.Held(), n)
		}
	}
	return nil
}

func equal[T comparable](a, b []T) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// compareIndexes compares the indexes with those built from records.
func (q *Queue) compareIndexes(other *Queue) error {
	for _, index := range []struct {
		name       string
		have, want *btree.BTreeG[timed]
	}{
		{"first deliveries", q.ready.firstDelivery, other.ready.firstDelivery},
		{"redelivered", q.ready.redelivered, other.ready.redelivered},
		{"timers", q.timers.pending, other.timers.pending},
		{"by age", q.byAge, other.byAge},
		{"by time to live", q.byTimeToLive, other.byTimeToLive},
		{"scheduled", q.scheduledByTime, other.scheduledByTime},
	} {
		if have, want := index.have.Items(), index.want.Items(); !equal(have, want) {
			return fmt.Errorf("index %s is %v, the messages give %v", index.name, have, want)
		}
	}
	if have, want := [2]int64{q.timers.inFlight, q.timers.delayed}, [2]int64{other.timers.inFlight, other.timers.delayed}; have != want {
		return fmt.Errorf("in flight and delayed are %v, the messages give %v", have, want)
	}
	if q.mortal != other.mortal {
		return fmt.Errorf("%d messages have a time to live, the messages give %d", q.mortal, other.mortal)
	}
	if q.ready.single != other.ready.single {
		return fmt.Errorf("%d messages without a group can be received, the messages give %d", q.ready.single, other.ready.single)
	}
	if q.sums.published != other.sums.published {
		return fmt.Errorf("%d messages of topics, the records give %d", q.sums.published, other.sums.published)
	}
	if q.deduplication.ByScope() != other.deduplication.ByScope() {
		return fmt.Errorf("records per scope are %v, the records give %v", q.deduplication.ByScope(), other.deduplication.ByScope())
	}
	if have, want := q.deduplication.Rules(), q.attributes.Deduplication; have != want {
		return fmt.Errorf("deduplication follows %+v, the attributes are %+v", have, want)
	}
	if q.deadline != other.deadline {
		return fmt.Errorf("deadline is %d, the messages give %d", q.deadline, other.deadline)
	}
	if err := q.compareSessions(other); err != nil {
		return err
	}
	var err error
	q.groups.names.Scan(func(name string) bool {
		g, twin := q.groups.byName[name], other.groups.byName[name]
		if g == nil || twin == nil {
			err = fmt.Errorf("group %q is among the names only, or among those that the messages give", name)
		} else if g.head != twin.head || !slices.Equal(g.rest, twin.rest) {
			err = fmt.Errorf("group %q has %d messages from %d on, which differ from those that the messages give", name, g.len(), g.head)
		}
		return err == nil
	})
	if have, want := len(q.groups.byName), len(other.groups.byName); err == nil && (have != want || have != q.groups.names.Len()) {
		err = fmt.Errorf("%d groups and %d names, the messages give %d", have, q.groups.names.Len(), want)
	}
	return err
}

// Audit compares the replicas. Each replica records the hash of its state at this entry, and
// compares its earlier hash with those in Reports (faults.md 9). Audit changes only the clock.
type Audit struct {
	// HashVersion is the definition of the hashes in Reports; replicas with another version skip
	// the comparison.
	HashVersion uint32
	Index       uint64        // of the Audit that the reports are about; 0: no reports
	Reports     []AuditReport // sorted by node id
}

// AuditReport is the result of one replica at an Audit.
type AuditReport struct {
	NodeID string
	State  [16]byte
	Chain  [16]byte // hash over the log up to that entry
}

// QueueName implements Command.
func (*Audit) QueueName() string { return "" }

// Validate implements Command. Only a leader proposes an Audit.
func (*Audit) Validate() *Error { return nil }

func (*Audit) apply(*Broker) (Result, *Error) { return Done{}, nil }

// dueForCheck reports whether to check the state now. A small state is checked after every command,
// a large one after one command for each 100 records, to bound the cost.
func (b *Broker) dueForCheck() bool {
	b.unchecked++
	records := b.topics.Len()
	b.queues.Scan(func(_ string, q *Queue) bool {
		records += q.messages.Len() + q.scheduled.Len() + q.deferred.Len() + q.deduplication.Len() + 1
		return true
	})
	if b.unchecked < records/100 {
		return false
	}
	b.unchecked = 0
	return true
}
