package cluster

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"sync/atomic"
	"time"

	"github.com/seriatimq/seriatim/cluster/discovery"
	"github.com/seriatimq/seriatim/cluster/peernet"
	"github.com/seriatimq/seriatim/cluster/storage"
	"github.com/seriatimq/seriatim/cluster/wakeup"
)

// bootstrap makes one new cluster out of empty nodes, whatever the order in which they
// start, and never a second one beside it.
//
// The nodes that are empty and expect the same number N of initial members see each
// other by gossip. The initial members are the N smallest ids, and the smallest of
// them begins the cluster. It asks each of the others for a pledge, which that node
// writes down before it answers. Only when it has all pledges does it write the initial
// members into its log. A node gives one pledge only, and a node that has state gives
// none. So two sets of initial members that share a node cannot both become a cluster.
//
// A first member whose set cannot become a cluster (one of them has pledged itself to
// another set) durably withdraws. Those who gave it their pledge ask it from time to
// time whether it still means it, and are free when it does not.
//
// The id of the cluster is a hash of the ids of its initial members, so that all know
// it without being told.
type bootstrap struct {
	dir      *storage.Dir
	expect   int
	lookAt   []string // where the others are looked for
	network  *peernet.Network
	view     func() []discovery.Member
	gossiped func() <-chan struct{} // closed when view changes
	announce func()
	begin    func(initialMembers []string) error // writes the first entry of the log
	hasState func() bool
	gained   <-chan struct{} // closed when hasState becomes true
	guard    *storage.DiskGuard
	logger   *slog.Logger

	// turn is held by who looks at and changes the pledge, which includes writing it
	// to disk. Capacity one.
	turn    chan struct{}
	pledge  atomic.Pointer[storage.Membership]
	asked   atomic.Uint64          // counts the requests that the pledge answers
	missing atomic.Pointer[string] // what run waits for
	changed wakeup.Signal          // the pledge is another
}

const (
	bootstrapPauseMin = 100 * time.Millisecond
	bootstrapPauseMax = 2 * time.Second
)

// bootstrapRequest and bootstrapAnswer are JSON, one of each per connection. What they
// say on the wire is as old as the protocol: a pledge is called a promise there.
type bootstrapRequest struct {
	Op             string   `json:"op"`
	From           string   `json:"from"`
	InitialMembers []string `json:"founders"`
}

// What a bootstrapRequest asks.
const (
	opPledge  = "promise" // belong to these initial members and to no others
	opConfirm = "stands"  // do you still mean to begin a cluster with these?
)

type bootstrapAnswer struct {
	Yes    bool   `json:"yes"`
	Reason string `json:"reason,omitempty"`
}

// run bootstraps the cluster, or waits until this node has state or ctx ends.
func (b *bootstrap) run(ctx context.Context) {
	waiting := ""
	pause := bootstrapPauseMin
	for !b.hasState() {
		gossiped := b.gossiped()
		reason, progress := b.step(ctx)
		b.missing.Store(&reason)
		if reason != waiting && reason != "" {
			b.logger.Info("no cluster yet", "waiting", reason)
			waiting = reason
		}
		if progress {
			pause = bootstrapPauseMin
			continue
		}
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-b.gained:
		case <-gossiped:
			pause = bootstrapPauseMin
		case <-b.changed:
			pause = bootstrapPauseMin
		case <-timer.C:
			pause = min(2*pause, bootstrapPauseMax)
		}
		timer.Stop()
	}
}

// step does what can be done now. It says what is missing, and whether to look
// again at once.
func (b *bootstrap) step(ctx context.Context) (missing string, progress bool) {
	pledge := b.membership()
	self := b.dir.NodeID
	switch {
	case pledge.Joined:
		return "this node waits to be added to cluster " + pledge.ClusterID, false
	case pledge.ClusterID == "":
		members, missing := b.choose()
		if members == nil {
			return missing, false
		}
		if members[0] != self {
			return "node " + members[0] + " bootstraps the cluster", false
		}
		if _, err := b.setPledge(members, func(storage.Membership) string { return "" }); err != nil {
			return err.Error(), false
		}
		return "", true
	case pledge.InitialMembers[0] == self:
		return b.collect(ctx, pledge)
	default:
		return b.confirm(ctx, pledge)
	}
}

