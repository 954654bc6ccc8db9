package check

import (
	"cmp"
	"slices"

	"github.com/seriatimq/seriatim/test/oracle/history"
)

// checkLoss checks I1: an acknowledged message is delivered, and delivered again until it is
// deleted with its newest handle. If it disappears after a delete with another handle, this is I7.
func (c *checker) checkLoss() {
	for _, m := range c.order {
		switch {
		case len(m.acks) > 0:
			c.report.Counts["messages acknowledged"]++
		case c.source(m.queue) != "":
			c.report.Counts["messages moved to a dead-letter queue"]++
		default:
			c.report.Counts["messages recovered"]++ // from sends without an answer
		}
		if len(m.deliveries) > 0 {
			c.report.Counts["messages delivered"]++
		}
		if c.moved(m) != nil || c.hidden(m) {
			continue
		}
		end, drained := c.drained[m.queue]
		if !drained || m.created >= end || m.removable() != never || c.purgeable(m) != never {
			continue
		}
		at := m.created
		if n := len(m.deliveries); n > 0 {
			at = m.deliveries[n-1].receive.Return
		}
		misfires := slices.ContainsFunc(c.events, func(e history.Event) bool {
			return e.Kind == history.KindOp && e.Action == "delete" && e.Possible() && e.Message == m.id && e.Return >= at
		})
		if misfires {
			c.violate("I7", at, "message %s of %s was removed by a handle that was not its own newest", m.id, m.queue)
		} else {
			c.violate("I1", at, "message %s of %s, number %s, is lost after %d deliveries and no delete", m.id, m.queue, m.sequence,
				len(m.deliveries))
		}
	}
}

// purgeable returns the earliest time at which a purge or the deletion of the queue may have
// deleted the message, or never. A call that had returned when the message was delivered again did
// not delete it. A call without an answer may take effect at any time.
func (c *checker) purgeable(m *message) int64 {
	seen := m.earliest
	for _, d := range m.deliveries {
		seen = max(seen, d.receive.Call)
	}
	at := never
	for _, p := range c.purges[m.queue] {
		if p.Possible() && lasts(p) > seen {
			at = min(at, p.Call)
		}
	}
	return at
}

// lasts returns the time until which a call may take effect.
func lasts(e *history.Event) int64 {
	if e.Result == history.Unknown {
		return never
	}
	return e.Return
}

// checkContent checks I2, and the part of I12 about sends: each delivery has the contents of one
// send, and a send that certainly failed has no effect.
func (c *checker) checkContent() {
	c.checkDigests()
	for _, m := range c.order {
		for _, d := range m.deliveries {
			if d.message.Extra != "" {
				c.report.Counts["messages with attributes delivered"]++
			}
			got, sends := d.message, c.sends[d.message.Body]
			possible, sameID := false, false
			var wrong bool
			for _, s := range sends {
				possible = possible || s.Possible()
				sameID = sameID || s.Result == history.Unknown || s.Message == got.ID ||
					c.retried(s, m, c.messages[s.Queue+"\x00"+s.Message])
				wrong = wrong || s.Group != got.Group || s.Extra != got.Extra
				if source := c.source(d.receive.Queue); source != "" {
					// There its deduplication id differs from the sent one.
					wrong = wrong || s.Queue != source
				} else {
					wrong = wrong || s.Queue != d.receive.Queue || s.Dedup != got.Dedup
				}
			}
			at := d.receive.Return
			switch {
			case len(sends) == 0:
				c.violate("I2", at, "receive %d: nobody sent the body of message %s", d.receive.ID, got.ID)
			case !possible:
				c.violate("I12", at, "receive %d: message %s is of send %d, which was answered as not done", d.receive.ID, got.ID,
					sends[0].ID)
			case wrong:
				c.violate("I2", at, "receive %d: message %s has not the queue, group, deduplication id or attributes of its send %d",
					d.receive.ID, got.ID, sends[0].ID)
			case !sameID:
				c.violate("I2", at, "receive %d: the send of message %s was told another id", d.receive.ID, got.ID)
			case got.Sequence != m.sequence:
				c.violate("I9", at, "receive %d: message %s changed its number from %s to %s", d.receive.ID, got.ID, m.sequence,
					got.Sequence)
			}
		}
	}
}

