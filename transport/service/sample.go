package service

import (
	"sync"
	"sync/atomic"
	"time"
)

// refusalInterval is the least time between two audit records of refused calls without a key.
// Anyone who reaches the port can cause any number of them.
const refusalInterval = 30 * time.Second

// RefusalSample selects the refused calls without a key that are audited. The zero value is
// ready. Safe for concurrent use.
type RefusalSample struct {
	mu      sync.Mutex
	audited time.Time // of the last record
	leftOut int       // since then
}

// take reports whether to audit a call, and how many were left out before it.
func (s *RefusalSample) take(now func() time.Time) (leftOut int, ok bool) {
	if s == nil {
		return 0, true
	}
	at := now()
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.audited.IsZero() && at.Sub(s.audited) < refusalInterval {
		s.leftOut++
		return 0, false
	}
	leftOut, s.audited, s.leftOut = s.leftOut, at, 0
	return leftOut, true
}

// The first sampleAll calls of a second are logged, then one of samplePart.
const (
	sampleAll  = 100
	samplePart = 100
)

// Sample selects the calls that are logged, so that the log at level debug costs less than the
// calls. The zero value is ready. Safe for concurrent use.
type Sample struct {
	second atomic.Int64 // being counted
	count  atomic.Int64 // calls in it
}

// take returns for how many calls a log line stands; 0: the call is not logged.
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
