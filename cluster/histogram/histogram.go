// Package histogram counts observations in histograms with fixed buckets, without a lock.
package histogram

import (
	"math"
	"sync/atomic"
)

// Histogram counts observations in fixed buckets. Made by New; safe for concurrent use.
type Histogram struct {
	bounds []float64
	counts []atomic.Uint64 // per bound; the last above all bounds
	sum    atomic.Uint64   // bits of a float64
}

// New returns a Histogram with these upper bounds, in ascending order.
func New(bounds ...float64) *Histogram {
	return &Histogram{bounds: bounds, counts: make([]atomic.Uint64, len(bounds)+1)}
}

// Observe adds one observation.
func (h *Histogram) Observe(v float64) {
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

// Read calls bucket with each bound and the number of observations up to it. It returns the total
// number of observations and their sum.
func (h *Histogram) Read(bucket func(bound float64, upTo uint64)) (count uint64, sum float64) {
	for i := range h.counts {
		count += h.counts[i].Load()
		if i < len(h.bounds) {
			bucket(h.bounds[i], count)
		}
	}
	return count, math.Float64frombits(h.sum.Load())
}
