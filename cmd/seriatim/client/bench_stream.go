package client

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/seriatimq/seriatim/cmd/seriatim/client/grpcwire"
	"github.com/seriatimq/seriatim/cmd/seriatim/client/httpwire"
)

// benchFrame is one request of a stream of sends.
type benchFrame struct {
	began    time.Time
	messages int
}

// benchSendStream is a stream of sends: compose fills the entries of the client,
// one goroutine sends, another takes the answers.
type benchSendStream struct {
	client  *benchClient
	conn    *grpcwire.Conn
	frames  chan benchFrame // unanswered ones, as many as the server takes
	ended   chan struct{}   // closed when no answers come any more
	number  uint64          // of the next message
	failure error           // why ended was closed, if not for a good end
}

// errorsAsStatus reports whether an error is a status of the server.
func errorsAsStatus(err error) (*grpcwire.StatusError, bool) {
	return errors.AsType[*grpcwire.StatusError](err)
}

// openSends opens a stream of sends.
func (c *benchClient) openSends(ctx context.Context) (*benchSendStream, error) {
	conn, err := c.dialNative(ctx)
	if err != nil {
		return nil, err
	}
	s := &benchSendStream{client: c, conn: conn, number: 1, ended: make(chan struct{})}
	unanswered, err := s.open()
	if err != nil {
		conn.Close()
		return nil, err
	}
	s.frames = make(chan benchFrame, max(int(unanswered)/c.run.flags.batch, 1))
	return s, nil
}

// open names the queue. The answer says how many messages may be unanswered.
func (s *benchSendStream) open() (unanswered uint64, err error) {
	if err := s.conn.Open(grpcwire.MethodSendStream); err != nil {
		return 0, httpwire.Cut(err)
	}
	if err := s.conn.Send(grpcwire.Text(grpcwire.Message(nil), 1, s.client.run.queue)); err != nil {
		return 0, httpwire.Cut(err)
	}
	answer, err := s.conn.Receive()
	if err != nil {
		return 0, err
	}
	return unanswered, grpcwire.Fields(answer, func(field protowire.Number, _ []byte, number uint64) error {
		if field == 3 {
			unanswered = number
		}
		return nil
	})
}

// send sends the entries of the client as one request, once there is room for it.
func (s *benchSendStream) send(began time.Time) error {
	c := s.client
	select {
	case s.frames <- benchFrame{began, len(c.entries)}:
	case <-s.ended:
		return s.failure
	}
	b := grpcwire.Number(grpcwire.Message(c.body), 2, s.number)
	for i := range c.entries {
		e := &c.entries[i]
		b = grpcwire.Outgoing(b, 3, e.body, e.group, e.deduplication)
	}
	c.body = b
	s.number += uint64(len(c.entries))
	return s.conn.Send(b)
}

// answers takes answers until the stream ends, and calls sent for each request of
// which all messages were accepted.
func (s *benchSendStream) answers(sent func(benchFrame)) {
	defer close(s.ended)
	frame, left, refused := benchFrame{}, 0, 0
	for {
		answer, err := s.conn.Receive()
		if err != nil {
			if !errors.Is(err, io.EOF) {
				s.failure = err
			}
			return
		}
		err = grpcwire.Fields(answer, func(field protowire.Number, text []byte, _ uint64) error {
			if field != 2 {
				return nil
			}
			if left == 0 {
				frame, refused = <-s.frames, 0
				left = frame.messages
			}
			left--
			_, failure, err := grpcwire.Result(text)
			if failure != nil {
				reason, message := grpcwire.Failure(failure)
				s.client.failed(&benchRefusal{400, reason, message})
				refused++
			}
			if left == 0 && refused == 0 {
				sent(frame)
			}
			return err
		})
		if err != nil {
			s.failure = err
			return
		}
	}
}

// streamSendLoad is sendLoad over streams.
type streamSendLoad struct{ sendLoad }

func (l streamSendLoad) work(ctx context.Context, c *benchClient) {
	n := int64(0)
	for ctx.Err() == nil && time.Now().Before(c.run.deadline) {
		if err := l.stream(ctx, c, &n); err != nil && ctx.Err() == nil {
			c.failed(err)
			benchRest(ctx, benchPause)
			continue
		}
		return
	}
}

// stream sends over one stream until the load is over.
func (streamSendLoad) stream(ctx context.Context, c *benchClient, n *int64) error {
	s, err := c.openSends(ctx)
	if err != nil {
		return err
	}
	defer s.conn.Close()
	var answering sync.WaitGroup
	answering.Go(func() {
		s.answers(func(f benchFrame) { c.measured(benchSend, f.began, time.Now(), f.messages) })
	})
	defer answering.Wait()
	for {
		due := c.awaitTurn(ctx, *n)
		began := time.Now()
		if c.run.over(began, c.run.flags.batch) {
			break
		}
		for i := range c.entries {
			c.compose(&c.entries[i], c.groupOf(*n), *n, began)
			*n++
		}
		c.calls++
		if err := s.send(due); err != nil {
			s.conn.Close()
			return err
		}
	}
	if err := s.conn.CloseSend(); err != nil {
		return httpwire.Cut(err)
	}
	<-s.ended
	return s.failure
}
