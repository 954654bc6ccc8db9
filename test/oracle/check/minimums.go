package check

import (
	"fmt"
	"slices"
	"strings"

	"github.com/seriatimq/seriatim/test/oracle/history"
)

// The profiles, as the first line of a history names them.
const (
	profileQuick    = "quick"
	profileSoak     = "soak"
	profileScenario = "scenario"
	profileNight    = "night"
)

// minimum is the least count of an event with which a run proves something.
type minimum struct {
	name  string
	least int
	quick int    // in a short run
	soak  int    // in a soak as a whole; of its parts only operations are required
	area  string // waived if this machine or build does not support faults in the area
}

// minimums lists the counts for a run of the default length, a short run, and a soak. Rates are a
// twentieth of what two busy cores reach.
var minimums = [...]minimum{
	{name: "operations ok", least: 5000, quick: 300, soak: 100_000},
	{name: "operations info", least: 50, quick: 1, soak: 1000},
	{name: "messages acknowledged", least: 1500, quick: 80, soak: 30_000},
	{name: "messages delivered", least: 1200, quick: 60, soak: 25_000},
	{name: "messages with attributes delivered", least: 500, quick: 10, soak: 5000},
	{name: "digests checked", least: 2500, quick: 100, soak: 50_000},
	{name: "fault kill leader", least: 1, quick: 1, soak: 1},
	{name: "fault kill all", least: 1, soak: 1},
	{name: "fault pause leader", least: 1, soak: 1},
	{name: "fault stop leader", least: 1, soak: 1},
	{name: "fault one-way cut of leader", least: 1, soak: 1, area: "network"},
	{name: "fault isolate leader", soak: 1, area: "network"},
	{name: "fault power cut of follower", least: 1, soak: 1, area: "disk"},
	{name: "fault power cut of all", least: 1, soak: 1, area: "disk"},
	{name: "fault disk hang on leader", least: 1, soak: 1, area: "disk"},
	{name: "fault disk of one gone", soak: 1, area: "disk"},
	{name: "fault empty disk, node replaced", soak: 1},
	{name: "fault follower behind", soak: 1},
	{name: "fault bits flipped in bodies", least: 1, soak: 1, area: "bodies"},
	{name: "observed bodies healed", least: 1, soak: 5, area: "bodies"},
	{name: "fault snapshots taken", soak: 1, area: "failpoint"},
	{name: "un-synced bytes dropped", least: 1, soak: 1000, area: "disk"},
	{name: "fault clock +600.0s", least: 1, soak: 1, area: "clock"},
	{name: "observed leader change", least: 5, quick: 1, soak: 20},
	{name: "observed elections lost", soak: 5},
	{name: "observed conflicting entries removed from a log", soak: 1},
	{name: "observed disk errors raised", soak: 2, area: "disk"},
	{name: "observed node started from an empty disk", soak: 2},
	{name: "observed snapshot installed", least: 1, soak: 10},
	{name: "observed crashes at a place", soak: 5, area: "failpoint"},
	{name: "duplicates dropped", least: 250, quick: 10, soak: 5000},
	{name: "duplicates sent across a leader change", least: 50, soak: 500},
	{name: "attempts repeated across a leader change", least: 1, soak: 50},
	{name: "deliveries after expiry", least: 100, soak: 1000},
	{name: "deliveries repeated by attempt id", least: 50, soak: 500},
	{name: "deletes with a stale handle", least: 3, soak: 30},
	{name: "calls to a minority", soak: 10, area: "network"},
	{name: ReplicasAgreed, least: 5, quick: 1, soak: 30},
	{name: "service after healing", least: 15, quick: 3, soak: 150},
	{name: "quiet phases", least: 1, quick: 1, soak: 5},
	{name: "quiet phases of a minute", soak: 3},
	{name: "queues drained", least: 20, quick: 20, soak: 20},
	{name: "counters of queues checked", least: 75, quick: 75, soak: 75},
	{name: "looks at what processes use", soak: 30},
	{name: "messages moved to a dead-letter queue", least: 20, soak: 200},
	{name: "messages fanned out", least: 80, quick: 10, soak: 1600},
	{name: "messages kept back by filters", least: 20, quick: 1, soak: 400},
	{name: "publishes dropped as duplicates", least: 10, soak: 200},
	{name: "publishes repeated across a leader change", least: 5, soak: 100},
	{name: "sessions accepted", least: 20, quick: 3, soak: 400},
	{name: "sessions accepted as the next one", least: 10, soak: 200},
	{name: "locks that ran out", least: 5, soak: 100},
	{name: "calls under a lost lock refused", least: 5, soak: 100},
	{name: "states of sessions read", least: 40, quick: 5, soak: 800},
	{name: "messages scheduled", least: 10, quick: 1, soak: 200},
	{name: "scheduled messages cancelled", least: 5, soak: 100},
	{name: "cancels that came too late", least: 5, soak: 100},
}

