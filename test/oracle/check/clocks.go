package check

import (
	"cmp"
	"slices"
	"strings"

	"github.com/seriatimq/seriatim/test/oracle/history"
)

// All windows and deadlines of the product are measured in log time, and an
// answer says at which log time it was given: two answers can be compared
// exactly, whatever the clocks do. Where the harness's own clock has to serve,
// the slack of the rules applies, and nothing is judged while log time may be away
// from true time because a clock is or was wrong.

// clockGrace is how long after a clock was set right log time may be behind or,
// if it was ahead, is not yet judged.
const clockGrace = 90_000_000

// indexClocks finds the faults that move a clock by more than the slack.
func (c *checker) indexClocks() {
	for _, e := range c.events {
		if e.Kind == history.KindFault && e.Workload == "clock" && !strings.HasSuffix(e.Action, "0.1s") {
			c.skewed = append(c.skewed, [2]int64{e.Call, e.Return + clockGrace})
		}
	}
}

// calm says that no clock was wrong between two times, nor shortly before.
func (c *checker) calm(from, to int64) bool {
	return !slices.ContainsFunc(c.skewed, func(s [2]int64) bool { return s[0] <= to && from <= s[1] })
}

// sooner says that the second operation certainly came less than a span of log
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

// span is how long a delivery hides its message, unless that is changed.
func (c *checker) span(d *delivery) int64 {
	if t := d.receive.Timeout; t != nil {
		return *t
	}
	return c.rules.Visibility
}

// Limits of I16: how far log time may be from true time without a clock that is
// wrong, and between which times its speed is measured.
const (
	timeOffMax = 1_000_000
	speedEvery = 10_000_000
	closeBy    = 1_000_000 // answers further apart may have no leader between them
)

// checkTime is I16: an answer's log time lies between its call and its return; and
// if log time is ahead because a clock was, it goes on at half the speed of true
// time or more, while there are answers.
func (c *checker) checkTime() {
	var answers []*history.Event
	for i := range c.events {
		e := &c.events[i]
		// What is answered without a new entry has the time of an older one.
		if e.Kind == history.KindOp && e.Result == history.OK && e.LogTime > 0 && e.Action == history.Send && e.Error == "" {
			answers = append(answers, e)
		}
	}
	slices.SortFunc(answers, func(a, b *history.Event) int { return cmp.Compare(a.Return, b.Return) })
	wrong := false
	var first, last *history.Event // of answers that follow each other closely
	for _, e := range answers {
		at := (e.LogTime - c.rules.Started) * 1000
		ahead, behind := at-e.Return, e.Call-at
		c.most("log time ahead of true time, ms", int(ahead/1000))
		c.most("log time behind true time, ms", int(behind/1000))
		touched := len(c.skewed) > 0 && c.skewed[0][0] <= e.Return
		if !wrong && (behind > timeOffMax && c.calm(e.Call, e.Return) || ahead > timeOffMax && !touched) {
			wrong = true // one is enough: it stays wrong for a while
			c.violate("I16", e.Return, "send %d: log time is %d ms after its return, %d ms before its call", e.ID, ahead/1000, behind/1000)
		}
		if last == nil || e.Return-last.Return > closeBy {
			first = e
		}
		last = e
		if e.Return-first.Return < speedEvery {
			continue
		}
		if moved := (e.LogTime - first.LogTime) * 1000; ahead > timeOffMax && moved < (e.Call-first.Return)/2-timeOffMax {
			c.violate("I16", e.Return, "log time is %d ms ahead and moved by %d ms in %d ms, from send %d to send %d", ahead/1000, moved/1000, (e.Call-first.Return)/1000, first.ID, e.ID)
		}
		first = e
	}
}

// most keeps the largest of some values in a count.
func (c *checker) most(name string, value int) {
	c.report.Counts[name] = max(c.report.Counts[name], value)
}