// choose picks the initial members from what gossip shows.
func (b *bootstrap) choose() (members []string, missing string) {
	if b.expect == 0 {
		return nil, "this node bootstraps no cluster (bootstrap-expect is 0), it must be added to one"
	}
	candidates := []string{b.dir.NodeID}
	pledged, others := map[string]string{}, ""
	for _, m := range b.view() {
		switch {
		case !m.Alive:
		case m.HasState:
			return nil, "node " + m.NodeID + " belongs to a cluster already, this node must be added to it"
		case m.Expect != b.expect:
			others += fmt.Sprintf("; node %s expects %d", m.NodeID, m.Expect)
		default:
			candidates = append(candidates, m.NodeID)
			pledged[m.NodeID] = m.ClusterID
		}
	}
	if len(candidates) < b.expect {
		return nil, hereAndMissing(candidates, b.lookAt, b.expect) + others
	}
	slices.Sort(candidates)
	members = candidates[:b.expect]
	if !slices.Contains(members, b.dir.NodeID) {
		return nil, "other nodes are the initial members, this node must be added to their cluster"
	}
	id := storage.ClusterIDOf(members)
	for _, member := range members {
		if other := pledged[member]; other != "" && other != id {
			return nil, "node " + member + " has pledged to belong to cluster " + other
		}
	}
	return members, ""
}

// collect asks the other initial members for their pledges, and begins the cluster with
// all of them.
func (b *bootstrap) collect(ctx context.Context, pledge storage.Membership) (missing string, progress bool) {
	for _, member := range pledge.InitialMembers[1:] {
		asked := b.asked.Load()
		answer, err := b.ask(ctx, member, opPledge, pledge.InitialMembers)
		if err != nil && b.replaced(member) {
			if err := b.withdraw(asked); err != nil {
				return err.Error(), false
			}
			return "initial member " + member + " has lost its disk", true
		}
		if err != nil {
			return "initial member " + member + " does not answer: " + err.Error(), false
		}
		if !answer.Yes {
			if err := b.withdraw(b.asked.Load()); err != nil {
				return err.Error(), false
			}
			return "initial member " + member + " does not take part: " + answer.Reason, false
		}
	}
	if err := b.begin(pledge.InitialMembers); err != nil {
		return "bootstrap failed: " + err.Error(), false
	}
	b.logger.Info("bootstrapped the cluster. Set bootstrap-expect to 0 on all its nodes now. Otherwise nodes whose data directories are empty, such as after a failed mount, form a new cluster",
		"cluster", pledge.ClusterID, "initial_members", pledge.InitialMembers)
	return "", true
}

// confirm asks the first of the initial members whether this node's pledge is still wanted.
func (b *bootstrap) confirm(ctx context.Context, pledge storage.Membership) (missing string, progress bool) {
	member := pledge.InitialMembers[0]
	asked := b.asked.Load()
	answer, err := b.ask(ctx, member, opConfirm, pledge.InitialMembers)
	if err != nil && b.replaced(member) && b.nothingWritten(pledge) {
		if err := b.withdraw(asked); err != nil {
			return err.Error(), false
		}
		return "initial member " + member + " has lost its disk before anything was written", true
	}
	if err != nil {
		return fmt.Sprintf("this node has pledged to belong to the cluster of %v, whose first member %s does not answer; if that cluster can never form, empty the data directory", pledge.InitialMembers, member), false
	}
	if answer.Yes {
		return "initial member " + member + " is collecting pledges", false
	}
	if err := b.withdraw(asked); err != nil {
		return err.Error(), false
	}
	return "initial member " + member + " has given up its cluster", true
}

// replaced reports whether an initial member is gone for good: it is silent, and a node
// of its name is there with another id, so that the old one's disk was lost.
func (b *bootstrap) replaced(member string) bool {
	successor := false
	for _, m := range b.view() {
		if m.NodeID == member && m.Alive {
			return false
		}
		successor = successor || m.Alive && m.NodeID != member && m.Name == storage.NodeNameOf(member)
	}
	return successor
}

// nothingWritten reports whether no initial member beside the first can have anything
// of the cluster: all are here and have no state. Then nothing was ever
// acknowledged by a majority, whatever the first member's lost disk held.
func (b *bootstrap) nothingWritten(pledge storage.Membership) bool {
	empty := map[string]bool{b.dir.NodeID: !b.hasState()}
	for _, m := range b.view() {
		empty[m.NodeID] = m.Alive && !m.HasState
	}
	for _, member := range pledge.InitialMembers[1:] {
		if !empty[member] {
			return false
		}
	}
	return true
}

