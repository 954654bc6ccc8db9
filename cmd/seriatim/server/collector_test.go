package server

import "testing"

func TestPercentFor(t *testing.T) {
	for _, c := range []struct {
		name string
		heap heapSize
		want int64
	}{
		{"before the first collection", heapSize{}, collectorPercentMax},
		{"nearly nothing", heapSize{1 << 20, 1 << 20}, collectorPercentMax},
		{"as much as may gather, all of it to look through", heapSize{spareHeap, spareHeap}, 100},
		{"as much as may gather", heapSize{spareHeap, 1 << 20}, 75},
		{"half of it", heapSize{spareHeap / 2, 1 << 20}, 200},
		{"more than is small", heapSize{smallHeap, 1 << 20}, 21},
		{"a large state without pointers", heapSize{2 << 30, 8 << 20}, 2},
		{"a large state, an eighth to look through", heapSize{8 << 30, 1 << 30}, 12},
		{"all of it", heapSize{8 << 30, 8 << 30}, 100},
		{"a very large state without pointers", heapSize{1 << 40, 1 << 20}, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := percentFor(c.heap); got != c.want {
				t.Errorf("%d, want %d", got, c.want)
			}
		})
	}
}

func TestAdjust(t *testing.T) {
	live, calls := uint64(0), []int(nil)
	c := &collector{set: func(percent int) { calls = append(calls, percent) }, heap: func() heapSize { return heapSize{live, live} }}
	for _, live = range []uint64{spareHeap, spareHeap - spareHeap/20, spareHeap / 2, spareHeap / 2, 10 * spareHeap} {
		c.adjust()
	}
	if len(calls) != 3 || calls[0] != 100 || calls[1] != 200 || calls[2] != 100 {
		t.Errorf("set %v", calls)
	}
}
