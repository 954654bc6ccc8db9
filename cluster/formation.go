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
)

// formation founds a new cluster out of empty nodes, once, whatever the order
// in which they start, and never a second one beside it.
//
// The nodes that are empty and expect the same number N of founders see each
// other by gossip. The N smallest ids are the founders; the smallest of them is
// the one that founds. It asks each of the others for a promise, which that node
// writes down before it answers, and writes into its log the founders' names
// only when it has all promises. A node gives one promise only, and a node that
// has state gives none. So two sets of founders that share a node cannot both
// form.
//
// A founder whose set cannot form (somebody promised to another) durably takes
// its own part back; those who promised ask it from time to time whether it still
// stands, and are free when it does not.
//
// The id of the cluster is a hash of its founders' ids, so that all know it
// without being told.
type formation struct {
	dir      *storage.Dir
	expect   int
	lookAt   []string // where the others are looked for
	network  *peernet.Network
	view     func() []discovery.Member
	changes  func() <-chan struct{}
	announce func()
	found    func(founders []string) error // writes the first entry of the log
	hasState func() bool
	gained   <-chan struct{} // closed when hasState becomes true
	guard    *storage.DiskGuard
	logger   *slog.Logger

	// turn is held by who looks at and changes the promise, which includes
	// writing it to disk. Capacity one.
	turn    chan struct{}
	promise atomic.Pointer[storage.Membership]
	asked   atomic.Uint64          // counts the requests that promise answers
	missing atomic.Pointer[string] // what run waits for
	// renewed wakes run when the promise is another. Capacity one: a signal
	// that waits stands for all that follow.
	renewed chan struct{}
}

const (
	formationPauseMin = 100 * time.Millisecond
	formationPauseMax = 2 * time.Second
)

// formationRequest and formationAnswer are JSON, one of each per connection.
type formationRequest struct {
	Op       string   `json:"op"`
	From     string   `json:"from"`
	Founders []string `json:"founders"`
}

// What a formationRequest asks.
const (
	opPromise = "promise" // belong to these founders and to no others
	opStands  = "stands"  // do you still mean to found with these?
)

type formationAnswer struct {
	Yes    bool   `json:"yes"`
	Reason string `json:"reason,omitempty"`
}

// run founds or waits until this node has state or ctx ends.
func (f *formation) run(ctx context.Context) {
	waiting := ""
	pause := formationPauseMin
	for !f.hasState() {
		changed := f.changes()
		reason, progress := f.step(ctx)
		f.missing.Store(&reason)
		if reason != waiting && reason != "" {
			f.logger.Info("no cluster yet", "waiting", reason)
			waiting = reason
		}
		if progress {
			pause = formationPauseMin
			continue
		}
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-f.gained:
		case <-changed:
			pause = formationPauseMin
		case <-f.renewed:
			pause = formationPauseMin
		case <-timer.C:
			pause = min(2*pause, formationPauseMax)
		}
		timer.Stop()
	}
}

// step does what can be done now. It says what is missing, and whether to look
// again at once.
func (f *formation) step(ctx context.Context) (missing string, progress bool) {
	promise := f.promised()
	self := f.dir.NodeID
	switch {
	case promise.Joined:
		return "this node waits to be added to cluster " + promise.ClusterID, false
	case promise.ClusterID == "":
		founders, missing := f.choose()
		if founders == nil {
			return missing, false
		}
		if founders[0] != self {
			return "node " + founders[0] + " bootstraps the cluster", false
		}
		if _, err := f.setPromise(founders, func(storage.Membership) string { return "" }); err != nil {
			return err.Error(), false
		}
		return "", true
	case promise.Founders[0] == self:
		return f.collect(ctx, promise)
	default:
		return f.confirm(ctx, promise)
	}
}

