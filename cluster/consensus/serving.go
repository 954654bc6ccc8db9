package consensus

import (
	"context"
	"errors"
	"io"
	"net"

	"github.com/hashicorp/raft"

	"github.com/seriatimq/seriatim/cluster/consensus/wire"
	"github.com/seriatimq/seriatim/cluster/environment"
	"github.com/seriatimq/seriatim/cluster/peernet"
)

// serve answers the messages of other nodes until the listeners close: in our
// encoding, and in the library's those of programs that do not know ours.
func (t *transport) serve() {
	t.serving.Go(func() {
		t.accept(peernet.KindConsensus, func(conn net.Conn) wire.Conn { return wire.NewCompact(conn) })
	})
	t.serving.Go(func() {
		t.accept(peernet.KindRaft, func(conn net.Conn) wire.Conn { return wire.NewMessagePack(conn) })
	})
}

func (t *transport) accept(kind peernet.Kind, speak func(net.Conn) wire.Conn) {
	listener := t.Network.Listener(kind, t.Group)
	for {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		t.serving.Go(func() { t.answer(conn, speak(conn)) })
	}
}

// endServing closes the listeners, and waits for the connections, which end with t.open.
func (t *transport) endServing() {
	for _, kind := range []peernet.Kind{peernet.KindConsensus, peernet.KindRaft} {
		_ = t.Network.Listener(kind, t.Group).Close()
	}
	t.serving.Wait()
}

// answer answers the messages of one connection, which the other node closes.
func (t *transport) answer(conn net.Conn, from wire.Conn) {
	defer conn.Close()
	stop := context.AfterFunc(t.open, func() { conn.Close() })
	defer stop()
	answers := make(chan raft.RPCResponse, 1) // one message at a time
	for {
		request, err := from.Asked()
		if err != nil {
			t.noteEnd(err)
			return
		}
		rpc := raft.RPC{Command: request, RespChan: answers}
		install, last := request.(*raft.InstallSnapshotRequest)
		if last { // the library need not read all of it
			rpc.Reader = from.Snapshot(install.Size)
		}
		t.inbound.take(rpc)
		select {
		case answer := <-answers:
			if err := conn.SetWriteDeadline(environment.DeadlineAfter(t.Timeout)); err != nil {
				return
			}
			if err := from.Reply(answer.Response, answer.Error); err != nil || last {
				return
			}
		case <-t.inbound.stop:
			return
		}
	}
}

// noteEnd logs why a connection of another node has ended.
func (t *transport) noteEnd(err error) {
	if errors.Is(err, io.EOF) || t.open.Err() != nil {
		return
	}
	if errors.Is(err, wire.ErrDamaged) {
		t.Logger.Error("a connection of another node is closed", "error", err)
		return
	}
	t.Logger.Debug("a connection of another node is closed", "error", err)
}
