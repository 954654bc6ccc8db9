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

// transport carries the messages of the library between nodes: links.go opens connections,
// serving.go answers other nodes, pipeline.go sends entries to a follower that keeps up. Safe for
// concurrent use.
type transport struct {
	options transportOptions
	inbound *inbound
	links   *links
	stopped <-chan struct{} // closed when the group closes

	snapshotBytes atomic.Int64 // sent to other nodes
	wholeNext     sync.Map     // nodes that failed to assemble a snapshot: the next one has inlined bodies

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

// transportOptions configures the transport of one group.
type transportOptions struct {
	Life      context.Context // ends when the group closes
	Network   *peernet.Network
	Group     uint32
	Timeout   time.Duration          // for one exchange between nodes
	Leads     func(term uint64) bool // whether this node leads in a term now
	Contacts  *contacts              // records every answer
	Commits   *commitNotifier        // wraps the pipelines
	History   *history               // compares messages of leaders with this node's history
	Snapshots *Group                 // sends and receives snapshots with bodies in segments
	Refers    bool                   // snapshots may refer to bodies in segments
	Logger    hclog.Logger
}

// newTransport starts to accept connections for a group.
func newTransport(options transportOptions) *transport {
	t := &transport{
		options: options, inbound: newInbound(options.History), stopped: options.Life.Done(),
		links: newLinks(options.Life, options.Network, options.Group, options.Timeout),
	}
	t.open, t.cancel = context.WithCancel(options.Life)
	t.serve()
	return t
}

// LocalAddr returns the id of this node: votes contain no address.
func (t *transport) LocalAddr() raft.ServerAddress {
	return raft.ServerAddress(t.options.Network.NodeID())
}

// EncodePeer encodes the address of a node, which is its id.
func (t *transport) EncodePeer(_ raft.ServerID, address raft.ServerAddress) []byte {
	return []byte(address)
}

// DecodePeer decodes the result of EncodePeer.
func (t *transport) DecodePeer(address []byte) raft.ServerAddress { return raft.ServerAddress(address) }

// SetHeartbeatHandler does nothing, so that heartbeats pass the library's main loop like all
// messages. The library's fast path would handle them on the goroutine of the connection. There a
// heartbeat may raise the term while the main loop writes entries or begins a term, and two nodes
// can write different entries in one term (raft issue 695).
func (t *transport) SetHeartbeatHandler(func(raft.RPC)) {}

// Consumer returns the messages of other nodes for the library, see inbound.
func (t *transport) Consumer() <-chan raft.RPC { return t.inbound.Consumer() }

// errDeposed: a message of a deposed leader is not sent.
var errDeposed = errors.New("this node does not lead any more in the term of the message")

// AppendEntries sends heartbeats, and entries to followers that lag.
//
// The library composes a message from its log and commit index at that moment, but with the term in
// which it started to send to that follower. If another node took over since, log and commit index
// are those of the new leader, and a follower that does not know that leader would commit
// uncommitted entries of its own. A message composed while this node leads in its term is correct.
func (t *transport) AppendEntries(id raft.ServerID, _ raft.ServerAddress, args *raft.AppendEntriesRequest,
	resp *raft.AppendEntriesResponse) error {
	if !t.options.Leads(args.Term) {
		return errDeposed
	}
	return inParts(args, resp, t.stopped, func(part *raft.AppendEntriesRequest, resp *raft.AppendEntriesResponse) error {
		err := t.retry(func() error { return t.links.exchange(id, part, resp) })
		if err == nil {
			t.options.Contacts.answered(string(id), part, resp)
		}
		if err == nil && resp.Success {
			t.options.Commits.confirms(id, part)
		}
		return err
	})
}

// AppendEntriesPipeline opens the pipeline for entries to a follower that keeps up.
func (t *transport) AppendEntriesPipeline(id raft.ServerID, _ raft.ServerAddress) (raft.AppendPipeline, error) {
	l, _, err := t.links.acquire(id)
	if err != nil {
		return nil, err
	}
	return t.options.Commits.pipeline(id, newPipeline(t.links, l, t.options.Leads, t.options.Timeout, t.options.Contacts)), nil
}

// RequestVote asks for a vote.
func (t *transport) RequestVote(id raft.ServerID, _ raft.ServerAddress, args *raft.RequestVoteRequest,
	resp *raft.RequestVoteResponse) error {
	return t.links.exchange(id, args, resp)
}

// RequestPreVote asks whether the node would vote.
func (t *transport) RequestPreVote(id raft.ServerID, _ raft.ServerAddress, args *raft.RequestPreVoteRequest,
	resp *raft.RequestPreVoteResponse) error {
	return t.links.exchange(id, args, resp)
}

// TimeoutNow asks a node to campaign; also this node, see campaign.go.
func (t *transport) TimeoutNow(id raft.ServerID, _ raft.ServerAddress, args *raft.TimeoutNowRequest, resp *raft.TimeoutNowResponse) error {
	if string(id) != t.options.Network.NodeID() {
		return t.links.exchange(id, args, resp)
	}
	answer, err := t.inbound.ask(raft.RPC{Command: args})
	if err != nil {
		return err
	}
	if response, ok := answer.(*raft.TimeoutNowResponse); ok {
		*resp = *response
	}
	return nil
}

// snapshotStep is the part of a snapshot that the other node reads, writes and restores within
// Timeout, at least.
const snapshotStep = 256 << 10

// InstallSnapshot sends a snapshot. If it refers to bodies in segments, the other node requests the
// bodies that it lacks. If that failed the last time, the bodies are inlined.
func (t *transport) InstallSnapshot(
	id raft.ServerID, _ raft.ServerAddress, args *raft.InstallSnapshotRequest, resp *raft.InstallSnapshotResponse, content io.Reader,
) error {
	if t.options.Refers {
		p, err := t.options.Snapshots.pin(content)
		if err != nil {
			return err // the library retries, with the newest snapshot
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
			return err
		}
		whole := t.options.Snapshots.whole(p)
		defer whole.close()
		content = whole
	}
	l, err := t.links.dial(id, peernet.KindConsensus)
	if err != nil {
		return err
	}
	defer t.links.end(l) // it may hold parts of the snapshot that the other node does not read
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

// installTimeout returns the timeout for installing a snapshot of a size.
func (t *transport) installTimeout(size int64) time.Duration {
	return max(t.options.Timeout, t.options.Timeout*time.Duration(size/snapshotStep))
}

// Close ends the connections and stops answering.
func (t *transport) Close() error {
	t.once.Do(func() {
		t.cancel()
		t.inbound.close()
		t.endServing()
		t.links.close()
	})
	return nil
}

// A message to an unreachable node is retried for retryTimeout. After each failed message the
// library doubles its wait, up to ten seconds: a node that was down for three seconds would get its
// next message only after three more. exploit_retry_test.go tests the reliance on the library.
const (
	retryTimeout  = 10 * time.Second
	retryPauseMin = 10 * time.Millisecond
	retryPauseMax = 200 * time.Millisecond
)

// retry calls send until a connection was possible.
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

// unreachable wraps the error of a failed dial.
type unreachable struct{ Err error }

// Unwrap returns the error.
func (u unreachable) Unwrap() error { return u.Err }

// Error returns its text.
func (u unreachable) Error() string { return u.Err.Error() }
