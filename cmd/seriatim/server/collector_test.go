package server

import "testing"

func TestPercentFor(t *testing.T) {
	for _, c := range []struct {
		name string
		live uint64
		want int64
	}{
		{"before the first collection", 0, collectorPercentMax},
		{"nearly nothing", 1 << 20, collectorPercentMax},
		{"as much as may gather", spareHeap, 100},
		{"half of it", spareHeap / 2, 200},
		{"a large state", 8 << 30, 100},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := percentFor(c.live); got != c.want {
				t.Errorf("%d, want %d", got, c.want)
			}
		})
	}
}

func TestAdjust(t *testing.T) {
	live, calls := uint64(0), []int(nil)
	c := &collector{set: func(percent int) { calls = append(calls, percent) }, live: func() uint64 { return live }}
	for _, live = range []uint64{spareHeap, spareHeap - spareHeap/20, spareHeap / 2, spareHeap / 2, 10 * spareHeap} {
		c.adjust()
	}
	if len(calls) != 3 || calls[0] != 100 || calls[1] != 200 || calls[2] != 100 {
		t.Errorf("set %v", calls)
	}
}