// checkDigests checks I2 for the digests in answers.
func (c *checker) checkDigests() {
	last := int64(0) // to count a batch, whose entries have one event each, only once
	for _, e := range c.all {
		if e.Kind != history.KindOp || e.ID == last {
			continue
		}
		last = e.ID
		c.report.Counts["digests checked"] += e.Digests
		if e.BadDigest != "" {
			c.violate("I2", e.Return, "call %d: the digest %s", e.ID, e.BadDigest)
		}
	}
}

// checkDuplicates checks I3. Two messages of one key must be at least a window apart in log time. A
// send later than a window after a message was made must not be its duplicate. If a single send
// made two messages, this also breaks I12.
func (c *checker) checkDuplicates() {
	last := map[string]*message{} // by queue and key; order is ascending in number, and so in log time
	maker := map[string]*message{}
	for _, m := range c.order {
		for _, s := range m.acks {
			if c.outside(m, s) {
				c.violate("I3", s.Return, "send %d was dropped as a duplicate of message %s, whose window was over", s.ID, m.id)
			}
			if s.Call > m.created {
				c.report.Counts["duplicates dropped"]++
				if anyWithin(c.changes, m.created, s.Return) {
					c.report.Counts["duplicates sent across a leader change"]++
				}
			}
		}
		if len(m.deliveries) == 0 {
			continue
		}
		first := m.deliveries[0].message
		key := m.queue + "\x00" + m.dedup
		if p := last[key]; p != nil && !c.forgot(p, m) {
			before := p.deliveries[0].message
			if (first.Sent-before.Sent)*1000 < c.rules.WindowOf(m.queue) {
				c.violate("I3", m.deliveries[0].receive.Return, "messages %s and %s have the key %q within one window: %d ms apart", p.id,
					m.id, m.dedup, first.Sent-before.Sent)
			}
		}
		last[key] = m
		sends := c.sends[first.Body]
		if other := maker[first.Body]; other != nil && other.id != m.id && len(sends) == 1 && !c.retried(sends[0], other, m) {
			c.violate("I12", m.deliveries[0].receive.Return, "send %d was done twice: messages %s and %s", sends[0].ID, other.id, m.id)
		}
		maker[first.Body] = m
	}
}

// forgot reports whether the queue may have been purged or deleted, with its deduplication ids,
// between two messages.
func (c *checker) forgot(before, after *message) bool {
	return slices.ContainsFunc(c.purges[before.queue], func(p *history.Event) bool {
		return p.Possible() && lasts(p) > before.earliest && p.Call < after.created
	})
}

// retried reports whether two messages of one call are correct: a stock SDK repeats a send by
// itself, and its tries were a window apart or the queue forgot the id between them.
func (c *checker) retried(s *history.Event, a, b *message) bool {
	if !s.Stock || b == nil || a.queue != b.queue || len(a.deliveries) == 0 || len(b.deliveries) == 0 {
		return false
	}
	if compareSequence(a.sequence, b.sequence) > 0 {
		a, b = b, a
	}
	apart := (b.deliveries[0].message.Sent - a.deliveries[0].message.Sent) * 1000
	return apart >= c.rules.WindowOf(a.queue) || c.forgot(a, b)
}

// outside reports whether a send that was answered with the message was certainly made after the
// message's window.
func (c *checker) outside(m *message, s *history.Event) bool {
	window := c.rules.WindowOf(m.queue)
	if s.LogTime > 0 && len(m.deliveries) > 0 {
		return (s.LogTime-m.deliveries[0].message.Sent)*1000 >= window
	}
	return s.Call > m.created+window+c.rules.Slack && c.calm(m.created, s.Return)
}

