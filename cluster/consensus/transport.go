package consensus

import (
	"context"
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"

	"github.com/seriatimq/seriatim/cluster/consensus/wire"
	"github.com/seriatimq/seriatim/cluster/environment"
	"github.com/seriatimq/seriatim/cluster/peernet"
)

// transport carries the messages of the library over connections between nodes:
// links.go opens and keeps them, serving.go answers those of other nodes, pipeline.go
// sends entries to a follower that keeps up. Safe for concurrent use.
type transport struct {
	transportOptions
	inbound *inbound
	links   *links
	stopped <-chan struct{} // closed when the group takes no part any more

	snapshotBytes atomic.Int64 // of snapshots, sent to other nodes
	wholeNext     sync.Map     // nodes that could not put together what they were sent: they are sent all

	open    context.Context // ends with Close
	cancel  context.CancelFunc
	serving sync.WaitGroup
	once    sync.Once
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
	History  *history               // judges what leaders send
	// Snapshots is what snapshots with bodies in segments are sent and received with.
	Snapshots *Group
	// Refers says that snapshots may refer to bodies in segments.
	Refers bool
	Logger hclog.Logger
}

// newTransport begins to take the connections of a group.
func newTransport(options transportOptions) *transport {
	t := &transport{
		transportOptions: options, inbound: newInbound(options.History), stopped: options.Life.Done(),
		links: newLinks(options.Life, options.Network, options.Group, options.Timeout),
	}
	t.open, t.cancel = context.WithCancel(options.Life)
	t.serve()
	return t
}

// LocalAddr is the id of this node: an address is never part of a vote.
func (t *transport) LocalAddr() raft.ServerAddress { return raft.ServerAddress(t.Network.NodeID()) }

// EncodePeer writes the address of a node, which is its id.
func (t *transport) EncodePeer(_ raft.ServerID, address raft.ServerAddress) []byte {
	return []byte(address)
}

// DecodePeer reads such an address.
func (t *transport) DecodePeer(address []byte) raft.ServerAddress { return raft.ServerAddress(address) }

// SetHeartbeatHandler does nothing, so that heartbeats take the way of all
// other messages, through the library's main loop. Its fast path handles them on
// the goroutine of the connection, where a heartbeat may raise the term while the
// main loop writes entries or begins a term: two nodes can then write different
// entries under one term (raft issue 695).
func (t *transport) SetHeartbeatHandler(func(raft.RPC)) {}

// Consumer gives the library what other nodes send, see inbound.
func (t *transport) Consumer() <-chan raft.RPC { return t.inbound.Consumer() }

// errDeposed is why a message of a leader is not sent.
var errDeposed = errors.New("this node does not lead any more in the term of the message")

// AppendEntries is used for heartbeats and for followers that are behind. Its
// answers tell how far each follower is.
//
// The library makes a message from the log and the commit index as they are at that
// moment, but with the term in which it began to send to that follower. If another
// node has taken over since, as while it waits after messages that failed, they are
// those of the new leader: a follower that has not heard of it would commit by them
// entries of its own that nobody committed. A message that is complete before this
// node stops leading in its term has nothing of another leader.
func (t *transport) AppendEntries(id raft.ServerID, _ raft.ServerAddress, args *raft.AppendEntriesRequest, resp *raft.AppendEntriesResponse) error {
	if !t.Leads(args.Term) {
		return errDeposed
	}
	return inParts(args, resp, t.stopped, func(part *raft.AppendEntriesRequest, resp *raft.AppendEntriesResponse) error {
		err := t.retry(func() error { return t.links.exchange(id, part, resp) })
		if err == nil {
			t.Contacts.answered(string(id), part, resp)
		}
		if err == nil && resp.Success {
			t.Commits.confirms(id, part)
		}
		return err
	})
}

// AppendEntriesPipeline opens the way by which entries go to a follower that keeps up.
func (t *transport) AppendEntriesPipeline(id raft.ServerID, _ raft.ServerAddress) (raft.AppendPipeline, error) {
	l, _, err := t.links.take(id)
	if err != nil {
		return nil, err
	}
	return t.Commits.pipeline(id, newPipeline(t.links, l, t.Leads, t.Timeout, t.Contacts)), nil
}

// RequestVote asks for a vote.
func (t *transport) RequestVote(id raft.ServerID, _ raft.ServerAddress, args *raft.RequestVoteRequest, resp *raft.RequestVoteResponse) error {
	return t.links.exchange(id, args, resp)
}

// RequestPreVote asks whether there would be a vote.
func (t *transport) RequestPreVote(id raft.ServerID, _ raft.ServerAddress, args *raft.RequestPreVoteRequest, resp *raft.RequestPreVoteResponse) error {
	return t.links.exchange(id, args, resp)
}

// TimeoutNow tells a node to stand for election. This node tells it itself, too, see
// campaign.go.
func (t *transport) TimeoutNow(id raft.ServerID, _ raft.ServerAddress, args *raft.TimeoutNowRequest, resp *raft.TimeoutNowResponse) error {
	if string(id) != t.Network.NodeID() {
		return t.links.exchange(id, args, resp)
	}
	answer, err := t.inbound.ask(raft.RPC{Command: args})
	if err != nil {
		return err
	}
	if told, ok := answer.(*raft.TimeoutNowResponse); ok {
		*resp = *told
	}
	return nil
}

// snapshotStep is how much of a snapshot the other node reads, writes and restores
// within Timeout, at the least.
const snapshotStep = 256 << 10

// InstallSnapshot sends a snapshot. What the other node is to get before that, over
// connections of another kind, goes here: the snapshot follows the request without a
// word in between.
func (t *transport) InstallSnapshot(id raft.ServerID, _ raft.ServerAddress, args *raft.InstallSnapshotRequest, resp *raft.InstallSnapshotResponse, content io.Reader) error {
	if t.Refers {
		p, err := t.Snapshots.pin(content)
		if err != nil {
			return err // the library tries again, with the snapshot that is the newest then
		}
		defer p.close()
		sent := *args
		sent.Size = p.size
		args = &sent
		if _, failed := t.wholeNext.LoadAndDelete(id); !failed {
			err := t.installLacking(id, args, resp, p)
			if errors.As(err, new(wire.Failure)) {
				t.wholeNext.Store(id, true)
			}
			if !errors.Is(err, peernet.ErrUnknownKind) {
				return err
			}
		}
		whole := t.Snapshots.whole(p)
		defer whole.close()
		content = whole
	}
	l, err := t.links.dial(id)
	if err != nil {
		return err
	}
	defer t.links.end(l) // what is left of a snapshot that the other node did not read is on it
	if err := l.conn.SetDeadline(environment.DeadlineAfter(t.installTimeout(args.Size))); err != nil {
		return err
	}
	if err := l.Ask(args); err != nil {
		return err
	}
	if err := l.SendSnapshot(content); err != nil {
		return err
	}
	t.snapshotBytes.Add(args.Size)
	return l.Answer(resp)
}

// installTimeout is how long another node may take to install a snapshot of a size.
func (t *transport) installTimeout(size int64) time.Duration {
	return max(t.Timeout, t.Timeout*time.Duration(size/snapshotStep))
}

// disconnect ends the exchanges with other nodes that are under way.
func (t *transport) disconnect() { t.links.disconnect() }

// Close ends the connections and what comes in.
func (t *transport) Close() error {
	t.once.Do(func() {
		t.cancel()
		t.inbound.close()
		t.endServing()
		t.links.close()
	})
	return nil
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
