package leader

import (
	"context"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seriatimq/seriatim/fsm"
	"github.com/seriatimq/seriatim/queue"
)

// commandsOf counts the commands in the log.
func commandsOf(s *solo) float64 {
	return math.Float64frombits(s.options.Counters.BatchCommands.sum.Load())
}

// A ride that finds nothing writes nothing but itself, is not repeated with every
// send, and the poll is served when its group is free again.
func TestRideInVain(t *testing.T) {
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
			t.Fatalf("%v commands, want three sends and one ride", got)
		}
		s.do(&queue.DeleteMessages{Queue: fifo, Handles: held})
		if diff := cmp.Diff([]string{"two"}, bodies(t, <-answer)); diff != "" {
			t.Fatal(diff)
		}
	})
}

// Who hangs up during a ride gets nothing if it was not proposed, and nobody
// knows if it was.
func TestHangUpDuringARide(t *testing.T) {
	for _, test := range []struct {
		name     string
		proposed bool
		want     Verdict
	}{{"waiting in the committer", false, Expired}, {"in the log", true, Unknown}} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := startSolo(t)
				s.create(standard)
				ctx, hangUp := context.WithCancel(t.Context())
				answer := make(chan Outcome, 1)
				go func() { answer <- s.poll(ctx, queue.ReceiveMessages{Queue: standard}, 20*time.Second) }()
				synctest.Wait()
				ride := s.waiting.piggyback([]byte(standard))
				if test.proposed {
					ride.take()
				}
				hangUp()
				if o := <-answer; o.Verdict != test.want {
					t.Fatalf("got %+v", o)
				}
			})
		})
	}
}

// A ride that is under way when the time is up gives the answer, also an empty one.
func TestRideAtTheEndOfAWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := startSolo(t)
		s.create(standard)
		answer := make(chan Outcome, 1)
		go func() { answer <- s.poll(t.Context(), queue.ReceiveMessages{Queue: standard}, 20*time.Second) }()
		synctest.Wait()
		ride := s.waiting.piggyback([]byte(standard))
		time.Sleep(21 * time.Second)
		if len(answer) != 0 {
			t.Fatal("answered before the outcome of the ride is known")
		}
		at := Position{Index: 7}
		ride.Complete(Outcome{Verdict: Answered, Response: fsm.Response{Result: queue.MessagesReceived{}}, At: at})
		if o := <-answer; !o.ReceivedNothing() || o.At != at {
			t.Fatalf("got %+v", o)
		}
	})
}
