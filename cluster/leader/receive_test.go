package leader

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seriatimq/seriatim/fsm/codec"
	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/refusal"
)

// poll receives like a client of the leader.
func (s *solo) poll(ctx context.Context, cmd queue.ReceiveMessages, wait time.Duration) Outcome {
	cmd.ShortPoll = wait == 0
	return s.await(ctx, &cmd, wait)
}

// await executes a command that waits.
func (s *solo) await(ctx context.Context, cmd queue.Command, wait time.Duration) Outcome {
	frame, err := codec.AppendCommand(nil, cmd)
	if err != nil {
		panic(err)
	}
	return s.receive(ctx, ReceiveRequest{Request: Request{Frame: frame, MinimumVersion: codec.MinimumVersion(cmd)}, Command: cmd,
		Wait: wait})
}

// bodies returns the message bodies of an answer.
func bodies(t *testing.T, o Outcome) []string {
	t.Helper()
	if o.Verdict != Answered || o.Response.Err != nil {
		t.Fatalf("not an answer: %+v", o)
	}
	got := []string{}
	for _, m := range o.Response.Result.(queue.MessagesReceived).Messages {
		got = append(got, m.Body.String())
	}
	return got
}

func handles(o Outcome) []string {
	var got []string
	for _, m := range o.Response.Result.(queue.MessagesReceived).Messages {
		got = append(got, m.Handle.String())
	}
	return got
}

const (
	standard = "orders"
	fifo     = "orders.fifo"
)

// TestLongPollWakes: sqs.md 5, "Wakes for".
func TestLongPollWakes(t *testing.T) {
	cases := []struct {
		name  string
		queue string
		setup func(*solo) (held []string) // returns handles of messages in flight
		event func(s *solo, held []string)
		want  []string
		after time.Duration // from the start of the poll
	}{
		{
			name: "a new message", queue: standard,
			event: func(s *solo, _ []string) { time.Sleep(3 * time.Second); s.send(standard, "new") },
			want:  []string{"new"}, after: 3 * time.Second,
		},
		{
			name: "a delay ends", queue: standard,
			setup: func(s *solo) []string {
				s.do(&queue.SendMessages{Queue: standard, Entries: []queue.SendEntry{{Body: "late", DelaySeconds: queue.Some(4)}}})
				return nil
			},
			want: []string{"late"}, after: 4 * time.Second,
		},
		{
			name: "a visibility timeout ends", queue: standard,
			setup: func(s *solo) []string {
				s.send(standard, "again")
				return handles(s.poll(s.t.Context(), queue.ReceiveMessages{Queue: standard, VisibilityTimeout: queue.Some(5)}, 0))
			},
			want: []string{"again"}, after: 5 * time.Second,
		},
		{
			name: "a visibility timeout is set to 0", queue: standard,
			setup: func(s *solo) []string {
				s.send(standard, "given back")
				return handles(s.poll(s.t.Context(), queue.ReceiveMessages{Queue: standard}, 0))
			},
			event: func(s *solo, held []string) {
				time.Sleep(time.Second)
				s.do(&queue.ChangeMessageVisibility{Queue: standard,
					Entries: []queue.VisibilityEntry{{Handle: held[0], VisibilityTimeout: queue.Some(0)}}})
			},
			want: []string{"given back"}, after: time.Second,
		},
		{
			name: "a delete unblocks a group", queue: fifo,
			setup: func(s *solo) []string {
				s.send(fifo, "one")
				s.send(fifo, "two")
				return handles(s.poll(s.t.Context(), queue.ReceiveMessages{Queue: fifo, MaxMessages: queue.Some(1)}, 0))
			},
			event: func(s *solo, held []string) {
				time.Sleep(2 * time.Second)
				s.do(&queue.DeleteMessages{Queue: fifo, Handles: held})
			},
			want: []string{"two"}, after: 2 * time.Second,
		},
		{
			name: "nothing happens", queue: standard,
			want: []string{}, after: 20 * time.Second,
		},
	}
	for _, test := range cases {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := startSolo(t)
				s.create(test.queue)
				var held []string
				if test.setup != nil {
					held = test.setup(s)
				}
				begun := time.Now()
				var other sync.WaitGroup
				if test.event != nil {
					other.Go(func() { test.event(s, held) })
				}
				got := bodies(t, s.poll(t.Context(), queue.ReceiveMessages{Queue: test.queue}, 20*time.Second))
				other.Wait()
				if diff := cmp.Diff(test.want, got); diff != "" {
					t.Fatal(diff)
				}
				// In fake time, only the rounding of deadlines to milliseconds and the clock
				// spacing add to the wait.
				if waited := time.Since(begun); waited < test.after || waited > test.after+2*clockCommandSpacing {
					t.Fatalf("waited %v, want %v", waited, test.after)
				}
			})
		})
	}
}

func TestLongPollEndsWithItsQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := startSolo(t)
		s.create(standard)
		var others sync.WaitGroup
		for range 3 {
			others.Go(func() {
				o := s.poll(t.Context(), queue.ReceiveMessages{Queue: standard}, 20*time.Second)
				if o.Verdict != Answered || o.Response.Err == nil || o.Response.Err.Code != refusal.QueueDoesNotExist {
					t.Errorf("got %+v, want that the queue does not exist", o)
				}
			})
		}
		synctest.Wait()
		begun := time.Now()
		s.do(&queue.DeleteQueue{Queue: standard})
		others.Wait()
		if waited := time.Since(begun); waited != 0 {
			t.Fatalf("told %v later", waited)
		}
	})
}

func TestReceiveOnUnknownQueue(t *testing.T) {
	for _, wait := range []time.Duration{0, time.Second, -1} {
		t.Run(wait.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := startSolo(t)
				o := s.poll(t.Context(), queue.ReceiveMessages{Queue: "unknown"}, wait)
				if o.Verdict != Answered || o.Response.Err == nil || o.Response.Err.Code != refusal.QueueDoesNotExist {
					t.Fatalf("got %+v", o)
				}
			})
		})
	}
}

// One message wakes one poll; the other keeps waiting.
func TestOneMessageGoesToOnePoll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := startSolo(t)
		s.create(standard)
		answers := make(chan Outcome, 10)
		var polls sync.WaitGroup
		for range 10 {
			polls.Go(func() { answers <- s.poll(t.Context(), queue.ReceiveMessages{Queue: standard}, 20*time.Second) })
		}
		synctest.Wait()
		before := s.group.CommitIndex()
		s.send(standard, "one")
		if got := bodies(t, <-answers); len(got) != 1 {
			t.Fatalf("got %v", got)
		}
		synctest.Wait()
		if len(answers) != 0 {
			t.Fatal("a second poll was answered")
		}
		if entries := s.group.CommitIndex() - before; entries != 1 {
			t.Fatalf("%d log entries for one send and the receive that is piggybacked on it", entries)
		}
		polls.Wait()
		for range 9 {
			if got := bodies(t, <-answers); len(got) != 0 {
				t.Fatalf("got %v from an empty queue", got)
			}
		}
	})
}

// Several messages serve several polls, one after another.
func TestTurnsPassOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := startSolo(t)
		s.create(standard)
		answers := make(chan Outcome, 10)
		var polls sync.WaitGroup
		for range 10 {
			polls.Go(func() {
				answers <- s.poll(t.Context(), queue.ReceiveMessages{Queue: standard, MaxMessages: queue.Some(1)}, 20*time.Second)
			})
		}
		synctest.Wait()
		begun := time.Now()
		var batch []queue.SendEntry
		for i := range 10 {
			batch = append(batch, queue.SendEntry{Body: fmt.Sprint(i)})
		}
		s.do(&queue.SendMessages{Queue: standard, Batch: true, Entries: batch})
		polls.Wait()
		if waited := time.Since(begun); waited != 0 {
			t.Fatalf("the last poll was answered %v later", waited)
		}
		for range 10 {
			if got := bodies(t, <-answers); len(got) != 1 {
				t.Fatalf("got %v", got)
			}
		}
	})
}

