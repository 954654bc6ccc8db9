package server

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync/atomic"
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
	c := &collector{set: func(percent int) { debug.SetGCPercent(percent) }, heap: measureHeap}
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
// there is to look through, which is what a collection costs, or by the spare heap. Parked
// messages, remembered ids and bodies have no pointers and so call for no room. Setting it
// stops the node for a moment, so small changes are not made.
func (c *collector) adjust() {
	percent := percentFor(c.heap())
	if before := c.percent.Load(); percent >= before-before/8 && percent <= before+before/8 {
		return
	}
	c.percent.Store(percent)
	c.set(int(percent))
}

func percentFor(heap heapSize) int64 {
	if heap.live == 0 {
		return collectorPercentMax
	}
	spare := min(spareHeap, max(spareHeapMin, smallHeap-min(heap.live, smallHeap)))
	spare = max(spare, min(heap.scannable, heap.live))
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