// checkNumbers checks I9 and I4(a): a number belongs to one message, and a message made after
// another one was acknowledged has a greater number.
func (c *checker) checkNumbers() {
	order := c.order
	for start := 0; start < len(order); {
		end := start
		for end < len(order) && order[end].queue == order[start].queue {
			end++
		}
		queue := order[start:end]
		start = end
		// In descending order of numbers: a message must not be made after one with a greater
		// number was acknowledged.
		done := never // the earliest acknowledgement among greater numbers
		var greater *message
		for i, m := range slices.Backward(queue) {

			if i > 0 && queue[i-1].sequence == m.sequence {
				c.violate("I9", m.created, "messages %s and %s both have number %s", queue[i-1].id, m.id, m.sequence)
			}
			if m.earliest != never && m.earliest > done {
				invariant := "I9"
				if greater.group == m.group {
					invariant = "I4"
				}
				c.violate(invariant, m.created, "message %s, number %s, was sent after %s was acknowledged, which has %s", m.id, m.sequence,
					greater.id, greater.sequence)
			}
			if m.created < done {
				done, greater = m.created, m
			}
		}
	}
}

// byGroup returns the messages of each group of each queue, by number.
func (c *checker) byGroup() map[string][]*message {
	groups := map[string][]*message{}
	for _, m := range c.order {
		key := m.queue + "\x00" + m.group
		groups[key] = append(groups[key], m)
	}
	return groups
}

// checkOvertaking checks I5 and I4(b), (c) and (d): a message is not delivered while an earlier
// message of its group exists, unless the same answer contains the earlier one before it.
func (c *checker) checkOvertaking() {
	for _, group := range c.byGroup() {
		var all []*delivery
		for _, m := range group {
			all = append(all, m.deliveries...)
		}
		slices.SortFunc(all, func(a, b *delivery) int { return cmp.Compare(a.receive.Call, b.receive.Call) })
		removable := make([]int64, len(group))
		for i, m := range group {
			removable[i] = min(m.removable(), c.purgeable(m))
			if c.moved(m) != nil {
				removable[i] = min(removable[i], c.exhausted(m))
			}
		}
		first := 0 // all messages before it may be deleted at all later calls
		for _, d := range all {
			for first < len(group) && removable[first] <= d.receive.Call {
				first++
			}
			for i := first; i < len(group) && compareSequence(group[i].sequence, d.message.Sequence) < 0; i++ {
				m := group[i]
				if m.created >= d.receive.Call || removable[i] < d.receive.Return {
					continue
				}
				if slices.ContainsFunc(d.receive.Messages[:d.position], func(o history.Message) bool { return o.ID == m.id }) {
					continue
				}
				invariant := "I5"
				switch {
				case slices.ContainsFunc(d.receive.Messages[d.position:], func(o history.Message) bool { return o.ID == m.id }),
					len(m.deliveries) == 0 || m.deliveries[0].receive.Call > d.receive.Return,
					lapsed(m, d.receive.Call, c.rules):
					invariant = "I4"
				}
				c.violate(invariant, d.receive.Return, "receive %d: message %s was handed out past %s of group %q, which was not removed",
					d.receive.ID, d.message.ID, m.id, m.group)
				break
			}
		}
	}
}

// exhausted returns the earliest time at which a message may have gone to the dead-letter queue:
// its last receive, or its creation if that receive was not seen.
func (c *checker) exhausted(m *message) int64 {
	for _, d := range m.deliveries {
		if d.message.Count >= c.rules.DeadLetter[m.queue] {
			return d.receive.Call
		}
	}
	return min(m.created, m.earliest)
}

// lapsed reports whether the message was certainly not in flight at a time, so that overtaking it
// breaks the order rather than the exclusion.
func lapsed(m *message, at int64, rules history.Rules) bool {
	for _, d := range m.deliveries {
		if d.receive.Call < at && d.receive.Return+rules.Visibility+rules.Slack >= at {
			return false
		}
	}
	return true
}
