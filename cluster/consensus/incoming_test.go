package consensus

import (
	"errors"
	"io"
	"net"
	"testing"

	"github.com/hashicorp/raft"

	"github.com/seriatimq/seriatim/cluster/consensus/wire"
	"github.com/seriatimq/seriatim/fsm"
	"github.com/seriatimq/seriatim/queue/message"
)

// The sender of a second snapshot is the current leader, or gave up the first one. So the first one
// ends before the second one begins.
func TestALaterSnapshotEndsTheOneBefore(t *testing.T) {
	t.Parallel()
	var turns intakes
	leader, here := net.Pipe()
	defer leader.Close()
	first, second := &incoming{conn: here}, &incoming{}
	turns.begin(first)
	begun := make(chan struct{})
	go func() {
		turns.begin(second)
		close(begun)
	}()
	if _, err := leader.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("the leader of the first one reads %v", err)
	}
	select {
	case <-begun:
		t.Error("the second one began before the first one ended")
	default:
	}
	turns.end()
	<-begun
	turns.end()
	turns.begin(first) // nothing to wait for
	turns.end()
}

// Leaders of an earlier term, and those with a snapshot that this node has, are answered at once.
// They neither fetch nor abort anything.
func TestSnapshotsThatAreNotNeededAreNotFetched(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ library, want raft.AppendEntriesResponse }{
		"a leader of an earlier term": {raft.AppendEntriesResponse{Term: 9}, raft.AppendEntriesResponse{Term: 9}},
		"a snapshot that is here": {raft.AppendEntriesResponse{Term: 8, Success: true},
			raft.AppendEntriesResponse{Term: 8, Success: true}},
	} {
		inbound := newInbound(noHistory())
		go func() {
			asked := <-inbound.Consumer()
			asked.Respond(&c.library, nil)
		}()
		snapshot := &incoming{request: &raft.InstallSnapshotRequest{Term: 8, LastLogIndex: 7, LastLogTerm: 6}}
		answers := make(chan raft.RPCResponse, 1)
		inbound.receive(raft.RPC{Command: snapshot.request, Reader: snapshot, RespChan: answers})
		answer := <-answers
		got, ok := answer.Response.(*raft.InstallSnapshotResponse)
		if !ok || answer.Error != nil || got.Term != c.want.Term || got.Success != c.want.Success || snapshot.begun {
			t.Errorf("%s: %+v, %v, begun %v", name, got, answer.Error, snapshot.begun)
		}
		inbound.close()
	}
}

// A body with a wrong hash is not taken in: the restored state would not show it.
func TestAnotherBodyIsNotTakenIn(t *testing.T) {
	t.Parallel()
	leader, here := net.Pipe()
	defer leader.Close()
	defer here.Close()
	go func() { _ = wire.NewConn(leader).SendPart([]byte("rightwrong")) }() // an error shows below
	f := &bodySource{parts: partReader{from: wire.NewConn(here), within: func() error { return nil }}}
	f.Begin(func(text string) uint64 { return uint64(text[0]) })
	f.held = make([]fsm.Body, 2) // the leader sends both
	want := message.StoredBody(message.Place{Segment: 1, Offset: 16}, 5, 'r')
	if got, err := f.Read(want); err != nil || got.String() != "right" {
		t.Errorf("%q, %v", got.String(), err)
	}
	if _, err := f.Read(want); !needsWhole(err) {
		t.Errorf("another body: %v", err)
	}
}
