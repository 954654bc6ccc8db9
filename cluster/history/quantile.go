package history

// Buckets has the counts of a histogram up to each bound, and of all observations at the end.
type Buckets struct {
	Bounds []float64 // seconds
	UpTo   []uint64  // one more than Bounds
}

// Quantiles returns quantiles of the observations since an earlier moment, in microseconds, with
// linear interpolation within a bucket; -1 without observations.
func (b *Buckets) Quantiles(earlier *Buckets, quantiles ...float64) []int64 {
	found := make([]int64, len(quantiles))
	since := func(i int) float64 {
		if len(earlier.UpTo) != len(b.UpTo) {
			return float64(b.UpTo[i])
		}
		return float64(b.UpTo[i] - min(b.UpTo[i], earlier.UpTo[i]))
	}
	for i, q := range quantiles {
		found[i] = -1
		if len(b.UpTo) != len(b.Bounds)+1 || len(b.Bounds) == 0 || since(len(b.Bounds)) == 0 {
			continue
		}
		rank := q * since(len(b.Bounds))
		seconds := b.Bounds[len(b.Bounds)-1] // above all bounds
		lower, before := 0.0, 0.0
		for j, bound := range b.Bounds {
			upTo := since(j)
			if upTo >= rank && upTo > before {
				seconds = lower + (bound-lower)*(rank-before)/(upTo-before)
				break
			}
			lower, before = bound, upTo
		}
		found[i] = int64(seconds * 1e6)
	}
	return found
}

// Count returns the observations since an earlier moment.
func (b *Buckets) Count(earlier *Buckets) int64 {
	if len(b.UpTo) == 0 {
		return 0
	}
	now, then := b.UpTo[len(b.UpTo)-1], uint64(0)
	if len(earlier.UpTo) == len(b.UpTo) {
		then = earlier.UpTo[len(b.UpTo)-1]
	}
	return int64(now - min(now, then)) //nolint:gosec // a count
}
