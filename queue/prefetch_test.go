package queue

import (
	"slices"
	"strconv"
	"testing"
)

// The keys of a batch of commands are prefetched together, and every send uses its own, whichever
// commands are between the sends.
func TestIDsArePrefetchedInBatches(t *testing.T) {
	w := newWorld(t)
	w.create("q.fifo")
	send := func(id string) *SendMessages {
		return &SendMessages{Queue: "q.fifo", Entries: []SendEntry{{
			Body: "x", GroupID: "g", GroupIDGiven: true, DeduplicationID: id, DeduplicationIDGiven: true,
		}}}
	}
	var commands []Command
	for i := range prefetchBatch {
		commands = append(commands, send(strconv.Itoa(i)), &AdvanceClock{})
	}
	commands = append(commands, streamedSend(prefetchBatch, "x"), streamedSend(prefetchBatch-1, "x"), send("last"))
	w.b.scratch.prefetched.reset()
	var rounds []int
	for rest := commands; len(rest) > 0; {
		n := w.b.prefetch(rest)
		rounds = append(rounds, n)
		for _, cmd := range rest[:n] {
			if c, sends := cmd.(*SendMessages); sends {
				for i := range c.Entries {
					q, _ := w.b.queues.Get("q.fifo")
					ids := q.deduplicationIDs(&c.Entries[i], "")
					prefetched := &w.b.scratch.prefetched
					if next := prefetched.next; prefetched.withKey(ids) == ids || prefetched.next != next+1 {
						t.Fatalf("the key of id %s is not the next one", c.Entries[i].DeduplicationID)
					}
				}
			}
		}
		rest = rest[n:]
	}
	if want := []int{2*prefetchBatch - 1, 2, 2}; !slices.Equal(rounds, want) {
		t.Errorf("rounds of %v commands, not %v", rounds, want)
	}
}
