package linearizability

import "strings"

// rules are the settings of the queue, in milliseconds.
type rules struct{ window, attempt, visibility int64 }

// kind is what a call does.
type kind int

const (
	send kind = iota
	receive
	remove
	change
	purge
)

// call is what a client asked for. Texts are small numbers from 1 on.
type call struct {
	rules   *rules
	kind    kind
	number  int // of the operation
	group   int
	key     int
	body    int
	attempt int   // 0: none
	most    int   // messages asked for
	timeout int64 // visibility in milliseconds
	handle  part  // a message of 0: a handle that no receive gave
	// made are the messages that were seen with the body of a send: one of
	// them is what it made, if anything, and if its outcome is unknown.
	made []made
}

// made is a message as the answers show it.
type made struct {
	id     int
	number int64
	answer int64 // when it was seen first
}

// reply is what the client was told.
type reply struct {
	unknown  bool
	at       int64  // log time of the entry; 0: not known
	again    int64  // log time of the entry that did it once more; 0: none
	refusal  string // code of the refusal
	message  int    // of a send
	number   int64  // of a send
	messages []delivered
}

// delivered is a message in an answer.
type delivered struct {
	id, body, group, count int
	number                 int64
}

// step gives the states in which the queue may be after a call with this reply;
// none, if it cannot have given it.
func (s *state) step(c *call, r *reply) []*state {
	if r.unknown {
		return append([]*state{s}, s.perhaps(c, r.at)...)
	}
	if r.again != 0 {
		return append([]*state{s}, s.twice(c, r)...)
	}
	now := s.at(r.at)
	if now == nil {
		return nil
	}
	switch c.kind {
	case send:
		return now.send(c, r)
	case receive:
		return now.receive(c, r)
	case remove:
		return now.remover(c, r)
	case change:
		return now.change(c, r)
	default:
		return now.purge(r)
	}
}

func (s *state) send(c *call, r *reply) (next []*state) {
	if r.refusal != "" {
		return []*state{s}
	}
	i, known := s.record(c.key)
	if known {
		d := s.clone()
		// Not over yet: then neither was it before.
		d.records[i].ends.lo = max(d.records[i].ends.lo, s.now+1)
		if d.name(d.records[i].message, r.message, r.number) && d.records[i].number == r.number {
			next = append(next, d)
		}
	}
	if !known || s.records[i].ends.mayBeOver(s.now) {
		if n := s.accept(c, r.message, r.number, after(s.now, c.rules.window)); n != nil {
			next = append(next, n)
		}
	}
	return next
}

// accept appends a new message. Sequence numbers rise (faults.md I9).
func (s *state) accept(c *call, id int, number int64, ends deadline) *state {
	if number != 0 && number <= s.number || s.find(id) != nil {
		return nil
	}
	n := s.clone()
	n.number = max(n.number, number)
	n.messages = append(n.messages, message{id: id, body: c.body, group: c.group, number: number})
	n.setRecord(record{key: c.key, message: id, number: number, ends: ends})
	return n
}

func (s *state) receive(c *call, r *reply) (next []*state) {
	i, known := s.attempt(c.attempt)
	known = known && c.attempt != 0
	if known {
		if n := s.repeat(&s.attempts[i], c, r); n != nil {
			next = append(next, n)
		}
	}
	if !known || s.attempts[i].ends.mayBeOver(s.now) {
		if n := s.handOut(c, r); n != nil {
			next = append(next, n)
		}
	}
	return next
}

// repeat is a receive with an attempt id that was given messages before
// (faults.md I6).
func (s *state) repeat(a *attempt, c *call, r *reply) *state {
	intact, maybe := !a.touched, !a.touched
	for _, p := range a.parts {
		m := s.find(p.message)
		if m == nil || m.count != p.count || m.hidden.over(s.now) {
			intact, maybe = false, false
			break
		}
		intact = intact && !m.hidden.mayBeOver(s.now)
	}
	if r.refusal != "" {
		if intact || !strings.HasPrefix(r.refusal, "InvalidParameterValue") {
			return nil
		}
		return s
	}
	if !maybe || len(r.messages) != len(a.parts) {
		return nil
	}
	n := s.clone()
	for i, p := range a.parts {
		m, got := n.find(p.message), r.messages[i]
		if !n.name(m.id, got.id, got.number) || m.body != got.body || m.group != got.group || m.count != got.count || m.number != got.number {
			return nil
		}
		m.hidden = after(n.now, c.timeout)
	}
	return n
}

