package membership

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

// BootstrapOptions configure a Bootstrap.
type BootstrapOptions struct {
	Dir      *storage.Dir
	Expect   int             // number of initial members; 0: bootstrap no cluster
	Join     []string        // addresses at which to find the others, for messages
	HasState func() bool     // the node has a log
	Gained   <-chan struct{} // closed when HasState becomes true
	Guard    *storage.DiskGuard
	Log      *slog.Logger
}

// Peers are the parts of the node with which a Bootstrap reaches the other nodes.
type Peers struct {
	Network    *peernet.Network
	Gossip     *discovery.Gossip
	FirstEntry func(initialMembers []string) error // writes the first entry of the log
}

// Bootstrap makes one new cluster out of empty nodes, in whatever order they start, and never
// a second one beside it. Safe for concurrent use.
//
// The nodes that are empty and expect the same number N of initial members find each other by
// gossip. The initial members are the N smallest ids, and the smallest of them begins the
// cluster. It asks each of the others for a pledge, which that node records before it answers.
// Only with all pledges does it write the initial members into its log. A node gives one
// pledge only, and a node with state gives none. So two sets of initial members that share a
// node cannot both become a cluster.
//
// A first member whose set cannot become a cluster, because a member has pledged itself to
// another set, durably withdraws. The nodes that pledged themselves to it ask it from time to
// time, and are free when it has withdrawn.
//
// The id of the cluster is a hash of the ids of its initial members, so all of them can
// compute it.
type Bootstrap struct {
	BootstrapOptions
	peers    Peers
	view     func() []discovery.Member // of gossip
	announce func()                    // to the other nodes, by gossip

	// deciding is held while the pledge is read and changed, which includes writing it to
	// disk. Capacity one.
	deciding chan struct{}
	pledge   atomic.Pointer[storage.Membership]
	asked    atomic.Uint64          // counts the requests that the pledge answers
	missing  atomic.Pointer[string] // what Run waits for
	changed  wakeup.Signal          // the pledge has changed
}

// NewBootstrap returns the Bootstrap of a node with this record in its data directory.
func NewBootstrap(o BootstrapOptions, record storage.Membership) *Bootstrap {
	b := &Bootstrap{BootstrapOptions: o, deciding: make(chan struct{}, 1), changed: wakeup.NewSignal()}
	b.pledge.Store(&record)
	return b
}

// Record returns the cluster of this node, or the one that it has pledged itself to.
func (b *Bootstrap) Record() storage.Membership { return *b.pledge.Load() }

const (
	bootstrapPauseMin = 100 * time.Millisecond
	bootstrapPauseMax = 2 * time.Second
)

// bootstrapRequest and bootstrapAnswer are JSON, one of each per connection.
type bootstrapRequest struct {
	Op             string   `json:"op"`
	From           string   `json:"from"`
	InitialMembers []string `json:"initialMembers"`
}

// Operations of a bootstrapRequest.
const (
	opPledge  = "pledge"  // belong to these initial members and to no others
	opConfirm = "confirm" // are you still beginning a cluster with these?
)

type bootstrapAnswer struct {
	Yes    bool   `json:"yes"`
	Reason string `json:"reason,omitempty"`
}

// Connect sets the parts that Run and Serve use. Call it before both.
func (b *Bootstrap) Connect(p Peers) {
	b.peers, b.view, b.announce = p, p.Gossip.View, p.Gossip.Announce
}

