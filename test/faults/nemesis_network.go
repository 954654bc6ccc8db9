package faults

import (
	"context"
	"errors"
	"time"

	"github.com/seriatimq/seriatim/test/kit/harness"
	"github.com/seriatimq/seriatim/test/kit/lab/network"
	"github.com/seriatimq/seriatim/test/oracle/history"
)

// networkFaults need a lab.
func networkFaults() []fault {
	faults := []fault{
		{name: "one-way cut of leader", single: true, begin: ofLeader((*injection).deafOrMute)},
		{name: "one-way cut", single: true, begin: ofTarget((*injection).deafOrMute)},
		{name: "one direction between two nodes", single: true, begin: oneDirection},
		{name: "isolate leader", single: true, minority: true, begin: ofLeader(always(network.Isolate))},
		{name: "isolate one", single: true, minority: true, begin: ofTarget(always(network.Isolate))},
		{name: "unplug one", single: true, begin: ofTarget(always(network.Unplug))},
		{name: "no clients at one", single: true, begin: ofTarget(always(network.Unserved))},
		{name: "leader sees one follower", single: true, begin: leaderToOne},
		{name: "leader at the end of a chain", single: true, begin: chain},
		{name: "rotating partition", begin: rotate},
		{name: "flapping", single: true, begin: ofTarget((*injection).flapping)},
		{name: "all lines flapping", begin: ofAll((*injection).flapping)},
		{name: "slow line", single: true, begin: ofTarget((*injection).slow)},
		{name: "loss at one", single: true, begin: ofTarget((*injection).lossy)},
		{name: "loss", begin: ofAll((*injection).lossy)},
		{name: "delay", begin: ofAll((*injection).delayed)},
		{name: "delay of one", begin: ofTarget((*injection).delayed)},
		{name: "duplicate frames", begin: ofAll(with(network.Duplicating, 0.2))},
		{name: "corrupt frames", begin: ofAll(with(network.Corrupting, 0.01))},
		{name: "garbled frames", begin: ofAll(with(network.Garbling, 0.01))},
		{name: "resets", begin: ofAll(with(network.Resetting, 0.03))},
		{name: "half-open connections", begin: ofAll(always(network.HalfOpen))},
		{name: "gossip cut", single: true, begin: ofTarget(only(network.Gossip))},
		{name: "consensus cut", single: true, begin: ofTarget(only(network.Raft))},
		{name: "forwarding cut", single: true, begin: ofTarget(only(network.Forward))},
	}
	for i := range faults {
		faults[i].area, faults[i].least, faults[i].most = areaNetwork, time.Second, 15*time.Second
	}
	return faults
}

// policyOf draws a policy for the lines of a node, or of all nodes if the name is empty.
type policyOf func(s *injection, node string) network.Policy

// always returns a policy that needs no random choice.
func always(policy func(string) network.Policy) policyOf {
	return func(_ *injection, node string) network.Policy { return policy(node) }
}

func with(policy func(string, float64) network.Policy, part float64) policyOf {
	return func(_ *injection, node string) network.Policy { return policy(node, part) }
}

// only cuts off one kind of a node's traffic.
func only(class network.Class) policyOf {
	return func(_ *injection, node string) network.Policy { return network.Isolate(node).Only(class) }
}

func ofLeader(policy policyOf) func(*injection, context.Context) error {
	return func(s *injection, ctx context.Context) error {
		leader, err := s.takeLeader(ctx)
		if err != nil {
			return err
		}
		return s.wire(policy(s, leader.Name))
	}
}

func ofTarget(policy policyOf) func(*injection, context.Context) error {
	return func(s *injection, ctx context.Context) error {
		n, err := s.target(ctx)
		if err != nil {
			return err
		}
		return s.wire(policy(s, n.Name))
	}
}

func ofAll(policy policyOf) func(*injection, context.Context) error {
	return func(s *injection, _ context.Context) error { return s.wire(policy(s, "")) }
}

