package queue

import (
	"slices"
	"strconv"
	"testing"
)

// Ids are read ahead for some commands at a time, and every send finds its key, whatever
// stands between the sends and wherever one round ends.
func TestIDsOfAnEntryAreSoughtInRounds(t *testing.T) {
	w := newWorld(t)
	w.create("q.fifo")
	send := func(id string) *SendMessages {
		return &SendMessages{Queue: "q.fifo", Entries: []SendEntry{{
			Body: "x", GroupID: "g", GroupIDGiven: true, DeduplicationID: id, DeduplicationIDGiven: true,
		}}}
	}
	var commands []Command
	for i := range soughtTogether {
		commands = append(commands, send(strconv.Itoa(i)), &AdvanceClock{})
	}
	commands = append(commands, streamedSend(soughtTogether, "x"), streamedSend(soughtTogether-1, "x"), send("last"))
	w.b.sought.reset()
	var rounds []int
	for rest := commands; len(rest) > 0; {
		n := w.b.seek(rest)
		rounds = append(rounds, n)
		for _, cmd := range rest[:n] {
			if c, sends := cmd.(*SendMessages); sends {
				for i := range c.Entries {
					q, _ := w.b.queues.Get("q.fifo")
					ids := q.deduplicationIDs(&c.Entries[i], "")
					if next := w.b.sought.next; w.b.sought.complete(ids) == ids || w.b.sought.next != next+1 {
						t.Fatalf("the key of id %s is not the next one", c.Entries[i].DeduplicationID)
					}
				}
			}
		}
		rest = rest[n:]
	}
	if want := []int{2*soughtTogether - 1, 2, 2}; !slices.Equal(rounds, want) {
		t.Errorf("rounds of %v commands, not %v", rounds, want)
	}
}
