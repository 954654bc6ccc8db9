package check

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/seriatimq/seriatim/test/oracle/history"
)

// checkAttempts checks I6: within its window a repeated receive returns the same messages with the
// same handles and counts, or is refused.
func (c *checker) checkAttempts() {
	for _, receives := range c.receives {
		calls := map[string][]*history.Event{}
		for _, e := range receives {
			if e.Attempt != "" && e.Result != history.Fail {
				calls[e.Attempt] = append(calls[e.Attempt], e)
			}
		}
		for _, tries := range calls {
			slices.SortFunc(tries, func(a, b *history.Event) int { return int(a.Call - b.Call) })
			var first *history.Event // with messages
			for _, e := range tries {
				if e.Result != history.OK || e.Error != "" {
					continue
				}
				if first == nil {
					if len(e.Messages) > 0 {
						first = e
					}
					continue
				}
				c.report.Counts["receives repeated"]++
				if anyWithin(c.changes, tries[0].Call, e.Return) {
					c.report.Counts["attempts repeated across a leader change"]++
				}
				if !c.sooner(first, e, c.rules.Attempt) {
					continue
				}
				if fault := c.differs(first, e); fault != "" {
					c.violate("I6", e.Return, "receive %d repeats %d: %s", e.ID, first.ID, fault)
				}
			}
		}
	}
}

// differs returns how a repeated receive breaks the rule, empty if it does not.
func (c *checker) differs(first, again *history.Event) string {
	same := func(field func(history.Message) string) bool {
		return slices.EqualFunc(first.Messages, again.Messages, func(a, b history.Message) bool { return field(a) == field(b) })
	}
	untouched := c.sooner(first, again, c.span(&delivery{receive: first}))
	for _, m := range first.Messages {
		touched := func(e *history.Event) bool { return e.Possible() && e.Call < again.Return }
		if slices.ContainsFunc(c.messages[first.Queue+"\x00"+m.ID].deletes, touched) ||
			slices.ContainsFunc(c.visibility[m.Handle], touched) {
			untouched = false
		}
	}
	if len(again.Messages) == 0 {
		if untouched {
			return "nothing, but its messages are in flight and untouched"
		}
		return ""
	}
	switch {
	case !same(func(m history.Message) string { return m.ID }):
		return "other messages"
	case untouched && !same(func(m history.Message) string { return m.Handle }):
		return "other receipt handles"
	case untouched && !same(func(m history.Message) string { return fmt.Sprint(m.Count) }):
		return "receive counts moved"
	}
	return ""
}

// checkDeletes checks I8: a receive that is called after a delete or purge does not deliver the
// deleted messages.
func (c *checker) checkDeletes() {
	for _, m := range c.order {
		removed := c.removed(m)
		purged := never
		for _, p := range c.purges[m.queue] {
			if p.Result == history.OK && p.Error == "" && m.created < p.Call {
				purged = min(purged, p.Return)
			}
		}
		deliveries := m.deliveries
		if moved := c.moved(m); moved != nil {
			deliveries = append(slices.Clone(deliveries), moved.deliveries...)
		}
		for _, d := range deliveries {
			switch {
			case d.receive.Call > removed:
				c.violate("I8", d.receive.Return, "receive %d: message %s is back after its delete", d.receive.ID, m.id)
			case d.receive.Call > purged:
				c.violate("I8", d.receive.Return, "receive %d: message %s is back after a purge", d.receive.ID, m.id)
			}
		}
	}
}

