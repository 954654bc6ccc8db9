package outbox

import (
	"github.com/tidwall/btree"

	"github.com/seriatimq/seriatim/queue/access"
	"github.com/seriatimq/seriatim/queue/logtime"
	"github.com/seriatimq/seriatim/queue/statehash"
	"github.com/seriatimq/seriatim/queue/topic"
)

// Item is one pending delivery. It never changes once stored.
type Item struct {
	Subscription uint64
	// Number is that of the publication in its topic; zero: a request to confirm the subscription.
	Number      uint64
	Publication *topic.Publication // nil if Number is zero
	Attempts    uint32             // failed attempts
	DueAt       logtime.Timestamp
}

func (i *Item) sum(k statehash.Key) statehash.Sum {
	var buf [64]byte
	r := append(statehash.Record(buf[:0]), statehash.KindDelivery).Num(i.Subscription).Num(i.Number)
	if i.Publication != nil {
		r = r.Num(i.Publication.Hash())
	}
	return k.Sum(r.Num(uint64(i.Attempts)).Time(i.DueAt))
}

func (i *Item) bytes() int64 {
	if i.Publication == nil {
		return 0
	}
	return i.Publication.Size()
}

// due orders the deliveries of a subscription by their next attempt.
type due struct {
	at     logtime.Timestamp
	number uint64
}

func (a due) less(b due) bool {
	if a.at != b.at {
		return a.at < b.at
	}
	return a.number < b.number
}

// lane holds the deliveries of one subscription, at least one.
type lane struct {
	items      *btree.Map[uint64, *Item]
	due        *btree.BTreeG[due]
	sum        statehash.Sum
	bytes      int64       // of the publications
	kept       access.Kept // the same publications, as quotas count them
	generation uint64
}

// Outbox holds all pending deliveries. One goroutine uses it.
type Outbox struct {
	lanes      *btree.Map[uint64, *lane] // by number of the subscription
	items      int
	bytes      int64 // of the publications, counted once for each delivery
	sum        statehash.Sum
	generation uint64
}

// New returns an empty Outbox.
func New() Outbox { return Outbox{lanes: new(btree.Map[uint64, *lane])} }

// own returns a lane for writing, which no Frozen copy shares.
func (o *Outbox) own(subscription uint64) *lane {
	l, ok := o.lanes.Get(subscription)
	switch {
	case !ok:
		l = &lane{
			items:      new(btree.Map[uint64, *Item]),
			due:        btree.NewBTreeGOptions(due.less, btree.Options{NoLocks: true}),
			generation: o.generation,
		}
	case l.generation != o.generation:
		l = &lane{items: l.items.Copy(), due: l.due.Copy(), sum: l.sum, bytes: l.bytes, kept: l.kept, generation: o.generation}
	default:
		return l
	}
	o.lanes.Set(subscription, l)
	return l
}

// Put adds a delivery, or replaces that of the same subscription and number.
func (o *Outbox) Put(k statehash.Key, i *Item) {
	l := o.own(i.Subscription)
	old, was := l.items.Set(i.Number, i)
	if i.Publication != nil {
		i.Publication.Hold()
	}
	l.due.Set(due{i.DueAt, i.Number})
	o.count(k, l, i, 1)
	if was {
		o.takeOut(k, l, old)
	}
}

// Drop removes a delivery, if there is one.
func (o *Outbox) Drop(k statehash.Key, subscription, number uint64) {
	if _, ok := o.Get(subscription, number); !ok {
		return
	}
	l := o.own(subscription)
	old, _ := l.items.Delete(number)
	o.takeOut(k, l, old)
	if l.items.Len() == 0 {
		o.lanes.Delete(subscription)
	}
}

// takeOut drops an item that was removed from its lane.
func (o *Outbox) takeOut(k statehash.Key, l *lane, old *Item) {
	if now, ok := l.items.Get(old.Number); !ok || now.DueAt != old.DueAt {
		l.due.Delete(due{old.DueAt, old.Number})
	}
	o.count(k, l, old, -1)
	if old.Publication != nil {
		old.Publication.Release()
	}
}

// count adds an item to the sums if by is 1, and subtracts it if by is -1.
func (o *Outbox) count(k statehash.Key, l *lane, i *Item, by int64) {
	if sum := i.sum(k); by > 0 {
		l.sum.Add(sum)
		o.sum.Add(sum)
	} else {
		l.sum.Sub(sum)
		o.sum.Sub(sum)
	}
	l.bytes += by * i.bytes()
	o.items += int(by)
	o.bytes += by * i.bytes()
	if i.Publication != nil {
		l.kept.Add(by, by*i.Publication.SentBytes())
	}
}

