package leader

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seriatimq/seriatim/fsm/codec"
	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/refusal"
)

// acceptNext accepts the next session like a client of the leader.
func (s *solo) acceptNext(ctx context.Context, wait time.Duration) (queue.SessionLocked, Outcome) {
	cmd := &queue.AcceptSession{Queue: fifo}
	frame, err := codec.AppendCommand(nil, cmd)
	if err != nil {
		panic(err)
	}
	o := s.receive(ctx, ReceiveRequest{Request: Request{Frame: frame, MinimumVersion: codec.MinimumVersion(cmd)}, Command: cmd, Wait: wait})
	locked, _ := o.Response.Result.(queue.SessionLocked)
	return locked, o
}

// refOf returns the reference to a session's lock.
func refOf(locked queue.SessionLocked) queue.SessionRef {
	return queue.SessionRef{SessionID: locked.SessionID, Token: locked.Token.String()}
}

// sendTo sends a message to a group.
func (s *solo) sendTo(group, body string) {
	s.do(&queue.SendMessages{Queue: fifo, Entries: []queue.SendEntry{{
		Body: body, GroupID: group, GroupIDGiven: true, DeduplicationID: body, DeduplicationIDGiven: true,
	}}})
}

// Each of these events ends the wait for a free session.
func TestAcceptNextWakes(t *testing.T) {
	cases := []struct {
		name  string
		setup func(*solo)
		event func(*solo)
		want  string
		after time.Duration
	}{
		{name: "a message of a new session", event: func(s *solo) { time.Sleep(3 * time.Second); s.sendTo("a", "1") }, want: "a",
			after: 3 * time.Second},
		{
			name:  "the end of a lock",
			setup: func(s *solo) { s.sendTo("a", "1"); s.do(&queue.AcceptSession{Queue: fifo, LockSeconds: queue.Some(5)}) },
			want:  "a", after: 5 * time.Second,
		},
		{
			name: "the time of a scheduled message",
			setup: func(s *solo) {
				s.do(&queue.SendMessages{Queue: fifo, Entries: []queue.SendEntry{{
					Body: "1", GroupID: "a", GroupIDGiven: true, DeduplicationID: "1", DeduplicationIDGiven: true,
					Options: &queue.SendOptions{EnqueueAt: queue.Timestamp(time.Now().Add(4 * time.Second).UnixMilli())},
				}}})
			},
			want: "a", after: 4 * time.Second,
		},
		{
			name: "the end of a visibility timeout",
			setup: func(s *solo) {
				s.sendTo("a", "1")
				s.poll(s.t.Context(), queue.ReceiveMessages{Queue: fifo, VisibilityTimeout: queue.Some(6)}, 0)
			},
			want: "a", after: 6 * time.Second,
		},
		{name: "nothing", want: "", after: 20 * time.Second},
	}
	for _, test := range cases {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := startSolo(t)
				s.create(fifo)
				if test.setup != nil {
					test.setup(s)
				}
				begun := time.Now()
				var other sync.WaitGroup
				if test.event != nil {
					other.Go(func() { test.event(s) })
				}
				entries := s.options.Counters.Entries.Load()
				locked, o := s.acceptNext(t.Context(), 20*time.Second)
				other.Wait()
				if o.Verdict != Answered || o.Response.Err != nil || locked.SessionID != test.want {
					t.Fatalf("accepted %q: %+v", locked.SessionID, o)
				}
				if test.want == "" && s.options.Counters.Entries.Load() != entries {
					t.Error("an acceptance that found nothing was written")
				}
				if waited := time.Since(begun); waited < test.after || waited > test.after+2*clockCommandSpacing {
					t.Fatalf("waited %v, want %v", waited, test.after)
				}
			})
		})
	}
}

// Messages of a session wake its holder only, one at a time, and so does the end of its lock.
func TestReceiveInSessionWakes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := startSolo(t)
		s.create(fifo)
		s.sendTo("a", "1")
		s.sendTo("b", "2")
		first, _ := s.acceptNext(t.Context(), 0)
		second, _ := s.acceptNext(t.Context(), 0)
		if first.SessionID != "a" || second.SessionID != "b" {
			t.Fatalf("accepted %q and %q", first.SessionID, second.SessionID)
		}
		receive := func(locked queue.SessionLocked) Outcome {
			return s.poll(t.Context(), queue.ReceiveMessages{
				Queue: fifo, MaxMessages: queue.Some(10), Options: &queue.ReceiveOptions{Session: refOf(locked)},
			}, 20*time.Second)
		}
		for locked, body := range map[queue.SessionLocked]string{first: "1", second: "2"} {
			if diff := cmp.Diff([]string{body}, bodies(t, receive(locked))); diff != "" {
				t.Fatal(diff)
			}
		}
		var waiting sync.WaitGroup
		begun := time.Now()
		waiting.Go(func() {
			if got := bodies(t, receive(first)); len(got) != 1 || got[0] != "3" || time.Since(begun) != time.Second {
				t.Errorf("the holder of a received %v after %v", got, time.Since(begun))
			}
		})
		waiting.Go(func() {
			if o := receive(second); o.Response.Err == nil || o.Response.Err.Code != refusal.SessionLockLost ||
				time.Since(begun) != 2*time.Second {
				t.Errorf("the holder of b was answered %+v after %v", o, time.Since(begun))
			}
		})
		time.Sleep(time.Second)
		s.sendTo("a", "3")
		time.Sleep(time.Second)
		s.do(&queue.ReleaseGroup{Queue: fifo, Group: "b"})
		waiting.Wait()
		if s.WaitingReceives() != 0 || len(s.waiting.queues) != 0 {
			t.Errorf("%d wait, at %d places", s.WaitingReceives(), len(s.waiting.queues))
		}
	})
}

// The deletion of a queue ends all waits for its sessions.
func TestWaitingForSessionsEndsWithTheQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := startSolo(t)
		s.create(fifo)
		locked := s.do(&queue.AcceptSession{Queue: fifo, SessionID: "a", SessionIDGiven: true}).(queue.SessionLocked)
		var others sync.WaitGroup
		check := func(o Outcome) {
			if o.Verdict != Answered || o.Response.Err == nil || o.Response.Err.Code != refusal.QueueDoesNotExist {
				t.Errorf("got %+v", o)
			}
		}
		others.Go(func() {
			check(s.poll(t.Context(), queue.ReceiveMessages{Queue: fifo, Options: &queue.ReceiveOptions{Session: refOf(locked)}},
				20*time.Second))
		})
		others.Go(func() {
			_, o := s.acceptNext(t.Context(), 20*time.Second)
			check(o)
		})
		synctest.Wait()
		s.do(&queue.DeleteQueue{Queue: fifo})
		others.Wait()
	})
}
