package queue

import (
	"testing"

	"github.com/seriatimq/seriatim/queue/logtime"
)

// attempt receives with an attempt id and returns the bodies or the error.
func (s *script) attempt(id string, limit, timeout int64) (string, *Error) {
	s.t.Helper()
	r, err := s.apply(&ReceiveMessages{
		Queue: s.queue, MaxMessages: Some(limit), VisibilityTimeout: Some(timeout), AttemptID: id, AttemptIDGiven: true,
	})
	if err != nil {
		return "", err
	}
	got := r.(MessagesReceived).Messages
	for _, m := range got {
		s.handles[m.Body.String()] = m.Handle.String()
	}
	return bodies(got), nil
}

const notRetryable = "Value A for parameter ReceiveRequestAttemptId is invalid. Reason: " +
	"The receiveRequestAttemptId is not valid anymore since the receive call is not retryable."

func TestReceiveAttempt(t *testing.T) {
	ymq := []Attribute{{Name: "ReceiveCompatibility", Value: "ymq"}}
	for _, c := range []struct {
		name       string
		attributes []Attribute
		between    string // steps after the first receive of a-1, a-2 with id A
		limit      int64
		want       string
		refused    bool
	}{
		{"at once", nil, "", 10, "a-1 a-2 ", false},
		{"the limit of a retry is ignored", nil, "", 1, "a-1 a-2 ", false},
		{"ymq: the limit of a retry is a cap", ymq, "", 1, "a-1 ", false},
		{"others get other messages meanwhile", nil, "s:b-1 r9=b-1", 10, "a-1 a-2 ", false},
		{"after a delete", nil, "d:a-1", 10, "", true},
		{"ymq: after a delete an ordinary receive", ymq, "d:a-1", 10, "", false},
		{"after a visibility change", nil, "v:a-2=60", 10, "", true},
		{"ymq: after a visibility change an ordinary receive", ymq, "v:a-2=60 s:b-1", 10, "b-1 ", false},
		{"after a time-out", nil, "t30", 10, "", true},
		{"ymq: after a time-out what nobody took", ymq, "t30", 10, "a-1 a-2 ", false},
		{"after another received it", nil, "t30 r1=a-1", 10, "", true},
		{"ymq: nothing passes what another received", ymq, "t30 r1=a-1", 10, "", false},
		{"ymq: what follows a message that is gone", ymq, "t30 r1=a-1 d:a-1", 10, "a-2 ", false},
		{"after its window", nil, "t300", 10, "a-1 a-2 ", false},
		{"a send to another group changes nothing", nil, "s:b-1", 10, "a-1 a-2 ", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newScript(t, c.attributes...)
			s.run("s:a-1 s:a-2")
			if got, err := s.attempt("A", 10, 30); got != "a-1 a-2 " {
				t.Fatalf("first receive %q %v", got, err)
			}
			before := s.handles["a-1"] + s.handles["a-2"]
			s.run(c.between)
			got, err := s.attempt("A", c.limit, 30)
			if refused := err != nil; refused != c.refused || refused && err.Message != notRetryable {
				t.Fatalf("retry refused: %v", err)
			}
			if got != c.want {
				t.Fatalf("retry received %q", got)
			}
			if c.between == "" && s.handles["a-1"]+s.handles["a-2"] != before {
				t.Fatal("the retry has other handles")
			}
		})
	}
}

func TestReplayKeepsCountsAndResetsVisibility(t *testing.T) {
	s := newScript(t)
	s.run("s:a-1")
	s.attempt("A", 1, 30)
	s.pass(20 * logtime.Second)
	s.attempt("A", 1, 30)
	s.run("t20 r9= t10")
	if got := s.receive("q.fifo", 1); got[0].ReceiveCount != 2 {
		t.Fatalf("receive count %d: a replay must not count", got[0].ReceiveCount)
	}
}

func TestEmptyReceiveLeavesNoAttempt(t *testing.T) {
	s := newScript(t)
	if got, _ := s.attempt("A", 1, 30); got != "" {
		t.Fatal(got)
	}
	s.run("s:a-1")
	if got, _ := s.attempt("A", 1, 30); got != "a-1 " {
		t.Fatalf("received %q", got)
	}
}

func TestVisibilityTimeoutZeroLeavesNoAttempt(t *testing.T) {
	s := newScript(t)
	s.run("s:a-1")
	for range 2 {
		if got, err := s.attempt("A", 1, 0); got != "a-1 " {
			t.Fatalf("received %q %v", got, err)
		}
	}
}

// A later attempt with the same id must not return messages of an expired one.
func TestAttemptGenerations(t *testing.T) {
	s := newScript(t, Attribute{Name: "ReceiveCompatibility", Value: "ymq"})
	s.run("s:a-1 s:b-1")
	s.attempt("A", 2, 30)
	s.run("d:a-1 s:c-1")
	if got, _ := s.attempt("A", 9, 30); got != "c-1 " {
		t.Fatalf("new generation received %q", got)
	}
	if got, _ := s.attempt("A", 9, 30); got != "c-1 " {
		t.Fatalf("its replay received %q", got)
	}
}

// A long poll uses AttemptKnown to detect a replay.
func TestAttemptKnown(t *testing.T) {
	s := newScript(t)
	s.run("s:a-1")
	known := func() bool { return s.b.View().AttemptKnown("q.fifo", "A") }
	if known() {
		t.Fatal("known before its first use")
	}
	s.attempt("A", 1, 30)
	if !known() {
		t.Fatal("unknown after its first use")
	}
	s.run("t300")
	s.must(&AdvanceClock{})
	if known() {
		t.Fatal("known after its window")
	}
}