// A receive whose client has hung up takes nothing; its message goes to the next.
func TestCancelledPollConsumesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := startSolo(t)
		s.create(standard)
		ctx, cancel := context.WithCancel(t.Context())
		gone, stays := make(chan Outcome, 1), make(chan Outcome, 1)
		var polls sync.WaitGroup
		polls.Go(func() { gone <- s.poll(ctx, queue.ReceiveMessages{Queue: standard}, 20*time.Second) })
		synctest.Wait()
		polls.Go(func() { stays <- s.poll(t.Context(), queue.ReceiveMessages{Queue: standard}, 20*time.Second) })
		synctest.Wait()
		cancel()
		s.send(standard, "one")
		if o := <-gone; o.Verdict != Expired {
			t.Fatalf("the cancelled poll ended as %+v", o)
		}
		if got := bodies(t, <-stays); len(got) != 1 {
			t.Fatalf("got %v", got)
		}
		if o := s.poll(ctx, queue.ReceiveMessages{Queue: standard}, 0); o.Verdict != Expired {
			t.Fatalf("a receive of a client that has gone ended as %+v", o)
		}
		polls.Wait()
	})
}

func TestEmptyReceiveWritesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := startSolo(t)
		s.create(standard)
		before := s.group.CommitIndex()
		for _, wait := range []time.Duration{0, time.Second, -1} {
			o := s.poll(t.Context(), queue.ReceiveMessages{Queue: standard}, wait)
			if got := bodies(t, o); len(got) != 0 {
				t.Fatalf("got %v", got)
			}
			if o.At.Index != before {
				t.Fatalf("answered at index %d, want %d", o.At.Index, before)
			}
		}
		if after := s.group.CommitIndex(); after != before {
			t.Fatalf("%d log entries written", after-before)
		}
	})
}

// Only a leader that has proven its leadership gives an empty answer.
func TestEmptyReceiveOfADeposedLeader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := startSolo(t)
		s.create(standard)
		s.group.depose()
		if o := s.poll(t.Context(), queue.ReceiveMessages{Queue: standard}, 0); o.Verdict != NotProposed {
			t.Fatalf("got %+v", o)
		}
	})
}

func TestWaitOfTheQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := startSolo(t)
		s.create(standard, queue.Attribute{Name: "ReceiveMessageWaitTimeSeconds", Value: "7"})
		begun := time.Now()
		bodies(t, s.poll(t.Context(), queue.ReceiveMessages{Queue: standard}, -1))
		if waited := time.Since(begun); waited != 7*time.Second {
			t.Fatalf("waited %v", waited)
		}
		bodies(t, s.poll(t.Context(), queue.ReceiveMessages{Queue: standard}, 0))
		if waited := time.Since(begun); waited != 7*time.Second {
			t.Fatalf("a short poll waited %v", waited-7*time.Second)
		}
	})
}

// A receive finds a message that became visible by the leader's clock, without any entry since
// (faults.md I10).
func TestShortPollSeesEndedVisibility(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := startSolo(t)
		s.create(standard)
		s.send(standard, "one")
		bodies(t, s.poll(t.Context(), queue.ReceiveMessages{Queue: standard, VisibilityTimeout: queue.Some(1)}, 0))
		time.Sleep(time.Second)
		if got := bodies(t, s.poll(t.Context(), queue.ReceiveMessages{Queue: standard}, 0)); len(got) != 1 {
			t.Fatalf("got %v one second after a receive with one second of visibility", got)
		}
	})
}

// A receive finds its message behind more dead-letter candidates than one entry moves.
func TestShortPollPassesDeadLetters(t *testing.T) {
	for name, wait := range map[string]time.Duration{"short poll": 0, "long poll": 5 * time.Second} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := startSolo(t)
				s.create("dead")
				s.do(&queue.CreateQueue{Queue: standard, Attributes: []queue.Attribute{{
					Name:  "RedrivePolicy",
					Value: `{"deadLetterTargetArn":"arn:aws:sqs:us-east-1:000000000000:dead","maxReceiveCount":1}`,
				}}})
				const poison = 250
				for range poison {
					s.send(standard, "poison")
					s.poll(t.Context(), queue.ReceiveMessages{Queue: standard, VisibilityTimeout: queue.Some(1)}, 0)
				}
				s.send(standard, "good")
				time.Sleep(2 * time.Second)
				if diff := cmp.Diff([]string{"good"},
					bodies(t, s.poll(t.Context(), queue.ReceiveMessages{Queue: standard}, wait))); diff != "" {
					t.Fatalf("(-want +got):\n%s", diff)
				}
				before := s.group.CommitIndex()
				if got := bodies(t, s.poll(t.Context(), queue.ReceiveMessages{Queue: standard}, 0)); len(got) != 0 ||
					s.group.CommitIndex() != before {
					t.Fatalf("received %q, and wrote %d entries", got, s.group.CommitIndex()-before)
				}
			})
		})
	}
}

