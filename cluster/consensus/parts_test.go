package consensus

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"

	"github.com/seriatimq/seriatim/cluster/environment"
	"github.com/seriatimq/seriatim/cluster/peernet/peernettest"
)

// sizedEntries returns entries of these sizes in bytes. The first one has index 8.
func sizedEntries(sizes ...int) (entries []*raft.Log) {
	for i, size := range sizes {
		entries = append(entries, &raft.Log{Index: uint64(8 + i), Term: 3, Data: make([]byte, size)})
	}
	return entries
}

func TestMessagesAreSentInParts(t *testing.T) {
	const half, more = appendBytesMax/2 - 1000, appendBytesMax + 1
	for name, c := range map[string]struct {
		sizes []int
		want  []int // entries in each part
	}{
		"nothing":                    {nil, []int{0}},
		"small ones":                 {[]int{1, 2, 3}, []int{3}},
		"as much as fits":            {[]int{half, half, half}, []int{2, 1}},
		"one that is too large":      {[]int{more}, []int{1}},
		"large ones among small":     {[]int{1, more, 1, 1, more}, []int{1, 1, 2, 1}},
		"more than fits in any part": {[]int{more, more}, []int{1, 1}},
	} {
		t.Run(name, func(t *testing.T) {
			args := &raft.AppendEntriesRequest{Term: 3, PrevLogEntry: 7, PrevLogTerm: 2, LeaderCommitIndex: 5,
				Entries: sizedEntries(c.sizes...)}
			var got []int
			index, term := args.PrevLogEntry, args.PrevLogTerm
			for part := range parts(args) {
				if part.PrevLogEntry != index || part.PrevLogTerm != term || part.Term != 3 || part.LeaderCommitIndex != 5 {
					t.Errorf("part %d follows entry %d of term %d: %+v", len(got), index, term, part)
				}
				got = append(got, len(part.Entries))
				index, term = index+uint64(len(part.Entries)), 3
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
			network := &sentAppends{}
			notifier := newCommitNotifier(environment.SystemClock(), time.Second, hclog.NewNullLogger())
			notifier.raft = fixedCommit{commit: 5, term: 3, state: raft.Follower, barriers: new(int)}
			pipeline := notifier.pipeline("follower", network)
			defer pipeline.Close()
			if _, err := pipeline.AppendEntries(args, nil); err != nil || len(network.sent) != len(c.want) {
				t.Errorf("a pipeline sent %d messages, %v", len(network.sent), err)
			}
		})
	}
}

// Entries that arrived before a connection broke count as sent.
func TestPartsThatArrivedCount(t *testing.T) {
	broken := errors.New("broken")
	for name, c := range map[string]struct {
		answers []*raft.AppendEntriesResponse // nil: the connection breaks
		err     error
		entries int // counted as sent
		success bool
	}{
		"all":              {[]*raft.AppendEntriesResponse{{Success: true}, {Success: true}, {Success: true}}, nil, 3, true},
		"broken at once":   {[]*raft.AppendEntriesResponse{nil}, broken, 3, false},
		"broken behind":    {[]*raft.AppendEntriesResponse{{Success: true}, {Success: true}, nil}, nil, 2, true},
		"refused at once":  {[]*raft.AppendEntriesResponse{{LastLog: 6}}, nil, 3, false},
		"refused behind":   {[]*raft.AppendEntriesResponse{{Success: true}, {Term: 9}}, nil, 3, false},
		"stopped meantime": {[]*raft.AppendEntriesResponse{{Success: true}}, nil, 1, true},
	} {
		t.Run(name, func(t *testing.T) {
			args := &raft.AppendEntriesRequest{Term: 3, PrevLogEntry: 7,
				Entries: sizedEntries(appendBytesMax, appendBytesMax, appendBytesMax)}
			var resp raft.AppendEntriesResponse
			asked, stopped := 0, make(chan struct{})
			err := inParts(args, &resp, stopped, func(_ *raft.AppendEntriesRequest, resp *raft.AppendEntriesResponse) error {
				answer := c.answers[asked]
				if asked++; answer == nil {
					return broken
				}
				if *resp = *answer; asked == len(c.answers) && name == "stopped meantime" {
					close(stopped)
				}
				return nil
			})
			if !errors.Is(err, c.err) || len(args.Entries) != c.entries || resp.Success != c.success || asked != len(c.answers) {
				t.Errorf("%v, %d entries count, %+v, %d messages", err, len(args.Entries), resp, asked)
			}
		})
	}
}

// slowNetwork passes on a limited number of bytes per second.
type slowNetwork struct {
	environment.Network
	rate int
}

func (n slowNetwork) Dial(ctx context.Context, address string) (net.Conn, error) {
	conn, err := n.Network.Dial(ctx, address)
	return slowConn{conn, n.rate}, err
}

type slowConn struct {
	net.Conn
	rate int
}

func (c slowConn) Write(content []byte) (int, error) {
	time.Sleep(time.Duration(len(content)) * time.Second / time.Duration(c.rate))
	return c.Conn.Write(content)
}

// A follower on a slow line receives the maximum of large entries, although they take longer than
// the timeout for a message.
func TestLargeEntriesPassASlowLine(t *testing.T) {
	t.Parallel()
	const rate, timeout = 4 << 20, 3 * time.Second
	a, b := peernettest.Pair(t, slowNetwork{environment.NewMachineNetwork("127.0.0.1:0", 10*time.Second), rate})
	options := testOptions(a, newContacts(environment.SystemClock()))
	options.Timeout = timeout
	from := newTransport(options)
	to := newTransport(testOptions(b, newContacts(environment.SystemClock())))
	defer from.Close()
	defer to.Close()
	sizes := make([]int, 2*int(timeout/time.Second)*rate/(512<<10))
	for i := range sizes {
		sizes[i] = 512 << 10
	}
	received := 0
	go func() {
		for rpc := range to.Consumer() {
			part := rpc.Command.(*raft.AppendEntriesRequest)
			received += len(part.Entries)
			rpc.Respond(&raft.AppendEntriesResponse{Term: 3, LastLog: part.PrevLogEntry + uint64(len(part.Entries)), Success: true}, nil)
			if received == len(sizes) {
				return
			}
		}
	}()
	header := raft.RPCHeader{ProtocolVersion: 3, ID: []byte("a-1"), Addr: []byte("a-1")}
	args := &raft.AppendEntriesRequest{RPCHeader: header, Term: 3, PrevLogEntry: 7, PrevLogTerm: 2, Entries: sizedEntries(sizes...)}
	var resp raft.AppendEntriesResponse
	if err := from.AppendEntries("b-2", "b-2", args, &resp); err != nil || !resp.Success || len(args.Entries) != len(sizes) {
		t.Errorf("%v, %+v, %d of %d entries arrived", err, resp, len(args.Entries), len(sizes))
	}
}