// handOut is an ordinary receive: from each group the first ones, none past one
// that is in flight, and none left out while there is room (faults.md I5).
func (s *state) handOut(c *call, r *reply) *state {
	if r.refusal != "" || len(r.messages) > c.most {
		return nil
	}
	n := s.clone()
	given := map[int]int{} // messages per group
	for _, got := range r.messages {
		m := n.nth(got.group, given[got.group])
		if m == nil || m.body != got.body || m.count+1 != got.count || !n.name(m.id, got.id, got.number) ||
			m.number != got.number || m.count > 0 && !m.hidden.mayBeOver(n.now) {
			return nil
		}
		given[got.group]++
		m.count = got.count
		m.hidden = after(n.now, c.timeout)
	}
	if len(r.messages) < c.most && !n.nothingLeft(given) {
		return nil
	}
	if c.attempt != 0 && c.timeout > 0 && len(r.messages) > 0 {
		a := attempt{id: c.attempt, ends: after(n.now, c.rules.attempt)}
		for _, got := range r.messages {
			a.parts = append(a.parts, part{got.id, got.count})
		}
		n.setAttempt(a)
	}
	return n
}

// nth is the message behind the first few of a group.
func (s *state) nth(group, skip int) *message {
	for i := range s.messages {
		if s.messages[i].group == group {
			if skip == 0 {
				return &s.messages[i]
			}
			skip--
		}
	}
	return nil
}

// nothingLeft says that no group can give more than it gave, and notes what
// that means for deadlines.
func (s *state) nothingLeft(given map[int]int) bool {
	seen := map[int]int{}
	for i := range s.messages {
		m := &s.messages[i]
		seen[m.group]++
		if seen[m.group] != given[m.group]+1 {
			continue
		}
		if m.count == 0 || m.hidden.over(s.now) {
			return false
		}
		m.hidden.lo = max(m.hidden.lo, s.now+1)
	}
	return true
}

// current finds the message that a handle names. exact says that it is in flight
// under that handle, maybe that it may be.
func (s *state) current(h part) (m *message, exact, maybe bool) {
	m = s.find(h.message)
	if m == nil || m.count != h.count {
		return m, false, false
	}
	return m, !m.hidden.mayBeOver(s.now), !m.hidden.over(s.now)
}

// remover is a delete (faults.md I7).
func (s *state) remover(c *call, r *reply) []*state {
	if c.handle.message == 0 {
		return only(s, r.refusal != "")
	}
	m, exact, maybe := s.current(c.handle)
	switch {
	case m == nil: // deleted before: that is a success, too
		return only(s, r.refusal == "")
	case r.refusal != "":
		return only(s, !exact)
	case !maybe:
		return nil
	}
	n := s.clone()
	n.remove(m.id)
	return []*state{n}
}

func (s *state) change(c *call, r *reply) []*state {
	m, exact, maybe := s.current(c.handle)
	if c.handle.message == 0 || m == nil {
		return only(s, r.refusal != "")
	}
	if r.refusal != "" {
		return only(s, !exact)
	}
	if !maybe {
		return nil
	}
	n := s.clone()
	n.touch(m.id, after(n.now, c.timeout))
	return []*state{n}
}

// touch changes the visibility of a message; its attempt is no longer
// repeatable.
func (s *state) touch(id int, hidden deadline) {
	m := s.find(id)
	m.hidden = hidden
	for i := range s.attempts {
		for _, p := range s.attempts[i].parts {
			if p.message == id && p.count == m.count {
				s.attempts[i].touched = true
			}
		}
	}
}

func (s *state) purge(r *reply) []*state {
	if r.refusal != "" {
		return []*state{s}
	}
	return []*state{{now: s.now, number: s.number}}
}

func only(s *state, legal bool) []*state {
	if !legal {
		return nil
	}
	return []*state{s}
}
