package consensus

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"net"
	"testing"
	"time"

	"github.com/hashicorp/raft"

	"github.com/seriatimq/seriatim/cluster/environment"
	"github.com/seriatimq/seriatim/cluster/peernet"
	"github.com/seriatimq/seriatim/cluster/peernet/peernettest"
)

// olderNode plays a node whose program does not know our encoding: it refuses
// connections for it, and has the library's own transport on the others.
type olderNode struct {
	net.Listener
	conns   chan net.Conn
	refused chan struct{} // one for each connection of a kind that it does not know
}

// newOlderNode is node id, which only listens.
func newOlderNode(t *testing.T, id string) (*olderNode, *raft.NetworkTransport) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	n := &olderNode{Listener: listener, conns: make(chan net.Conn), refused: make(chan struct{}, 100)}
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				close(n.conns)
				return
			}
			n.greet(conn)
		}
	}()
	transport := raft.NewNetworkTransport(olderLayer{n, id}, 1, 5*time.Second, io.Discard)
	t.Cleanup(func() { transport.Close(); transport.CloseStreams() })
	return n, transport
}

// greet is the handshake of such a program.
func (n *olderNode) greet(conn net.Conn) {
	var head [12]byte
	if _, err := io.ReadFull(conn, head[:]); err != nil {
		conn.Close()
		return
	}
	for range 3 {
		var length uint16
		if binary.Read(conn, binary.BigEndian, &length) != nil {
			conn.Close()
			return
		}
		if _, err := io.CopyN(io.Discard, conn, int64(length)); err != nil {
			conn.Close()
			return
		}
	}
	verdict, reason := byte(0), ""
	if head[5] != byte(peernet.KindRaft) {
		verdict, reason = 1, "kind 10 is not a known use of a connection"
		n.refused <- struct{}{}
	}
	answer := append([]byte("SRTM"), 2, verdict, 1, 1)
	answer = binary.BigEndian.AppendUint16(answer, uint16(len(reason)))
	if _, err := conn.Write(append(answer, reason...)); err != nil || verdict != 0 {
		conn.Close()
		return
	}
	n.conns <- &olderConn{Conn: conn}
}

// olderLayer gives the library's transport its connections.
type olderLayer struct {
	*olderNode
	id string
}

func (l olderLayer) Accept() (net.Conn, error) {
	if conn, ok := <-l.conns; ok {
		return conn, nil
	}
	return nil, net.ErrClosed
}

func (l olderLayer) Dial(raft.ServerAddress, time.Duration) (net.Conn, error) {
	return nil, errors.New("it only listens")
}

// olderConn has the frames that are around what such a program says.
type olderConn struct {
	net.Conn
	rest bytes.Buffer
}

func (c *olderConn) Read(content []byte) (int, error) {
	for c.rest.Len() == 0 {
		var head [8]byte
		if _, err := io.ReadFull(c.Conn, head[:]); err != nil {
			return 0, err
		}
		if _, err := io.CopyN(&c.rest, c.Conn, int64(binary.BigEndian.Uint32(head[:]))); err != nil {
			return 0, err
		}
	}
	return c.rest.Read(content)
}

func (c *olderConn) Write(content []byte) (int, error) {
	frame := binary.BigEndian.AppendUint32(nil, uint32(len(content)))
	table := crc32.MakeTable(crc32.Castagnoli)
	frame = binary.BigEndian.AppendUint32(frame, crc32.Update(crc32.Checksum(frame, table), table, content))
	if _, err := c.Conn.Write(append(frame, content...)); err != nil {
		return 0, err
	}
	return len(content), nil
}

