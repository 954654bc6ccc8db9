package consensus

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"

	"github.com/seriatimq/seriatim/cluster/clustertest"
	"github.com/seriatimq/seriatim/cluster/consensus/wire"
	"github.com/seriatimq/seriatim/cluster/environment"
	"github.com/seriatimq/seriatim/cluster/peernet"
	"github.com/seriatimq/seriatim/cluster/peernet/peernettest"
)

// testOptions returns the options for a transport of group 0.
func testOptions(network *peernet.Network, contacts *contacts) transportOptions {
	notifier := newCommitNotifier(environment.SystemClock(), time.Second, hclog.NewNullLogger())
	leads := func(uint64) bool { return true }
	return transportOptions{Life: network.Context(), Network: network, Leads: leads, Timeout: 5 * time.Second, Contacts: contacts,
		Commits: notifier, History: noHistory(), Logger: hclog.NewNullLogger()}
}

// noHistory returns the history of a node that has applied nothing.
func noHistory() *history {
	return &history{
		applied: func() uint64 { return 0 }, term: func() uint64 { return 0 }, changed: func() {},
		termAt:  func(uint64) (uint64, bool) { return 0, false },
		foreign: func(err error) { panic(err) },
	}
}

// TestHeartbeatsTakeTheMainLoop covers raft issue 695: no heartbeat may be handled on the goroutine
// of its connection.
func TestHeartbeatsTakeTheMainLoop(t *testing.T) {
	a, b := peernettest.Pair(t, nil)
	contacts := newContacts(environment.SystemClock())
	from := newTransport(testOptions(a, contacts))
	to := newTransport(testOptions(b, newContacts(environment.SystemClock())))
	defer from.Close()
	defer to.Close()
	if from.LocalAddr() != "a-1" {
		t.Errorf("the transport's address is %q, not the node id", from.LocalAddr())
	}
	to.SetHeartbeatHandler(func(raft.RPC) { t.Error("a heartbeat took the fast path") })
	go func() {
		rpc := <-to.Consumer()
		rpc.Respond(&raft.AppendEntriesResponse{Term: 4, LastLog: 17, Success: true}, nil)
	}()
	heartbeat := &raft.AppendEntriesRequest{RPCHeader: raft.RPCHeader{ProtocolVersion: 3, ID: []byte("a-1"), Addr: []byte("a-1")}, Term: 4}
	clustertest.Must(t, from.AppendEntries("b-2", "b-2", heartbeat, &raft.AppendEntriesResponse{}))
	if _, known := contacts.last("b-2"); !known {
		t.Error("the follower was not heard of")
	}
	if matched, known := contacts.matched("b-2", 4); known {
		t.Errorf("a heartbeat says that the logs match up to %d", matched)
	}
}

// A follower keeps no idle connection: it would not show that the program at the other end ended.
func TestFollowerKeepsNoConnections(t *testing.T) {
	a, b := peernettest.Pair(t, nil)
	from, to := newTransport(testOptions(a, newContacts(environment.SystemClock()))),
		newTransport(testOptions(b, newContacts(environment.SystemClock())))
	defer from.Close()
	defer to.Close()
	vote := func() {
		t.Helper()
		go func() { rpc := <-to.Consumer(); rpc.Respond(&raft.RequestVoteResponse{Term: 4}, nil) }()
		header := raft.RPCHeader{ProtocolVersion: 3, ID: []byte("a-1"), Addr: []byte("a-1")}
		if err := from.RequestVote("b-2", "b-2", &raft.RequestVoteRequest{RPCHeader: header, Term: 4},
			&raft.RequestVoteResponse{}); err != nil {
			t.Fatal(err)
		}
	}
	check := func(when string, want bool) {
		t.Helper()
		if format := a.FormatMaxOf("b-2"); (format != 0) != want {
			t.Errorf("%s: format %d is known of the other node", when, format)
		}
	}
	vote()
	check("asked for a vote", true)
	from.links.follow(true)
	check("another leads", false)
	vote()
	check("asked for a vote although another leads", false)
	from.links.follow(false)
	vote()
	check("no other leads", true)
}

