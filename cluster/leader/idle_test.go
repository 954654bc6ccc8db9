package leader

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/seriatimq/seriatim/queue"
)

func (s *solo) exists(name string) (exists bool) {
	s.options.Replica.Read(func(v queue.View) { exists = v.QueueExists(name) })
	return exists
}

var idleAfter = queue.Attribute{Name: "AutoDeleteOnIdleSeconds", Value: "300"}

// TestReadsKeepAQueue reads an empty queue for an hour. The log has one entry for each tenth of the interval,
// and none while the queue is idle, until the one that deletes it.
func TestReadsKeepAQueue(t *testing.T) {
	for name, receive := range map[string]func(*solo){
		"long polls":  func(s *solo) { s.poll(s.t.Context(), queue.ReceiveMessages{Queue: fifo}, 20*time.Second) },
		"short polls": func(s *solo) { s.poll(s.t.Context(), queue.ReceiveMessages{Queue: fifo}, 0); time.Sleep(time.Second) },
		"peeks": func(s *solo) {
			if o := s.await(s.t.Context(), &queue.NoteUse{Queue: fifo}, 0); o.Verdict != Answered || o.Response.Err != nil {
				s.t.Fatalf("got %+v", o)
			}
			time.Sleep(time.Second)
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := startSolo(t)
				s.create(fifo, idleAfter)
				before := s.group.CommitIndex()
				for end := time.Now().Add(time.Hour); time.Now().Before(end); {
					receive(s)
				}
				entries := s.group.CommitIndex() - before
				if !s.exists(fifo) || entries < 60 || entries > 121 {
					t.Fatalf("the queue exists: %v, with %d entries", s.exists(fifo), entries)
				}
				before = s.group.CommitIndex()
				time.Sleep(299 * time.Second) // a second after the last read
				if !s.exists(fifo) || s.group.CommitIndex() != before {
					t.Fatalf("the queue exists after its interval: %v, with %d entries", s.exists(fifo), s.group.CommitIndex()-before)
				}
				time.Sleep(32 * time.Second)
				if s.exists(fifo) || s.group.CommitIndex() != before+1 {
					t.Fatalf("the idle queue exists: %v, with %d entries", s.exists(fifo), s.group.CommitIndex()-before)
				}
				time.Sleep(24 * time.Hour)
				if s.group.CommitIndex() != before+1 {
					t.Errorf("%d entries after the deletion", s.group.CommitIndex()-before)
				}
			})
		})
	}
}

// TestIdleTimeBeginsWithTheLeader ends a term for a day: clients had no chance to use the queue.
func TestIdleTimeBeginsWithTheLeader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := startSolo(t)
		s.create(fifo, idleAfter)
		s.create(standard, idleAfter)
		s.End()
		time.Sleep(24 * time.Hour)
		s.next()
		time.Sleep(329 * time.Second)
		s.send(standard, "x")
		if !s.exists(fifo) {
			t.Error("the queue was deleted early")
		}
		time.Sleep(2 * time.Second)
		if s.exists(fifo) || !s.exists(standard) {
			t.Errorf("%s exists: %v, %s exists: %v", fifo, s.exists(fifo), standard, s.exists(standard))
		}
	})
}

// TestDeletionEndsPolls deletes a queue under a receive that waits: its time counts from its beginning.
func TestDeletionEndsPolls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := startSolo(t)
		s.create(standard, idleAfter)
		o := s.poll(t.Context(), queue.ReceiveMessages{Queue: standard}, 400*time.Second)
		if o.Verdict != Answered || o.Response.Err == nil || s.exists(standard) {
			t.Errorf("got %+v", o)
		}
	})
}
