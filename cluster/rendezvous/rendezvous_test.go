package rendezvous

import (
	"sync"
	"testing"
)

// The second party continues the call, in both orders, again and again.
func TestSecondPartyContinues(t *testing.T) {
	t.Parallel()
	var r Rendezvous
	for range 2 {
		if !r.Suspend() {
			t.Fatal("nothing has happened, and the call was not suspended")
		}
		if !r.Resume() {
			t.Fatal("the call was suspended, and nothing continues it")
		}
		if r.Resume() || r.Resume() {
			t.Fatal("the call runs, and Resume continues it once more")
		}
		if r.Suspend() {
			t.Fatal("the event had happened, and the call was suspended")
		}
	}
}

// In any race exactly one goroutine continues the call, and it sees the writes of the event.
func TestRace(t *testing.T) {
	t.Parallel()
	const rounds, events = 2000, 3
	for range rounds {
		var r Rendezvous
		var happened [events]bool
		var mu sync.Mutex
		var all sync.WaitGroup
		continued := make(chan struct{}, events+1) // more than needed
		for i := range events {
			all.Go(func() {
				mu.Lock()
				happened[i] = true
				mu.Unlock()
				if r.Resume() {
					continued <- struct{}{}
				}
			})
		}
		if !r.Suspend() {
			continued <- struct{}{}
		}
		all.Wait()
		if len(continued) != 1 {
			t.Fatalf("%d goroutines continue the call", len(continued))
		}
	}
}
