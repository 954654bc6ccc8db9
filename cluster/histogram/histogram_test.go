package histogram

import (
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestHistogram(t *testing.T) {
	t.Parallel()
	h := New(1, 10)
	var observers sync.WaitGroup
	for range 4 {
		observers.Go(func() {
			for _, v := range []float64{0.5, 1, 2, 10, 11} {
				h.Observe(v)
			}
		})
	}
	observers.Wait()
	buckets := map[float64]uint64{}
	count, sum := h.Read(func(bound float64, upTo uint64) { buckets[bound] = upTo })
	if diff := cmp.Diff(map[float64]uint64{1: 8, 10: 16}, buckets); diff != "" || count != 20 || sum != 98 {
		t.Errorf("%d observations, sum %v, buckets (-want +got)\n%s", count, sum, diff)
	}
}
