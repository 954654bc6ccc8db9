package server

import (
	"testing"
	"time"
)

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
		{"as much as is small", heapSize{smallHeap, 1 << 20}, 25},
		{"a million messages", heapSize{180 << 20, 10 << 20}, 26},
		{"a large state without pointers", heapSize{2 << 30, 8 << 20}, 25},
		{"a large state, half of it to look through", heapSize{8 << 30, 4 << 30}, 50},
		{"all of it", heapSize{8 << 30, 8 << 30}, 100},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := percentFor(c.heap, spareParts); got != c.want {
				t.Errorf("%d, want %d", got, c.want)
			}
		})
	}
}

func TestAdjust(t *testing.T) {
	live, calls := uint64(0), []int(nil)
	c := &collector{
		set: func(percent int) { calls = append(calls, percent) }, heap: func() heapSize { return heapSize{live, live} },
		now: func() time.Time { return time.Unix(0, 0) }, parts: spareParts, last: time.Unix(0, 0),
	}
	for _, live = range []uint64{spareHeap, spareHeap - spareHeap/20, spareHeap / 2, spareHeap / 2, 10 * spareHeap} {
		c.adjust()
	}
	if len(calls) != 3 || calls[0] != 100 || calls[1] != 200 || calls[2] != 100 {
		t.Errorf("set %v", calls)
	}
}

// An idle node permits little garbage, a busy one all of it. A heap that is expensive to scan is
// scanned less often.
func TestGarbageOfAnIdleNode(t *testing.T) {
	const little, much = 1 << 20, 1 << 30
	now := time.Unix(0, 0)
	c := &collector{now: func() time.Time { return now }}
	for i, step := range []struct {
		after     time.Duration
		scannable uint64
		want      uint64
	}{
		{0, little, 1},
		{time.Second, little, 2},
		{time.Second, little, 4},
		{3 * time.Second, little, 4},
		{time.Second, little, spareParts},
		{time.Second, little, spareParts},
		{7 * time.Second, little, 4},
		{time.Minute, little, 2},
		{time.Minute, little, 1},
		{time.Hour, little, 1},
		{time.Minute, much, 2},
		{2 * time.Minute, much, 2},
		{10 * time.Minute, much, 1},
	} {
		now = now.Add(step.after)
		if got := c.choosePart(heapSize{live: 2 * much, scannable: step.scannable}); got != step.want {
			t.Fatalf("step %d: %d parts, want %d", i, got, step.want)
		}
	}
	for _, heap := range []heapSize{{}, {spareHeap / 2, little}, {much, much}} {
		idle, busy := percentFor(heap, 1), percentFor(heap, spareParts)
		if idle < busy/spareParts-1 || idle > busy/spareParts+1 {
			t.Errorf("%+v: %d and %d", heap, idle, busy)
		}
	}
}
