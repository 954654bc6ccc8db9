package check

import (
	"fmt"
	"strings"

	"github.com/seriatimq/seriatim/test/oracle/history"
)

// The profiles, as the first line of a history names them.
const (
	profileQuick    = "quick"
	profileSoak     = "soak"
	profileScenario = "scenario"
)

// minimum is how often something must have happened for a run to prove
// something.
type minimum struct {
	name  string
	least int
	quick int    // in a short run
	soak  int    // in a soak as a whole; its parts have none but that of operations
	area  string // waived if the machine or the build cannot do faults there
}

// minimums are of a run of the default length, a short one and a soak.
var minimums = [...]minimum{
	{name: "operations ok", least: 500, quick: 50, soak: 10_000},
	{name: "operations info", least: 5, quick: 1, soak: 100},
	{name: "fault kill leader", least: 1, quick: 1, soak: 1},
	{name: "fault kill all", least: 1, soak: 1},
	{name: "fault pause leader", least: 1, soak: 1},
	{name: "fault stop leader", least: 1, soak: 1},
	{name: "fault one-way cut of leader", least: 1, soak: 1, area: "network"},
	{name: "fault power cut of follower", least: 1, area: "disk"},
	{name: "fault power cut of all", least: 1, soak: 1, area: "disk"},
	{name: "fault disk hang on leader", least: 1, soak: 1, area: "disk"},
	{name: "un-synced bytes dropped", least: 1, soak: 1000, area: "disk"},
	{name: "fault clock +600.0s", least: 1, soak: 1, area: "clock"},
	{name: "observed leader change", least: 3, quick: 1, soak: 20},
	{name: "observed snapshot installed", least: 1, soak: 10},
	{name: "observed crashes at a place", soak: 5, area: "failpoint"},
	{name: "duplicates dropped", least: 20, quick: 2, soak: 1000},
	{name: "duplicates sent across a leader change", least: 1, soak: 10},
	{name: "attempts repeated across a leader change", least: 1, soak: 10},
	{name: "deliveries after expiry", least: 3, soak: 50},
	{name: "deliveries repeated by attempt id", least: 3, soak: 50},
	{name: "deletes with a stale handle", least: 1, soak: 5},
	{name: "replicas agreed", least: 1, quick: 1, soak: 5},
	{name: "service after healing", least: 3, quick: 3, soak: 15},
	{name: "queues drained", least: 15, quick: 15, soak: 15},
	{name: "counters of queues checked", least: 60, quick: 60, soak: 60},
	{name: "looks at what processes use", soak: 30},
	{name: "messages moved to a dead-letter queue", least: 1, soak: 10},
}

// bite counts what happened and compares it with the minimums.
func (c *checker) bite() {
	for i := range c.events {
		c.count(&c.events[i])
	}
	c.report.profile, c.report.must = c.rules.Profile, c.rules.Must
	if c.rules.Quick {
		c.report.profile = profileQuick
	}
	c.report.fall()
	if c.report.profile == profileSoak && len(c.report.Short) > 0 {
		// A part of a soak need not have everything; the whole must (Sum).
		c.report.Short = nil
	}
}

// count counts one line.
func (c *checker) count(e *history.Event) {
	n := c.report.Counts
	switch {
	case e.Kind == history.KindFault && e.Error == "":
		n["fault "+e.Action]++
	case e.Kind == history.KindFault:
		n["faults that did not run"]++
	case e.Kind == history.KindOp && e.Action == history.Send && e.Result == history.OK && e.Error != "" && e.Workload != "batch":
		n["sends refused"]++
	case e.Kind == history.KindDrained:
		n["queues drained"]++
	case e.Kind == history.KindObserved && e.Action == history.BytesDropped:
		n["un-synced bytes dropped"] += int(e.Count)
	case e.Kind == history.KindObserved:
		n["observed "+e.Action] += max(1, int(e.Count))
	case e.Kind == history.KindAgree && e.Result == history.OK:
		n["replicas agreed"]++
	case e.Kind == history.KindLive && e.Result == history.OK:
		n["service after healing"]++
	case e.Kind == history.KindAble && e.Result != history.OK:
		c.report.waived[e.Action] = true
	case e.Kind == history.KindOp && e.Action == history.Delete && e.Result == history.OK:
		if d := c.handles[e.Handle]; d != nil && c.message(d).stale(e.Handle, e.Call) {
			n["deletes with a stale handle"]++
		}
	}
}

// Minimum is one of them, and how it was met.
type Minimum struct {
	Name       string
	Least, Got int
	Waived     bool // this machine or build cannot do such faults
}

// Minimums are those that hold for the run.
func (r *Report) Minimums() []Minimum {
	var all []Minimum
	for _, m := range minimums {
		least := m.least
		switch r.profile {
		case profileQuick:
			least = m.quick
		case profileSoak:
			least = m.soak
		case profileScenario:
			least = m.quick
			if strings.HasPrefix(m.name, "fault ") || strings.HasPrefix(m.name, "observed ") {
				least = 0
			}
		}
		if least > 0 {
			all = append(all, Minimum{Name: m.name, Least: least, Got: r.Counts[m.name], Waived: r.waived[m.area]})
		}
	}
	return all
}

// fall finds the minimums that were not reached.
func (r *Report) fall() {
	r.Short = nil
	// A refused send tests nothing and hides that its workload is broken.
	if n := r.Counts["sends refused"]; n > 0 {
		r.Short = append(r.Short, fmt.Sprintf("sends refused: %d, none expected", n))
	}
	for _, name := range r.must {
		if r.Counts[name] == 0 {
			r.Short = append(r.Short, name+": never, and the scenario is about it")
		}
	}
	for _, m := range r.Minimums() {
		if m.Got < m.Least && !m.Waived {
			r.Short = append(r.Short, fmt.Sprintf("%s: %d of %d", m.Name, m.Got, m.Least))
		}
	}
}