// An empty answer holds for its log time: a visibility timeout that ended by then counts, even if
// no entry of the queue has passed it.
func TestEmptyAnswerHoldsAtItsLogTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := startSolo(t)
		for _, name := range []string{standard, fifo, "other"} {
			s.create(name)
		}
		for _, name := range []string{standard, fifo} {
			// The first timeout starts a pause of clockCommandSpacing; the second ends 2 ms later.
			s.send(name, "one")
			bodies(t, s.poll(t.Context(), queue.ReceiveMessages{Queue: name, VisibilityTimeout: queue.Some(1)}, 0))
			time.Sleep(2 * time.Millisecond)
		}
		time.Sleep(time.Second - 3*time.Millisecond)
		s.group.confirmTakes = 5 * time.Millisecond // 1 ms before the end
		answer := make(chan Outcome, 1)
		go func() { answer <- s.poll(t.Context(), queue.ReceiveMessages{Queue: fifo}, 0) }()
		time.Sleep(2 * time.Millisecond)
		s.send("other", "moves log time on")
		if o := <-answer; len(bodies(t, o)) == 0 {
			t.Fatalf("nothing at log time %d, %v after a receive with one second of visibility", o.At.LogTime, time.Second+time.Millisecond)
		}
	})
}

func TestAttemptIsReplayed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := startSolo(t)
		s.create(fifo)
		s.send(fifo, "one")
		cmd := queue.ReceiveMessages{Queue: fifo, AttemptID: "a", AttemptIDGiven: true}
		first := s.poll(t.Context(), cmd, 0)
		bodies(t, first)
		for _, wait := range []time.Duration{0, 20 * time.Second} {
			begun := time.Now()
			again := s.poll(t.Context(), cmd, wait)
			if diff := cmp.Diff(handles(first), handles(again)); diff != "" || len(handles(first)) != 1 {
				t.Fatalf("a replay gave other receipt handles: %s", diff)
			}
			if waited := time.Since(begun); waited != 0 {
				t.Fatalf("a replay took %v", waited)
			}
		}
	})
}

// Thousands of idle polls cost nothing while they wait, and share the confirmation at their end.
func TestIdlePollsShareTheirEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := startSolo(t)
		s.create(standard)
		before, confirmed := s.group.CommitIndex(), s.group.confirmed
		s.group.confirmTakes = time.Millisecond
		var polls sync.WaitGroup
		for range 10_000 {
			polls.Go(func() {
				if o := s.poll(t.Context(), queue.ReceiveMessages{Queue: standard}, 20*time.Second); !o.ReceivedNothing() {
					t.Errorf("got %+v", o)
				}
			})
		}
		synctest.Wait()
		if waiting := s.waiting.number(); waiting != 10_000 {
			t.Fatalf("%d wait", waiting)
		}
		polls.Wait()
		if s.group.CommitIndex() != before {
			t.Fatal("idle polls wrote log entries")
		}
		if n := s.group.confirmed - confirmed; n > 2 {
			t.Fatalf("leadership confirmed %d times for 10000 answers at one moment", n)
		}
		if waiting := s.waiting.number(); waiting != 0 {
			t.Fatalf("%d still wait", waiting)
		}
	})
}

// When leadership ends, a waiting receive returns to its caller without effect, for the next
// leader.
func TestLostLeadershipReturnsPolls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := startSolo(t)
		s.create(standard)
		answer := make(chan Outcome, 1)
		var polls sync.WaitGroup
		polls.Go(func() { answer <- s.poll(t.Context(), queue.ReceiveMessages{Queue: standard}, 20*time.Second) })
		synctest.Wait()
		s.stop()
		polls.Wait()
		if o := <-answer; o.Verdict != NotProposed {
			t.Fatalf("got %+v", o)
		}
	})
}
