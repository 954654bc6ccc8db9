package check

import (
	"slices"
	"strings"

	"github.com/seriatimq/seriatim/test/oracle/history"
)

// checkReplicas reports what the run itself found about I13(b), (c), (f) and I15, and the
// invariants that faults saw broken.
func (c *checker) checkReplicas() {
	for _, e := range c.events {
		switch {
		case e.Kind == history.KindAgree && e.Result != history.OK:
			c.violate("I13", e.Return, "the replicas do not agree: %s", e.Error)
		case e.Kind == history.KindBreach:
			c.violate(e.Action, e.Return, "%s", e.Error)
		}
	}
}

// checkStates checks I13(b) with the status of nodes: all have the same state at one index. If one
// node has two states at an index, it changed its state outside of the log (I17).
func (c *checker) checkStates() {
	type look struct {
		node string
		*history.Status
	}
	first := map[uint64]look{}
	for _, e := range c.events {
		if e.Kind != history.KindStatus || e.Status == nil || e.Status.Hash == "" {
			continue
		}
		seen, known := first[e.Status.Applied]
		switch {
		case !known:
			first[e.Status.Applied] = look{e.Node, e.Status}
		case seen.Hash == e.Status.Hash:
		case seen.node == e.Node:
			c.violate("I17", e.Return, "%s had the state %s at entry %d and has %s, with nothing applied between", e.Node, seen.Hash,
				e.Status.Applied, e.Status.Hash)
		default:
			c.violate("I13", e.Return, "at entry %d %s has the state %s, %s has %s", e.Status.Applied, seen.node, seen.Hash, e.Node,
				e.Status.Hash)
		}
	}
}

// endGrace is the time after a fault in which a node may still end because of it: the disk deadline
// of these runs, plus some time to notice it and to exit.
const endGrace = 10_000_000

// explains maps exit codes to the faults that can cause them. No fault explains a replica that
// differs (83), a panic, or an unknown code.
var explains = map[string][]string{
	"80": {history.TouchPowerCut, history.TouchHang, history.TouchGone, history.TouchFull, history.TouchError,
		history.TouchFlip},
	"81": {history.TouchHang, history.TouchGone, history.TouchFull, history.TouchSlow, history.TouchPause,
		history.TouchFailpoint, history.TouchMachine},
	"82":              {history.TouchFlip},
	"84":              {history.TouchFlip},
	"85":              {history.TouchFlip},
	"86":              {history.TouchTransfer, history.TouchPause, history.TouchNetwork},
	"87":              {history.TouchRemove},
	history.CrashCode: {history.TouchFailpoint},
}

// meaning returns the invariant that an unexplained end breaks, and a text.
func meaning(code string) (invariant, text string) {
	switch code {
	case "80", "82", "84", "85":
		return "I17", "and nothing touched its disk"
	case "81":
		return "I17", "its disk was not slow"
	case "83":
		return "I13", "it differs from the others"
	case "86":
		return "I14", "nobody disturbed a transfer"
	case "87":
		return "I15", "nobody removed it"
	case history.CrashCode:
		return "I15", "at a failpoint that nobody armed"
	}
	return "I15", "which has no reason"
}

// checkEnds checks I17 and the rest of I13: if a process ended by itself, a fault that explains its
// exit code must have affected this node shortly before.
func (c *checker) checkEnds() {
	for _, e := range c.events {
		code, ended := strings.CutPrefix(e.Action, "exit code ")
		if e.Kind != history.KindObserved || !ended {
			continue
		}
		c.report.Counts["ends of processes by themselves"]++
		if c.explained(e, explains[code]) {
			continue
		}
		invariant, text := meaning(code)
		c.violate(invariant, e.Call, "%s ended with code %s, %s: %s", e.Node, code, text, e.Error)
	}
}

// explained reports whether one of these faults affected the node of the event, during the event or
// shortly before.
func (c *checker) explained(e history.Event, reasons []string) bool {
	return slices.ContainsFunc(c.touches, func(t *history.Event) bool {
		return slices.Contains(reasons, t.Action) && (t.Node == e.Node || t.Action == history.TouchMachine) && t.Call <= e.Call &&
			e.Call <= t.Return+endGrace
	})
}

// failTime is the time within which a node with a disk error must end.
const failTime = 10_000_000

// checkFailures checks I17: a node with an observed disk error ends.
func (c *checker) checkFailures() {
	for _, met := range c.events {
		if met.Kind != history.KindObserved || met.Action != history.ErrorMet {
			continue
		}
		if !slices.ContainsFunc(c.events, func(e history.Event) bool {
			return e.Kind == history.KindObserved && e.Node == met.Node && strings.HasPrefix(e.Action, "exit code ") &&
				met.Call-failTime <= e.Call && e.Call <= met.Return+failTime
		}) {
			c.violate("I17", met.Return, "%s met an error of its disk and goes on", met.Node)
		}
	}
}
