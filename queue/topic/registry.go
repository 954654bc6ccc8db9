package topic

import (
	"github.com/tidwall/btree"

	"github.com/seriatimq/seriatim/queue/logtime"
	"github.com/seriatimq/seriatim/queue/statehash"
)

// Registry holds all topics. A command calls Begin for each topic that it changes; Finish then
// updates the indexes, the sum and the size.
type Registry struct {
	topics        *btree.Map[string, *Topic]
	subscriptions *btree.Map[uint64, string] // name of the topic, by number of the subscription
	owned         *btree.BTreeG[owned]       // all subscriptions
	replays       *btree.Set[uint64]         // numbers of subscriptions with a running replay
	pending       *btree.BTreeG[timed]       // unconfirmed subscriptions, by the time of their removal
	fifo          int                        // number of FIFO topics
	deadlines     *btree.BTreeG[deadline]
	due           *btree.BTreeG[deadline] // topics by their first scheduled publication
	idle          *btree.BTreeG[deadline] // topics that are deleted when they are idle
	generation    uint64
	sum           statehash.Sum
	bytes         int64
	changed       []*Topic
}

// deadline orders topics by their next expiry.
type deadline struct {
	at   logtime.Timestamp
	name string
}

func (a deadline) less(b deadline) bool {
	if a.at != b.at {
		return a.at < b.at
	}
	return a.name < b.name
}

// owned orders subscriptions by owner.
type owned struct {
	owner  string
	number uint64
}

func (a owned) less(b owned) bool {
	if a.owner != b.owner {
		return a.owner < b.owner
	}
	return a.number < b.number
}

// NewRegistry returns an empty Registry.
func NewRegistry() Registry {
	return Registry{
		topics:        new(btree.Map[string, *Topic]),
		subscriptions: new(btree.Map[uint64, string]),
		owned:         btree.NewBTreeGOptions(owned.less, btree.Options{NoLocks: true}),
		replays:       new(btree.Set[uint64]),
		pending:       newTimedTree(),
		deadlines:     btree.NewBTreeGOptions(deadline.less, btree.Options{NoLocks: true}),
		due:           btree.NewBTreeGOptions(deadline.less, btree.Options{NoLocks: true}),
		idle:          btree.NewBTreeGOptions(deadline.less, btree.Options{NoLocks: true}),
	}
}

// Get returns a topic for reading.
func (r *Registry) Get(name string) (*Topic, bool) { return r.topics.Get(name) }

// Len returns the number of topics.
func (r *Registry) Len() int { return r.topics.Len() }

// CountOf returns the number of topics of one type.
func (r *Registry) CountOf(fifo bool) int {
	if fifo {
		return r.fifo
	}
	return r.topics.Len() - r.fifo
}

// Begin returns a topic for writing, nil if there is none. The first change after a Freeze clones
// the topic.
func (r *Registry) Begin(name string) *Topic {
	t, ok := r.topics.Get(name)
	if !ok {
		return nil
	}
	if t.generation != r.generation {
		t = t.clone(r.generation)
		r.topics.Set(name, t)
	}
	r.touch(t)
	return t
}

func (r *Registry) touch(t *Topic) {
	if !t.sums.changed {
		t.sums.changed = true
		r.changed = append(r.changed, t)
	}
}

// Add adds a new topic and begins it.
func (r *Registry) Add(t *Topic) {
	t.generation = r.generation
	r.topics.Set(t.Name, t)
	if t.Attributes.FIFO {
		r.fifo++
	}
	r.touch(t)
}

// Remove removes a topic with its subscriptions and records. Do not begin it in the same command.
func (r *Registry) Remove(t *Topic) {
	r.topics.Delete(t.Name)
	if t.Attributes.FIFO {
		r.fifo--
	}
	t.ScanSubscriptions(func(s *Subscription) bool {
		r.forget(s)
		return true
	})
	if t.deadline != 0 {
		r.deadlines.Delete(deadline{t.deadline, t.Name})
	}
	if t.due != 0 {
		r.due.Delete(deadline{t.due, t.Name})
	}
	if t.idle != 0 {
		r.idle.Delete(deadline{t.idle, t.Name})
	}
	r.sum.Sub(t.sums.counted)
	r.bytes -= t.sums.countedBytes
}

