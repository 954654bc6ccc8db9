package faults

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/seriatimq/seriatim/test/kit/harness"
	"github.com/seriatimq/seriatim/test/oracle/history"
)

// area is the part of the system that a fault breaks. Two faults in one area do not overlap.
type area string

const (
	areaProcess   area = "process"
	areaNetwork   area = "network"
	areaDisk      area = "disk"
	areaBodies    area = "bodies"
	areaClock     area = "clock"
	areaMembers   area = "members"
	areaSnapshots area = "snapshots"
	areaFailpoint area = "failpoint"
)

// fault breaks and repairs a part of the system.
type fault struct {
	name string
	area area
	// least and most bound the duration of the fault. Both are 0 if it is over when begin
	// returns.
	least, most time.Duration
	// single reports that the fault claims one node. The others are a majority and must keep
	// working.
	single bool
	// minority reports that the claimed nodes reach their clients and no other node.
	minority bool
	// begin injects the fault. The injection runs the registered undo functions in reverse
	// order, also after an error.
	begin func(*injection, context.Context) error
}

// injection is one run of a fault. Used by one goroutine.
type injection struct {
	testbed *testbed
	fault   fault
	hold    time.Duration
	random  *rand.Rand
	nodes   []*harness.Node // claimed by this injection
	undos   []func() error
	did     []history.Event // its actions by node
	outer   *injection      // contains this injection and shares its nodes; nil: none
	frozen  func()          // called in place of the hold time; nil: none
}

// undo registers a function to call when the fault ends.
func (s *injection) undo(f func() error) { s.undos = append(s.undos, f) }

// touch records an action on nodes before it happens. It explains the behavior of the nodes until
// the injection ends.
func (s *injection) touch(what string, nodes ...*harness.Node) {
	for _, n := range nodes {
		s.did = append(s.did, history.Event{Kind: history.KindTouch, Action: what, Node: n.Name, Call: s.testbed.recorder.Now()})
	}
}

// take claims the node for this injection. It reports whether the node was free.
func (s *injection) take(n *harness.Node) bool {
	if n == nil || slices.Contains(s.nodes, n) {
		return false
	}
	shared := s.outer != nil && slices.Contains(s.outer.nodes, n)
	if !shared && !s.testbed.claim(n) {
		return false
	}
	s.nodes = append(s.nodes, n)
	return true
}

var errBusy = errors.New("another fault uses the node")

// target claims a running node: half of the time the leader, a quarter of the time the leader
// before it, otherwise any node.
func (s *injection) target(ctx context.Context) (*harness.Node, error) {
	var chosen *harness.Node
	switch s.random.IntN(4) {
	case 0, 1:
		leader, err := s.leader(ctx)
		if err != nil {
			return nil, err
		}
		chosen = leader
	case 2:
		s.testbed.progress.mu.Lock()
		name := s.testbed.progress.deposed
		s.testbed.progress.mu.Unlock()
		chosen = s.testbed.named(name)
	}
	if chosen == nil || !chosen.Running() || s.testbed.isClaimed(chosen) {
		free := slices.DeleteFunc(s.testbed.cluster.Running(), s.testbed.isClaimed)
		if len(free) == 0 {
			return nil, errBusy
		}
		chosen = free[s.random.IntN(len(free))]
	}
	if !s.take(chosen) {
		return nil, errBusy
	}
	return chosen, nil
}

func (s *injection) takeLeader(ctx context.Context) (*harness.Node, error) {
	leader, err := s.leader(ctx)
	if err != nil {
		return nil, err
	}
	if !s.take(leader) {
		return nil, errBusy
	}
	return leader, nil
}

// takeFollower claims any node that does not lead.
func (s *injection) takeFollower(ctx context.Context) (*harness.Node, error) {
	leader, err := s.leader(ctx)
	if err != nil {
		return nil, err
	}
	others := slices.DeleteFunc(s.testbed.cluster.Followers(leader), s.testbed.isClaimed)
	if len(others) == 0 || !s.take(others[0]) {
		return nil, errBusy
	}
	return others[0], nil
}

// takeAll claims every node, or none.
func (s *injection) takeAll() error {
	for _, n := range s.testbed.cluster.Nodes {
		if !s.take(n) {
			s.testbed.release(s.nodes...)
			s.nodes = nil
			return errBusy
		}
	}
	return nil
}

func (s *injection) leader(ctx context.Context) (*harness.Node, error) {
	return s.testbed.cluster.WaitLeader(ctx, s.testbed.recovery())
}

// run injects the fault, holds it and repairs it. The event in the history spans all of that.
func (s *injection) run(ctx context.Context) {
	e := history.Event{Kind: history.KindFault, Action: s.fault.name, Workload: string(s.fault.area), Call: s.testbed.recorder.Now()}
	err := s.begin(ctx)
	e.Injected = err == nil
	if err == nil && s.hold > 0 {
		s.sustain(ctx)
	}
	if err == nil && s.frozen != nil {
		s.frozen()
	}
	err = errors.Join(err, s.end())
	for _, n := range s.nodes {
		e.Node += " " + n.Name
	}
	e.Node = strings.TrimSpace(e.Node)
	s.nodes = nil
	e.Return = s.testbed.recorder.Now()
	if err != nil {
		e.Error = err.Error()
	} else {
		s.testbed.ranOnce(s.fault.name)
	}
	s.testbed.recorder.Add(e)
	if seen, ok := errors.AsType[breach](err); ok {
		s.testbed.recorder.Add(history.Event{Kind: history.KindBreach, Action: seen.invariant, Node: e.Node, Call: e.Call, Return: e.Return,
			Error: seen.text})
	}
}

