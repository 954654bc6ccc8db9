package faults

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/seriatimq/seriatim/test/oracle/history"
)

// Scenario is a fixed combination of faults that has broken this system or a similar one.
type Scenario struct {
	Name  string
	About string   // where the combination is known from
	needs []area   // areas without which the scenario cannot run
	must  []string // counts in the report that are 0 if the scenario missed its purpose
	idle  bool     // clients begin only after the faults
	play  func(*schedule, context.Context)
}

// Scenarios are all of them.
func Scenarios() []Scenario { return append(plainScenarios(), diskScenarios()...) }

// plainScenarios need no disks.
func plainScenarios() []Scenario {
	return []Scenario{
		repeated("bits flipped in bodies", "the scrub finds wrong bytes on a disk and repairs them without an operator", []area{areaBodies},
			"observed bodies healed"),
		repeated("pause leader, kill follower", "known from NATS JetStream", nil),
		{Name: "stale leader after a pause", About: "a leader that was paused answers reads: etcd 20418", must: did("hop"),
			play: thrice("hop")},
		{
			Name: "snapshot after snapshot", About: "a second snapshot meets the first: etcd 18055",
			must: append(did("follower behind twice"), "observed snapshot installed"), play: thrice("follower behind twice"),
		},
		{
			Name: "crash after crash", About: "logs are cut and compacted meanwhile: etcd 17780",
			must: did("kill one", "kill leader", "kill all", "follower behind"),
			play: inTurn("kill one", "kill leader", "kill all", "follower behind", "kill leader", "kill all"),
		},
		{
			Name: "idle, then a burst", About: "nothing is written while leaders come and go", idle: true,
			must: did("kill leader", "pause leader", "stop leader"),
			play: inTurn("kill leader", "pause leader", "stop leader"),
		},
		repeated("crash between apply and answer", "what was done and never told is asked for again", []area{areaFailpoint},
			"observed "+answerCrashes),
		{
			Name: "starved leader", About: "it answers everything, late, and for ever",
			must: append(did("leader starved of CPU"), "observed "+starvedTurns),
			play: freeze("leader starved of CPU"),
		},
		{
			Name: "deaf or mute node", About: "it keeps starting elections: TigerBeetle's liveness case", needs: []area{areaNetwork},
			must: did("one-way cut"),
			play: freeze("one-way cut"),
		},
		{
			Name: "voter behind a slow line", About: "it is free for all nodes but the leader, whoever that is", needs: []area{areaNetwork},
			must: did("slow line"), play: freeze("slow line"),
		},
		{
			Name: "voter behind a lossy line", About: "now and then something gets through", needs: []area{areaNetwork},
			must: did("loss at one"), play: freeze("loss at one"),
		},
		{
			Name: "members change during a partition", About: "by the majority", needs: []area{areaNetwork},
			must: did("isolate one", "node added and removed"),
			play: during("isolate one", "node added and removed"),
		},
		{
			Name: "leader removed with entries of its own", About: "no other node has them, and they must not come back",
			needs: []area{areaNetwork},
			must:  did(leaderRemoved), play: removeIsolatedLeader,
		},
	}
}

// diskScenarios need disks of their own.
func diskScenarios() []Scenario {
	disks, both := []area{areaDisk}, []area{areaDisk, areaNetwork}
	return []Scenario{
		{
			Name: "disk hang on leader", About: "heartbeats go on beside a write that hangs: hashicorp/raft 503", needs: disks,
			must: append(did("disk hang on leader", "disk hang until the leader leaves"), "observed "+hungDisks),
			play: inTurn("disk hang on leader", "disk hang until the leader leaves", "disk hang until the leader leaves"),
		},
		repeated("power cut of all while one is cut off", "known from NATS JetStream", both, bytesDropped),
		repeated("power cut of one, slow lines", "known from NATS JetStream", both, bytesDropped),
		repeated("power cut of a node that is sent a snapshot", "half a snapshot must not count", disks, "observed "+cutInstalls,
			"observed snapshot installed"),
		repeated("bit flipped in a follower, leader killed", "known from NATS JetStream", disks, "observed "+refusals),
		repeated("sync error, same leader again", "what a failed sync left must not count", disks, "observed "+diskErrors,
			"observed "+sameLeaders),
		repeated("empty disk beside a node that lags", "an empty node must not vote", disks, "observed "+noElections),
		repeated("power cut, slower disk at the leader", "entries leave before the leader's disk has them", disks, bytesDropped,
			"observed "+unequalCuts),
		repeated("power cut, faster disk at the leader", "the leader's disk alone has entries that left early", disks, bytesDropped,
			"observed "+unequalCuts),
		repeated("crash while the log is shortened", "known from etcd 17780", disks, "observed "+killsAtRemoval),
	}
}

// bytesDropped is the name under which the checkers count history.BytesDropped.
const bytesDropped = "un-synced bytes dropped"

