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
	// tenth of its processor time. Beyond this as much may gather as a collection
	// has to look through, so that its price for each byte allocated stays the
	// runtime's. Bodies are not looked through: a state of large bodies needs
	// little more memory than they have bytes, and not twice that.
	spareHeap = 128 << 20
	// collectorPercent is the runtime's rule.
	collectorPercent = 100
	// collectorPercentMax is in force until the first collection.
	collectorPercentMax = 4000
	// collectorPercentMin bounds how often all of the heap is swept, which is
	// cheaper than looking through it and not free.
	collectorPercentMin = 10
)

// collector adjusts the garbage collector after each collection.
type collector struct {
	percent atomic.Int64 // in force
	stopped atomic.Bool
	set     func(percent int)
	heap    func() (live, scannable uint64)
}

// tuneCollector adjusts the collector until stop is called. An operator's GOGC
// is left alone.
func tuneCollector(getenv func(string) string) (stop func()) {
	if getenv("GOGC") != "" {
		return func() {}
	}
	c := &collector{set: func(percent int) { debug.SetGCPercent(percent) }, heap: collectedHeap}
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

// adjust sets the percentage that calls for a collection when enough garbage is
// there. Setting it stops the node for a moment, so small changes are not made.
func (c *collector) adjust() {
	percent := percentFor(c.heap())
	if before := c.percent.Load(); percent >= before-before/8 && percent <= before+before/8 {
		return
	}
	c.percent.Store(percent)
	c.set(int(percent))
}

func percentFor(live, scannable uint64) int64 {
	if live == 0 {
		return collectorPercentMax
	}
	spare := max(spareHeap, min(scannable, live))
	return min(max(int64(spare*collectorPercent/live), collectorPercentMin), collectorPercentMax)
}

// collectedHeap is what the last collection left, and what of it may hold
// pointers; zero before the first.
func collectedHeap() (live, scannable uint64) {
	samples := []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/gc/scan/heap:bytes"}}
	metrics.Read(samples)
	for _, s := range samples {
		if s.Value.Kind() != metrics.KindUint64 {
			return 0, 0
		}
	}
	return samples[0].Value.Uint64(), samples[1].Value.Uint64()
}
