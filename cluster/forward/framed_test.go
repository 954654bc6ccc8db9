package forward

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seriatimq/seriatim/cluster/clustertest"
	"github.com/seriatimq/seriatim/cluster/peernet/frame"
	"github.com/seriatimq/seriatim/cluster/peerpb"
)

// framedServing serves the connections that connect opens.
type framedServing struct {
	*serverTest
	server  *Server
	address string
}

func serveFramed(t *testing.T) *framedServing {
	return serveFramedOf(t, newServing(t))
}

func serveFramedOf(t *testing.T, s *serverTest) *framedServing {
	var config net.ListenConfig
	listener, err := config.Listen(t.Context(), "tcp", "127.0.0.1:0")
	clustertest.Must(t, err)
	served := &framedServing{serverTest: s, server: NewServer(s.options), address: listener.Addr().String()}
	var running sync.WaitGroup
	running.Go(func() { served.server.Serve(t.Context(), listener) })
	t.Cleanup(func() { served.server.Stop(); running.Wait() })
	return served
}

func (s *framedServing) connect(t *testing.T) *FramedStream {
	t.Helper()
	var dialer net.Dialer
	conn, err := dialer.DialContext(t.Context(), "tcp", s.address)
	clustertest.Must(t, err)
	stream := NewFramedStream(t.Context(), conn)
	t.Cleanup(func() { _ = stream.Close() }) // the server may have closed it
	return stream
}

func numbered(id uint64) func(*peerpb.RequestFrame, *peerpb.Request) {
	return func(_ *peerpb.RequestFrame, r *peerpb.Request) { r.Id = id }
}

func TestFramesAreAnswered(t *testing.T) {
	s := serveFramed(t)
	s.open()
	stream := s.connect(t)
	for id := range uint64(3) {
		if a := exchange(t, stream, s.frame(numbered(id+1))); a.Id != id+1 || a.Outcome != peerpb.Outcome_OUTCOME_ANSWERED ||
			len(a.Response) == 0 {
			t.Fatalf("got %v", a)
		}
	}
	audit := s.frame(func(_ *peerpb.RequestFrame, r *peerpb.Request) {
		r.Id, r.Kind, r.Audit = 4, Audit, &peerpb.Audit{NodeId: "asker", Index: 9}
	})
	if a := exchange(t, stream, audit); a.Id != 4 || a.Outcome != peerpb.Outcome_OUTCOME_ANSWERED {
		t.Fatalf("got %v", a)
	}
	large := s.frame(func(_ *peerpb.RequestFrame, r *peerpb.Request) { r.Id, r.Command = 5, make([]byte, 5<<20) })
	if a := exchange(t, stream, large); a.Id != 5 || a.Outcome != peerpb.Outcome_OUTCOME_UNSUPPORTED {
		t.Fatalf("got %v", a)
	}
}

// Requests before the end are answered; then the stream ends.
func TestFramesEnd(t *testing.T) {
	s := serveFramed(t) // not open: the request waits
	stream := s.connect(t)
	clustertest.Must(t, errors.Join(stream.Send(s.frame(nil)), stream.CloseSend()))
	s.open()
	frame, err := stream.Recv()
	if err != nil || len(frame.Answers) != 1 || frame.Answers[0].Outcome != peerpb.Outcome_OUTCOME_ANSWERED {
		t.Fatal(frame, err)
	}
	if frame, err := stream.Recv(); !errors.Is(err, io.EOF) {
		t.Fatal(frame, err)
	}
}

// A closing server asks the other nodes to end their streams, waits for them, and accepts no
// others.
func TestServerClosesFramedStreams(t *testing.T) {
	s := serveFramed(t)
	s.open()
	stream := s.connect(t)
	if a := exchange(t, stream, s.frame(nil)); a.Outcome != peerpb.Outcome_OUTCOME_ANSWERED {
		t.Fatalf("got %v", a)
	}
	closed := make(chan struct{})
	go func() { // ends with the stream
		defer close(closed)
		s.server.Close(t.Context())
	}()
	if frame, err := stream.Recv(); err != nil || !frame.Closing {
		t.Fatal(frame, err)
	}
	select {
	case <-closed:
		t.Fatal("the server has closed with a stream open")
	default:
	}
	clustertest.Must(t, stream.CloseSend())
	<-closed
	var dialer net.Dialer
	if conn, err := dialer.DialContext(t.Context(), "tcp", s.address); err == nil {
		conn.Close()
		t.Fatal("a server that is closed takes connections")
	}
}