// TestNodesOfOlderVersionsAreSpokenToInTheirs: during an upgrade, one node at a time.
func TestNodesOfOlderVersionsAreSpokenToInTheirs(t *testing.T) {
	network, book := peernettest.Open(t, "a-1", nil)
	older, library := newOlderNode(t, "b-2")
	book.Note("b-2", older.Addr().String(), 1)
	options := testOptions(network, newContacts(environment.SystemClock()))
	options.Commits.watch(fixedCommit{state: raft.Follower})
	from := newTransport(options)
	defer from.Close()
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		for range 3 {
			rpc := <-library.Consumer()
			switch m := rpc.Command.(type) {
			case *raft.RequestVoteRequest:
				rpc.Respond(&raft.RequestVoteResponse{Term: m.Term, Granted: true}, nil)
			case *raft.AppendEntriesRequest:
				rpc.Respond(&raft.AppendEntriesResponse{Term: m.Term, LastLog: m.Entries[0].Index, Success: true}, nil)
			case *raft.InstallSnapshotRequest:
				content, err := io.ReadAll(rpc.Reader)
				rpc.Respond(&raft.InstallSnapshotResponse{Term: m.Term, Success: string(content) == "state"}, err)
			}
		}
	}()
	header := raft.RPCHeader{ProtocolVersion: 3, ID: []byte("a-1"), Addr: []byte("a-1")}
	vote := new(raft.RequestVoteResponse)
	if err := from.RequestVote("b-2", "b-2", &raft.RequestVoteRequest{RPCHeader: header, Term: 4}, vote); err != nil || !vote.Granted {
		t.Fatal(err, vote)
	}
	pipeline, err := from.AppendEntriesPipeline("b-2", "b-2")
	if err != nil {
		t.Fatal(err)
	}
	defer pipeline.Close()
	entry := &raft.Log{Index: 9, Term: 4, Type: raft.LogCommand, Data: []byte("data")}
	if _, err := pipeline.AppendEntries(&raft.AppendEntriesRequest{RPCHeader: header, Term: 4, Entries: []*raft.Log{entry}}, new(raft.AppendEntriesResponse)); err != nil {
		t.Fatal(err)
	}
	if answer := <-pipeline.Consumer(); answer.Error() != nil || answer.Response().LastLog != 9 {
		t.Errorf("%+v, %v", answer.Response(), answer.Error())
	}
	installed := new(raft.InstallSnapshotResponse)
	request := &raft.InstallSnapshotRequest{RPCHeader: header, Term: 4, Size: 5}
	if err := from.InstallSnapshot("b-2", "b-2", request, installed, bytes.NewReader([]byte("state"))); err != nil || !installed.Success {
		t.Error(err, installed)
	}
	<-answered
	if len(older.refused) == 0 {
		t.Error("it was not asked whether it knows our encoding: nothing is tested")
	}
}

// newerLayer is how a program that does not know our encoding dials this one.
type newerLayer struct {
	net.Listener
	t       *testing.T
	network *peernet.Network
}

func (l newerLayer) Dial(id raft.ServerAddress, _ time.Duration) (net.Conn, error) {
	return l.network.Dial(l.t.Context(), string(id), peernet.KindRaft, 0)
}

// TestNodesOfOlderVersionsAreAnswered: the other direction.
func TestNodesOfOlderVersionsAreAnswered(t *testing.T) {
	a, b := peernettest.Pair(t, nil)
	to := newTransport(testOptions(b, newContacts(environment.SystemClock())))
	defer to.Close()
	library := raft.NewNetworkTransport(newerLayer{a.Listener(peernet.KindRaft, 0), t, a}, 1, 5*time.Second, io.Discard)
	defer library.Close()
	defer library.CloseStreams()
	go func() {
		rpc := <-to.Consumer()
		rpc.Respond(&raft.AppendEntriesResponse{Term: 4, LastLog: 17, Success: true}, nil)
	}()
	heartbeat := &raft.AppendEntriesRequest{RPCHeader: raft.RPCHeader{ProtocolVersion: 3, ID: []byte("a-1"), Addr: []byte("a-1")}, Term: 4}
	answer := new(raft.AppendEntriesResponse)
	if err := library.AppendEntries("b-2", "b-2", heartbeat, answer); err != nil || answer.LastLog != 17 {
		t.Fatal(err, answer)
	}
}
