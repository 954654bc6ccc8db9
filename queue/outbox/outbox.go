package outbox

import (
	"github.com/tidwall/btree"

	"github.com/seriatimq/seriatim/queue/account"
	"github.com/seriatimq/seriatim/queue/logtime"
	"github.com/seriatimq/seriatim/queue/statehash"
	"github.com/seriatimq/seriatim/queue/topic"
)

// Item is one delivery that is not done. A value is never changed once an Outbox has it.
type Item struct {
	Subscription uint64
	// Number is that of the publication in its topic; zero: the subscriber is asked to
	// confirm the subscription.
	Number      uint64
	Publication *topic.Publication // nil if Number is zero
	Attempts    uint32             // that failed
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

// due orders the deliveries of a subscription by when the next attempt is due.
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

// lane has the deliveries of one subscription, at least one.
type lane struct {
	items      *btree.Map[uint64, *Item]
	due        *btree.BTreeG[due]
	sum        statehash.Sum
	bytes      int64        // of the publications
	kept       account.Kept // these, as quotas count them
	generation uint64
}

// Outbox has all deliveries that are not done. Used by one goroutine.
type Outbox struct {
	lanes      *btree.Map[uint64, *lane] // by number of the subscription
	items      int
	bytes      int64 // of the publications, each as often as there are deliveries of it
	sum        statehash.Sum
	generation uint64
}

// New is an Outbox without deliveries.
func New() Outbox { return Outbox{lanes: new(btree.Map[uint64, *lane])} }

// own is the lane of a subscription for changing, which no Frozen copy shares.
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

// Put adds a delivery, or replaces the one of the same subscription and number.
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

// takeOut forgets an item that its lane has no longer.
func (o *Outbox) takeOut(k statehash.Key, l *lane, old *Item) {
	if now, ok := l.items.Get(old.Number); !ok || now.DueAt != old.DueAt {
		l.due.Delete(due{old.DueAt, old.Number})
	}
	o.count(k, l, old, -1)
	if old.Publication != nil {
		old.Publication.Release()
	}
}

// count counts an item that the lane has got, by 1, or has lost, by -1.
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

// DropAll removes all deliveries of a subscription in time independent of their number.
// What is returned still holds their publications.
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

// Get is a delivery.
func (o *Outbox) Get(subscription, number uint64) (*Item, bool) {
	l, ok := o.lanes.Get(subscription)
	if !ok {
		return nil, false
	}
	return l.items.Get(number)
}

// Len is how many deliveries there are.
func (o *Outbox) Len() int { return o.items }

// LenOf is how many deliveries a subscription has.
func (o *Outbox) LenOf(subscription uint64) int {
	l, ok := o.lanes.Get(subscription)
	if !ok {
		return 0
	}
	return l.items.Len()
}

// ContentBytes estimates the memory that the publications would take if no delivery shared
// its own with another one.
func (o *Outbox) ContentBytes() int64 { return o.bytes }

// ContentBytesOf is ContentBytes of one subscription.
func (o *Outbox) ContentBytesOf(subscription uint64) int64 {
	l, ok := o.lanes.Get(subscription)
	if !ok {
		return 0
	}
	return l.bytes
}

// Subscriptions are the numbers of those that have deliveries.
func (o *Outbox) Subscriptions() []uint64 { return o.lanes.Keys() }

// First is the delivery to a subscription with the lowest number.
func (o *Outbox) First(subscription uint64) (first *Item, some bool) {
	if l, ok := o.lanes.Get(subscription); ok {
		_, first, some = l.items.Min()
	}
	return first, some
}

// ScanDue visits the deliveries of a subscription in the order in which they are due,
// until visit returns false.
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

// Sum is the sum of the hashes of all records.
func (o *Outbox) Sum() statehash.Sum { return o.sum }

// ComputeSum computes Sum from scratch.
func (o *Outbox) ComputeSum(k statehash.Key) (sum statehash.Sum) {
	o.scan(func(i *Item) { sum.Add(i.sum(k)) })
	return sum
}

// ScanPublications visits what the deliveries refer to, each as often as they do.
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

// Estimates of the memory that records take, with room to spare.
const (
	laneOverhead = 512
	itemOverhead = 160
)

// Bytes estimates the memory of all deliveries, without publications.
func (o *Outbox) Bytes() int64 {
	return int64(o.lanes.Len())*laneOverhead + int64(o.items)*itemOverhead
}

// Dropped are deliveries of a subscription that is gone, whose publications are still
// held.
type Dropped struct {
	Kept  account.Kept // what quotas counted of them
	items *btree.Map[uint64, *Item]
	next  uint64 // those below are released
}

// Release releases at most budget publications and returns what is left of the budget,
// and whether none is held any more.
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

// Scan visits the publications that are still held.
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

// Freeze captures the deliveries in time independent of their number. The copy may be
// read by another goroutine while the outbox goes on being changed.
func (o *Outbox) Freeze() Frozen {
	o.generation++
	return Frozen{lanes: o.lanes.Copy()}
}

// Thaw takes back the last Freeze, whose copy nobody keeps, so that it costs no clones.
func (o *Outbox) Thaw() { o.generation-- }

// Scan visits the deliveries of a subscription by number until visit returns false.
func (f Frozen) Scan(subscription uint64, visit func(*Item) bool) {
	l, ok := f.lanes.Get(subscription)
	if !ok {
		return
	}
	l.items.Scan(func(_ uint64, i *Item) bool { return visit(i) })
}