// A server whose time to close is up breaks open connections.
func TestServerBreaksOffFramedStreams(t *testing.T) {
	s := serveFramed(t) // not open: the request is never answered
	stream := s.connect(t)
	clustertest.Must(t, stream.Send(s.frame(nil)))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s.server.Close(ctx)
	for {
		frame, err := stream.Recv()
		if err != nil {
			return
		}
		if !frame.Closing {
			t.Fatalf("answered %v", frame)
		}
	}
}

// TestServerFencesTheOldStream simulates streams; this test uses connections.
func TestAFramedConnectionSucceedsAnother(t *testing.T) {
	s := serveFramed(t) // not open: the requests wait
	first, second := s.connect(t), s.connect(t)
	clustertest.Must(t, first.Send(s.frame(nil)))
	for s.server.Served() == 0 {
		time.Sleep(time.Millisecond)
	}
	clustertest.Must(t, second.Send(s.frame(nil)))
	for s.server.Served() < 2 {
		time.Sleep(time.Millisecond)
	}
	s.open()
	if frame, err := second.Recv(); err != nil || frame.Answers[0].Outcome != peerpb.Outcome_OUTCOME_ANSWERED {
		t.Fatal(frame, err)
	}
	if n := s.group.proposed(); n != 1 {
		t.Fatalf("%d commands were proposed, want that of the second connection", n)
	}
}

// Both ends of an idle connection stay open for hours. An end that receives nothing closes the
// connection.
func TestFramesKeepIdleConnectionsOpen(t *testing.T) {
	t.Run("silence", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			near, far := net.Pipe()
			asking, answering := NewFramedStream(t.Context(), near), framedInbound{newFramedConn(far)}
			received := make(chan *peerpb.RequestFrame, 1)
			go func() {
				if frame, err := answering.Recv(); err == nil {
					received <- frame
				}
			}()
			answered := make(chan *peerpb.AnswerFrame, 1)
			go func() {
				if frame, err := asking.Recv(); err == nil {
					answered <- frame
				}
			}()
			time.Sleep(3 * time.Hour)
			clustertest.Must(t, asking.Send(&peerpb.RequestFrame{SenderId: "asker"}))
			if frame := <-received; frame.SenderId != "asker" {
				t.Fatal(frame)
			}
			clustertest.Must(t, answering.Send(&peerpb.AnswerFrame{Closing: true}))
			if frame := <-answered; !frame.Closing {
				t.Fatal(frame)
			}
			clustertest.Must(t, errors.Join(asking.Close(), answering.conn.close()))
		})
	})
	t.Run("gone", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			near, far := net.Pipe()
			asking := NewFramedStream(t.Context(), near)
			go func() { _, _ = io.Copy(io.Discard, far) }() // ends with the connection
			begun := time.Now()
			if frame, err := asking.Recv(); err == nil {
				t.Fatal(frame)
			}
			if took := time.Since(begun); took != silentTicks*silenceMax {
				t.Errorf("given up after %v", took)
			}
		})
	})
	t.Run("not reading", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			near, _ := net.Pipe()
			asking := NewFramedStream(t.Context(), near)
			begun := time.Now()
			if err := asking.Send(&peerpb.RequestFrame{SenderId: "asker"}); err == nil {
				t.Fatal("sent to nobody")
			}
			if took := time.Since(begun); took != silentTicks*silenceMax {
				t.Errorf("given up after %v", took)
			}
		})
	})
}

// A frame of an unknown kind ends the connection. Package frame tests damage.
func TestUnknownFramesEndTheConnection(t *testing.T) {
	s := serveFramed(t)
	s.open()
	stream := s.connect(t)
	unknown := frame.Begin(nil)
	frame.Finish(unknown, 77, 0)
	clustertest.Must(t, clustertest.Err(stream.conn.conn.Write(unknown)))
	if frame, err := stream.Recv(); err == nil {
		t.Fatal(frame)
	}
}