// TestMessageWaitsForAnUnreachableNode covers retries: the library waits longer after each failed
// message, so a refused connection must not fail a message at once.
func TestMessageWaitsForAnUnreachableNode(t *testing.T) {
	refusing := &refusingNetwork{Network: environment.NewMachineNetwork("127.0.0.1:0", 10*time.Second)}
	refusing.left.Store(3)
	a, b := peernettest.Pair(t, refusing)
	from := newTransport(testOptions(a, newContacts(environment.SystemClock())))
	to := newTransport(testOptions(b, newContacts(environment.SystemClock())))
	defer from.Close()
	defer to.Close()
	go func() {
		rpc := <-to.Consumer()
		rpc.Respond(&raft.AppendEntriesResponse{Term: 4, LastLog: 17, Success: true}, nil)
	}()
	heartbeat := &raft.AppendEntriesRequest{RPCHeader: raft.RPCHeader{ProtocolVersion: 3, ID: []byte("a-1"), Addr: []byte("a-1")}, Term: 4}
	clustertest.Must(t, from.AppendEntries("b-2", "b-2", heartbeat, &raft.AppendEntriesResponse{}))
	if left := refusing.left.Load(); left >= 0 {
		t.Fatalf("%d refusals are left", left)
	}
	stopped := make(chan struct{})
	from.stopped = stopped
	refusing.left.Store(1 << 30)
	from.links.disconnect() // the next message needs a connection
	go func() {
		for refusing.left.Load() > 1<<30-2 {
			runtime.Gosched()
		}
		close(stopped)
	}()
	if err := from.AppendEntries("b-2", "b-2", heartbeat, &raft.AppendEntriesResponse{}); !errors.As(err, new(unreachable)) {
		t.Fatalf("a message of a node that stops: %v", err)
	}
}

// TestDeposedLeaderSendsNothing: a message that the library completes after another node took over
// has the new leader's commit index with the old term.
func TestDeposedLeaderSendsNothing(t *testing.T) {
	a, b := peernettest.Pair(t, nil)
	options := testOptions(a, newContacts(environment.SystemClock()))
	options.Commits.watch(fixedCommit{term: 5, state: raft.Follower})
	options.Leads = func(term uint64) bool { return term == 4 }
	from, to := newTransport(options), newTransport(testOptions(b, newContacts(environment.SystemClock())))
	defer from.Close()
	defer to.Close()
	terms := make(chan uint64, 4)
	go func() {
		for range 2 {
			rpc := <-to.Consumer()
			terms <- rpc.Command.(*raft.AppendEntriesRequest).Term
			rpc.Respond(&raft.AppendEntriesResponse{Term: 4, Success: true}, nil)
		}
	}()
	message := func(term uint64) *raft.AppendEntriesRequest {
		header := raft.RPCHeader{ProtocolVersion: 3, ID: []byte("a-1"), Addr: []byte("a-1")}
		return &raft.AppendEntriesRequest{RPCHeader: header, Term: term, PrevLogEntry: 7, PrevLogTerm: 2, LeaderCommitIndex: 7}
	}
	pipeline, err := from.AppendEntriesPipeline("b-2", "b-2")
	clustertest.Must(t, err)
	defer pipeline.Close()
	if err := from.AppendEntries("b-2", "b-2", message(3), new(raft.AppendEntriesResponse)); !errors.Is(err, errDeposed) {
		t.Errorf("a message of a term that has ended: %v", err)
	}
	if _, err := pipeline.AppendEntries(message(3), new(raft.AppendEntriesResponse)); !errors.Is(err, errDeposed) {
		t.Errorf("a message of a term that has ended, in a pipeline: %v", err)
	}
	clustertest.Check(t, from.AppendEntries("b-2", "b-2", message(4), new(raft.AppendEntriesResponse)))
	clustertest.Check(t, clustertest.Err(pipeline.AppendEntries(message(4), new(raft.AppendEntriesResponse))))
	for range 2 {
		if term := <-terms; term != 4 {
			t.Errorf("a message of term %d arrived", term)
		}
	}
}

// refusingNetwork refuses some connections.
type refusingNetwork struct {
	environment.Network
	left atomic.Int64
}

func (n *refusingNetwork) Dial(ctx context.Context, address string) (net.Conn, error) {
	if n.left.Add(-1) >= 0 {
		return nil, errors.New("refused")
	}
	return n.Network.Dial(ctx, address)
}

// A leader that hangs while sending a snapshot delays votes by at most the timeout for an exchange.
func TestSnapshotThatStopsComing(t *testing.T) {
	a, b := peernettest.Pair(t, nil)
	options := testOptions(b, newContacts(environment.SystemClock()))
	options.Timeout = 50 * time.Millisecond
	to := newTransport(options)
	defer to.Close()
	read := make(chan error, 1)
	go func() {
		rpc := <-to.Consumer()
		rpc.Respond(&raft.AppendEntriesResponse{}, nil) // it lacks the entry
		rpc = <-to.Consumer()
		_, err := io.Copy(io.Discard, rpc.Reader)
		rpc.Respond(&raft.InstallSnapshotResponse{}, err)
		read <- err
	}()
	conn, err := a.Dial(t.Context(), "b-2", peernet.KindConsensus, 0)
	clustertest.Must(t, err)
	defer conn.Close()
	header := raft.RPCHeader{ProtocolVersion: 3, ID: []byte("a-1"), Addr: []byte("a-1")}
	if err := wire.NewConn(conn).Ask(&raft.InstallSnapshotRequest{RPCHeader: header, SnapshotVersion: 1, Term: 4, LastLogIndex: 7,
		LastLogTerm: 3, Size: 1 << 20}); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-read:
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("reading it: %v", err)
		}
	case <-time.After(time.Minute):
		t.Error("the library waits for it")
	}
}