// checkVisibility checks I10, and I6 for lost answers: a message in flight is not delivered to anyone
// else, and its count grows by one with each delivery. If the count grew more, a receive without an
// answer that was not repeated must explain it.
func (c *checker) checkVisibility() {
	lost := c.lostReceives()
	for _, m := range c.order {
		lost := lost[m.queue]
		var before *delivery
		for _, d := range m.deliveries {
			c.report.Counts["deliveries"]++
			if d.replay {
				c.report.Counts["deliveries repeated by attempt id"]++
				continue
			}
			previous, previousLog := int64(0), int64(0)
			count := c.rules.DeadLetter[c.source(m.queue)] // 0 unless it is a dead letter
			if before != nil {
				c.report.Counts["deliveries after expiry"]++
				previous, count = before.receive.Call, before.message.Count
				previousLog = cmp.Or(before.receive.LogTime, never)
				if c.sooner(before.receive, d.receive, c.span(before)) && len(c.visibility[before.message.Handle]) == 0 {
					c.violate("I10", d.receive.Return, "receive %d: message %s is still in flight for receive %d", d.receive.ID, m.id,
						before.receive.ID)
				}
			}
			before = d
			if d.message.Count == count+1 {
				continue
			}
			// A call may take effect long after its client gave up, and before the last delivery
			// that was seen, so look back by a further visibility timeout. If the log is known, use
			// its times, because a request may stay in the buffers of a cut connection for longer
			// than an attempt is remembered.
			from := previous - c.rules.Visibility - c.rules.Slack
			switch {
			case d.message.Count <= count:
				c.violate("I10", d.receive.Return, "receive %d: the count of message %s went from %d to %d", d.receive.ID, m.id, count,
					d.message.Count)
			case anyWithin(lost.open, from, d.receive.Return), anyWithin(lost.logged, previousLog, d.receive.LogTime):
				c.report.Counts["deliveries never seen"] += d.message.Count - count - 1
			case anyWithin(lost.mended, from, d.receive.Return):
				c.violate("I6", d.receive.Return, "receive %d: message %s was hidden by a receive whose repetition did not give it",
					d.receive.ID, m.id)
			default:
				c.violate("I10", d.receive.Return,
					"receive %d: the count of message %s went from %d to %d, and no receive lacks its answer", d.receive.ID, m.id, count,
					d.message.Count)
			}
		}
	}
}

// lost contains the receives of a queue that may have received messages without a client seeing
// them, in order of time.
type lost struct {
	open   []int64 // calls that were not repeated
	logged []int64 // log times of those that are in the log
	mended []int64 // calls whose repetition must have returned their messages
}

// lostReceives returns them by queue.
func (c *checker) lostReceives() map[string]*lost {
	all := map[string]*lost{}
	for queue, receives := range c.receives {
		answered, l := c.answeredAttempts(receives), new(lost)
		for _, e := range receives {
			effect := c.effects[e.ID]
			switch {
			case e.Stock && e.Attempt != "" && e.Result == history.OK && e.Return-e.Call >= c.rules.Attempt-c.rules.Slack:
				// The answer to the SDK's first try may be lost, and the attempt may have expired
				// at its last one.
				l.open = append(l.open, e.Call)
			case e.Stock && e.Tries > 1 && e.Result == history.OK && len(e.Messages) == 0:
				// The last try found nothing. A paused node may execute an earlier try after it.
				l.open = append(l.open, e.Call)
			case e.Result != history.Unknown:
			case answered[e.Attempt] == 0, effect > answered[e.Attempt]:
				// A call that arrives late over a slow line may receive messages after its
				// repetition found none. The log shows which was first.
				l.open = append(l.open, e.Call)
				if effect > 0 {
					l.logged = append(l.logged, effect)
				}
			default:
				l.mended = append(l.mended, e.Call)
			}
		}
		for _, times := range [][]int64{l.open, l.logged, l.mended} {
			slices.Sort(times)
		}
		all[queue] = l
	}
	return all
}

// answeredAttempts returns the attempts that were answered while their record and the visibility of
// their messages certainly lasted. The value is the log time of the last such answer, or the
// highest number if it is unknown.
func (c *checker) answeredAttempts(receives []*history.Event) map[string]int64 {
	lasting := min(c.rules.Attempt, c.rules.Visibility) - c.rules.Slack
	answered, began := map[string]int64{}, map[string]int64{}
	for _, e := range receives {
		if e.Attempt == "" || e.Result == history.Fail {
			continue
		}
		if _, known := began[e.Attempt]; !known {
			began[e.Attempt] = e.Call
		}
		began[e.Attempt] = min(began[e.Attempt], e.Call)
	}
	for _, e := range receives {
		if e.Attempt != "" && e.Result == history.OK && e.Error == "" && e.Return-began[e.Attempt] < lasting &&
			c.calm(began[e.Attempt], e.Return) {
			at := cmp.Or(e.LogTime, math.MaxInt64)
			answered[e.Attempt] = max(answered[e.Attempt], at)
		}
	}
	return answered
}

// anyWithin reports whether a sorted list has a time between from and to.
func anyWithin(times []int64, from, to int64) bool {
	i, _ := slices.BinarySearch(times, from)
	return i < len(times) && times[i] <= to
}
