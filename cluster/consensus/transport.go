package consensus

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"

	"github.com/seriatimq/seriatim/cluster/environment"
	"github.com/seriatimq/seriatim/cluster/peernet"
)

// connPoolSize is how many idle connections are kept per node: replication,
// heartbeats and votes use one each.
const connPoolSize = 3

// transport is the library's network transport over our connections.
type transport struct {
	*raft.NetworkTransport
	inbound  *inbound
	leads    func(term uint64) bool
	contacts *contacts
	notifier *commitNotifier
	stopped  <-chan struct{} // closed when the group takes no part any more
}

var (
	_ raft.Transport   = (*transport)(nil)
	_ raft.WithPreVote = (*transport)(nil)
	_ raft.WithClose   = (*transport)(nil)
)

// transportOptions are what the transport of one group needs.
type transportOptions struct {
	Life     context.Context // ends when the group closes
	Network  *peernet.Network
	Group    uint32
	Timeout  time.Duration          // of one exchange between nodes
	Leads    func(term uint64) bool // whether this node leads in a term right now
	Contacts *contacts              // told of every answer
	Commits  *commitNotifier        // sees what goes to followers
	// Compacted reports whether a snapshot of this node has taken the place of an entry.
	Compacted func(index uint64) bool
	Logger    hclog.Logger
}

// newTransport begins to take the connections of a group.
func newTransport(options transportOptions) *transport {
	network := options.Network
	connections := raft.NewNetworkTransportWithConfig(&raft.NetworkTransportConfig{
		Stream:  &stream{Listener: network.Listener(peernet.KindRaft, options.Group), network: network, group: options.Group, life: options.Life},
		MaxPool: connPoolSize,
		Timeout: options.Timeout,
		Logger:  options.Logger,
	})
	return &transport{
		NetworkTransport: connections, inbound: newInbound(connections.Consumer(), options.Compacted), leads: options.Leads,
		contacts: options.Contacts,
		notifier: options.Commits,
		stopped:  options.Life.Done(),
	}
}

// AppendEntriesPipeline opens the way by which entries go to a follower that keeps up.
func (t *transport) AppendEntriesPipeline(id raft.ServerID, target raft.ServerAddress) (raft.AppendPipeline, error) {
	inner, err := t.NetworkTransport.AppendEntriesPipeline(id, target)
	if err != nil {
		return nil, err
	}
	return t.notifier.pipeline(id, leadersPipeline{inner, t.leads}), nil
}

// errDeposed is why a message of a leader is not sent.
var errDeposed = errors.New("this node does not lead any more in the term of the message")

// leadersPipeline sends nothing of a leader that was deposed, see AppendEntries.
type leadersPipeline struct {
	raft.AppendPipeline
	leads func(term uint64) bool
}

// AppendEntries sends entries.
func (p leadersPipeline) AppendEntries(args *raft.AppendEntriesRequest, resp *raft.AppendEntriesResponse) (raft.AppendFuture, error) {
	if !p.leads(args.Term) {
		return nil, errDeposed
	}
	return p.AppendPipeline.AppendEntries(args, resp)
}

// SetHeartbeatHandler does nothing, so that heartbeats take the way of all
// other messages, through the library's main loop. Its fast path handles them on
// the goroutine of the connection, where a heartbeat may raise the term while the
// main loop writes entries or begins a term: two nodes can then write different
// entries under one term (raft issue 695).
func (t *transport) SetHeartbeatHandler(func(raft.RPC)) {}