// DropAll removes all deliveries of a subscription in constant time. The result still holds their
// publications.
func (o *Outbox) DropAll(subscription uint64) *Dropped {
	l, ok := o.lanes.Delete(subscription)
	if !ok {
		return nil
	}
	o.sum.Sub(l.sum)
	o.items -= l.items.Len()
	o.bytes -= l.bytes
	return &Dropped{Kept: l.kept, items: l.items}
}

// Get finds a delivery.
func (o *Outbox) Get(subscription, number uint64) (*Item, bool) {
	l, ok := o.lanes.Get(subscription)
	if !ok {
		return nil, false
	}
	return l.items.Get(number)
}

// Len returns the number of deliveries.
func (o *Outbox) Len() int { return o.items }

// LenOf returns the number of deliveries to a subscription.
func (o *Outbox) LenOf(subscription uint64) int {
	l, ok := o.lanes.Get(subscription)
	if !ok {
		return 0
	}
	return l.items.Len()
}

// ContentBytes estimates the memory of the publications as if no two deliveries shared one.
func (o *Outbox) ContentBytes() int64 { return o.bytes }

// ContentBytesOf is ContentBytes for one subscription.
func (o *Outbox) ContentBytesOf(subscription uint64) int64 {
	l, ok := o.lanes.Get(subscription)
	if !ok {
		return 0
	}
	return l.bytes
}

// Subscriptions returns the numbers of subscriptions with deliveries.
func (o *Outbox) Subscriptions() []uint64 { return o.lanes.Keys() }

// First returns the delivery to a subscription with the lowest number.
func (o *Outbox) First(subscription uint64) (first *Item, some bool) {
	if l, ok := o.lanes.Get(subscription); ok {
		_, first, some = l.items.Min()
	}
	return first, some
}

// ScanDue visits the deliveries to a subscription in order of DueAt, until visit returns false.
func (o *Outbox) ScanDue(subscription uint64, visit func(*Item) bool) {
	l, ok := o.lanes.Get(subscription)
	if !ok {
		return
	}
	l.due.Scan(func(d due) bool {
		i, _ := l.items.Get(d.number)
		return visit(i)
	})
}

// Sum returns the sum of the record hashes.
func (o *Outbox) Sum() statehash.Sum { return o.sum }

// ComputeSum computes Sum from scratch.
func (o *Outbox) ComputeSum(k statehash.Key) (sum statehash.Sum) {
	o.scan(func(i *Item) { sum.Add(i.sum(k)) })
	return sum
}

// ScanPublications visits the publication of every delivery.
func (o *Outbox) ScanPublications(visit func(*topic.Publication)) {
	o.scan(func(i *Item) {
		if i.Publication != nil {
			visit(i.Publication)
		}
	})
}

func (o *Outbox) scan(visit func(*Item)) {
	o.lanes.Scan(func(_ uint64, l *lane) bool {
		l.items.Scan(func(_ uint64, i *Item) bool {
			visit(i)
			return true
		})
		return true
	})
}

// Estimated memory per record, rounded up.
const (
	laneOverhead = 512
	itemOverhead = 160
)

// Bytes estimates the memory of all deliveries, without publications.
func (o *Outbox) Bytes() int64 {
	return int64(o.lanes.Len())*laneOverhead + int64(o.items)*itemOverhead
}

// Dropped holds the deliveries of a deleted subscription, whose publications are not released yet.
type Dropped struct {
	Kept  access.Kept // the usage to subtract
	items *btree.Map[uint64, *Item]
	next  uint64 // lower numbers are released
}

// Release releases at most budget publications. It returns the remaining budget and whether it is
// done.
func (d *Dropped) Release(budget int) (left int, over bool) {
	over = true
	d.items.Ascend(d.next, func(number uint64, i *Item) bool {
		if budget == 0 {
			d.next, over = number, false
			return false
		}
		budget--
		if i.Publication != nil {
			i.Publication.Release()
		}
		return true
	})
	return budget, over
}

// Scan visits the publications that are not released yet.
func (d *Dropped) Scan(visit func(*topic.Publication)) {
	d.items.Ascend(d.next, func(_ uint64, i *Item) bool {
		if i.Publication != nil {
			visit(i.Publication)
		}
		return true
	})
}

// Frozen is an immutable copy of an Outbox.
type Frozen struct{ lanes *btree.Map[uint64, *lane] }

// Freeze captures the deliveries in constant time. Another goroutine may read the copy.
func (o *Outbox) Freeze() Frozen {
	o.generation++
	return Frozen{lanes: o.lanes.Copy()}
}

// Thaw undoes the last Freeze, if its copy was discarded, to avoid clones.
func (o *Outbox) Thaw() { o.generation-- }

// Scan visits the deliveries of a subscription in order of number until visit returns false.
func (f Frozen) Scan(subscription uint64, visit func(*Item) bool) {
	l, ok := f.lanes.Get(subscription)
	if !ok {
		return
	}
	l.items.Scan(func(_ uint64, i *Item) bool { return visit(i) })
}
