package check

import (
	"cmp"
	"slices"

	"github.com/seriatimq/seriatim/test/oracle/history"
)

// All windows and deadlines of the product are measured in log time, and an
// answer says at which log time it was given: two answers can be compared
// exactly, whatever the clocks do. Where the harness's own clock has to serve,
// the slack of the rules applies, and nothing is judged while log time may be away
// from true time because a clock is or was wrong.

// clockGrace is the time after the correction of a clock in which log time may still be late, or
// drift from true time (faults.md I16).
const clockGrace = 60_000_000

// clockTrifle is by how much a clock may be moved without a difference to anything
// that is judged here.
const clockTrifle = 100

// indexClocks finds what moved a clock by more than the slack.
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

// calm reports that no clock was wrong between two times or shortly before, and that no earlier
// error makes log time early.
func (c *checker) calm(from, to int64) bool { return !overlaps(c.uncertain, from, to) }

func overlaps(spans [][2]int64, from, to int64) bool {
	return slices.ContainsFunc(spans, func(s [2]int64) bool { return s[0] <= to && from <= s[1] })
}

// sooner reports whether the second operation certainly came less than a span of log
// time after the first took effect.
func (c *checker) sooner(first, second *history.Event, span int64) bool {
	began := c.origin(first)
	if began == first && first.LogTime > 0 && second.LogTime > 0 {
		return (second.LogTime-first.LogTime)*1000 < span
	}
	return second.Return < began.Call+span-c.rules.Slack && c.calm(began.Call, second.Return)
}

// origin is the call that may have taken the messages of a receive: the first
// with its attempt id.
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

// Limits of I16: how far log time may be from true time without a clock that is
// wrong, between which times its speed is measured, and by how much it may seem to
// move away from true time.
const (
	timeOffMax = 1_000_000
	speedEvery = 10_000_000
	closeBy    = 1_000_000 // answers further apart may have no leader between them
	driftMax   = 250_000
)

// checkTime checks I16: the log time of an answer is between call and return. After a fast clock
// is corrected, log time may stay early by a lead. The lead must not grow, and log time must
// advance at half the speed of true time or more, while there are answers.
func (c *checker) checkTime() {
	c.checkFalling()
	wrong := false
	least := never                 // the smallest certain lead since the clocks are right
	var first, last *history.Event // of answers that follow each other closely
	for _, e := range c.stamped() {
		at := (e.LogTime - c.rules.Started) * 1000
		lead, behind := at-e.Return, e.Call-at
		c.most("log time ahead of true time, ms", int(lead/1000))
		c.most("log time behind true time, ms", int(behind/1000))
		var far bool
		far, least = c.leadTooLarge(e, lead, at-e.Call, least)
		if !wrong && (behind > timeOffMax && !overlaps(c.skewed, e.Call, e.Return) || far) {
			wrong = true // one is enough: it stays wrong for a while
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

// checkFalling is I16: an entry has no earlier time than the one before it.
func (c *checker) checkFalling() {
	answers := slices.DeleteFunc(c.stamped(), func(e *history.Event) bool { return e.Index == 0 })
	slices.SortFunc(answers, func(a, b *history.Event) int { return cmp.Compare(a.Index, b.Index) })
	for i := 1; i < len(answers); i++ {
		if before, e := answers[i-1], answers[i]; before.Index < e.Index && e.LogTime < before.LogTime {
			c.violate("I16", e.Return, "log time fell by %d ms from entry %d to %d", before.LogTime-e.LogTime, before.Index, e.Index)
			return // one is enough: the next ones follow from it
		}
	}
}

// stamped are the answers whose log time is that of their own entry. What is answered
// without a new entry has the time of an older one.
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

// leadTooLarge checks an answer whose log time is early by at least lead and at most most. The
// lead that remained when clocks were corrected, least, can only fall.
func (c *checker) leadTooLarge(e *history.Event, lead, most, least int64) (bool, int64) {
	if overlaps(c.skewed, e.Call, e.Return) {
		return false, never // it may be anywhere, until clocks were right for a while
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

// most keeps the largest of some values in a count.
func (c *checker) most(name string, value int) {
	c.report.Counts[name] = max(c.report.Counts[name], value)
}
