package faults

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/seriatimq/seriatim/test/kit/harness"
	"github.com/seriatimq/seriatim/test/kit/lab/disk"
	"github.com/seriatimq/seriatim/test/oracle/check"
	"github.com/seriatimq/seriatim/test/oracle/history"
)

// schedule decides when to inject which fault. It depends only on the seed.
type schedule struct {
	testbed *testbed
	random  *rand.Rand
	faults  []fault                          // that this machine can do
	script  func(*schedule, context.Context) // of a scenario, instead of everything below; nil: none
	order   []string                         // names of the faults that are injected first, one after the other
	rounds  bool                             // then rounds of overlapping faults; else one after the other
	// demanded are the names of faults that the run must inject at some time, and agreements is the
	// number of times that it must find all replicas equal.
	demanded   []string
	agreements int
	// minorities makes frozen faults isolate nodes that clients still call. Random choice might not
	// draw such a fault in an hour.
	minorities bool
}

// lengths of the parts of a schedule.
const (
	roundLeast  = 30 * time.Second
	roundMost   = 45 * time.Second
	gapMost     = 10 * time.Second
	frozenTime  = time.Minute      // how long the other nodes must serve during a frozen fault
	frozenBrief = 30 * time.Second // the same in a fixed scenario
	lanes       = 3                // concurrent faults
)

// smokeOrder is the fixed beginning of a full run. Random faults fill the rest of its time.
var smokeOrder = []string{
	"kill leader", "one-way cut of leader", "pause leader", "power cut of follower", "power cut of all", "bits flipped in bodies",
	"disk hang on leader",
	"clock +600.0s", "follower behind", "stop leader", "kill all",
}

func (r Run) schedule(s *testbed) *schedule {
	plan := &schedule{testbed: s, random: rand.New(rand.NewPCG(r.Seed, 1<<40+uint64(s.part))), faults: s.faults()}
	plan.faults = slices.DeleteFunc(plan.faults, func(f fault) bool {
		return slices.Contains(r.Without, f.name) || len(r.Only) > 0 && !slices.Contains(r.Only, f.name)
	})
	switch r.Profile {
	case Fixed:
		plan.script = r.Scenario.play
	case Quick:
		// Only faults that every machine supports and that are short.
		plan.faults = slices.DeleteFunc(plan.faults, func(f fault) bool { return f.name != "kill leader" })
	case Smoke, Five:
		plan.order = smokeOrder
	case Night:
		plan.rounds, plan.demanded = true, check.Demanded(string(Night))
		plan.agreements = check.Least(string(Night), check.ReplicasAgreed)
	case Soak:
		plan.rounds, plan.demanded = true, check.Demanded(string(Soak))
		plan.minorities = s.part%minoritiesEvery == 0
	}
	return plan
}

// faults returns all faults that this machine supports.
func (s *testbed) faults() []fault {
	all := slices.Concat(processFaults(), starvationFaults(), snapshotFaults(), memberFaults())
	if s.hooks {
		all = append(all, clockFaults()...)
		all = append(all, failpointFaults()...)
		all = append(all, demandedSnapshots()...)
	}
	if s.network != nil {
		all = append(all, networkFaults()...)
	}
	if s.bodies == nil {
		all = append(all, bodyFaults()...)
	}
	if s.disks != nil {
		all = append(all, diskFaults()...)
		all = append(all, diskCombinations(disk.CanInject() == nil, s.network != nil)...)
	}
	return all
}

// play injects faults until ctx ends, or the scenario is over.
func (p *schedule) play(ctx context.Context) {
	if p.script != nil {
		p.script(p, ctx)
		return
	}
	for _, name := range p.order {
		i := slices.IndexFunc(p.faults, func(f fault) bool { return f.name == name })
		if i < 0 || ctx.Err() != nil {
			continue
		}
		p.one(ctx, p.faults[i])
	}
	for turn := 0; ctx.Err() == nil; turn++ {
		owed := p.owed()
		switch {
		case !p.rounds:
			p.one(ctx, p.draw(nil))
		case turn%roundsAndFrozen == 0:
			// First, so that it is not cut short at the end of a part.
			p.frozen(ctx)
		default:
			p.round(ctx)
		}
		if len(owed) > 0 && ctx.Err() == nil {
			p.one(ctx, owed[p.random.IntN(len(owed))])
		}
	}
}

// longer returns by how much a run may exceed its time to reach its required counts.
func (r Run) longer() time.Duration {
	if r.Profile == Night {
		return 5 * time.Minute
	}
	return 0
}

// complete continues until the run has the required events, which a busy machine may not reach in
// time, or until ctx ends.
func (p *schedule) complete(ctx context.Context) {
	for ctx.Err() == nil {
		owed := p.owed()
		switch {
		case len(owed) > 0:
			p.one(ctx, owed[0])
		case p.testbed.timesAgreed() < p.agreements:
			p.one(ctx, p.draw(nil))
		default:
			return
		}
	}
}