// choose picks the founders from what gossip shows.
func (f *formation) choose() (founders []string, missing string) {
	if f.expect == 0 {
		return nil, "this node bootstraps no cluster (bootstrap-expect is 0), it must be added to one"
	}
	candidates := []string{f.dir.NodeID}
	promised, others := map[string]string{}, ""
	for _, m := range f.view() {
		switch {
		case !m.Alive:
		case m.HasState:
			return nil, "node " + m.NodeID + " belongs to a cluster already, this node must be added to it"
		case m.Expect != f.expect:
			others += fmt.Sprintf("; node %s expects %d", m.NodeID, m.Expect)
		default:
			candidates = append(candidates, m.NodeID)
			promised[m.NodeID] = m.ClusterID
		}
	}
	if len(candidates) < f.expect {
		return nil, hereAndMissing(candidates, f.lookAt, f.expect) + others
	}
	slices.Sort(candidates)
	founders = candidates[:f.expect]
	if !slices.Contains(founders, f.dir.NodeID) {
		return nil, "other nodes are the initial members, this node must be added to their cluster"
	}
	id := storage.ClusterIDOf(founders)
	for _, founder := range founders {
		if other := promised[founder]; other != "" && other != id {
			return nil, "node " + founder + " has promised to belong to cluster " + other
		}
	}
	return founders, ""
}

// collect asks the other founders for their promises and founds with all.
func (f *formation) collect(ctx context.Context, promise storage.Membership) (missing string, progress bool) {
	for _, founder := range promise.Founders[1:] {
		asked := f.asked.Load()
		answer, err := f.ask(ctx, founder, opPromise, promise.Founders)
		if err != nil && f.replaced(founder) {
			if err := f.takeBack(asked); err != nil {
				return err.Error(), false
			}
			return "initial member " + founder + " has lost its disk", true
		}
		if err != nil {
			return "initial member " + founder + " does not answer: " + err.Error(), false
		}
		if !answer.Yes {
			if err := f.takeBack(f.asked.Load()); err != nil {
				return err.Error(), false
			}
			return "initial member " + founder + " does not take part: " + answer.Reason, false
		}
	}
	if err := f.found(promise.Founders); err != nil {
		return "bootstrap failed: " + err.Error(), false
	}
	f.logger.Info("bootstrapped the cluster", "cluster", promise.ClusterID, "initial_members", promise.Founders)
	return "", true
}

// confirm asks the founder whether this node's promise is still wanted.
func (f *formation) confirm(ctx context.Context, promise storage.Membership) (missing string, progress bool) {
	founder := promise.Founders[0]
	asked := f.asked.Load()
	answer, err := f.ask(ctx, founder, opStands, promise.Founders)
	if err != nil && f.replaced(founder) && f.nothingWritten(promise) {
		if err := f.takeBack(asked); err != nil {
			return err.Error(), false
		}
		return "initial member " + founder + " has lost its disk before anything was written", true
	}
	if err != nil {
		return fmt.Sprintf("this node has promised to belong to the cluster of %v, whose first member %s does not answer; if that cluster can never form, empty the data directory", promise.Founders, founder), false
	}
	if answer.Yes {
		return "initial member " + founder + " is gathering promises", false
	}
	if err := f.takeBack(asked); err != nil {
		return err.Error(), false
	}
	return "initial member " + founder + " has given up its cluster", true
}

// replaced reports whether a founder is gone for good: it is silent, and a node
// of its name is there with another id, so that the old one's disk was lost.
func (f *formation) replaced(founder string) bool {
	successor := false
	for _, m := range f.view() {
		if m.NodeID == founder && m.Alive {
			return false
		}
		successor = successor || m.Alive && m.NodeID != founder && m.Name == nodeNameOf(founder)
	}
	return successor
}

// nothingWritten reports whether no founder beside the first can have anything
// of the cluster: all are here and have no state. Then nothing was ever
// acknowledged by a majority, whatever the first founder's lost disk held.
func (f *formation) nothingWritten(promise storage.Membership) bool {
	empty := map[string]bool{f.dir.NodeID: !f.hasState()}
	for _, m := range f.view() {
		empty[m.NodeID] = m.Alive && !m.HasState
	}
	for _, founder := range promise.Founders[1:] {
		if !empty[founder] {
			return false
		}
	}
	return true
}

