package linearizability

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
)

// deadline is a moment between lo and hi, in milliseconds of log time. A
// negative hi is not known yet: the deadline began at an unknown moment before
// the next known one, and lasts -hi-1 from then.
type deadline struct{ lo, hi int64 }

func after(t, duration int64) deadline { return deadline{t + duration, t + duration} }

// afterUnknown begins at some moment from t on.
func afterUnknown(t, duration int64) deadline { return deadline{t + duration, -duration - 1} }

// over says that the deadline has certainly passed at t.
func (d deadline) over(t int64) bool { return d.hi >= 0 && t >= d.hi }

// mayBeOver says that it may have passed.
func (d deadline) mayBeOver(t int64) bool { return t >= d.lo }

// close bounds a deadline that began before t.
func (d *deadline) close(t int64) {
	if d.hi < 0 {
		d.hi = t - d.hi - 1
	}
}

// message is one in the queue, in the order of the queue. An id below 0 stands
// for one that no answer has told yet, a number of 0 likewise.
type message struct {
	id, body, group int
	number          int64
	count           int // receives; the handle of the last one is (id, count)
	hidden          deadline
}

// record is an id in its deduplication window.
type record struct {
	key, message int
	number       int64
	ends         deadline
}

// attempt is a receive attempt id with what it was given.
type attempt struct {
	id      int
	parts   []part
	touched bool // the visibility of one was changed
	ends    deadline
}

type part struct{ message, count int }

// state is the queue after some of the calls. It is never changed: a step works
// on a copy.
type state struct {
	now      int64
	number   int64 // the highest so far
	messages []message
	records  []record  // by key
	attempts []attempt // by id
	known    string    // key, once it was asked for
}

func (s *state) clone() *state {
	c := *s
	c.known = ""
	c.messages = slices.Clone(s.messages)
	c.records = slices.Clone(s.records)
	c.attempts = slices.Clone(s.attempts)
	return &c
}

// at is a copy in which it is t, or nil if that is past. A t of 0 is not known:
// time stands still.
func (s *state) at(t int64) *state {
	if t != 0 && t < s.now {
		return nil
	}
	c := s.clone()
	if t == 0 {
		return c
	}
	c.now = t
	for i := range c.messages {
		c.messages[i].hidden.close(t)
	}
	for i := range c.records {
		c.records[i].ends.close(t)
	}
	for i := range c.attempts {
		c.attempts[i].ends.close(t)
	}
	// What is over is left out, so that equal states look equal.
	c.records = slices.DeleteFunc(c.records, func(r record) bool { return r.ends.over(t) })
	c.attempts = slices.DeleteFunc(c.attempts, func(a attempt) bool { return a.ends.over(t) })
	return c
}

func (s *state) find(id int) *message {
	for i := range s.messages {
		if s.messages[i].id == id {
			return &s.messages[i]
		}
	}
	return nil
}

func (s *state) remove(id int) {
	s.messages = slices.DeleteFunc(s.messages, func(m message) bool { return m.id == id })
}

func (s *state) record(key int) (int, bool) {
	return slices.BinarySearchFunc(s.records, key, func(r record, key int) int { return r.key - key })
}

func (s *state) setRecord(r record) {
	i, found := s.record(r.key)
	if found {
		s.records[i] = r
		return
	}
	s.records = slices.Insert(s.records, i, r)
}

func (s *state) attempt(id int) (int, bool) {
	return slices.BinarySearchFunc(s.attempts, id, func(a attempt, id int) int { return a.id - id })
}

func (s *state) setAttempt(a attempt) {
	i, found := s.attempt(a.id)
	if found {
		s.attempts[i] = a
		return
	}
	s.attempts = slices.Insert(s.attempts, i, a)
}

// name gives an unnamed message the id and number that an answer tells.
func (s *state) name(before, id int, number int64) bool {
	if before == id {
		return true
	}
	if before > 0 || s.find(id) != nil || number <= s.numberBefore(before) {
		return false
	}
	for i := range s.messages {
		if s.messages[i].id == before {
			s.messages[i].id, s.messages[i].number = id, number
		}
	}
	for i := range s.records {
		if s.records[i].message == before {
			s.records[i].message, s.records[i].number = id, number
		}
	}
	for i := range s.attempts {
		if slices.ContainsFunc(s.attempts[i].parts, func(p part) bool { return p.message == before }) {
			s.attempts[i].parts = slices.Clone(s.attempts[i].parts)
			for j := range s.attempts[i].parts {
				if s.attempts[i].parts[j].message == before {
					s.attempts[i].parts[j].message = id
				}
			}
		}
	}
	s.number = max(s.number, number)
	return true
}

// numberBefore is the highest number known of the messages in front of one.
func (s *state) numberBefore(id int) (number int64) {
	for _, m := range s.messages {
		if m.id == id {
			return number
		}
		number = max(number, m.number)
	}
	return 0
}

// key is the same for equal states only.
func (s *state) key() string {
	if s.known != "" {
		return s.known
	}
	b := make([]byte, 0, 16+20*len(s.messages)+20*len(s.records))
	b = binary.AppendVarint(b, s.now)
	put := func(values ...int64) {
		for _, v := range values {
			b = binary.AppendVarint(b, v)
		}
	}
	put(s.number, int64(len(s.messages)))
	for _, m := range s.messages {
		put(int64(m.id), int64(m.body), int64(m.group), m.number, int64(m.count), m.hidden.lo, m.hidden.hi)
	}
	put(int64(len(s.records)))
	for _, r := range s.records {
		put(int64(r.key), int64(r.message), r.number, r.ends.lo, r.ends.hi)
	}
	for _, a := range s.attempts {
		touched := int64(0)
		if a.touched {
			touched = 1
		}
		put(int64(a.id), touched, a.ends.lo, a.ends.hi, int64(len(a.parts)))
		for _, p := range a.parts {
			put(int64(p.message), int64(p.count))
		}
	}
	s.known = string(b)
	return s.known
}

func (s *state) String() string {
	var text strings.Builder
	text.WriteString(fmt.Sprintf("at %d:", s.now))
	for _, m := range s.messages {
		text.WriteString(fmt.Sprintf(" m%d(g%d #%d", m.id, m.group, m.number))
		if m.count > 0 {
			text.WriteString(fmt.Sprintf(" received %d, hidden till %d..%d", m.count, m.hidden.lo, m.hidden.hi))
		}
		text.WriteString(")")
	}
	for _, r := range s.records {
		text.WriteString(fmt.Sprintf(" k%d=m%d", r.key, r.message))
	}
	return text.String()
}
