package transport

import (
	"sync/atomic"
	"time"
)

// audited reports whether an action changes who may do what, or takes away what cannot
// be got back: those are in the audit, whatever the level of the log is.
func audited(action string) bool {
	switch action {
	case "AddPermission", "RemovePermission", "SetQueueAttributes", "SetTopicAttributes", "CreateQueue", "CreateTopic", "DeleteQueue", "DeleteTopic",
		"PurgeQueue", "ForgetDeduplication", "ReleaseGroup", "StartMessageMoveTask", "StartMoveTask":
		return true
	}
	return false
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
