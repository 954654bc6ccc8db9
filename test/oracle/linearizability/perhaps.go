package linearizability

import "slices"

// perhaps gives the states after a call of unknown outcome that took effect: at
// log time at, or, if that is 0, at some moment from now on.
func (s *state) perhaps(c *call, at int64) []*state {
	if at != 0 {
		now := s.at(at)
		if now == nil {
			return nil
		}
		return now.effects(c, after)
	}
	var next []*state
	for _, t := range s.moments(c) {
		now := s.clone()
		now.now = max(now.now, t)
		next = append(next, now.effects(c, afterUnknown)...)
	}
	return next
}

// twice gives the states after a call that took effect at one log time and was
// done again at a later one, which may have begun its deadlines anew.
func (s *state) twice(c *call, r *reply) []*state {
	now := s.at(r.at)
	if now == nil {
		return nil
	}
	return now.effects(c, func(t, duration int64) deadline { return deadline{t + duration, r.again + duration} })
}

// moments are the times at which a call may find the queue in another state: now,
// and the deadlines ahead that matter to it.
func (s *state) moments(c *call) []int64 {
	list := []int64{s.now}
	add := func(d deadline) {
		if d.lo > s.now {
			list = append(list, d.lo)
		}
	}
	switch c.kind {
	case send:
		if i, known := s.record(c.key); known {
			add(s.records[i].ends)
		}
	case receive:
		for _, m := range s.messages {
			if m.count > 0 {
				add(m.hidden)
			}
		}
		if i, known := s.attempt(c.attempt); known {
			add(s.attempts[i].ends)
		}
	default: // the earliest moment is the most permissive
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// effects gives the states after the call took effect now; begin makes the
// deadlines that begin with it.
func (s *state) effects(c *call, begin func(t, duration int64) deadline) []*state {
	switch c.kind {
	case send:
		if i, known := s.record(c.key); known && !s.records[i].ends.mayBeOver(s.now) {
			return nil // a duplicate changes nothing
		}
		candidates := c.made
		if len(candidates) == 0 {
			candidates = []made{{id: -c.number}}
		}
		var next []*state
		for _, m := range candidates {
			if n := s.accept(c, m.id, m.number, begin(s.now, c.rules.window)); n != nil {
				next = append(next, n)
			}
		}
		return next
	case receive:
		return s.takes(c, begin)
	case remove:
		if m, _, maybe := s.current(c.handle); m != nil && maybe {
			n := s.clone()
			n.remove(m.id)
			return []*state{n}
		}
		return nil
	case change:
		if m, _, maybe := s.current(c.handle); m != nil && maybe {
			n := s.clone()
			n.touch(m.id, begin(n.now, c.timeout))
			return []*state{n}
		}
		return nil
	default:
		return []*state{{now: s.now, number: s.number}}
	}
}

// takes is a receive whose answer nobody saw.
func (s *state) takes(c *call, begin func(t, duration int64) deadline) []*state {
	if i, known := s.attempt(c.attempt); known && c.attempt != 0 && !s.attempts[i].ends.mayBeOver(s.now) {
		n := s.clone()
		if s.attempts[i].touched {
			return nil
		}
		for _, p := range s.attempts[i].parts {
			m := n.find(p.message)
			if m == nil || m.count != p.count || m.hidden.over(n.now) {
				return nil
			}
			m.hidden = begin(n.now, c.timeout)
		}
		return []*state{n}
	}
	lines := s.available()
	var next []*state
	for _, order := range orders(len(lines)) {
		n := s.clone()
		var parts []part
		for _, line := range order {
			for _, id := range lines[line] {
				if len(parts) == c.most {
					break
				}
				m := n.find(id)
				m.count++
				m.hidden = begin(n.now, c.timeout)
				parts = append(parts, part{id, m.count})
			}
		}
		if len(parts) == 0 {
			return nil
		}
		if c.attempt != 0 && c.timeout > 0 {
			n.setAttempt(attempt{id: c.attempt, parts: parts, ends: begin(n.now, c.rules.attempt)})
		}
		next = append(next, n)
	}
	return next
}

// available lists for each group the messages that a receive could be given now,
// in the order of the groups' first messages.
func (s *state) available() [][]int {
	var lines [][]int
	place, blocked := map[int]int{}, map[int]bool{}
	for _, m := range s.messages {
		if blocked[m.group] {
			continue
		}
		if m.count > 0 && !m.hidden.mayBeOver(s.now) {
			blocked[m.group] = true
			continue
		}
		i, known := place[m.group]
		if !known {
			i = len(lines)
			place[m.group] = i
			lines = append(lines, nil)
		}
		lines[i] = append(lines[i], m.id)
	}
	return lines
}

// orders are the orders in which a receive may serve up to three groups; which
// one it takes first is a rule about moments that a call of unknown outcome
// hides. More groups are served in the order of their first messages.
func orders(groups int) [][]int {
	switch groups {
	case 0, 1:
		return [][]int{{0}}[:min(1, groups)]
	case 2:
		return [][]int{{0, 1}, {1, 0}}
	case 3:
		return [][]int{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}}
	}
	order := make([]int, groups)
	for i := range order {
		order[i] = i
	}
	return [][]int{order}
}
