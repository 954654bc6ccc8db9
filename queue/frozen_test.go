package queue

import (
	"math"
	"sync"
	"testing"

	"github.com/seriatimq/seriatim/queue/logtime"
)

// Another goroutine reads a Frozen state during commands. It must see the state at the Freeze,
// without data races.
func TestFrozenStandsStill(t *testing.T) {
	f := newFiller(t)
	for f.n < 2000 {
		f.send(t, 50)
	}
	var readers sync.WaitGroup
	for range 4 {
		frozen, want := f.b.Freeze(), f.n
		readers.Go(func() {
			restored, err := restore(frozen)
			if err != nil {
				t.Error(err)
				return
			}
			q, _ := restored.queues.Get("q.fifo")
			if restored.StateHash() != frozen.StateHash() || int(q.lastSequence) != want {
				t.Errorf("frozen after %d sends, restored %d with hash %x, want %x",
					want, q.lastSequence, restored.StateHash(), frozen.StateHash())
			}
		})
		for range 500 {
			f.at += 100
			f.send(t, 50)
			f.cycle(t)
		}
	}
	readers.Wait()
}

func restore(f *Frozen) (*Broker, error) {
	r, err := NewRestorer(f.Broker())
	if err != nil {
		return nil, err
	}
	return r.restore(f)
}

// A replica restored while due timers are pending must behave as the original.
func TestRestoreWithUnfiredTimers(t *testing.T) {
	f := newFiller(t)
	for f.n < 3*expiryBudget {
		f.send(t, math.MaxInt32)
	}
	for range f.n / 10 {
		f.must(t, &ReceiveMessages{Queue: "q.fifo", MaxMessages: Some(10)})
	}
	f.at += Timestamp(logtime.Minute)
	f.must(t, &AdvanceClock{})
	twin, err := restore(f.b.Freeze())
	if err != nil {
		t.Fatal(err)
	}
	if err := f.b.CheckInvariants(); err != nil {
		t.Fatal(err)
	}
	for range 400 {
		f.at++
		c := &ReceiveMessages{Queue: "q.fifo", MaxMessages: Some(10)}
		ours, _ := f.b.Apply(f.at, c)
		theirs, _ := twin.Apply(f.at, c)
		a, b := bodies(ours.(MessagesReceived).Messages), bodies(theirs.(MessagesReceived).Messages)
		if a != b || f.b.StateHash() != twin.StateHash() {
			t.Fatalf("received %q and %q", a, b)
		}
	}
}
