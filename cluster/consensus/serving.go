package consensus

import (
	"context"
	"errors"
	"io"
	"net"
	"time"

	"github.com/hashicorp/raft"

	"github.com/seriatimq/seriatim/cluster/consensus/wire"
	"github.com/seriatimq/seriatim/cluster/environment"
	"github.com/seriatimq/seriatim/cluster/peernet"
	"github.com/seriatimq/seriatim/cluster/peernet/frame"
)

// serve answers the messages of other nodes until the listeners are closed.
func (t *transport) serve() {
	t.serving.Go(func() { t.accept(peernet.KindConsensus) })
	t.serving.Go(func() { t.accept(peernet.KindInstall) })
}

func (t *transport) accept(kind peernet.Kind) {
	listener := t.options.Network.Listener(kind, t.options.Group)
	for {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		t.serving.Go(func() { t.answer(conn, kind) })
	}
}

// endServing closes the listeners and waits for the connections, which end with t.open.
func (t *transport) endServing() {
	for _, kind := range []peernet.Kind{peernet.KindConsensus, peernet.KindInstall} {
		_ = t.options.Network.Listener(kind, t.options.Group).Close()
	}
	t.serving.Wait()
}

// answer answers the messages on one connection until the other node closes it.
func (t *transport) answer(conn net.Conn, kind peernet.Kind) {
	defer conn.Close()
	stop := context.AfterFunc(t.open, func() { conn.Close() })
	defer stop()
	asker := &asker{transport: t, kind: kind, conn: conn, from: wire.ServeConn(conn), answers: make(chan raft.RPCResponse, 1)}
	for {
		request, err := asker.next()
		if err != nil {
			t.noteEnd(err)
			return
		}
		if appended, ok := request.(*raft.AppendEntriesRequest); ok {
			err = asker.appends(appended)
		} else {
			err = asker.other(request)
		}
		if err != nil {
			return
		}
	}
}

// asker is the other end of a connection. One goroutine answers its messages.
type asker struct {
	transport *transport
	kind      peernet.Kind // of the connection
	conn      net.Conn
	from      *wire.Conn
	answers   chan raft.RPCResponse // capacity 1: the library has one message at a time
	pending   any                   // the next message, already read; nil: none
}

func (a *asker) next() (request any, err error) {
	if request, a.pending = a.pending, nil; request != nil {
		return request, nil
	}
	return a.from.Asked()
}

var errAskedLast = errors.New("no message follows this one")

// other answers a message without entries.
func (a *asker) other(request any) error {
	rpc := raft.RPC{Command: request}
	install, last := request.(*raft.InstallSnapshotRequest)
	if last && a.kind == peernet.KindInstall {
		snapshot := &incoming{group: a.transport.options.Snapshots, conn: a.conn, from: a.from, request: install}
		defer snapshot.close()
		rpc.Reader = snapshot
	} else if last { // the library may stop reading
		rpc.Reader = inTime{a.from.Snapshot(install.Size), a.conn, a.transport.options.Timeout}
	}
	answer, err := a.ask(rpc)
	if _, here := rpc.Reader.(*incoming); here && err == nil && answer.Error != nil && !needsWhole(answer.Error) {
		a.transport.options.Logger.Warn("a snapshot of the leader could not be installed", "error", answer.Error)
		return answer.Error // the leader tries again
	}
	if err == nil {
		err = a.reply(answer.Response, answer.Error)
	}
	if err == nil && last {
		err = errAskedLast
	}
	return err
}

// inTime sets a deadline for each read: the library does not vote while it reads a snapshot.
type inTime struct {
	io.Reader
	conn    net.Conn
	timeout time.Duration
}

// Read reads with a deadline.
func (r inTime) Read(content []byte) (int, error) {
	if err := r.conn.SetReadDeadline(environment.DeadlineAfter(r.timeout)); err != nil {
		return 0, err
	}
	return r.Reader.Read(content)
}

// appends answers a message with entries, and the waiting ones that follow it, see merged.go.
func (a *asker) appends(first *raft.AppendEntriesRequest) error {
	requests, err := a.waiting(first)
	if err != nil {
		return err
	}
	if len(requests) > 1 {
		answer, err := a.ask(raft.RPC{Command: merged(requests)})
		if err != nil {
			return err
		}
		whole, ok := answer.Response.(*raft.AppendEntriesResponse)
		if ok && answer.Error == nil && whole.Success {
			for _, own := range answersTo(requests, whole) {
				if err := a.reply(own, nil); err != nil {
					return err
				}
			}
			return nil
		}
		// The library may accept the first ones.
	}
	for _, request := range requests {
		answer, err := a.ask(raft.RPC{Command: request})
		if err == nil {
			err = a.reply(answer.Response, answer.Error)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// waiting returns a message with the complete ones that follow it on the connection.
func (a *asker) waiting(first *raft.AppendEntriesRequest) (requests []*raft.AppendEntriesRequest, err error) {
	requests = []*raft.AppendEntriesRequest{first}
	for entries, last := len(first.Entries), first; entries < mergedMax && a.from.Waits(); {
		if a.pending, err = a.from.Asked(); err != nil {
			a.transport.noteEnd(err)
			return nil, err
		}
		behind, ok := a.pending.(*raft.AppendEntriesRequest)
		if !ok || !follows(last, behind) {
			break
		}
		requests, last, a.pending = append(requests, behind), behind, nil
		entries += len(behind.Entries)
	}
	return requests, nil
}

// ask passes a message to the library and waits for the answer.
func (a *asker) ask(rpc raft.RPC) (raft.RPCResponse, error) {
	rpc.RespChan = a.answers
	applied := a.transport.options.History.applied()
	a.transport.inbound.receive(rpc)
	select {
	case answer := <-a.answers:
		if message, ok := rpc.Command.(*raft.AppendEntriesRequest); ok {
			if appended, ok := answer.Response.(*raft.AppendEntriesResponse); ok && answer.Error == nil {
				a.transport.options.History.answered(message, appended, applied)
			}
		}
		return answer, nil
	case <-a.transport.inbound.stop:
		return raft.RPCResponse{}, errInboundEnds
	}
}

// reply answers a message.
func (a *asker) reply(answer any, failure error) error {
	if err := a.conn.SetWriteDeadline(environment.DeadlineAfter(a.transport.options.Timeout)); err != nil {
		return err
	}
	return a.from.Reply(answer, failure)
}

// noteEnd logs the error that ended a connection of another node.
func (t *transport) noteEnd(err error) {
	if errors.Is(err, io.EOF) || t.open.Err() != nil {
		return
	}
	if errors.Is(err, frame.ErrDamaged) {
		t.options.Logger.Error("a connection of another node is closed", "error", err)
		return
	}
	t.options.Logger.Debug("a connection of another node is closed", "error", err)
}