// ReplicasAgreed counts how often all replicas were found equal.
const ReplicasAgreed = "replicas agreed"

// Least is the minimum of a count in a run of a profile.
func Least(profile, name string) int {
	for _, m := range minimums {
		if m.name == name {
			return m.of(profile)
		}
	}
	return 0
}

// Demanded returns the names of the faults that a run of a profile must inject at least once,
// unless the machine does not support them.
func Demanded(profile string) []string {
	var names []string
	for _, m := range minimums {
		if name, fault := strings.CutPrefix(m.name, "fault "); fault && m.of(profile) > 0 {
			names = append(names, name)
		}
	}
	return names
}

// of is the minimum of a profile, 0 if it has none.
func (m minimum) of(profile string) int {
	switch profile {
	case profileQuick:
		return m.quick
	case profileSoak:
		return m.soak
	case profileScenario:
		if strings.HasPrefix(m.name, "fault ") || strings.HasPrefix(m.name, "observed ") {
			return 0
		}
		return m.quick
	case profileNight:
		// A night run draws its faults, so it has only some of them.
		if strings.HasPrefix(m.name, "fault ") || strings.HasPrefix(m.name, "observed ") || strings.Contains(m.name, "leader change") {
			return m.quick
		}
	}
	return m.least
}

// checkMinimums counts the events and compares the counts with the minimums.
func (c *checker) checkMinimums() {
	for i := range c.all {
		c.count(&c.all[i])
	}
	c.countBeyond()
	c.report.profile, c.report.must = c.rules.Profile, c.rules.Must
	if c.rules.Quick {
		c.report.profile = profileQuick
	}
	for _, queue := range c.rules.Queues {
		if _, drained := c.drained[queue]; !drained {
			c.report.Leave("queue %s was not drained: nothing is said about what it lost", queue)
		}
	}
	// A refused send tests nothing and hides that its workload is broken.
	if n := c.report.Counts["sends refused"]; n > 0 {
		c.report.Leave("sends refused: %d, none expected", n)
	}
	// A part of a soak may lack some events; the whole must have all (Sum).
	if c.report.profile != profileSoak {
		c.report.fall()
	}
}

// Leave records a check that could not be made, which no other part of a run can replace.
func (r *Report) Leave(format string, args ...any) {
	r.Short = append(r.Short, fmt.Sprintf(format, args...))
}

// count counts one event.
func (c *checker) count(e *history.Event) {
	n := c.report.Counts
	if e.Kind == history.KindOp {
		n["operations "+string(e.Result)]++ // an entry of a batch counts as one
	}
	switch {
	case e.Kind == history.KindFault && e.Error == "":
		n["fault "+e.Action]++
	case e.Kind == history.KindFault && e.Injected:
		n["faults whose mending had trouble"]++
	case e.Kind == history.KindFault:
		n["faults that did not run"]++
	case e.Kind == history.KindOp && slices.Contains([]string{history.Send, history.Publish, history.Schedule}, e.Action) &&
		e.Result == history.OK && e.Error != "" && e.Workload != "batch":
		n["sends refused"]++
	case e.Kind == history.KindDrained:
		n["queues drained"]++
	case e.Kind == history.KindObserved && e.Action == history.BytesDropped:
		n["un-synced bytes dropped"] += int(e.Count)
	case e.Kind == history.KindObserved:
		n["observed "+e.Action] += max(1, int(e.Count))
	case e.Kind == history.KindAgree && e.Result == history.OK:
		n[ReplicasAgreed]++
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

// Minimum is a minimum with the count that was reached.
type Minimum struct {
	Name       string
	Least, Got int
	Waived     bool // this machine or build does not support such faults
}

// Minimums returns the minimums for the run.
func (r *Report) Minimums() []Minimum {
	var all []Minimum
	for _, m := range minimums {
		least := m.of(r.profile)
		if least > 0 {
			all = append(all, Minimum{Name: m.name, Least: least, Got: r.Counts[m.name], Waived: r.waived[m.area]})
		}
	}
	return all
}

// fall adds the minimums that were not reached to Short.
func (r *Report) fall() {
	for _, name := range r.must {
		if r.Counts[name] == 0 {
			r.Leave("%s: never, and the scenario is about it", name)
		}
	}
	for _, m := range r.Minimums() {
		if m.Got < m.Least && !m.Waived {
			r.Leave("%s: %d of %d", m.Name, m.Got, m.Least)
		}
	}
}
