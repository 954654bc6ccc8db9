package leader

import (
	"sync/atomic"
	"time"

	"github.com/seriatimq/seriatim/fsm/codec"
)

// Request is one encoded command of a client.
type Request struct {
	Frame          []byte
	ID             codec.RequestID // zero: it has none
	MinimumVersion uint32          // the format version that all nodes must know to read it
	Deadline       time.Duration   // on the monotonic clock, for proposing; 0: none
	// Over is closed when the caller waits no longer, as the end of its ctx does; nil: never.
	Over <-chan struct{}
}

// Submission is a Request on its way into the log.
type Submission struct {
	Request
	// Complete takes the outcome, once, on any goroutine; it must not block.
	// It is not called after Cancel returned true.
	Complete func(Outcome)
	// essential commands find room when there is none for sends any more:
	// receives and deletes are what empties queues.
	essential bool
	state     atomic.Uint32
}

const (
	submissionWaiting uint32 = iota
	submissionTaken
	submissionCancelled
)

// Cancel reports whether the command will certainly never be proposed.
func (s *Submission) Cancel() bool {
	return s.state.CompareAndSwap(submissionWaiting, submissionCancelled) ||
		s.state.Load() == submissionCancelled
}

// abandon is the outcome for a caller that does not wait any longer.
func (s *Submission) abandon() Outcome {
	if s.Cancel() {
		return Outcome{Verdict: Expired}
	}
	return Outcome{Verdict: Unknown}
}

func (s *Submission) take() bool {
	return s.state.CompareAndSwap(submissionWaiting, submissionTaken)
}

// refuse completes a submission that nobody has cancelled, without the log.
func (s *Submission) refuse(o Outcome) {
	if s.take() {
		s.Complete(o)
	}
}

// Essential reports whether a command adds no messages, and no bytes either. Only those
// that do are refused under pressure, and have less room to wait in: moving messages to
// another queue adds none, a replay does, and who locks a session is about to empty it.
func Essential(frame []byte) bool { return !codec.AddsMessages(frame) }