// wire applies a policy to the lab until the injection ends, and then records the number of
// affected frames.
func (s *injection) wire(p network.Policy) error {
	before := s.testbed.network.Traffic().Of("", "")
	s.undo(func() error {
		for effect, count := range s.testbed.network.Traffic().Of("", "") {
			if count > before[effect] && network.Effect(effect) != network.Passed {
				s.testbed.observe(network.Effect(effect).String(), p.Name, int64(count-before[effect]))
			}
		}
		return s.testbed.network.SetPolicy(network.Heal())
	})
	touched := s.nodes
	if len(touched) == 0 {
		touched = s.testbed.cluster.Nodes
	}
	s.touch(history.TouchNetwork, touched...)
	return s.testbed.network.SetPolicy(p)
}

// isolate and healNetwork are for scenarios that need both before their end.
func (s *injection) isolate(node string) error {
	if s.testbed.network == nil {
		return errors.New("there is no network of our own")
	}
	return s.wire(network.Isolate(node))
}

func (s *injection) healNetwork() error { return s.testbed.network.SetPolicy(network.Heal()) }

// deafOrMute cuts one direction of all lines of a node.
func (s *injection) deafOrMute(node string) network.Policy {
	if s.random.IntN(2) == 0 {
		return network.Deaf(node)
	}
	return network.Mute(node)
}

// flapping has periods between 100 ms and 5 s, short ones more often.
func (s *injection) flapping(node string) network.Policy {
	periods := []time.Duration{100, 200, 500, 1000, 2000, 5000}
	return network.Flapping(node, periods[s.random.IntN(len(periods))]*time.Millisecond)
}

// slow makes sending a snapshot take longer than an election.
func (s *injection) slow(node string) network.Policy { return network.Slow(node, 64_000) }

func (s *injection) lossy(node string) network.Policy {
	parts := []float64{0.01, 0.05, 0.2, 0.5}
	return network.Lossy(node, parts[s.random.IntN(len(parts))])
}

// delayed delays messages by about the timeouts of clients and elections. A leader whose delays
// stay within them is not replaced.
func (s *injection) delayed(node string) network.Policy {
	delays := []time.Duration{5, 20, 100, 250}
	jitters := []time.Duration{0, 5, 100, 300}
	return network.Delayed(node, delays[s.random.IntN(len(delays))]*time.Millisecond, jitters[s.random.IntN(len(jitters))]*time.Millisecond)
}

// othersThan returns the names of the other nodes in a random order.
func (s *injection) othersThan(n *harness.Node) []string {
	var names []string
	for _, i := range s.random.Perm(len(s.testbed.cluster.Nodes)) {
		if o := s.testbed.cluster.Nodes[i]; o != n {
			names = append(names, o.Name)
		}
	}
	return names
}

var errTooFew = errors.New("there are too few nodes")

// around applies a policy to the lines between the leader and the other nodes. The leader and the
// others each see a majority, and every node must serve.
func (s *injection) around(ctx context.Context, least int, policy func(leader string, others []string) network.Policy) error {
	leader, err := s.takeLeader(ctx)
	if err != nil {
		return err
	}
	others := s.othersThan(leader)
	if len(others) < least {
		return errTooFew
	}
	return s.wire(policy(leader.Name, others))
}

// oneDirection cuts one of two directions between the leader and one follower.
func oneDirection(s *injection, ctx context.Context) error {
	return s.around(ctx, 1, func(leader string, others []string) network.Policy {
		if s.random.IntN(2) == 0 {
			return network.OneWay(leader, others[0])
		}
		return network.OneWay(others[0], leader)
	})
}

// leaderToOne leaves the leader one follower; the followers see one another.
func leaderToOne(s *injection, ctx context.Context) error {
	return s.around(ctx, 2, func(leader string, others []string) network.Policy {
		return network.LeaderToOneFollower(leader, others...)
	})
}

// chain connects each node only with its neighbours, in a row that begins with the leader.
func chain(s *injection, ctx context.Context) error {
	return s.around(ctx, 2, func(leader string, others []string) network.Policy {
		return network.Ring(append([]string{leader}, others...)...)
	})
}

// rotate isolates one node after the other for at most two seconds each, so that the majority
// changes all the time.
func rotate(s *injection, ctx context.Context) error {
	err := s.wire(network.Heal())
	for _, name := range s.othersThan(nil) {
		if err == nil {
			err = s.testbed.network.SetPolicy(network.Isolate(name))
		}
		pause(ctx, 2*time.Second)
	}
	return err
}