// serve answers the other nodes until ctx ends, one at a time: there are few.
func (f *formation) serve(ctx context.Context, listener net.Listener) {
	peernet.Answering[formationRequest, formationAnswer]{AtOnce: 1, Arrival: f.network.Timeout(), Answer: f.answer}.Serve(ctx, listener)
}

func (f *formation) answer(_ context.Context, _ string, request formationRequest) (answer formationAnswer, done func()) {
	switch {
	case len(request.Founders) == 0 || !slices.Contains(request.Founders, f.dir.NodeID):
		answer.Reason = "this node is not among the initial members"
	case request.Op == opPromise:
		answer.Reason = f.givePromise(request)
		answer.Yes = answer.Reason == ""
	case request.Op == opStands:
		promise := f.promised()
		answer.Yes = promise.ClusterID == storage.ClusterIDOf(request.Founders)
	}
	return answer, nil
}

// givePromise promises, durably, or says why not.
func (f *formation) givePromise(request formationRequest) (objection string) {
	if request.From != request.Founders[0] {
		return "only the first of the initial members collects promises"
	}
	objection, err := f.setPromise(request.Founders, func(given storage.Membership) string {
		switch {
		case given.Joined:
			return "this node is joining cluster " + given.ClusterID
		case f.hasState() && given.ClusterID != storage.ClusterIDOf(request.Founders):
			return "this node belongs to a cluster already"
		case given.ClusterID == "" || given.ClusterID == storage.ClusterIDOf(request.Founders):
			return ""
		case given.Founders[0] == request.From:
			// It asks for others now, so it has taken the first set back.
			return ""
		default:
			return fmt.Sprintf("this node has promised to belong to the cluster of %v", given.Founders)
		}
	})
	if err != nil {
		return err.Error()
	}
	return objection
}

// promised is the promise this node has given, or its cluster.
func (f *formation) promised() storage.Membership { return *f.promise.Load() }

// setPromise writes the promise down unless object has a reason not to.
func (f *formation) setPromise(founders []string, object func(given storage.Membership) string) (objection string, err error) {
	f.turn <- struct{}{}
	defer func() { <-f.turn }()
	given := f.promised()
	if objection = object(given); objection != "" {
		return objection, nil
	}
	f.asked.Add(1)
	record := storage.Membership{ClusterID: storage.ClusterIDOf(founders), Founders: founders}
	if record.ClusterID == given.ClusterID {
		return "", nil
	}
	err = f.guard.Write("write down the cluster in "+f.dir.File(storage.MembershipName), func() error { return f.dir.SetMembership(record) })
	if err != nil {
		return "", err
	}
	f.promise.Store(&record)
	f.settled()
	return "", nil
}

// takeBack forgets the promise, durably, unless it was given anew since asked
// was read: the reason to take it back would be older than the promise.
func (f *formation) takeBack(asked uint64) error {
	f.turn <- struct{}{}
	defer func() { <-f.turn }()
	if f.hasState() || f.asked.Load() != asked {
		return errors.New("the cluster is being bootstrapped after all")
	}
	err := f.guard.Write("forget the cluster in "+f.dir.File(storage.MembershipName), f.dir.ClearMembership)
	if err != nil {
		return err
	}
	f.promise.Store(&storage.Membership{})
	f.settled()
	return nil
}

// settled makes the promise known, to run and to the other nodes.
func (f *formation) settled() {
	select {
	case f.renewed <- struct{}{}:
	default:
	}
	f.announce()
}

// ask sends one request to another node.
func (f *formation) ask(ctx context.Context, nodeID, op string, founders []string) (formationAnswer, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*f.network.Timeout()) // to connect, and to answer
	defer cancel()
	return peernet.Ask[formationAnswer](ctx, f.network, nodeID, peernet.KindBootstrap, 0, formationRequest{Op: op, From: f.dir.NodeID, Founders: founders})
}
