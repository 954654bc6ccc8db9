package storage

import (
	"sort"
	"sync"
)

// logSizes knows how many bytes of log lie behind an index, roughly. The
// consensus library counts entries when it decides what to snapshot and what to
// keep; entries here differ in size by a factor of thousands. Safe for
// concurrent use.
type logSizes struct {
	granularity int64 // bytes between two points

	mu     sync.Mutex
	total  int64 // bytes appended since the start
	points []sizePoint
}

// sizePoint: up to and with index, total bytes had been appended.
type sizePoint struct {
	index uint64
	total int64
}

// pointsPerTrail bounds how much more than asked for is kept: one part in 16.
const pointsPerTrail = 16

func newLogSizes(trailingBytes int64) *logSizes {
	return &logSizes{granularity: max(1, min(trailingBytes/pointsPerTrail, 1<<20))}
}

// add notes an entry and returns the bytes appended so far.
func (s *logSizes) add(index uint64, bytes int) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.total += int64(bytes)
	if n := len(s.points); n == 0 || s.total-s.points[n-1].total >= s.granularity {
		s.points = append(s.points, sizePoint{index: index, total: s.total})
	}
	return s.total
}

func (s *logSizes) appended() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.total
}

// forgetBefore and forgetFrom follow the log when it is shortened.
func (s *logSizes) forgetBefore(index uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := sort.Search(len(s.points), func(i int) bool { return s.points[i].index >= index })
	s.points = append([]sizePoint(nil), s.points[n:]...)
}

func (s *logSizes) forgetFrom(index uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := sort.Search(len(s.points), func(i int) bool { return s.points[i].index >= index })
	s.points = s.points[:n]
}

// trailing is how many entries, counted back from last, hold about bytes.
func (s *logSizes) trailing(last uint64, bytes int64) uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := sort.Search(len(s.points), func(i int) bool { return s.total-s.points[i].total <= bytes })
	if n == len(s.points) || s.points[n].index > last {
		return 0
	}
	if n == 0 {
		// Everything that is left is within bytes.
		return last
	}
	return last - s.points[n].index
}
