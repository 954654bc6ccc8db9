package logcheck

import (
	"fmt"

	"github.com/seriatimq/seriatim/test/oracle/history"
)

// Violation is something that must not happen in a run.
type Violation struct {
	Check     string // W1 to W7, or W for other checks
	Invariant string // of faults.md 1
	Index     uint64 // of the log entry, 0 if none
	Op        int64  // number of the operation, 0 if none
	At        int64  // microseconds since the start of the run, 0 if not known
	Text      string
}

func (v Violation) String() string {
	text := v.Check + " (" + v.Invariant + ")"
	if v.Index != 0 {
		text += fmt.Sprintf(" at entry %d", v.Index)
	}
	if v.Op != 0 {
		text += fmt.Sprintf(", operation %d", v.Op)
	}
	return text + ": " + v.Text
}

// Report is the result of the checks of the log.
type Report struct {
	Violations []Violation
	Counts     map[string]int
	// Gaps are the checks that could not be made, with their reasons.
	Gaps []string
}

// violationsMax bounds the violations of one check that are kept. One cause makes many, and the
// first ones are the most useful.
const violationsMax = 20

func (w *Checker) violate(check, invariant string, index uint64, op *history.Event, format string, args ...any) {
	w.count("violations "+check, 1)
	if w.report.Counts["violations "+check] > violationsMax {
		return
	}
	v := Violation{Check: check, Invariant: invariant, Index: index, Text: fmt.Sprintf(format, args...)}
	if op != nil {
		v.Op, v.At = op.ID, op.Return
	}
	w.report.Violations = append(w.report.Violations, v)
}

func (w *Checker) count(what string, n int) {
	if n != 0 {
		w.report.Counts[what] += n
	}
}

func (w *Checker) gap(format string, args ...any) {
	w.report.Gaps = append(w.report.Gaps, fmt.Sprintf(format, args...))
}
