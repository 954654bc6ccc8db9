package leader

import (
	"math"
	"sync/atomic"
)

// Counters count what a node does while it leads. They outlive its terms, so that
// the node has one for all of them. Made by NewCounters; safe for concurrent use.
type Counters struct {
	Entries       atomic.Uint64 // log entries proposed
	BatchCommands Histogram     // commands per entry
	BatchBytes    Histogram     // bytes of commands per entry
	ClockCommands atomic.Uint64 // AdvanceClock, as a deadline was due and nothing else happened
	ReadIndexes   atomic.Uint64 // times that leadership was confirmed for reads
	// Messages that passed their retention and that went to a dead-letter queue.
	Expired, DeadLettered atomic.Uint64
	// Deliveries of topics to queues that did not become messages there.
	Deduplicated, Undeliverable, Lost DeliveryCounters
	// Attempts to deliver over HTTP, and those of them that failed.
	Posts, PostsFailed atomic.Uint64
}

// NewCounters returns Counters that have counted nothing.
func NewCounters() *Counters {
	return &Counters{
		BatchCommands: newHistogram(1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024),
		BatchBytes:    newHistogram(1<<8, 1<<10, 1<<12, 1<<14, 1<<16, 1<<18, 1<<20),
	}
}

// Histogram counts observations in fixed buckets. Safe for concurrent use.
type Histogram struct {
	bounds []float64
	counts []atomic.Uint64 // one more than bounds
	sum    atomic.Uint64   // bits of a float64
}

func newHistogram(bounds ...float64) Histogram {
	return Histogram{bounds: bounds, counts: make([]atomic.Uint64, len(bounds)+1)}
}

func (h *Histogram) observe(v float64) {
	i := 0
	for i < len(h.bounds) && v > h.bounds[i] {
		i++
	}
	h.counts[i].Add(1)
	for {
		old := h.sum.Load()
		if h.sum.CompareAndSwap(old, math.Float64bits(math.Float64frombits(old)+v)) {
			return
		}
	}
}

// Read calls bucket for each bound with the number of observations up to it, and
// returns the number of all and their sum.
func (h *Histogram) Read(bucket func(bound float64, upTo uint64)) (count uint64, sum float64) {
	for i := range h.counts {
		count += h.counts[i].Load()
		if i < len(h.bounds) {
			bucket(h.bounds[i], count)
		}
	}
	return count, math.Float64frombits(h.sum.Load())
}
