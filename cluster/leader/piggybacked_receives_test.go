package leader

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seriatimq/seriatim/fsm/codec"
	"github.com/seriatimq/seriatim/queue"
)

// commandsOf counts the commands in the log.
func commandsOf(s *solo) float64 {
	_, sum := s.options.Counters.BatchCommands.Read(func(float64, uint64) {})
	return sum
}

// A piggybacked receive that finds nothing adds one command, is not repeated with every send, and
// is answered when its group is free.
func TestPiggybackedReceiveInVain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := startSolo(t)
		s.create(fifo)
		s.send(fifo, "one")
		held := handles(s.poll(t.Context(), queue.ReceiveMessages{Queue: fifo, MaxMessages: queue.Some(1)}, 0))
		answer := make(chan Outcome, 1)
		go func() {
			answer <- s.poll(t.Context(), queue.ReceiveMessages{Queue: fifo, MaxMessages: queue.Some(1)}, 20*time.Second)
		}()
		synctest.Wait()
		before, commands := s.group.CommitIndex(), commandsOf(s)
		for _, body := range []string{"two", "three", "four"} {
			s.send(fifo, body)
			synctest.Wait()
		}
		if got := s.group.CommitIndex() - before; got != 3 || len(answer) != 0 {
			t.Fatalf("%d entries for three sends, %d answers", got, len(answer))
		}
		if got := commandsOf(s) - commands; got != 4 {
			t.Fatalf("%v commands, want three sends and one receive", got)
		}
		s.do(&queue.DeleteMessages{Queue: fifo, Handles: held})
		if diff := cmp.Diff([]string{"two"}, bodies(t, <-answer)); diff != "" {
			t.Fatal(diff)
		}
	})
}

// After its client hangs up, a piggybacked receive hands out nothing if it was not proposed;
// otherwise its outcome is unknown.
func TestHangUpOfAPiggybackedReceive(t *testing.T) {
	for _, test := range []struct {
		name     string
		proposed bool
		want     Verdict
	}{{"waiting to be proposed", false, Expired}, {"in the log", true, Unknown}} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := startSolo(t)
				s.create(standard)
				ctx, hangUp := context.WithCancel(t.Context())
				answer := make(chan Outcome, 1)
				go func() { answer <- s.poll(ctx, queue.ReceiveMessages{Queue: standard}, 20*time.Second) }()
				synctest.Wait()
				receive := s.waiting.piggyback([]byte(standard))
				if test.proposed {
					receive.claim()
				}
				hangUp()
				if o := <-answer; o.Verdict != test.want {
					t.Fatalf("got %+v", o)
				}
			})
		})
	}
}

// A piggybacked receive in flight at the end of the wait gives the answer, even an empty one.
func TestPiggybackedReceiveAtTheEndOfAWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := startSolo(t)
		s.create(standard)
		answer := make(chan Outcome, 1)
		go func() { answer <- s.poll(t.Context(), queue.ReceiveMessages{Queue: standard}, 20*time.Second) }()
		synctest.Wait()
		receive := s.waiting.piggyback([]byte(standard))
		time.Sleep(21 * time.Second)
		if len(answer) != 0 {
			t.Fatal("answered before the outcome of the receive is known")
		}
		at := Position{Index: 7}
		receive.Complete(Outcome{Verdict: Answered, Response: codec.Response{Result: queue.MessagesReceived{}}, At: at})
		if o := <-answer; !o.ReceivedNothing() || o.At != at {
			t.Fatalf("got %+v", o)
		}
	})
}
