package check

import (
	"slices"
	"strings"
	"testing"

	"github.com/seriatimq/seriatim/test/oracle/history"
)

// A scenario without the faults that it is about is inconclusive.
func TestAScenarioMustHaveItsFaults(t *testing.T) {
	s := newStory()
	s.events[0].Rules.Must = []string{"fault crash at answer", "observed crashes at a place"}
	s.events = append(s.events,
		history.Event{Kind: history.KindFault, Workload: "failpoint", Action: "crash at answer", Node: "n1", Return: 5e6})
	short := Check(s.events).Short
	if !slices.ContainsFunc(short, func(s string) bool { return strings.HasPrefix(s, "observed crashes at a place: never") }) ||
		slices.ContainsFunc(short, func(s string) bool { return strings.Contains(s, "fault crash at answer") }) {
		t.Errorf("not reached: %q", short)
	}
}

// The parts of a soak reach the minimums together, and cumulative counts are not added.
func TestSumNeedsEveryPartToCount(t *testing.T) {
	part := Report{Counts: map[string]int{"operations ok": 60_000, "log: entries": 7}, profile: profileSoak}
	total := Sum([]Report{part, part})
	if total.Counts["operations ok"] != 120_000 || total.Counts["log: entries"] != 7 {
		t.Errorf("counts: %v", total.Counts)
	}
	if short := strings.Join(total.Short, "\n"); strings.Contains(short, "operations ok") ||
		!strings.Contains(short, "fault kill leader: 0 of 1") {
		t.Errorf("not reached: %s", short)
	}
}