// AppendEntries is used for heartbeats and for followers that are behind. Its
// answers tell how far each follower is.
//
// The library makes a message from the log and the commit index as they are at that
// moment, but with the term in which it began to send to that follower. If another
// node has taken over since, as while it waits after messages that failed, they are
// those of the new leader: a follower that has not heard of it would commit by them
// entries of its own that nobody committed. A message that is complete before this
// node stops leading in its term has nothing of another leader.
func (t *transport) AppendEntries(id raft.ServerID, target raft.ServerAddress, args *raft.AppendEntriesRequest, resp *raft.AppendEntriesResponse) error {
	if !t.leads(args.Term) {
		return errDeposed
	}
	return inParts(args, resp, t.stopped, func(part *raft.AppendEntriesRequest, resp *raft.AppendEntriesResponse) error {
		err := t.retry(func() error { return t.NetworkTransport.AppendEntries(id, target, part, resp) })
		if err == nil {
			t.contacts.note(string(id), resp.LastLog)
		}
		if err == nil && resp.Success {
			t.notifier.confirms(id, part)
		}
		return err
	})
}

// A message to a node that cannot be connected to is tried again for retryTimeout.
// After each message that failed the library waits twice as long, up to ten
// seconds: a node that was down for three, refusing connections at once, was
// heard of only after three more. What this relies on in the library is tested by
// exploit_retry_test.go.
const (
	retryTimeout  = 10 * time.Second
	retryPauseMin = 10 * time.Millisecond
	retryPauseMax = 200 * time.Millisecond
)

// retry calls send until the node was connected to.
func (t *transport) retry(send func() error) error {
	err := send()
	if !errors.As(err, new(unreachable)) {
		return err
	}
	deadline := time.NewTimer(retryTimeout)
	defer deadline.Stop()
	for pause := retryPauseMin; errors.As(err, new(unreachable)); pause = min(2*pause, retryPauseMax) {
		select {
		case <-time.After(pause):
			err = send()
		case <-deadline.C:
			return err
		case <-t.stopped:
			return err
		}
	}
	return err
}

// unreachable is why there is no connection.
type unreachable struct{ Err error }

// Unwrap is the reason.
func (u unreachable) Unwrap() error { return u.Err }

// Error is its text.
func (u unreachable) Error() string { return u.Err.Error() }

// Consumer gives the library what other nodes send, see inbound.
func (t *transport) Consumer() <-chan raft.RPC { return t.inbound.Consumer() }

// Close ends the connections and what comes in.
func (t *transport) Close() error {
	err := t.NetworkTransport.Close()
	t.inbound.close()
	return err
}

// stream dials and accepts for the library. An address is a node id: it is
// resolved at each dial, so that a node that comes back elsewhere needs no change
// of the replicated configuration, and no address is ever part of a vote.
type stream struct {
	net.Listener
	network *peernet.Network
	group   uint32
	life    context.Context
}

var _ raft.StreamLayer = (*stream)(nil)

// Dial connects to a node.
func (s *stream) Dial(id raft.ServerAddress, timeout time.Duration) (net.Conn, error) {
	if string(id) == s.network.NodeID() {
		return s.network.DialSelf(peernet.KindRaft, s.group) // see campaign
	}
	ctx, cancel := context.WithTimeout(s.life, timeout)
	defer cancel()
	conn, err := s.network.Dial(ctx, string(id), peernet.KindRaft, s.group)
	if err != nil {
		return nil, unreachable{Err: err}
	}
	return conn, nil
}

// contacts remembers when each follower last answered and where its log ended.
// Safe for concurrent use.
type contacts struct {
	clock environment.Clock

	mu    sync.Mutex
	nodes map[string]contact
}

type contact struct {
	at      time.Duration // monotonic
	lastLog uint64
}

// newContacts returns contacts with nobody, timed by a clock.
func newContacts(clock environment.Clock) *contacts {
	return &contacts{clock: clock, nodes: map[string]contact{}}
}

func (c *contacts) note(nodeID string, lastLog uint64) {
	at := c.clock.Monotonic()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.nodes[nodeID] = contact{at: at, lastLog: lastLog}
}

// last is how long ago a node answered and where its log ended then.
func (c *contacts) last(nodeID string) (age time.Duration, lastLog uint64, known bool) {
	now := c.clock.Monotonic()
	c.mu.Lock()
	defer c.mu.Unlock()
	seen, known := c.nodes[nodeID]
	return now - seen.at, seen.lastLog, known
}
