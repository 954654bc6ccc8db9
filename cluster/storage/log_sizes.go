package storage

import (
	"cmp"
	"slices"
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

// sizePoint says that total bytes had been appended up to and with index.
type sizePoint struct {
	index uint64
	total int64
}

// pointsPerTrail bounds how much more than asked for is kept: one part in 16.
const pointsPerTrail = 16

func newLogSizes(trailingBytes int64) *logSizes {
	return &logSizes{granularity: max(1, min(trailingBytes/pointsPerTrail, 1<<20))}
}

// add notes an entry.
func (s *logSizes) add(index uint64, bytes int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.total += int64(bytes)
	if n := len(s.points); n == 0 || s.total-s.points[n-1].total >= s.granularity {
		s.points = append(s.points, sizePoint{index: index, total: s.total})
	}
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
	s.points = slices.Clone(s.points[s.find(index):])
}

func (s *logSizes) forgetFrom(index uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.points = s.points[:s.find(index)]
}

// find is the position of the first point at or behind index.
func (s *logSizes) find(index uint64) int {
	n, _ := slices.BinarySearchFunc(s.points, index, func(p sizePoint, index uint64) int { return cmp.Compare(p.index, index) })
	return n
}

// trailing is how many entries, counted back from last, hold about bytes.
func (s *logSizes) trailing(last uint64, bytes int64) uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	n, _ := slices.BinarySearchFunc(s.points, s.total-bytes, func(p sizePoint, total int64) int { return cmp.Compare(p.total, total) })
	if n == len(s.points) || s.points[n].index > last {
		return 0
	}
	if n == 0 {
		// Everything that is left is within bytes.
		return last
	}
	return last - s.points[n].index
}
