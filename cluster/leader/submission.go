package leader

import (
	"sync/atomic"
	"time"

	"github.com/seriatimq/seriatim/fsm/codec"
)

// Request is a client's encoded command.
type Request struct {
	Frame          []byte
	ID             codec.RequestID // zero: none
	MinimumVersion uint32          // the format version that all nodes must have to read it
	Deadline       time.Duration   // for proposing, on the monotonic clock; 0: none
	// Over is closed when the caller stops waiting, like the end of its ctx; nil: never.
	Over <-chan struct{}
}

// Submission is a Request on its way to the log.
type Submission struct {
	Request
	// Complete receives the outcome, once, on any goroutine; it must not block. It is not called
	// after Cancel returned true.
	Complete func(Outcome)
	// essential commands may use the room that Limits.Room reserves.
	essential bool
	state     atomic.Uint32
}

const (
	submissionWaiting uint32 = iota
	submissionClaimed
	submissionCancelled
)

// Cancel reports whether the command is certain never to be proposed.
func (s *Submission) Cancel() bool {
	return s.state.CompareAndSwap(submissionWaiting, submissionCancelled) ||
		s.state.Load() == submissionCancelled
}

// abandon returns the outcome for a caller that stops waiting.
func (s *Submission) abandon() Outcome {
	if s.Cancel() {
		return Outcome{Verdict: Expired}
	}
	return Outcome{Verdict: Unknown}
}

func (s *Submission) claim() bool {
	return s.state.CompareAndSwap(submissionWaiting, submissionClaimed)
}

// refuse completes a submission without proposing it, unless it was cancelled.
func (s *Submission) refuse(o Outcome) {
	if s.claim() {
		s.Complete(o)
	}
}

// Essential reports whether a command adds neither messages nor bytes. Commands that add some are
// refused under pressure and have less room to wait. A move task adds none, a replay does; locking
// a session counts as essential because its holder is about to empty it.
func Essential(frame []byte) bool { return !codec.AddsMessages(frame) }
