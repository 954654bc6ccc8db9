package server

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync/atomic"
	"time"
)

const (
	// spareHeap is the garbage that may gather before a collection when the
	// state is small. The runtime's own rule, as much garbage as there is state,
	// makes a node with little state collect ten times a second under load, for a
	// tenth of its processor time.
	spareHeap = 128 << 20
	// spareHeapMin is what spareHeap falls to as the state grows, so that state and
	// garbage together take smallHeap.
	spareHeapMin = 48 << 20
	smallHeap    = 224 << 20
	// spareLarge is the part of a large state that its garbage may take: a collection costs
	// something for all that is there, also where it has nothing to look through.
	spareLarge = 4
	// spareParts are those of the garbage that may gather. A node with little to do uses
	// one: garbage is resident memory, and gathers however slowly it is made. Collections
	// that come too soon double the part, those that come late halve it: sooner than
	// collectSoon after another, or than a second for each scanPace to look through,
	// which is a hundredth of a processor; later than collectLate times that.
	spareParts  = 8
	collectSoon = 2 * time.Second
	collectLate = 3
	scanPace    = 10 << 20
	// collectorPercent is the runtime's rule.
	collectorPercent = 100
	// collectorPercentMax is in force until the first collection.
	collectorPercentMax = 4000
)

// collector adjusts the garbage collector after each collection.
type collector struct {
	percent atomic.Int64 // in force
	stopped atomic.Bool
	set     func(percent int)
	heap    func() heapSize
	now     func() time.Time

	parts uint64    // of spareParts in use; 0: none were chosen yet
	last  time.Time // adjusted
}

// heapSize is what the last collection found, in bytes.
type heapSize struct {
	live      uint64
	scannable uint64 // of it, what has to be looked through for pointers
}

// tuneCollector adjusts the collector until stop is called. An operator's GOGC
// is left alone.
func tuneCollector(getenv func(string) string) (stop func()) {
	if getenv("GOGC") != "" {
		return func() {}
	}
	c := &collector{set: func(percent int) { debug.SetGCPercent(percent) }, heap: measureHeap, now: time.Now}
	c.adjust()
	c.watch()
	return func() {
		c.stopped.Store(true)
		c.set(collectorPercent)
	}
}

// watch calls adjust after the next collection, and after each that follows: it
// leaves something behind that only a collection can find.
func (c *collector) watch() {
	sentinel := &struct{ _ [64]byte }{}
	runtime.AddCleanup(sentinel, func(c *collector) {
		if !c.stopped.Load() {
			c.adjust()
			c.watch()
		}
	}, c)
}

// adjust sets the percentage at which a collection is called for: by as much garbage as
// there is to look through, which is most of what a collection costs, or by the spare heap.
// Parked messages, remembered ids and bodies have no pointers and so call for less room.
// Setting it stops the node for a moment, so small changes are not made.
func (c *collector) adjust() {
	heap := c.heap()
	percent := percentFor(heap, c.choosePart(heap))
	if before := c.percent.Load(); percent >= before-before/8 && percent <= before+before/8 {
		return
	}
	c.percent.Store(percent)
	c.set(int(percent))
}

// choosePart is how many of the spareParts are used until the next collection.
func (c *collector) choosePart(heap heapSize) uint64 {
	now := c.now()
	soon := max(collectSoon, time.Duration(heap.scannable/scanPace)*time.Second)
	switch between := now.Sub(c.last); {
	case c.parts == 0:
		c.parts = 1
	case between < soon:
		c.parts = min(2*c.parts, spareParts)
	case between > collectLate*soon:
		c.parts = max(c.parts/2, 1)
	}
	c.last = now
	return c.parts
}

// percentFor is the percentage for what the last collection found, and for some of the
// spareParts.
func percentFor(heap heapSize, parts uint64) int64 {
	if heap.live == 0 {
		return int64(collectorPercentMax * parts / spareParts)
	}
	spare := min(spareHeap, max(spareHeapMin, smallHeap-min(heap.live, smallHeap)))
	spare = max(spare, min(heap.scannable, heap.live), heap.live/spareLarge) * parts / spareParts
	return min(max(int64(spare*collectorPercent/heap.live), 1), collectorPercentMax)
}

func measureHeap() heapSize {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/gc/scan/heap:bytes"}}
	metrics.Read(sample)
	for i := range sample {
		if sample[i].Value.Kind() != metrics.KindUint64 {
			return heapSize{}
		}
	}
	return heapSize{live: sample[0].Value.Uint64(), scannable: sample[1].Value.Uint64()}
}
