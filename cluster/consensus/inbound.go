package consensus

import (
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/hashicorp/raft"
)

// inbound passes the messages of other nodes to the library in order. It works around three faults
// of the library:
//
//   - A follower commits up to the leader's commit index as far as its own log goes, even beyond the end of the
//     message. The entries there may be uncommitted ones of an older leader, which it would apply. Here a
//     message commits only entries that it compares with the log.
//   - A follower that installed a snapshot still assumes its old log, which was wiped, until the log is truncated
//     (storage.TruncationEntry). A leader's message in between would count entries that are gone, and the
//     library panics when it applies them. Here no message comes in between.
//   - A follower installs any snapshot and wipes its log for it, even if it has more: a late snapshot takes back
//     confirmed entries. Here a snapshot counts as installed if the log has the entry at its end, or if this
//     node has applied that entry.
//
// exploit_truncation_test.go and exploit_commit_test.go test the reliance on the library.
type inbound struct {
	library chan raft.RPC
	// lock orders the messages. It is a channel of capacity 1 because its holder may
	// wait for the library.
	lock    chan struct{}
	history *history
	stop    chan struct{}
	once    sync.Once
	stopped sync.WaitGroup

	staleLog bool // the library may assume a log that was wiped
}

// newInbound returns an inbound that passes messages until close.
func newInbound(own *history) *inbound {
	return &inbound{history: own, library: make(chan raft.RPC), lock: make(chan struct{}, 1), stop: make(chan struct{})}
}

// Consumer returns the messages for the library.
func (i *inbound) Consumer() <-chan raft.RPC { return i.library }

// close stops it and waits for its goroutines. It may be called more than once. Pending messages
// get no answer, because the transport ends, too.
func (i *inbound) close() {
	i.once.Do(func() { close(i.stop) })
	i.stopped.Wait()
}

// receive passes a message of another node to the library.
func (i *inbound) receive(rpc raft.RPC) {
	if snapshot, ok := rpc.Reader.(*incoming); ok {
		if !i.needs(snapshot, rpc) {
			return
		}
		here, err := snapshot.fetch() // other messages do not wait for it
		if err != nil {
			rpc.Respond(&raft.InstallSnapshotResponse{}, err)
			return
		}
		rpc.Command = here
	}
	if !i.acquire() {
		return
	}
	defer func() { <-i.lock }()
	switch message := rpc.Command.(type) {
	case *raft.AppendEntriesRequest:
		if i.history.contradicts(message) {
			rpc.Respond(&raft.AppendEntriesResponse{}, errForeign)
			return
		}
		rpc.Command = boundCommit(message)
	case *raft.InstallSnapshotRequest:
		i.install(rpc, message)
		return
	}
	i.deliver(rpc)
}

// acquire takes the lock, and reports false after close.
func (i *inbound) acquire() bool {
	select {
	case i.lock <- struct{}{}:
		return true
	case <-i.stop:
		return false
	}
}

// needs reports whether this node needs a snapshot. If not, or if its leader was replaced, it
// answers: an old leader must not abort the snapshot of the current one.
func (i *inbound) needs(snapshot *incoming, rpc raft.RPC) bool {
	if !i.acquire() {
		return false
	}
	answer, needed := i.compare(snapshot.request)
	<-i.lock
	if !needed || answer.Term > snapshot.request.Term {
		rpc.Respond(&answer, nil)
		return false
	}
	return true
}

// ask passes a message of this node to the library and waits for the answer.
func (i *inbound) ask(rpc raft.RPC) (any, error) {
	answers := make(chan raft.RPCResponse, 1)
	rpc.RespChan = answers
	i.receive(rpc)
	select {
	case answer := <-answers:
		return answer.Response, answer.Error
	case <-i.stop:
		return nil, errInboundEnds
	}
}

// deliver waits until the library receives a message, or close.
func (i *inbound) deliver(rpc raft.RPC) {
	select {
	case i.library <- rpc:
	case <-i.stop:
	}
}

// boundCommit bounds the commit index of a message by the end of its entries.
func boundCommit(message *raft.AppendEntriesRequest) *raft.AppendEntriesRequest {
	end := message.PrevLogEntry
	if n := len(message.Entries); n > 0 {
		end = message.Entries[n-1].Index
	}
	if message.LeaderCommitIndex <= end {
		return message
	}
	bounded := *message
	bounded.LeaderCommitIndex = end
	return &bounded
}

// install passes a snapshot to the library, if needed, and truncates the log. On failure the leader
// sends the snapshot again.
func (i *inbound) install(rpc raft.RPC, message *raft.InstallSnapshotRequest) {
	if answer, needed := i.compare(message); !needed {
		// Other messages do not wait until unneeded content is read.
		i.stopped.Go(func() {
			var err error
			if _, here := rpc.Reader.(*incoming); !here {
				_, err = io.Copy(io.Discard, rpc.Reader) // the next message follows on the connection
			}
			rpc.Respond(&answer, err)
		})
		return
	}
	if snapshot, here := rpc.Reader.(*incoming); here {
		snapshot.passed = true
	}
	installed, err := askWithin[raft.InstallSnapshotResponse](i, raft.RPC{Command: message, Reader: rpc.Reader})
	if err == nil && installed.Success { // otherwise the log is not wiped
		i.staleLog = true
		var truncated *raft.AppendEntriesResponse
		truncated, err = askWithin[raft.AppendEntriesResponse](i, raft.RPC{Command: truncationRequest(message)})
		if err == nil && !truncated.Success {
			err = errors.New("the library refuses")
		}
		if err != nil {
			err = fmt.Errorf("truncate the log behind the snapshot: %w", err)
		} else {
			i.staleLog = false
		}
	}
	if !errors.Is(err, errInboundEnds) {
		rpc.Respond(installed, err)
	}
}

// compare reports whether this node needs a snapshot, and the answer if it does not. It sends the
// library a message to find out whether the log has the entry at the snapshot's end. If the entry
// is applied but the log begins after it, the history of the leader cannot be compared, and the
// snapshot is refused.
func (i *inbound) compare(message *raft.InstallSnapshotRequest) (answer raft.InstallSnapshotResponse, needed bool) {
	if i.staleLog {
		return answer, true
	}
	end := &raft.AppendEntriesRequest{
		RPCHeader: message.RPCHeader, Term: message.Term,
		PrevLogEntry: message.LastLogIndex, PrevLogTerm: message.LastLogTerm,
	}
	found, err := askWithin[raft.AppendEntriesResponse](i, raft.RPC{Command: end})
	if err != nil {
		return answer, true
	}
	answer.Term, answer.Success = found.Term, found.Success
	if found.Term != message.Term { // the leader is deposed
		return answer, !found.Success
	}
	if !found.Success && message.LastLogIndex <= i.history.applied() {
		i.history.refuses(message)
		return answer, false
	}
	return answer, !found.Success
}

// errForeign is the answer to a leader with another history.
var errForeign = errors.New("this node's log contradicts the leader's")

var errInboundEnds = errors.New("this node takes no messages any more")

// askWithin sends a message to the library and returns its answer. The caller holds the lock.
func askWithin[Answer any](i *inbound, rpc raft.RPC) (*Answer, error) {
	answers := make(chan raft.RPCResponse, 1)
	rpc.RespChan = answers
	i.deliver(rpc)
	select {
	case answer := <-answers:
		response, _ := answer.Response.(*Answer)
		return response, answer.Error
	case <-i.stop:
		return nil, errInboundEnds
	}
}