// Put stores or replaces a subscription of a topic that was begun.
func (r *Registry) Put(k statehash.Key, t *Topic, s *Subscription) {
	if old, was := t.subscriptions.Get(s.Number); was {
		r.forget(old)
	}
	t.put(k, s)
	r.subscriptions.Set(s.Number, t.Name)
	r.owned.Set(owned{s.Owner, s.Number})
	if s.Attributes.ReplayStatus.Running() {
		r.replays.Insert(s.Number)
	}
	if s.Pending() {
		r.pending.Set(timed{s.PendingUntil(), s.Number})
	}
}

// forget removes a subscription from the indexes.
func (r *Registry) forget(s *Subscription) {
	r.subscriptions.Delete(s.Number)
	r.owned.Delete(owned{s.Owner, s.Number})
	r.replays.Delete(s.Number)
	if s.Pending() {
		r.pending.Delete(timed{s.PendingUntil(), s.Number})
	}
}

// Drop removes a subscription of a topic that was begun.
func (r *Registry) Drop(k statehash.Key, t *Topic, s *Subscription) {
	t.drop(k, s.Number)
	t.Unsubscribed++
	r.forget(s)
}

// Overdue returns a subscription that was not confirmed in time.
func (r *Registry) Overdue(now logtime.Timestamp) (number uint64, ok bool) {
	first, ok := r.pending.Min()
	return first.number, ok && first.at <= now
}

// Finish updates the registry for the topics that were begun.
func (r *Registry) Finish(k statehash.Key) {
	for i, t := range r.changed {
		r.updateSum(k, t)
		t.sums.changed = false
		r.changed[i] = nil
	}
	r.changed = r.changed[:0]
}

func (r *Registry) updateSum(k statehash.Key, t *Topic) {
	total := t.total(k)
	r.sum.Sub(t.sums.counted)
	r.sum.Add(total)
	t.sums.counted = total
	bytes := t.size()
	r.bytes += bytes - t.sums.countedBytes
	t.sums.countedBytes = bytes
	r.updateDeadline(t)
}

// updateDeadline updates the topic's entries in the indexes of times.
func (r *Registry) updateDeadline(t *Topic) {
	move(r.deadlines, &t.deadline, t.nextDeadline(), t.Name)
	due := logtime.Timestamp(0)
	if first := t.FirstScheduled(); first != nil {
		due = first.content.Timestamp
	}
	move(r.due, &t.due, due, t.Name)
	move(r.idle, &t.idle, t.idleDeadline(), t.Name)
}

// move changes the entry of a topic in an index; zero is no entry.
func move(index *btree.BTreeG[deadline], entry *logtime.Timestamp, to logtime.Timestamp, name string) {
	if *entry == to {
		return
	}
	if *entry != 0 {
		index.Delete(deadline{*entry, name})
	}
	if *entry = to; to != 0 {
		index.Set(deadline{to, name})
	}
}

// Deadline returns the next time at which a topic has something to forget or to publish or is idle, or
// an unconfirmed subscription must be removed; zero if never.
func (r *Registry) Deadline() (next logtime.Timestamp) {
	earlier := func(at logtime.Timestamp, ok bool) {
		if ok && (next == 0 || at < next) {
			next = at
		}
	}
	forget, ok := r.deadlines.Min()
	earlier(forget.at, ok)
	due, ok := r.due.Min()
	earlier(due.at, ok)
	idle, ok := r.idle.Min()
	earlier(idle.at, ok)
	unconfirmed, ok := r.pending.Min()
	earlier(unconfirmed.at, ok)
	return next
}

// Idle returns the first topic that may be idle.
func (r *Registry) Idle(now logtime.Timestamp) (name string, ok bool) {
	first, ok := r.idle.Min()
	return first.name, ok && first.at <= now
}

// Due reports whether a scheduled publication is due.
func (r *Registry) Due(now logtime.Timestamp) bool {
	first, ok := r.due.Min()
	return ok && first.at <= now
}