// minoritiesEvery is the number of parts of a soak of which one has frozen faults with minorities.
const minoritiesEvery = 4

// roundsAndFrozen is the number of steps after which frozen faults and rounds repeat.
const roundsAndFrozen = 4

// owed returns the demanded faults that this machine supports and that have not been injected and
// repaired yet. In a round, other faults may occupy the nodes, so these are injected alone.
func (p *schedule) owed() []fault {
	p.testbed.progress.mu.Lock()
	defer p.testbed.progress.mu.Unlock()
	var list []fault
	for _, name := range p.demanded {
		if f, found := p.fault(name); found && !slices.Contains(p.testbed.progress.ran, name) {
			list = append(list, f)
		}
	}
	return list
}

// one injects a fault alone and then demands service from every node.
func (p *schedule) one(ctx context.Context, f fault) {
	s := p.testbed.newInjection(f, p.random.Uint64())
	s.hold = min(s.hold, max(f.least, 4*time.Second))
	s.run(ctx)
	p.testbed.heal()
	pause(ctx, time.Second+time.Duration(p.random.Int64N(int64(time.Second))))
}

// draw returns a random fault outside the areas in use. It draws the area first, so that an area
// with many faults is not preferred.
func (p *schedule) draw(used []area) fault {
	var areas []area
	for _, f := range p.faults {
		if !slices.Contains(used, f.area) && !slices.Contains(areas, f.area) {
			areas = append(areas, f.area)
		}
	}
	chosen := areas[p.random.IntN(len(areas))]
	of := slices.DeleteFunc(slices.Clone(p.faults), func(f fault) bool { return f.area != chosen })
	return of[p.random.IntN(len(of))]
}

// round tests safety: up to three concurrent faults of different areas, which may take away the
// majority. At the end everything is repaired.
func (p *schedule) round(ctx context.Context) {
	length := roundLeast + time.Duration(p.random.Int64N(int64(roundMost-roundLeast)))
	bounded, cancel := context.WithTimeout(ctx, length)
	defer cancel()
	var mu sync.Mutex // guards random and used
	var used []area
	var striking sync.WaitGroup
	for range lanes {
		striking.Go(func() {
			for {
				mu.Lock()
				gap := time.Duration(p.random.Int64N(int64(gapMost)))
				mu.Unlock()
				if !pause(bounded, gap) {
					return
				}
				mu.Lock()
				f := p.draw(used)
				used = append(used, f.area)
				s := p.testbed.newInjection(f, p.random.Uint64())
				mu.Unlock()
				s.run(bounded)
				mu.Lock()
				used = slices.DeleteFunc(used, func(a area) bool { return a == f.area })
				mu.Unlock()
			}
		})
	}
	striking.Wait()
	p.testbed.heal()
}

// frozen tests liveness: during a fault of one node that does not end, the other nodes must serve
// all the time.
func (p *schedule) frozen(ctx context.Context) {
	lonely := p.minorities && slices.ContainsFunc(p.faults, func(f fault) bool { return f.minority })
	single := slices.DeleteFunc(slices.Clone(p.faults), func(f fault) bool { return !f.single || lonely && !f.minority })
	p.freeze(ctx, single[p.random.IntN(len(single))], frozenTime)
}

// freeze is frozen with a certain fault.
func (p *schedule) freeze(ctx context.Context, f fault, last time.Duration) {
	s := p.testbed.newInjection(f, p.random.Uint64())
	s.hold = 0
	s.frozen = func() {
		core := slices.DeleteFunc(slices.Clone(p.testbed.cluster.Nodes), func(n *harness.Node) bool { return slices.Contains(s.nodes, n) })
		p.testbed.demand(core...)
		bounded, cancel := context.WithTimeout(ctx, last)
		defer cancel()
		var asking sync.WaitGroup
		if f.minority {
			asking.Go(func() { s.askMinority(bounded) })
		}
		p.testbed.steady(bounded, core)
		cancel()
		asking.Wait()
	}
	s.run(ctx)
	p.testbed.heal()
}

// restore replaces a node whose disk was emptied, if the fault could not do so in time.
func (s *testbed) restore() {
	ctx, cancel := context.WithTimeout(context.Background(), 2*s.joining())
	defer cancel()
	e := history.Event{Kind: history.KindAgree, Call: s.recorder.Now(), Result: history.Fail}
	if err := s.replaceLost(ctx); err != nil {
		e.Return, e.Error = s.recorder.Now(), "a lost node could not be replaced: "+err.Error()
		s.recorder.Add(e)
	}
}

// heal starts the nodes that are down, demands service from every node, and compares the replicas.
func (s *testbed) heal() {
	// An error shows itself, since the node does not serve.
	_ = s.startMissing()
	s.restore()
	s.demand(s.cluster.Nodes...)
	s.healBodies()
	s.agree(s.sameStates)
	s.noteUsages(history.Healed)
}