// busyTime bounds the retries while other faults use the nodes.
const busyTime = 15 * time.Second

// begin injects the fault as soon as no other fault uses the nodes.
func (s *injection) begin(ctx context.Context) error {
	bounded, cancel := context.WithTimeout(ctx, busyTime)
	defer cancel()
	for {
		err := s.fault.begin(s, ctx)
		if !errors.Is(err, errBusy) {
			return err
		}
		// Undo first what it did to the nodes that it could claim.
		if undone := s.end(); undone != nil {
			return errors.Join(err, undone)
		}
		if !pause(bounded, 250*time.Millisecond) {
			return err
		}
	}
}

// sustain waits for the duration of the fault. Nodes that are cut off from all others are called
// meanwhile.
func (s *injection) sustain(ctx context.Context) {
	bounded, cancel := context.WithTimeout(ctx, s.hold)
	defer cancel()
	if !s.fault.minority {
		<-bounded.Done()
		return
	}
	s.askMinority(bounded)
}

// breach is the error of a fault in which a node broke an invariant. Other errors mean that the
// fault could not be injected.
type breach struct{ invariant, text string }

func (b breach) Error() string { return b.invariant + ": " + b.text }

func broke(invariant, format string, args ...any) error {
	return breach{invariant, fmt.Sprintf(format, args...)}
}

// end runs the undo functions and starts the nodes of the injection that do not run.
func (s *injection) end() error {
	var problems []error
	for _, undo := range slices.Backward(s.undos) {
		problems = append(problems, undo())
	}
	s.undos = nil
	for _, n := range s.nodes {
		if !n.Running() {
			problems = append(problems, n.Start())
		}
	}
	s.tell()
	s.testbed.release(s.nodes...)
	return errors.Join(problems...)
}

// tell writes the recorded actions to the history.
func (s *injection) tell() {
	for _, e := range s.did {
		e.Return = s.testbed.recorder.Now()
		s.testbed.recorder.Add(e)
		if e.Action == history.TouchClock {
			s.testbed.progress.mu.Lock()
			s.testbed.progress.skewed = e.Return
			s.testbed.progress.mu.Unlock()
		}
	}
	s.did = nil
}

// newInjection returns an injection with its own duration and random numbers.
func (s *testbed) newInjection(f fault, seed uint64) *injection {
	random := rand.New(rand.NewPCG(s.seed, seed))
	hold := f.least
	if f.most > f.least {
		hold += time.Duration(random.Int64N(int64(f.most - f.least)))
	}
	return &injection{testbed: s, fault: f, hold: hold, random: random}
}

// agree compares the replicas once all nodes are healed, with sameStates or rest (I13(b) and the
// first part of I15).
func (s *testbed) agree(compare func(time.Duration) error) {
	e := history.Event{Kind: history.KindAgree, Call: s.recorder.Now(), Result: history.OK}
	if err := compare(time.Minute + s.reading); err != nil {
		e.Result, e.Error = history.Fail, err.Error()
	} else {
		s.progress.mu.Lock()
		s.progress.agreed++
		s.progress.mu.Unlock()
	}
	e.Return = s.recorder.Now()
	s.recorder.Add(e)
}

// timesAgreed counts the comparisons that found the replicas alike.
func (s *testbed) timesAgreed() int {
	s.progress.mu.Lock()
	defer s.progress.mu.Unlock()
	return s.progress.agreed
}

// sameStates waits until every node has applied everything that was committed when it began. It
// does not compare states, since indexes never stand still under load: the observer compares two
// nodes that it finds at the same index, and the log checker compares the nodes' taps.
func (s *testbed) sameStates(within time.Duration) error {
	// The end of the load must not end the comparison.
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	target := uint64(0)
	for _, n := range s.cluster.Nodes {
		if status, err := n.Status(ctx); err == nil {
			target = max(target, status.CommitIndex)
		}
	}
	for {
		var behind []string
		for _, n := range s.cluster.Nodes {
			metrics, err := n.Metrics(ctx)
			if text := lag(metrics, target); err != nil || text != "" {
				behind = append(behind, fmt.Sprintf("%s %s (%v)", n.Name, text, err))
			}
		}
		if len(behind) == 0 {
			return nil
		}
		if !pause(ctx, 100*time.Millisecond) {
			return fmt.Errorf("not caught up: %s", strings.Join(behind, ", "))
		}
	}
}

// lag describes which entries up to an index a node has not applied, empty if none. It reads a
// metric, because the applied index of a status is that of the last entry that changed the state.
// The metric also counts entries of the consensus itself, such as the one at the beginning of a
// term.
func lag(metrics string, target uint64) string {
	if applied := uint64(metric(metrics, "seriatim_raft_applied_index")); applied < target {
		return fmt.Sprintf("applied %d of %d", applied, target)
	}
	return ""
}

// rest is sameStates for a time without clients: all nodes must reach the same state at the same
// index.
func (s *testbed) rest(within time.Duration) error {
	if err := s.sameStates(within); err != nil {
		return err
	}
	_, err := s.cluster.WaitConverged(context.Background(), within)
	return err
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[len(lines)-1]
}
