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
	// tenth of its processor time. Beyond this the runtime's rule holds, so
	// memory stays at about twice the state.
	spareHeap = 128 << 20
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
	live    func() uint64 // what the last collection left
}

// tuneCollector adjusts the collector until stop is called. An operator's GOGC
// is left alone.
func tuneCollector(getenv func(string) string) (stop func()) {
	if getenv("GOGC") != "" {
		return func() {}
	}
	c := &collector{set: func(percent int) { debug.SetGCPercent(percent) }, live: liveHeap}
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

// adjust sets the percentage at which spareHeap of garbage, or as much as there
// is state, calls for a collection. Setting it stops the node for a moment, so
// small changes are not made.
func (c *collector) adjust() {
	percent := percentFor(c.live())
	if before := c.percent.Load(); percent >= before-before/8 && percent <= before+before/8 {
		return
	}
	c.percent.Store(percent)
	c.set(int(percent))
}

func percentFor(live uint64) int64 {
	if live == 0 {
		return collectorPercentMax
	}
	return min(max(int64(spareHeap*collectorPercent/live), collectorPercent), collectorPercentMax)
}

func liveHeap() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	if sample[0].Value.Kind() != metrics.KindUint64 {
		return 0
	}
	return sample[0].Value.Uint64()
}
