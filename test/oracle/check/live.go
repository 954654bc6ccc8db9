package check

import (
	"slices"

	"github.com/seriatimq/seriatim/test/oracle/history"
)

// Limits of I14.
const (
	// answerGrace is the time beyond the request timeout that a minority node may take to refuse, for
	// the network and a busy machine.
	answerGrace = 2_000_000
	// leaseTime bounds how long an isolated leader still leads. Until then its answers are valid.
	leaseTime = 3_000_000
	// steadyTime is a time without faults in which leadership should be stable.
	steadyTime = 60_000_000
	// changesMost bounds the changes of the leader in steadyTime.
	changesMost = 1
)

// checkService checks I14: within a time after the repair each node of a majority serves, then for
// a minute without interruption and with at most one change of the leader, and nodes of a minority
// refuse in time.
func (c *checker) checkService() {
	for i := range c.events {
		e := &c.events[i]
		switch e.Kind {
		case history.KindLive:
			if e.Result != history.OK {
				c.violate("I14", e.Return, "%s gave no service %d s after healing: %s", e.Node, (e.Return-e.Call)/1e6, e.Error)
			}
		case history.KindSteady:
			changes := 0
			for _, at := range c.changes {
				if e.Call < at && at < e.Return {
					changes++
				}
			}
			if changes > changesMost {
				c.violate("I14", e.Return, "leadership moved %d times in %d s in which nothing new was broken", changes,
					(e.Return-e.Call)/1e6)
			}
			c.report.Counts["quiet phases"]++
			if e.Return-e.Call >= steadyTime {
				c.report.Counts["quiet phases of a minute"]++
			}
		case history.KindOp:
			if e.Workload == history.Minority {
				c.checkMinority(e)
			}
		default: // not about service
		}
	}
}

// checkMinority checks a call to a node that clients reach but other nodes do not.
func (c *checker) checkMinority(e *history.Event) {
	c.report.Counts["calls to a minority"]++
	if took := e.Return - e.Call; c.rules.Timeout > 0 && took > c.rules.Timeout+answerGrace && !c.stalled(e.Call, e.Return) {
		c.violate("I14", e.Return, "%s, which is cut off, held call %d of a client for %d ms", e.Node, e.ID, took/1000)
	}
	if e.Result == history.OK && e.Error == "" && e.Call-e.Since > leaseTime {
		c.violate("I14", e.Return, "%s was cut off %d ms before call %d, and answered it: %s", e.Node, (e.Call-e.Since)/1000, e.ID,
			e.Action)
	}
}

// stalled reports whether the machine stood still at some moment between two times.
func (c *checker) stalled(from, to int64) bool {
	return slices.ContainsFunc(c.touches, func(t *history.Event) bool {
		return t.Action == history.TouchMachine && t.Call <= to && from <= t.Return
	})
}
