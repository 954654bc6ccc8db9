package client

import (
	"math/bits"
	"time"
)

// Buckets of a histogram: exact up to benchLinear nanoseconds, then benchLinear
// buckets for each doubling, so that no value is off by more than 1/64. The
// last bucket holds everything above two minutes.
const (
	benchLinearBits = 6
	benchLinear     = 1 << benchLinearBits
	benchDoublings  = 31
	benchBuckets    = benchLinear * (benchDoublings + 1)
)

// histogram counts durations in log-linear buckets, as HdrHistogram does. Used
// by one goroutine at a time.
type histogram struct {
	counts  [benchBuckets]uint64
	total   uint64
	longest time.Duration
}

func (h *histogram) record(d time.Duration) {
	h.counts[bucketOf(d)]++
	h.total++
	h.longest = max(h.longest, d)
}

// add takes over what another histogram counted.
func (h *histogram) add(other *histogram) {
	for i, n := range other.counts {
		h.counts[i] += n
	}
	h.total += other.total
	h.longest = max(h.longest, other.longest)
}

// quantile is the upper end of the bucket in which the share q of all values
// is reached, and never more than the longest.
func (h *histogram) quantile(q float64) time.Duration {
	if h.total == 0 {
		return 0
	}
	rank := max(uint64(q*float64(h.total)+0.5), 1)
	var seen uint64
	for i, n := range h.counts {
		if seen += n; seen >= rank {
			return min(bucketEnd(i), h.longest)
		}
	}
	return h.longest
}

func bucketOf(d time.Duration) int {
	v := uint64(max(d, 0))
	if v < benchLinear {
		return int(v)
	}
	shift := bits.Len64(v) - benchLinearBits - 1
	return min((shift+1)*benchLinear+int(v>>shift)-benchLinear, benchBuckets-1)
}

// bucketEnd is the largest value of a bucket.
func bucketEnd(i int) time.Duration {
	if i < benchLinear {
		return time.Duration(i)
	}
	shift := i/benchLinear - 1
	first := uint64(i%benchLinear+benchLinear) << shift
	return time.Duration(first + 1<<shift - 1)
}
