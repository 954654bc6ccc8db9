package server

import (
	"runtime"
	"testing"
)

func TestPercentFor(t *testing.T) {
	for _, c := range []struct {
		name            string
		live, scannable uint64
		want            int64
	}{
		{"before the first collection", 0, 0, collectorPercentMax},
		{"nearly nothing", 1 << 20, 1 << 20, collectorPercentMax},
		{"as much as may gather", spareHeap, spareHeap, 100},
		{"half of it", spareHeap / 2, spareHeap / 2, 200},
		{"a large state, all of it to look through", 8 << 30, 8 << 30, 100},
		{"a third of it bodies", 6 << 30, 4 << 30, 66},
		{"bodies of which nothing is to look through", 4 * spareHeap, 1 << 20, 25},
		{"very many of them", 64 << 30, 1 << 20, collectorPercentMin},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := percentFor(c.live, c.scannable); got != c.want {
				t.Errorf("%d, want %d", got, c.want)
			}
		})
	}
}

func TestAdjust(t *testing.T) {
	live, calls := uint64(0), []int(nil)
	c := &collector{set: func(percent int) { calls = append(calls, percent) }, heap: func() (uint64, uint64) { return live, live }}
	for _, live = range []uint64{spareHeap, spareHeap - spareHeap/20, spareHeap / 2, spareHeap / 2, 10 * spareHeap} {
		c.adjust()
	}
	if len(calls) != 3 || calls[0] != 100 || calls[1] != 200 || calls[2] != 100 {
		t.Errorf("set %v", calls)
	}
}

// The runtime tells bodies from what it has to look through.
func TestCollectedHeap(t *testing.T) {
	const size = 64 << 20
	bodies := make([]byte, size)
	runtime.GC()
	live, scannable := collectedHeap()
	if live < size || live-scannable < size {
		t.Errorf("%d live, %d of it to look through, with %d that is not", live, scannable, size)
	}
	runtime.KeepAlive(bodies)
}