// repeated returns the scenario that injects a fault three times and is named after it.
func repeated(name, about string, needs []area, must ...string) Scenario {
	return Scenario{Name: name, About: about, needs: needs, must: append(did(name), must...), play: thrice(name)}
}

// did returns the names under which the report counts the injected and repaired faults.
func did(faults ...string) []string {
	var counts []string
	for _, name := range faults {
		counts = append(counts, "fault "+name)
	}
	return counts
}

var errLacks = errors.New("this machine cannot do the scenario")

// lacks returns the reason why a scenario cannot run on this testbed, or nil.
func (s *testbed) lacks(x Scenario) error {
	for _, a := range x.needs {
		if a == areaDisk && s.disks == nil || a == areaNetwork && s.network == nil {
			return fmt.Errorf("%w: it needs a %s of its own", errLacks, a)
		}
		if a == areaBodies && s.bodies != nil {
			return fmt.Errorf("%w: %w", errLacks, s.bodies)
		}
		if a == areaFailpoint && !s.hooks {
			return fmt.Errorf("%w: it needs a fault build", errLacks)
		}
	}
	return nil
}

// fault finds a fault by name, if this machine supports it.
func (p *schedule) fault(name string) (fault, bool) {
	i := slices.IndexFunc(p.faults, func(f fault) bool { return f.name == name })
	if i < 0 {
		return fault{}, false
	}
	return p.faults[i], true
}

// thrice injects a fault three times.
func thrice(name string) func(*schedule, context.Context) { return inTurn(name, name, name) }

// inTurn injects faults one after the other, and heals after each.
func inTurn(names ...string) func(*schedule, context.Context) {
	return func(p *schedule, ctx context.Context) {
		for _, name := range names {
			if f, found := p.fault(name); found && ctx.Err() == nil {
				p.one(ctx, f)
			}
		}
	}
}

// during injects a fault while another one lasts, twice.
func during(outer, inner string) func(*schedule, context.Context) {
	return func(p *schedule, ctx context.Context) {
		for range 2 {
			out, found := p.fault(outer)
			in, also := p.fault(inner)
			if !found || !also || ctx.Err() != nil {
				return
			}
			s := p.testbed.newInjection(out, p.random.Uint64())
			s.hold = 0
			s.frozen = func() {
				pause(ctx, 2*time.Second)
				within := p.testbed.newInjection(in, p.random.Uint64())
				within.outer = s
				within.hold = in.least
				within.run(ctx)
				pause(ctx, 2*time.Second)
			}
			s.run(ctx)
			p.testbed.heal()
		}
	}
}

// freeze injects a fault that does not end, and demands that the other nodes serve.
func freeze(name string) func(*schedule, context.Context) {
	return func(p *schedule, ctx context.Context) {
		for range 2 {
			if f, found := p.fault(name); found && ctx.Err() == nil {
				p.freeze(ctx, f, frozenBrief)
			}
		}
	}
}

// script is a scenario with its own code, which is recorded as a fault.
func script(name string, of area, begin func(*injection, context.Context) error) func(*schedule, context.Context) {
	return func(p *schedule, ctx context.Context) {
		p.one(ctx, fault{name: name, area: of, begin: begin})
	}
}

// leaderRemoved is the name of removeIsolatedLeader in the history.
const leaderRemoved = "isolated leader removed"

// removeIsolatedLeader isolates a leader from the nodes, while clients call it in vain. The others
// remove it, and it returns with an empty disk.
var removeIsolatedLeader = script(leaderRemoved, areaNetwork, func(s *injection, ctx context.Context) error {
	old, err := s.takeLeader(ctx)
	if err != nil {
		return err
	}
	if err := s.isolate(old.Name); err != nil {
		return err
	}
	pause(ctx, 3*time.Second)
	s.touch(history.TouchRemove, old)
	rest := s.testbed.cluster.Part(s.testbed.cluster.Followers(old)...)
	if _, err := rest.WaitLeader(ctx, s.testbed.recovery()); err != nil {
		return err
	}
	if err := s.testbed.admin(ctx, rest.Nodes[0], "POST", "/v1/cluster/remove", fmt.Sprintf(`{"node":%q}`, old.Name)); err != nil {
		return err
	}
	if err := s.healNetwork(); err != nil {
		return err
	}
	code, err := old.WaitExit(s.testbed.recovery())
	if err != nil || code != exitRemoved {
		return fmt.Errorf("the removed leader ended with code %d, %w", code, err)
	}
	if err := empty(old.DataDir); err != nil {
		return err
	}
	if err := old.Start(); err != nil {
		return err
	}
	return old.WaitReady(ctx, 2*s.testbed.recovery())
})

// scenario is the one of a name, or an error that lists all.
func scenario(name string) (Scenario, error) {
	var names []string
	for _, s := range Scenarios() {
		if s.Name == name {
			return s, nil
		}
		names = append(names, s.Name)
	}
	return Scenario{}, fmt.Errorf("there is no scenario %q, but: %s", name, strings.Join(names, "; "))
}