// serve answers the other nodes until ctx ends, one at a time: there are few.
func (b *bootstrap) serve(ctx context.Context, listener net.Listener) {
	peernet.Answering[bootstrapRequest, bootstrapAnswer]{AtOnce: 1, Arrival: b.network.Timeout(), Answer: b.answer}.Serve(ctx, listener)
}

func (b *bootstrap) answer(_ context.Context, from string, request bootstrapRequest) (answer bootstrapAnswer, done func()) {
	switch {
	case request.From != from:
		answer.Reason = "another node asks than the one that connected"
	case len(request.InitialMembers) == 0 || !slices.Contains(request.InitialMembers, b.dir.NodeID):
		answer.Reason = "this node is not among the initial members"
	case request.Op == opPledge:
		answer.Reason = b.givePledge(request)
		answer.Yes = answer.Reason == ""
	case request.Op == opConfirm:
		pledge := b.membership()
		answer.Yes = pledge.ClusterID == storage.ClusterIDOf(request.InitialMembers)
	}
	return answer, nil
}

// givePledge gives the pledge, durably, or says why not.
func (b *bootstrap) givePledge(request bootstrapRequest) (objection string) {
	if request.From != request.InitialMembers[0] {
		return "only the first of the initial members collects pledges"
	}
	objection, err := b.setPledge(request.InitialMembers, func(given storage.Membership) string {
		switch {
		case given.Joined:
			return "this node is joining another cluster"
		case b.hasState() && given.ClusterID != storage.ClusterIDOf(request.InitialMembers):
			return "this node belongs to a cluster already"
		case given.ClusterID == "" || given.ClusterID == storage.ClusterIDOf(request.InitialMembers):
			return ""
		case given.InitialMembers[0] == request.From:
			// It asks for others now, so it has taken the first set back.
			return ""
		default:
			return "this node has pledged to belong to a cluster of other nodes"
		}
	})
	if err != nil {
		return err.Error()
	}
	return objection
}

// membership is the pledge this node has given, or its cluster.
func (b *bootstrap) membership() storage.Membership { return *b.pledge.Load() }

// setPledge writes the pledge down unless object has a reason not to.
func (b *bootstrap) setPledge(members []string, object func(given storage.Membership) string) (objection string, err error) {
	b.turn <- struct{}{}
	defer func() { <-b.turn }()
	given := b.membership()
	if objection = object(given); objection != "" {
		return objection, nil
	}
	b.asked.Add(1)
	record := storage.Membership{ClusterID: storage.ClusterIDOf(members), InitialMembers: members}
	if record.ClusterID == given.ClusterID {
		return "", nil
	}
	err = b.guard.Write("write down the cluster in "+b.dir.File(storage.MembershipName), func() error { return b.dir.SetMembership(record) })
	if err != nil {
		return "", err
	}
	b.pledge.Store(&record)
	b.announcePledge()
	return "", nil
}

// withdraw forgets the pledge, durably, unless it was given anew since asked
// was read: the reason to take it back would be older than the pledge.
func (b *bootstrap) withdraw(asked uint64) error {
	b.turn <- struct{}{}
	defer func() { <-b.turn }()
	if b.hasState() || b.asked.Load() != asked {
		return errors.New("the cluster is being bootstrapped after all")
	}
	err := b.guard.Write("forget the cluster in "+b.dir.File(storage.MembershipName), b.dir.ClearMembership)
	if err != nil {
		return err
	}
	b.pledge.Store(&storage.Membership{})
	b.announcePledge()
	return nil
}

// announcePledge makes the pledge known, to run and to the other nodes.
func (b *bootstrap) announcePledge() {
	b.changed.Notify()
	b.announce()
}

// ask sends one request to another node.
func (b *bootstrap) ask(ctx context.Context, nodeID, op string, members []string) (bootstrapAnswer, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*b.network.Timeout()) // to connect, and to answer
	defer cancel()
	return peernet.Ask[bootstrapAnswer](ctx, b.network, nodeID, peernet.KindBootstrap, 0, bootstrapRequest{Op: op, From: b.dir.NodeID, InitialMembers: members})
}
