package cluster

import (
	"context"
	"errors"
	"net"
	"path/filepath"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"

	"github.com/seriatimq/seriatim/cluster/clustertest"
	"github.com/seriatimq/seriatim/cluster/environment"
	"github.com/seriatimq/seriatim/cluster/fault"
	"github.com/seriatimq/seriatim/cluster/peernet"
)

// openTestNetwork is a node of cluster c that dials through outside, if that is set.
func openTestNetwork(t *testing.T, nodeID string, outside environment.Network) (*peernet.Network, *peernet.AddressBook) {
	t.Helper()
	logger := clustertest.Logger(t, 0)
	book := peernet.OpenAddressBook(filepath.Join(t.TempDir(), "addresses"), logger)
	network, err := peernet.Listen(context.Background(), peernet.Options{
		NodeID: nodeID, ClusterID: func() string { return "c" }, Bind: "127.0.0.1:0", Timeout: 10 * time.Second, Network: outside, Logger: logger,
		Formats: func() peernet.FormatRange { return peernet.NewFormatRange(1, 1) }, Outdated: func(err error) { t.Error(err) },
	}, book)
	if err != nil {
		t.Fatal(err)
	}
	network.AddGroup(thisGroup)
	network.Serve()
	network.Open()
	t.Cleanup(func() {
		if err := network.Close(); err != nil {
			t.Error(err)
		}
	})
	return network, book
}

// newTestNetworks are two nodes, of which the first can dial the other.
func newTestNetworks(t *testing.T, outside environment.Network) (a, b *peernet.Network) {
	t.Helper()
	a, book := openTestNetwork(t, "a-1", outside)
	b, _ = openTestNetwork(t, "b-2", nil)
	book.Note("b-2", b.BoundAddr(), 1)
	return a, b
}

// TestHeartbeatsTakeTheMainLoop guards against raft issue 695: no heartbeat may
// be handled on the goroutine of its connection.
func TestHeartbeatsTakeTheMainLoop(t *testing.T) {
	a, b := newTestNetworks(t, nil)
	timing := Config{}.WithDefaults().Timing
	contacts := newContacts(environment.SystemClock())
	from := newRaftTransport(a, timing, contacts, nil, hclog.NewNullLogger())
	to := newRaftTransport(b, timing, newContacts(environment.SystemClock()), nil, hclog.NewNullLogger())
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
	heartbeat := &raft.AppendEntriesRequest{RPCHeader: raft.RPCHeader{ProtocolVersion: 3, ID: []byte("a-1"), Addr: []byte("a-1")}, Term: 4, Leader: []byte("a-1")}
	if err := from.AppendEntries("b-2", "b-2", heartbeat, &raft.AppendEntriesResponse{}); err != nil {
		t.Fatal(err)
	}
	if _, lastLog, known := contacts.last("b-2"); !known || lastLog != 17 {
		t.Errorf("the follower's log ends at %d (%v)", lastLog, known)
	}
}

// TestMessageWaitsForAnUnreachableNode: the library waits ever longer after messages
// that fail, so one that finds nobody listening must not fail at once.
func TestMessageWaitsForAnUnreachableNode(t *testing.T) {
	refusing := &refusingNetwork{Network: environment.NewMachineNetwork("127.0.0.1:0", 10*time.Second)}
	refusing.left.Store(3)
	a, b := newTestNetworks(t, refusing)
	timing := Config{}.WithDefaults().Timing
	from := newRaftTransport(a, timing, newContacts(environment.SystemClock()), nil, hclog.NewNullLogger())
	to := newRaftTransport(b, timing, newContacts(environment.SystemClock()), nil, hclog.NewNullLogger())
	defer from.Close()
	defer to.Close()
	go func() {
		rpc := <-to.Consumer()
		rpc.Respond(&raft.AppendEntriesResponse{Term: 4, LastLog: 17, Success: true}, nil)
	}()
	heartbeat := &raft.AppendEntriesRequest{RPCHeader: raft.RPCHeader{ProtocolVersion: 3, ID: []byte("a-1"), Addr: []byte("a-1")}, Term: 4, Leader: []byte("a-1")}
	if err := from.AppendEntries("b-2", "b-2", heartbeat, &raft.AppendEntriesResponse{}); err != nil {
		t.Fatal(err)
	}
	if left := refusing.left.Load(); left >= 0 {
		t.Fatalf("%d refusals are left", left)
	}
	stopped := make(chan struct{})
	from.stopped = stopped
	refusing.left.Store(1 << 30)
	from.CloseStreams() // the next message needs a connection
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

// TestStuckTransferEndsTheNode guards against raft issue 696.
func TestStuckTransferEndsTheNode(t *testing.T) {
	tests := []struct {
		name   string
		leads  bool
		probe  error
		relief []error // further outcomes
		want   []fault.ExitCode
	}{
		{"stuck", true, raft.ErrLeadershipTransferInProgress, []error{raft.ErrLeadershipTransferInProgress}, []fault.ExitCode{fault.ExitStuckTransfer}},
		{"the transfer ended", true, nil, nil, nil},
		{"leadership is gone", false, raft.ErrLeadershipTransferInProgress, nil, nil},
		{"a proposal was accepted", true, raft.ErrLeadershipTransferInProgress, []error{nil}, nil},
		{"leadership was lost meanwhile", true, raft.ErrLeadershipTransferInProgress, []error{raft.ErrLeadershipLost}, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			defer clustertest.VerifyNoLeaks(t)
			record := clustertest.NewFatalRecord()
			probed := make(chan struct{})
			watch := &transferWatch{
				patience: 20 * time.Millisecond,
				leads:    func() bool { return test.leads },
				probe:    func() error { close(probed); return test.probe },
				fatal:    record.Fatal,
			}
			watch.observe(raft.ErrLeadershipTransferInProgress)
			for _, outcome := range test.relief {
				watch.observe(outcome)
			}
			if test.want != nil {
				<-record.Ended
			} else if test.leads && test.relief == nil {
				<-probed
			}
			watch.close()
			if codes, _ := record.All(); !slices.Equal(codes, test.want) {
				t.Fatalf("exit codes %v, want %v", codes, test.want)
			}
		})
	}
}

