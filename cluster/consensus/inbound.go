package consensus

import (
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/hashicorp/raft"
)

// inbound passes the messages of other nodes to the library in their order. It works around three
// faults of the library:
//
// A follower commits up to what the leader has committed, as far as its own log
// goes, although the message need not reach that far. The entries behind those of the
// message may be uncommitted ones of an older leader, which the follower would apply.
// Here a message commits only entries up to the last one that it compares with the
// follower's log.
//
// And a follower that has installed a snapshot goes on believing in its old log,
// which is wiped, until its log is truncated (storage.TruncationEntry). A leader that sent
// something in between would count entries that are gone, and the library panics
// when it is to apply them. So nothing comes in between.
//
// And a follower installs any snapshot, and wipes its log for it, although it has all
// of it and more: one that was long on its way takes back entries that the follower
// has confirmed since. So a snapshot is taken for installed if the log has the entry
// at its end, or if this node has applied that entry, which is committed then.
//
// exploit_truncation_test.go and exploit_commit_test.go test the reliance on the library.
type inbound struct {
	library chan raft.RPC
	// turn orders the messages. Capacity 1: a goroutine that passes a message fills it. It
	// may wait for the library, so a mutex would be held too long.
	turn    chan struct{}
	history *history
	stop    chan struct{}
	once    sync.Once
	stopped sync.WaitGroup

	staleLog bool // the library may believe in a log that was wiped
}

// newInbound passes messages until close.
func newInbound(own *history) *inbound {
	return &inbound{history: own, library: make(chan raft.RPC), turn: make(chan struct{}, 1), stop: make(chan struct{})}
}

// Consumer returns the messages for the library.
func (i *inbound) Consumer() <-chan raft.RPC { return i.library }

// close ends it, and waits for what goes on beside it; more than once is allowed. What
// was not answered stays without an answer, as the transport ends, too.
func (i *inbound) close() {
	i.once.Do(func() { close(i.stop) })
	i.stopped.Wait()
}

// take passes a message of another node to the library.
func (i *inbound) take(rpc raft.RPC) {
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
	if !i.takeTurn() {
		return
	}
	defer func() { <-i.turn }()
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

// takeTurn waits for the turn, and reports whether there still is one.
func (i *inbound) takeTurn() bool {
	select {
	case i.turn <- struct{}{}:
		return true
	case <-i.stop:
		return false
	}
}

// needs reports whether this node needs a snapshot, and takes it of that leader. Else it is
// answered: a leader that was replaced must not end what the present one sends.
func (i *inbound) needs(snapshot *incoming, rpc raft.RPC) bool {
	if !i.takeTurn() {
		return false
	}
	answer, needed := i.compare(snapshot.request)
	<-i.turn
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
	i.take(rpc)
	select {
	case answer := <-answers:
		return answer.Response, answer.Error
	case <-i.stop:
		return nil, errInboundEnds
	}
}

// deliver waits until the library takes a message, or this ends.
func (i *inbound) deliver(rpc raft.RPC) {
	select {
	case i.library <- rpc:
	case <-i.stop:
	}
}

// boundCommit returns a message that commits nothing behind its own entries.
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

// install passes a snapshot to the library, if it needs it, and truncates its log. If that
// fails, the leader sends the snapshot again.
func (i *inbound) install(rpc raft.RPC, message *raft.InstallSnapshotRequest) {
	if answer, needed := i.compare(message); !needed {
		// Heartbeats and votes do not wait until unneeded content is read.
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
		snapshot.handed = true
	}
	installed, err := askWithin[raft.InstallSnapshotResponse](i, raft.RPC{Command: message, Reader: rpc.Reader})
	if err == nil && installed.Success { // else the log is not wiped
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

// compare says whether this node needs a snapshot, and what to answer if it does not. It
// has all of it if the entry at its end, and with it all before, is in the library's log,
// which is asked as by the leader. If only so much is applied here, the log begins behind
// that entry, and nothing says that the two are of one history: the snapshot is refused,
// for a leader that waits for the answer. No call waits for a late one.
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

// errForeign is the answer to a leader with another history, see history.
var errForeign = errors.New("this node's log contradicts the leader's")

var errInboundEnds = errors.New("this node takes no messages any more")

// askWithin waits for the answer of the library to a message. The caller has the turn.
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
