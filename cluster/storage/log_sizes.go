package storage

import (
	"cmp"
	"slices"
	"sync"
)

// logSizes approximates the bytes of log after an index. The consensus library counts entries,
// which differ in size by a factor of thousands here. Safe for concurrent use.
type logSizes struct {
	granularity int64 // bytes between two points

	mu     sync.Mutex
	total  int64 // bytes appended since the start
	points []sizePoint
}

// sizePoint records that total bytes had been appended up to and including index.
type sizePoint struct {
	index uint64
	total int64
}

// pointsPerTrail: at most 1/16 more log is kept than asked for.
const pointsPerTrail = 16

func newLogSizes(trailingBytes int64) *logSizes {
	return &logSizes{granularity: max(1, min(trailingBytes/pointsPerTrail, 1<<20))}
}

// add counts an entry.
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

// forgetBefore and forgetFrom drop points when the log is shortened.
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

// find returns the position of the first point at or after index.
func (s *logSizes) find(index uint64) int {
	n, _ := slices.BinarySearchFunc(s.points, index, func(p sizePoint, index uint64) int { return cmp.Compare(p.index, index) })
	return n
}

// trailing returns the number of entries, counted back from last, that hold about bytes.
func (s *logSizes) trailing(last uint64, bytes int64) uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	n, _ := slices.BinarySearchFunc(s.points, s.total-bytes, func(p sizePoint, total int64) int { return cmp.Compare(p.total, total) })
	if n == len(s.points) || s.points[n].index > last {
		return 0
	}
	if n == 0 {
		// Everything that remains is within bytes.
		return last
	}
	return last - s.points[n].index
}