// Run bootstraps the cluster, or waits until this node has state or ctx ends.
func (b *Bootstrap) Run(ctx context.Context) {
	waiting := ""
	pause := bootstrapPauseMin
	for !b.HasState() {
		gossiped := b.peers.Gossip.Changes()
		reason, progress := b.step(ctx)
		b.missing.Store(&reason)
		if reason != waiting && reason != "" {
			b.Log.Info("no cluster yet", "waiting", reason)
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
		case <-b.Gained:
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

// Missing returns what Run waits for, empty if nothing is known to be missing.
func (b *Bootstrap) Missing() string {
	if missing := b.missing.Load(); missing != nil {
		return *missing
	}
	return ""
}

// step makes the next step. It returns what is missing, and whether to step again at once.
func (b *Bootstrap) step(ctx context.Context) (missing string, progress bool) {
	pledge := b.Record()
	self := b.Dir.NodeID
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

// choose picks the initial members from gossip.
func (b *Bootstrap) choose() (members []string, missing string) {
	if b.Expect == 0 {
		return nil, "this node bootstraps no cluster (bootstrap-expect is 0), it must be added to one"
	}
	candidates := []string{b.Dir.NodeID}
	pledged, others := map[string]string{}, ""
	for _, m := range b.view() {
		switch {
		case !m.Alive:
		case m.HasState:
			return nil, "node " + m.NodeID + " belongs to a cluster already, this node must be added to it"
		case m.Expect != b.Expect:
			others += fmt.Sprintf("; node %s expects %d", m.NodeID, m.Expect)
		default:
			candidates = append(candidates, m.NodeID)
			pledged[m.NodeID] = m.ClusterID
		}
	}
	if len(candidates) < b.Expect {
		return nil, awaited(candidates, b.Join, b.Expect) + others
	}
	slices.Sort(candidates)
	members = candidates[:b.Expect]
	if !slices.Contains(members, b.Dir.NodeID) {
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
func (b *Bootstrap) collect(ctx context.Context, pledge storage.Membership) (missing string, progress bool) {
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
	if err := b.peers.FirstEntry(pledge.InitialMembers); err != nil {
		return "bootstrap failed: " + err.Error(), false
	}
	b.Log.Info("bootstrapped the cluster. Set bootstrap-expect to 0 on all its nodes now. Otherwise nodes whose data directories are "+
		"empty, such as after a failed mount, form a new cluster",
		"cluster", pledge.ClusterID, "initial_members", pledge.InitialMembers)
	return "", true
}

// confirm asks the first of the initial members whether it still needs the pledge of this node.
func (b *Bootstrap) confirm(ctx context.Context, pledge storage.Membership) (missing string, progress bool) {
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
		return fmt.Sprintf("this node has pledged to belong to the cluster of %v, whose first member %s does not answer. "+
			"If that cluster can never form, empty the data directory", pledge.InitialMembers, member), false
	}
	if answer.Yes {
		return "initial member " + member + " is collecting pledges", false
	}
	if err := b.withdraw(asked); err != nil {
		return err.Error(), false
	}
	return "initial member " + member + " has given up its cluster", true
}

// replaced reports whether an initial member is gone for good: it is silent, and a node of its
// name has another id. So the disk of the member was lost.
func (b *Bootstrap) replaced(member string) bool {
	successor := false
	for _, m := range b.view() {
		if m.NodeID == member && m.Alive {
			return false
		}
		successor = successor || m.Alive && m.NodeID != member && m.Name == storage.NodeNameOf(member)
	}
	return successor
}

// nothingWritten reports whether all initial members except the first are here and have no
// state. Then no majority ever acknowledged anything, even if the lost disk of the first member
// had entries.
func (b *Bootstrap) nothingWritten(pledge storage.Membership) bool {
	empty := map[string]bool{b.Dir.NodeID: !b.HasState()}
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

// Serve answers the other nodes until ctx ends, one at a time: there are few.
func (b *Bootstrap) Serve(ctx context.Context, listener net.Listener) {
	answering := peernet.Answering[bootstrapRequest, bootstrapAnswer]{AtOnce: 1, Arrival: b.peers.Network.Timeout(), Answer: b.answer}
	answering.Serve(ctx, listener)
}

func (b *Bootstrap) answer(_ context.Context, from string, request bootstrapRequest) (answer bootstrapAnswer, done func()) {
	switch {
	case request.From != from:
		answer.Reason = "the request names another node than the handshake"
	case len(request.InitialMembers) == 0 || !slices.Contains(request.InitialMembers, b.Dir.NodeID):
		answer.Reason = "this node is not among the initial members"
	case request.Op == opPledge:
		answer.Reason = b.givePledge(request)
		answer.Yes = answer.Reason == ""
	case request.Op == opConfirm:
		pledge := b.Record()
		answer.Yes = pledge.ClusterID == storage.ClusterIDOf(request.InitialMembers)
	}
	return answer, nil
}

// givePledge gives the pledge, durably, or returns an objection.
func (b *Bootstrap) givePledge(request bootstrapRequest) (objection string) {
	if request.From != request.InitialMembers[0] {
		return "only the first of the initial members collects pledges"
	}
	objection, err := b.setPledge(request.InitialMembers, func(own storage.Membership) string {
		switch {
		case own.Joined:
			return "this node is joining another cluster"
		case b.HasState() && own.ClusterID != storage.ClusterIDOf(request.InitialMembers):
			return "this node belongs to a cluster already"
		case own.ClusterID == "" || own.ClusterID == storage.ClusterIDOf(request.InitialMembers):
			return ""
		case own.InitialMembers[0] == request.From:
			// It asks for other members now, so it has withdrawn the first set.
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

// setPledge records the pledge unless object returns a reason not to.
func (b *Bootstrap) setPledge(members []string, object func(own storage.Membership) string) (objection string, err error) {
	b.deciding <- struct{}{}
	defer func() { <-b.deciding }()
	own := b.Record()
	if objection = object(own); objection != "" {
		return objection, nil
	}
	b.asked.Add(1)
	record := storage.Membership{ClusterID: storage.ClusterIDOf(members), InitialMembers: members}
	if record.ClusterID == own.ClusterID {
		return "", nil
	}
	err = b.Guard.Write("write down the cluster in "+b.Dir.File(storage.MembershipName),
		func() error { return b.Dir.SetMembership(record) })
	if err != nil {
		return "", err
	}
	b.pledge.Store(&record)
	b.announcePledge()
	return "", nil
}

// withdraw deletes the pledge, durably, unless it was given again since asked was read: the
// reason to withdraw would be older than the pledge.
func (b *Bootstrap) withdraw(asked uint64) error {
	b.deciding <- struct{}{}
	defer func() { <-b.deciding }()
	if b.HasState() || b.asked.Load() != asked {
		return errors.New("the cluster is being bootstrapped after all")
	}
	err := b.Guard.Write("forget the cluster in "+b.Dir.File(storage.MembershipName), b.Dir.ClearMembership)
	if err != nil {
		return err
	}
	b.pledge.Store(&storage.Membership{})
	b.announcePledge()
	return nil
}

// announcePledge notifies Run and the other nodes of the pledge.
func (b *Bootstrap) announcePledge() {
	b.changed.Notify()
	b.announce()
}

// ask sends one request to another node.
func (b *Bootstrap) ask(ctx context.Context, nodeID, op string, members []string) (bootstrapAnswer, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*b.peers.Network.Timeout()) // to connect, and to answer
	defer cancel()
	return peernet.Ask[bootstrapAnswer](ctx, b.peers.Network, nodeID, peernet.KindBootstrap, 0,
		bootstrapRequest{Op: op, From: b.Dir.NodeID, InitialMembers: members})
}
