//go:build faults

package queue

import "github.com/tidwall/btree"

// Plants is what a fault run asks and tells of the bugs that it has planted in
// this process, see fsm/plant. It is set before the first command and never after.
type Plants struct {
	Is    func(n int) bool
	Leads func() bool
	Now   func() Timestamp // of this machine, which no rule may ask for
	Hit   func(place string)
}

var plants Plants

// Plant connects the rules with a fault run.
func Plant(p Plants) { plants = p }

func planted(n int) bool { return plants.Is != nil && plants.Is(n) }

func plantedFollower(n int) bool { return planted(n) && !plants.Leads() }

// plantedNow is bug 4: windows measured with the clock of the machine.
func plantedNow(now Timestamp) Timestamp {
	if planted(4) {
		return plants.Now()
	}
	return now
}

func pass(place string) {
	if plants.Hit != nil {
		plants.Hit(place)
	}
}

// forgetOriginal is bug 5: the id of a message goes with it.
func (q *Queue) forgetOriginal(k keyed, m *Message) {
	w := &q.deduplication
	if !planted(5) {
		return
	}
	for place := w.accepted.front; place < w.accepted.end; place++ {
		if w.accepted.at(place).order() == m.sequence<<1 {
			r := w.forget(place)
			q.sums.deduplication.sub(r.sum(k, q.incarnation))
			return
		}
	}
}

// extendWindow is bug 6: a duplicate begins the window anew.
func (q *Queue) extendWindow(k keyed, r deduplicationRecord, now Timestamp) {
	if !planted(6) {
		return
	}
	place, _ := q.deduplication.find(r.key)
	q.sums.deduplication.sub(r.sum(k, q.incarnation))
	r.acceptedAt = now
	*q.deduplication.accepted.change(place) = r
	q.sums.deduplication.add(r.sum(k, q.incarnation))
}

// releaseGroup is bug 10: whatever is deleted in a group, its next message is
// handed out, also past one in flight.
func (q *Queue) releaseGroup(m *Message, now Timestamp) {
	if !planted(10) || !q.ordered(m) {
		return
	}
	q.groups.walk(m.group, func(sequence uint64) bool {
		next, _ := q.messages.Get(sequence)
		if next.delivered() || q.availableAt(next) > now {
			return true
		}
		q.ready.fresh.Set(q.readyKey(next))
		return false
	})
}

// keepInFlight is bug 23: a purge does not see what is in flight.
func (q *Queue) keepInFlight(k keyed, messages *btree.Map[uint64, *Message], now Timestamp) {
	if !planted(23) {
		return
	}
	messages.Scan(func(_ uint64, m *Message) bool {
		if m.delivered() && m.delivery.visibleAt > now {
			q.insert(k, m)
		}
		return true
	})
}

// lastKnownSequence is bug 14: the counter is not kept in a snapshot but guessed
// from what is left.
func (q *Queue) lastKnownSequence() uint64 {
	if !planted(14) {
		return q.lastSequence
	}
	last := uint64(0)
	if sequence, _, ok := q.messages.Max(); ok {
		last = sequence
	}
	if r, ok := q.deduplication.accepted.newest(); ok {
		last = max(last, r.sequence())
	}
	return last
}

// takeReturnedLast is bug 11: what comes back goes to the end of its group.
func (s *selection) takeReturnedLast(group string) {
	for _, returned := range []bool{false, true} {
		s.q.groups.walk(group, func(sequence uint64) bool {
			m, _ := s.q.messages.Get(sequence)
			if s.q.availableAt(m) > s.now {
				return false
			}
			if m.delivered() == returned {
				s.pick(m)
			}
			return !s.done()
		})
	}
}

// runInMapOrder is bug 15: the order of a map decides which group is served.
func (s *selection) runInMapOrder() {
	heads := map[uint64]bool{}
	for _, timer := range []bool{true, false} {
		var entry timed
		for found := s.after(&entry, timer, timed{}); found; found = s.after(&entry, timer, entry) {
			heads[entry.sequence] = true
		}
	}
	for sequence := range heads { // order does not matter: that is the bug
		if s.done() {
			return
		}
		s.take(sequence)
	}
}
