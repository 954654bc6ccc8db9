package check

import (
	"slices"
	"strings"

	"github.com/seriatimq/seriatim/test/oracle/history"
)

// checkReplicas is I13(b), (c) and (f), I14 and I15 as the run noted them, and
// what faults saw of the node that they broke.
func (c *checker) checkReplicas() {
	for _, e := range c.events {
		switch {
		case e.Kind == history.KindAgree && e.Result != history.OK:
			c.violate("I13", e.Return, "the replicas do not agree: %s", e.Error)
		case e.Kind == history.KindLive && e.Result != history.OK:
			c.violate("I14", e.Return, "%s gave no service %d s after healing: %s", e.Node, (e.Return-e.Call)/1e6, e.Error)
		case e.Kind == history.KindBreach:
			c.violate(e.Action, e.Return, "%s", e.Error)
		}
	}
}

// After a fault of its disk a node may end by itself for this long: the deadline
// of the disk and the time to notice it.
const diskGrace = 30_000_000

// checkEnds is I17 and the rest of I13: a process that ended by itself says by its
// exit code why, and there must have been that reason. Codes of a replica that
// differs, of a crash or without a meaning have none that a run makes.
func (c *checker) checkEnds() {
	var broken, crashed []history.Event // faults of disks, and at failpoints
	for _, e := range c.events {
		switch {
		case e.Kind == history.KindFault && e.Workload == "disk":
			broken = append(broken, e)
		case e.Kind == history.KindFault && e.Workload == "failpoint":
			crashed = append(crashed, e)
		}
	}
	for _, e := range c.events {
		code, ended := strings.CutPrefix(e.Action, "exit code ")
		if e.Kind != history.KindObserved || !ended {
			continue
		}
		excused := slices.ContainsFunc(broken, func(f history.Event) bool { return f.Call <= e.Call && e.Call <= f.Return+diskGrace })
		switch code {
		case "81": // no disk is so slow that this is certainly wrong
		case "80", "82": // a disk failed or is damaged
			if !excused {
				c.violate("I17", e.Call, "%s ended with code %s and its disk was not touched: %s", e.Node, code, e.Error)
			}
		case "83":
			c.violate("I13", e.Call, "%s says that it differs from the others: %s", e.Node, e.Error)
		case "86", "87": // a transfer that never ended; a node that was removed
		case history.CrashCode: // at a failpoint of this node
			if !slices.ContainsFunc(crashed, func(f history.Event) bool {
				return f.Call <= e.Call && e.Call <= f.Return+diskGrace && slices.Contains(strings.Fields(f.Node), e.Node)
			}) {
				c.violate("I15", e.Call, "%s ended at a failpoint that nobody armed: %s", e.Node, e.Error)
			}
		default:
			if !excused {
				c.violate("I15", e.Call, "%s ended with code %s: %s", e.Node, code, e.Error)
			}
		}
	}
}