func TestTranslateTellsNotProposedFromUnknown(t *testing.T) {
	tests := []struct{ err, want error }{
		{nil, nil},
		{raft.ErrNotLeader, fault.ErrNotLeader},
		{raft.ErrEnqueueTimeout, fault.ErrNotLeader},
		{raft.ErrLeadershipTransferInProgress, fault.ErrNotLeader},
		{raft.ErrLeadershipLost, fault.ErrOutcomeUnknown},
		{raft.ErrRaftShutdown, fault.ErrOutcomeUnknown},
		{raft.ErrAbortedByRestore, fault.ErrOutcomeUnknown},
		{errors.New("append to the log: no space left on device"), fault.ErrOutcomeUnknown},
	}
	for _, test := range tests {
		got := translate(test.err)
		if !errors.Is(got, test.want) || (test.want == nil) != (got == nil) {
			t.Errorf("%v became %v, want %v", test.err, got, test.want)
		}
		if errors.Is(got, fault.ErrNotLeader) && errors.Is(got, fault.ErrOutcomeUnknown) {
			t.Errorf("%v is both", got)
		}
	}
}

// changingLeader is a library whose leader changes.
type changingLeader struct {
	state  atomic.Uint32
	term   atomic.Uint64
	leader atomic.Pointer[string]
}

func (c *changingLeader) State() raft.RaftState { return raft.RaftState(c.state.Load()) }
func (c *changingLeader) CurrentTerm() uint64   { return c.term.Load() }
func (c *changingLeader) LeaderWithID() (raft.ServerAddress, raft.ServerID) {
	if id := c.leader.Load(); id != nil {
		return raft.ServerAddress(*id), raft.ServerID(*id)
	}
	return "", ""
}

func TestLeadershipWatchDeliversEveryGainAndLoss(t *testing.T) {
	defer clustertest.VerifyNoLeaks(t)
	watch := newLeadershipWatch("a-1", func() { t.Error("removed") })
	source := &changingLeader{}
	watch.source = source
	ctx, cancel := context.WithCancel(clustertest.Context(t))
	done := make(chan struct{})
	go func() { defer close(done); watch.run(ctx) }()

	changed := watch.leadershipChanged()
	self := "a-1"
	source.term.Store(3)
	source.leader.Store(&self)
	source.state.Store(uint32(raft.Leader))
	// The library never waits for whoever handles them.
	want := []bool{true, false, true, false, true}
	for _, leads := range want {
		watch.notify <- leads
	}
	<-changed
	if got := watch.leadership(); got != (Leadership{Term: 3, LeaderID: "a-1", Self: true}) {
		t.Errorf("got %+v", got)
	}
	for i, leads := range want {
		if got := <-watch.own; got != leads {
			t.Fatalf("number %d: got %v", i, got)
		}
	}
	changed = watch.leadershipChanged()
	other := "b-2"
	source.state.Store(uint32(raft.Follower))
	source.term.Store(4)
	source.leader.Store(&other)
	watch.kick <- raft.Observation{}
	<-changed
	if got := watch.leadership(); got != (Leadership{Term: 4, LeaderID: "b-2"}) {
		t.Errorf("got %+v", got)
	}
	if got := watch.leaderChanges(); got != 2 {
		t.Errorf("%d changes", got)
	}
	cancel()
	<-done
}