// PublishDue passes the publications that are due to publish, in order of time, until the budget is
// exhausted. publish takes one out of its topic and returns the cost. PublishDue returns the remaining
// budget.
func (r *Registry) PublishDue(now logtime.Timestamp, budget int, publish func(*Topic, *Publication) (cost int)) int {
	for budget > 0 {
		first, ok := r.due.Min()
		if !ok || first.at > now {
			break
		}
		t := r.Begin(first.name)
		budget -= publish(t, t.FirstScheduled())
		r.updateDeadline(t)
	}
	return max(0, budget)
}

// Expire forgets at most budget expired records and returns the remaining budget.
func (r *Registry) Expire(k statehash.Key, now logtime.Timestamp, budget int) int {
	for budget > 0 {
		next, ok := r.deadlines.Min()
		if !ok || next.at > now {
			break
		}
		t := r.Begin(next.name)
		// Each visited topic costs one unit.
		budget = t.Forget(k, now, budget-1)
		r.updateDeadline(t)
	}
	return budget
}

// Sum returns the sum of the record hashes.
func (r *Registry) Sum() statehash.Sum { return r.sum }

// ComputeSum computes Sum from scratch.
func (r *Registry) ComputeSum(k statehash.Key) (sum statehash.Sum) {
	r.topics.Scan(func(_ string, t *Topic) bool {
		sum.Add(t.computeTotal(k))
		return true
	})
	return sum
}

// Bytes estimates the memory of all topics, without publications.
func (r *Registry) Bytes() int64 { return r.bytes }

// Names lists at most limit names of topics, in order, after a name.
func (r *Registry) Names(after string, limit int) (names []string) {
	r.topics.Ascend(after, func(name string, _ *Topic) bool {
		if len(names) == limit {
			return false
		}
		if name > after {
			names = append(names, name)
		}
		return true
	})
	return names
}

// Scan visits the topics in order of name until visit returns false.
func (r *Registry) Scan(visit func(*Topic) bool) {
	r.topics.Scan(func(_ string, t *Topic) bool { return visit(t) })
}

// ScanSubscriptionsFrom visits the subscriptions of all topics in order of number, starting at
// number, until visit returns false.
func (r *Registry) ScanSubscriptionsFrom(number uint64, visit func(*Topic, *Subscription) bool) {
	r.subscriptions.Ascend(number, func(number uint64, name string) bool {
		t, _ := r.topics.Get(name)
		s, _ := t.subscriptions.Get(number)
		return visit(t, s)
	})
}

// ScanSubscriptionsOf visits the subscriptions that an account owns as ScanSubscriptionsFrom does.
// It visits no others.
func (r *Registry) ScanSubscriptionsOf(owner string, number uint64, visit func(*Topic, *Subscription) bool) {
	r.owned.Ascend(owned{owner, number}, func(o owned) bool {
		if o.owner != owner {
			return false
		}
		t, s, _ := r.SubscriptionOfNumber(o.number)
		return visit(t, s)
	})
}

// SubscriptionOfNumber finds a subscription and its topic.
func (r *Registry) SubscriptionOfNumber(number uint64) (*Topic, *Subscription, bool) {
	name, ok := r.subscriptions.Get(number)
	if !ok {
		return nil, nil, false
	}
	t, _ := r.topics.Get(name)
	s, _ := t.subscriptions.Get(number)
	return t, s, true
}

// Replays returns the numbers of the subscriptions with a running replay, in order.
func (r *Registry) Replays() []uint64 { return r.replays.Keys() }

// SubscriptionKnown reports whether a number is taken.
func (r *Registry) SubscriptionKnown(number uint64) bool {
	_, known := r.subscriptions.Get(number)
	return known
}

// Frozen is an immutable copy of a Registry.
type Frozen struct{ topics *btree.Map[string, *Topic] }

// Freeze captures the topics in constant time. Another goroutine may read the copy.
func (r *Registry) Freeze() Frozen {
	r.generation++
	return Frozen{topics: r.topics.Copy()}
}

// Thaw undoes the last Freeze, if its copy was discarded, to avoid clones.
func (r *Registry) Thaw() { r.generation-- }

// Scan visits the topics in order of name until visit returns false.
func (f Frozen) Scan(visit func(*Topic) bool) {
	f.topics.Scan(func(_ string, t *Topic) bool { return visit(t) })
}
