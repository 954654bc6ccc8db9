package report

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seriatimq/seriatim/test/oracle/check"
	"github.com/seriatimq/seriatim/test/oracle/history"
)

const second = 1_000_000

// answers are sends that were answered at the given times.
func answers(times ...int64) []history.Event {
	var events []history.Event
	for i, at := range times {
		events = append(events, history.Event{Kind: history.KindOp, ID: int64(i + 1), Node: "n1", Action: history.Send, Queue: "q", Call: at - 1000, Return: at, Result: history.OK})
	}
	return events
}

func TestRecoveries(t *testing.T) {
	events := append(answers(0, 1*second, 4*second, 5*second, 9*second),
		history.Event{Kind: history.KindFault, Action: "kill leader", Call: 1 * second, Return: 2 * second},
		history.Event{Kind: history.KindLive, Node: "n1", Call: 3 * second, Return: 4 * second, Result: history.OK},
		history.Event{Kind: history.KindLive, Node: "n2", Call: 3 * second, Return: 6 * second, Result: history.OK},
		history.Event{Kind: history.KindFault, Action: "not done", Call: 1 * second, Return: 2 * second, Error: "busy"},
	)
	want := []Recovery{{Fault: "kill leader", Silent: []int64{3 * second}, Healed: []int64{3 * second}}}
	if diff := cmp.Diff(want, Recoveries(events)); diff != "" {
		t.Error(diff)
	}
	both := Merge(want, want)
	if len(both) != 1 || len(both[0].Silent) != 2 || len(want[0].Silent) != 1 {
		t.Errorf("merged: %v of %v", both, want)
	}
	if found := gaps(events); len(found) != 4 || found[1].Length != 3*second || found[1].Faults != "kill leader, not done" {
		t.Errorf("gaps: %+v", found)
	}
}

func TestMedianAndWorst(t *testing.T) {
	for _, c := range []struct {
		times         []int64
		median, worst int64
	}{{nil, 0, 0}, {[]int64{7}, 7, 7}, {[]int64{9, 1, 5}, 5, 9}} {
		if Median(c.times) != c.median || Worst(c.times) != c.worst {
			t.Errorf("%v: %d and %d", c.times, Median(c.times), Worst(c.times))
		}
	}
}

// TestPageStandsAlone draws a small run: what it shows comes from the history, and
// it loads nothing.
func TestPageStandsAlone(t *testing.T) {
	events := append([]history.Event{
		{Kind: history.KindRun, Detail: history.Detail{Rules: &history.Rules{Seed: 7, Command: "make faults SEED=7", Started: 1}}},
		{Kind: history.KindAble, Action: "disk", Result: history.Fail, Error: "no root"},
		{Kind: history.KindFault, Action: "power <cut>", Workload: "disk", Call: second, Return: 2 * second},
		{Kind: history.KindStatus, Node: "n1", Call: second, Return: second, Detail: history.Detail{Status: &history.Status{Role: "leader", Term: 3}}},
	}, answers(second, 2*second, 3*second)...)
	var page strings.Builder
	judged := check.Check(events)
	judged.Violations = append(judged.Violations, check.Violation{Invariant: "I1", Text: "lost & gone", At: 2 * second})
	if err := Draw(&page, events, judged); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"make faults SEED=7", "no root", "power &lt;cut&gt;", "lost &amp; gone", "leader, term 3", "<circle", "<polyline"} {
		if !strings.Contains(page.String(), want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	for _, never := range []string{"src=", "href=", "ZgotmplZ", "@import"} {
		if strings.Contains(page.String(), never) {
			t.Errorf("the page has %q", never)
		}
	}
}
