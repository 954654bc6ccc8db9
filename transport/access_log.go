package transport

import (
	"sync"
	"sync/atomic"
	"time"
)

// Effect says what an action does; each table of actions states it for each.
type Effect uint8

// Effects. Zero is none of them, so that it cannot be left out by mistake.
const (
	// Reads changes nothing.
	Reads Effect = iota + 1
	// Changes changes something.
	Changes
	// Audited changes who may do what, or takes away what cannot be got back: that is in the
	// audit, whatever the level of the log is.
	Audited
)

// Repeat says whether a caller that got no answer may send the request again, perhaps to
// another node; each table of actions states it for each.
type Repeat uint8

// Values of Repeat. Zero is none of them, so that it cannot be left out by mistake.
const (
	// SentOnce is for a second request that could store something twice, undo what another
	// caller did meanwhile, or be refused for what the first has done.
	SentOnce Repeat = iota + 1
	// Repeatable is for a second request that has the outcome of the first.
	Repeatable
	// RepeatableWithID is Repeatable if the request has an id by which the queue or topic
	// recognises it.
	RepeatableWithID
)

// strangersPause is how long refused callers without a key are only counted after one was
// audited: whoever reaches the port can cause as many as he likes.
const strangersPause = 30 * time.Second

// Strangers chooses the refused callers without a key that are audited. The zero value is
// ready. Safe for concurrent use.
type Strangers struct {
	mu      sync.Mutex
	audited time.Time // when one was
	leftOut int       // since then
}

// take reports whether one is to be audited, and how many were left out before it.
func (s *Strangers) take(now func() time.Time) (leftOut int, ok bool) {
	if s == nil {
		return 0, true
	}
	at := now()
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.audited.IsZero() && at.Sub(s.audited) < strangersPause {
		s.leftOut++
		return 0, false
	}
	leftOut, s.audited, s.leftOut = s.leftOut, at, 0
	return leftOut, true
}

// Lines of a second before only a part of the requests is logged, and which part.
const (
	sampleAll  = 100
	samplePart = 100
)

// Sample chooses the requests that are logged: all while there are few, else a part,
// so that a log at debug does not cost more than what it is about. The zero value is
// ready. Safe for concurrent use.
type Sample struct {
	second atomic.Int64 // that is counted
	count  atomic.Int64 // requests in it
}

// take says for how many requests a line stands; 0: there is to be none.
func (s *Sample) take(now func() time.Time) (of int) {
	if s == nil {
		return 1
	}
	second := now().Unix()
	if before := s.second.Load(); before != second && s.second.CompareAndSwap(before, second) {
		s.count.Store(0)
	}
	switch n := s.count.Add(1); {
	case n <= sampleAll:
		return 1
	case n%samplePart == 0:
		return samplePart
	default:
		return 0
	}
}
