//go:build !faults

package queue

import "github.com/tidwall/btree"

// What a fault build breaks on purpose is in plant_faults.go. In this build all
// of it is nothing, and the compiler leaves out what depends on it.

func planted(int) bool { return false }

func plantedFollower(int) bool { return false }

func plantedNow(now Timestamp) Timestamp { return now }

func pass(string) {}

func (q *Queue) forgetOriginal(keyed, *Message) {}

func (q *Queue) extendWindow(keyed, deduplicationRecord, Timestamp) {}

func (q *Queue) releaseGroup(*Message, Timestamp) {}

func (q *Queue) keepInFlight(keyed, *btree.Map[uint64, *Message], Timestamp) {}

func (q *Queue) lastKnownSequence() uint64 { return q.lastSequence }

func (s *selection) takeReturnedLast(string) {}

func (s *selection) runInMapOrder() {}
