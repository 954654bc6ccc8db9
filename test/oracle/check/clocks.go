package check

import (
	"cmp"
	"slices"

	"github.com/seriatimq/seriatim/test/oracle/history"
)

// All windows and deadlines of the product are measured in log time, and an answer contains its log
// time. So two answers can be compared exactly, whatever the clocks do. Comparisons by the
// harness's clock allow for the slack of the rules, and are not made while a wrong clock may keep
// log time away from true time.

// clockGrace is the time after the correction of a clock in which log time may still differ from
// true time (faults.md I16).
const clockGrace = 60_000_000

// clockTrifle is the largest change of a clock that has no effect on the checks.
const clockTrifle = 100

// indexClocks finds the times in which a clock was moved by more than clockTrifle.
func (c *checker) indexClocks() {
	for _, t := range c.touches {
		if t.Action == history.TouchClock && (t.Count == 0 || max(t.Count, -t.Count) > clockTrifle) {
			c.skewed = append(c.skewed, [2]int64{t.Call, t.Return + clockGrace})
		}
	}
	if at := c.rules.Skewed; at > 0 { // in an earlier part of a long run
		c.skewed = append(c.skewed, [2]int64{at, at + clockGrace})
	}
	stamped := c.stamped()
	for _, s := range c.skewed {
		for _, e := range stamped {
			if e.Call < s[1] {
				continue
			}
			s[1] = e.Return
			if (e.LogTime-c.rules.Started)*1000-e.Return <= timeOffMax {
				break
			}
		}
		c.uncertain = append(c.uncertain, s)
	}
}

// calm reports whether log time was certainly close to true time between two times.
func (c *checker) calm(from, to int64) bool { return !overlaps(c.uncertain, from, to) }

func overlaps(spans [][2]int64, from, to int64) bool {
	return slices.ContainsFunc(spans, func(s [2]int64) bool { return s[0] <= to && from <= s[1] })
}

// sooner reports whether the second operation certainly took effect less than a span of log time
// after the first one.
func (c *checker) sooner(first, second *history.Event, span int64) bool {
	began := c.origin(first)
	if began == first && first.LogTime > 0 && second.LogTime > 0 {
		return (second.LogTime-first.LogTime)*1000 < span
	}
	return second.Return < began.Call+span-c.rules.Slack && c.calm(began.Call, second.Return)
}

// origin returns the call that may have received the messages of a receive: the first one with its
// attempt id.
func (c *checker) origin(e *history.Event) *history.Event {
	if e.Attempt == "" || e.Action != history.Receive {
		return e
	}
	if first := c.attempts[e.Queue+"\x00"+e.Attempt]; first != nil {
		return first
	}
	return e
}

// span returns the visibility timeout of a delivery.
func (c *checker) span(d *delivery) int64 {
	if t := d.receive.Timeout; t != nil {
		return *t
	}
	return c.rules.Visibility
}

// Limits of I16: the distance between log time and true time while clocks are right, the interval
// in which the speed of log time is measured, and the tolerance for its drift.
const (
	timeOffMax = 1_000_000
	speedEvery = 10_000_000
	closeBy    = 1_000_000 // between answers further apart there may have been no leader
	driftMax   = 250_000
)

// checkTime checks I16: the log time of an answer is between its call and return. After a fast
// clock was corrected, log time may be ahead. The lead must not grow, and while there are answers
// log time must advance at half the speed of true time at least.
func (c *checker) checkTime() {
	c.checkFalling()
	wrong := false
	least := never                 // the smallest certain lead since the clocks were corrected
	var first, last *history.Event // of answers that follow one another closely
	for _, e := range c.stamped() {
		at := (e.LogTime - c.rules.Started) * 1000
		lead, behind := at-e.Return, e.Call-at
		c.most("log time ahead of true time, ms", int(lead/1000))
		c.most("log time behind true time, ms", int(behind/1000))
		var far bool
		far, least = c.leadTooLarge(e, lead, at-e.Call, least)
		if !wrong && (behind > timeOffMax && !overlaps(c.skewed, e.Call, e.Return) || far) {
			wrong = true // one violation is enough, as the next answers are wrong, too
			c.violate("I16", e.Return, "send %d: log time is %d ms after its return, %d ms before its call", e.ID, lead/1000, behind/1000)
		}
		if last == nil || e.Return-last.Return > closeBy {
			first = e
		}
		last = e
		if e.Return-first.Return < speedEvery {
			continue
		}
		if moved := (e.LogTime - first.LogTime) * 1000; lead > timeOffMax && moved < (e.Call-first.Return)/2-timeOffMax {
			c.violate("I16", e.Return, "log time is %d ms ahead and moved by %d ms in %d ms, from send %d to send %d", lead/1000,
				moved/1000, (e.Call-first.Return)/1000, first.ID, e.ID)
		}
		first = e
	}
}

// checkFalling checks I16: log time never decreases from entry to entry.
func (c *checker) checkFalling() {
	answers := slices.DeleteFunc(c.stamped(), func(e *history.Event) bool { return e.Index == 0 })
	slices.SortFunc(answers, func(a, b *history.Event) int { return cmp.Compare(a.Index, b.Index) })
	for i := 1; i < len(answers); i++ {
		if before, e := answers[i-1], answers[i]; before.Index < e.Index && e.LogTime < before.LogTime {
			c.violate("I16", e.Return, "log time fell by %d ms from entry %d to %d", before.LogTime-e.LogTime, before.Index, e.Index)
			return // one violation is enough, as others follow from it
		}
	}
}

// stamped returns the answers whose log time is that of their own entry. Answers without an entry
// have the time of an older one.
func (c *checker) stamped() []*history.Event {
	var answers []*history.Event
	for i := range c.events {
		e := &c.events[i]
		if e.Kind == history.KindOp && e.Result == history.OK && e.LogTime > 0 && e.Action == history.Send && e.Error == "" {
			answers = append(answers, e)
		}
	}
	slices.SortFunc(answers, func(a, b *history.Event) int { return cmp.Compare(a.Return, b.Return) })
	return answers
}

// leadTooLarge checks an answer whose log time is ahead by a time between lead and most. least is
// the smallest lead since the clocks were corrected, which must not grow.
func (c *checker) leadTooLarge(e *history.Event, lead, most, least int64) (bool, int64) {
	if overlaps(c.skewed, e.Call, e.Return) {
		return false, never // any lead is possible until the clocks are right for a while
	}
	if least == never && !c.skewedBefore(e.Return) {
		least = 0
	}
	if lead > max(timeOffMax, least+driftMax) && least != never {
		return true, least
	}
	return false, min(least, max(most, 0))
}

// skewedBefore reports whether a clock was wrong at some time before.
func (c *checker) skewedBefore(at int64) bool {
	return slices.ContainsFunc(c.skewed, func(s [2]int64) bool { return s[0] <= at })
}

// most records the largest of some values in a count.
func (c *checker) most(name string, value int) {
	c.report.Counts[name] = max(c.report.Counts[name], value)
}
