package check

import (
	"maps"
	"slices"
	"strconv"

	"github.com/seriatimq/seriatim/test/oracle/history"
)

// checkCounters checks the part of I15 about counters. A queue holds at least the messages that
// were sent before and are delivered later, and at most those that were sent and not certainly
// deleted. After its drain it holds only messages that may be hidden for long, and all nodes report
// the same.
func (c *checker) checkCounters() {
	queues := map[string][]*message{}
	for _, m := range c.order {
		queues[m.queue] = append(queues[m.queue], m)
	}
	after := map[string]*history.Event{} // the first one after the drain
	for i := range c.events {
		e := &c.events[i]
		if e.Kind != history.KindOp || e.Action != history.Counts || e.Result != history.OK || e.Error != "" {
			continue
		}
		total, ok := held(e)
		if !ok {
			c.violate("I15", e.Return, "look %d at %s: counters that are no numbers: %v", e.ID, e.Queue, e.Attributes)
			continue
		}
		c.report.Counts["counters of queues checked"]++
		least, most := 0, 0
		for _, m := range slices.Concat(queues[e.Queue], c.onlyMoved(e.Queue, queues)) {
			if c.mayBeHeld(m, e) {
				most++
			}
			if c.certainlyHeld(m, e) {
				least++
			}
		}
		if total < least || total > most {
			c.violate("I15", e.Return, "look %d: %s counts %d messages in %s, which has from %d to %d", e.ID, e.Node, total, e.Queue, least,
				most)
		}
		if end, drained := c.drained[e.Queue]; !drained || e.Call < end {
			continue
		}
		if first := after[e.Queue]; first == nil {
			after[e.Queue] = e
		} else if !maps.Equal(first.Attributes, e.Attributes) {
			c.violate("I13", e.Return, "%s is at rest, and %s counts %v in it, %s %v", e.Queue, first.Node, first.Attributes, e.Node,
				e.Attributes)
		}
	}
}

// held returns the sum of the message counts in an answer.
func held(e *history.Event) (total int, ok bool) {
	for _, name := range []string{history.Visible, history.NotVisible, history.Delayed} {
		n, err := strconv.Atoi(e.Attributes[name])
		if err != nil || n < 0 {
			return 0, false
		}
		total += n
	}
	return total, true
}

// onlyMoved returns the messages that were seen only in the dead-letter queue, so that it is
// unknown when they left this one.
func (c *checker) onlyMoved(queue string, queues map[string][]*message) []*message {
	if _, dead := c.rules.DeadLetter[queue]; !dead {
		return nil
	}
	var only []*message
	for _, m := range queues[history.DeadLetterOf(queue)] {
		if c.messages[queue+"\x00"+m.id] == nil {
			only = append(only, m)
		}
	}
	return only
}

// mayBeHeld reports whether the message may have been in its queue when the counters were read.
func (c *checker) mayBeHeld(m *message, e *history.Event) bool {
	if m.earliest > e.Return || c.removed(m) < e.Call {
		return false
	}
	if moved := c.moved(m); moved != nil && len(moved.deliveries) > 0 && moved.deliveries[0].receive.Return < e.Call {
		return false
	}
	end, drained := c.drained[e.Queue]
	return !drained || e.Call < end || c.hidden(m)
}

// certainlyHeld reports whether the message was certainly in its queue: it was sent before by log
// time, and a later receive delivered it. It returns false for a dead-letter queue, whose messages
// keep the time of the send to the source queue.
func (c *checker) certainlyHeld(m *message, e *history.Event) bool {
	if e.LogTime == 0 || c.source(m.queue) != "" {
		return false
	}
	for _, d := range m.deliveries {
		if d.receive.Call > e.Return && d.message.Sent < e.LogTime {
			return true
		}
	}
	return false
}
