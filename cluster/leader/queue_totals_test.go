package leader

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"
)

func sentByQueue(c *QueueCounters) map[string]uint64 {
	sent := map[string]uint64{}
	c.Read(func(queue string, totals Totals) { sent[queue] = totals[Sent] })
	return sent
}

func TestQueueCounters(t *testing.T) {
	t.Parallel()
	c := NewQueueCounters(2)
	c.Add("a", Sent, 1)
	c.Add("b", Received, 5)
	c.Add("none", Sent, 0) // gets no counts of its own
	c.Add("c", Sent, 2)    // the limit is reached
	c.Add("a", Sent, 3)
	if diff := cmp.Diff(map[string]uint64{"a": 4, "b": 0, "": 2}, sentByQueue(c)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	c.Retire(func(queue string) bool { return queue == "a" })
	c.Add("d", Sent, 7) // takes the place of a
	if diff := cmp.Diff(map[string]uint64{"b": 0, "d": 7, "": 6}, sentByQueue(c)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// The counts of a queue do not keep the request with its name in memory.
func TestQueueCountersKeepNamesOnly(t *testing.T) {
	t.Parallel()
	request := strings.Repeat("q", 100)
	c := NewQueueCounters(1)
	c.Add(request[:5], Sent, 1)
	c.Read(func(queue string, _ Totals) {
		if queue != "" && unsafe.StringData(queue) == unsafe.StringData(request) {
			t.Error("a name is a part of its request")
		}
	})
}

// Concurrent Add and Retire lose no count.
func TestQueueCountersLoseNothing(t *testing.T) {
	t.Parallel()
	const goroutines, adds = 8, 2000
	c := NewQueueCounters(3)
	var adding sync.WaitGroup
	for g := range goroutines {
		adding.Go(func() {
			for i := range adds {
				c.Add(fmt.Sprint("q", (i+g)%5), Sent, 1)
				if i%100 == 0 {
					c.Retire(func(queue string) bool { return queue != "q0" })
				}
			}
		})
	}
	adding.Wait()
	total := uint64(0)
	for _, sent := range sentByQueue(c) { // order does not matter
		total += sent
	}
	if total != goroutines*adds {
		t.Errorf("%d counted, want %d", total, goroutines*adds)
	}
}
