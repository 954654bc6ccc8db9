package server

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync/atomic"
	"time"
)

const (
	// spareHeap bounds the garbage before a collection, in bytes, while the state is small. The
	// runtime permits as much garbage as live heap. With little state, a node under load would
	// then collect ten times a second and spend a tenth of its processor time on that.
	spareHeap = 128 << 20
	// spareHeapMin replaces spareHeap as the state grows, so that state and garbage together stay
	// below smallHeap as long as possible.
	spareHeapMin = 48 << 20
	smallHeap    = 224 << 20
	// spareLarge is the divisor for a large state: its garbage may take a quarter of its size. A
	// collection costs some time for the whole heap, even for the part without pointers.
	spareLarge = 4
	// spareParts divides the permitted garbage. An idle node uses one part, because garbage is
	// resident memory. A collection that follows too soon doubles the number of parts, a late
	// one halves it. Too soon is less than collectSoon, or less than a second for each scanPace
	// bytes to scan, which is a hundredth of a processor. Late is collectLate times as long.
	spareParts  = 8
	collectSoon = 2 * time.Second
	collectLate = 3
	scanPace    = 10 << 20
	// collectorPercent is the default of the runtime.
	collectorPercent = 100
	// collectorPercentMax applies until the first collection.
	collectorPercentMax = 4000
)

// collector adjusts the garbage collector after each collection.
type collector struct {
	percent atomic.Int64 // in force
	stopped atomic.Bool
	set     func(percent int)
	heap    func() heapSize
	now     func() time.Time

	parts uint64    // of spareParts in use; 0: not chosen yet
	last  time.Time // of the last adjustment
}

// heapSize holds the heap after the last collection, in bytes.
type heapSize struct {
	live      uint64
	scannable uint64 // the live part that may hold pointers
}

// tuneCollector adjusts the collector until stop is called. It does nothing if the operator has
// set GOGC.
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

// watch calls adjust after each collection: the cleanup of an unreachable object runs then.
func (c *collector) watch() {
	sentinel := &struct{ _ [64]byte }{}
	runtime.AddCleanup(sentinel, func(c *collector) {
		if !c.stopped.Load() {
			c.adjust()
			c.watch()
		}
	}, c)
}

// adjust sets the percentage of garbage that starts a collection. It permits garbage up to
// the size of the scannable heap, which causes most of the cost of a collection, and more while the
// heap is small. Setting the percentage stops the node for a moment, so adjust skips small changes.
func (c *collector) adjust() {
	heap := c.heap()
	percent := percentFor(heap, c.choosePart(heap))
	if before := c.percent.Load(); percent >= before-before/8 && percent <= before+before/8 {
		return
	}
	c.percent.Store(percent)
	c.set(int(percent))
}

// choosePart returns the number of spareParts to use until the next collection.
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

// percentFor returns the percentage for a heap and a number of spareParts.
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
