package client

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/seriatimq/seriatim/transport/grpc/seriatimpb"
)

const (
	// unfinishedMax is how many messages a Sender takes before the first of them is
	// answered.
	unfinishedMax = 1000
	frameMessages = 100
	frameBytes    = 1 << 20
)

// ErrClosed is the error of a Send after Close.
var ErrClosed = errors.New("the sender is closed")

// Sender sends to one queue.
type Sender = Pipeline[Message, Result]

// Publisher publishes to one topic.
type Publisher = Pipeline[TopicMessage, PublishResult]

// Sent is a message on its way to a queue.
type Sent = Pending[Message, Result]

// Published is a message on its way to a topic.
type Published = Pending[TopicMessage, PublishResult]

// Pipeline sends messages over a stream, without waiting for one answer before the
// next message. When the stream breaks it goes on with another one, on any node.
// Messages of one group are accepted in the order of the calls of Send. M is a message
// as in the proto, R its result.
type Pipeline[M, R any] struct {
	client *Client
	kind   streamKind[M, R]
	ctx    context.Context
	in     chan *Pending[M, R]
	slots  chan struct{} // one for each unfinished message
	closed chan struct{} // closed by Close
	once   sync.Once     // of closing it
	ended  chan struct{} // closed when run has returned

	// The rest belongs to run.
	number  uint64           // of the last message
	waiting []*Pending[M, R] // to be sent, in order
}

// streamKind holds the differences between queues and topics.
type streamKind[M, R any] struct {
	fifo    bool
	withID  func(*M) *M // with a deduplication id, if there is to be one
	size    func(*M) int
	failure func(*R) *seriatimpb.Failure
	// open opens a stream with its first request.
	open func(context.Context, *endpoint) (frames[M, R], error)
}

// frames is a stream of requests with messages and of answers with results.
type frames[M, R any] struct {
	grpc.ClientStream
	send    func(first uint64, messages []*M) error
	receive func() (results []*R, unansweredMax uint32, err error)
}

// Pending is a message on its way.
type Pending[M, R any] struct {
	message *M
	number  uint64
	done    chan struct{}
	result  *R
	err     error
}

// Wait waits until it is known what became of the message. The error is that of
// ctx, of the sender, or a *FailureError if a rule refused the message.
func (s *Pending[M, R]) Wait(ctx context.Context) (*R, error) {
	select {
	case <-s.done:
		return s.result, s.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// NewSender makes a sender for a queue. It must be closed; the end of ctx fails
// what is not answered.
func (c *Client) NewSender(ctx context.Context, queue string) *Sender {
	return newPipeline(ctx, c, streamKind[Message, Result]{
		fifo: isFIFO(queue), size: func(m *Message) int { return len(m.GetBody()) }, failure: (*Result).GetFailure,
		withID: func(m *Message) *Message { return c.withIDs(queue, []*Message{m})[0] },
		open: func(ctx context.Context, e *endpoint) (frames[Message, Result], error) {
			stream, err := e.queues.SendStream(ctx)
			if err == nil {
				err = stream.Send(&seriatimpb.SendStreamRequest{Queue: queue})
			}
			return frames[Message, Result]{
				ClientStream: stream,
				send: func(first uint64, messages []*Message) error {
					return stream.Send(&seriatimpb.SendStreamRequest{FirstNumber: first, Messages: messages})
				},
				receive: func() ([]*Result, uint32, error) {
					out, err := stream.Recv()
					return out.GetResults(), out.GetUnansweredMax(), err
				},
			}, err
		},
	})
}

func newPipeline[M, R any](ctx context.Context, c *Client, kind streamKind[M, R]) *Pipeline[M, R] {
	s := &Pipeline[M, R]{
		client: c, kind: kind, ctx: c.header(ctx), in: make(chan *Pending[M, R]), slots: make(chan struct{}, unfinishedMax),
		closed: make(chan struct{}), ended: make(chan struct{}),
	}
	go s.run()
	return s
}

// Send takes a message to be sent. It waits while too many are unanswered. One
// goroutine calls it, or the order of messages is nobody's.
func (s *Pipeline[M, R]) Send(ctx context.Context, m *M) (*Pending[M, R], error) {
	m = s.kind.withID(m)
	sent := &Pending[M, R]{message: m, done: make(chan struct{})}
	select {
	case <-s.closed:
		return nil, ErrClosed
	default:
	}
	select {
	case s.slots <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-s.ctx.Done():
		return nil, s.ctx.Err()
	case <-s.closed:
		return nil, ErrClosed
	}
	select {
	case s.in <- sent:
		return sent, nil
	case <-ctx.Done():
		<-s.slots
		return nil, ctx.Err()
	case <-s.closed:
		return nil, ErrClosed
	case <-s.ended:
		return nil, s.ctx.Err()
	}
}

// Close waits until all messages are answered. Send must not be called any more.
func (s *Pipeline[M, R]) Close() {
	s.once.Do(func() { close(s.closed) })
	<-s.ended
}

// finish says what became of a message.
func (s *Pipeline[M, R]) finish(m *Pending[M, R], result *R, err error) {
	m.result, m.err = result, err
	close(m.done)
	<-s.slots
}

// take takes a message to be sent.
func (s *Pipeline[M, R]) take(m *Pending[M, R]) {
	s.number++
	m.number = s.number
	s.waiting = append(s.waiting, m)
}

// run sends until the sender is closed and nothing is left, or ctx ends.
func (s *Pipeline[M, R]) run() {
	defer close(s.ended)
	defer s.failAll()
	r := newRetries(s.ctx, s.client.options.RetryFor)
	defer func() { r.cancel() }()
	for {
		if len(s.waiting) == 0 {
			select {
			case m := <-s.in:
				s.take(m)
			case <-s.closed:
				return
			case <-s.ctx.Done():
				return
			}
			r.progress()
		}
		at, e := s.client.pick()
		answered, err := s.stream(at, e)
		if answered {
			r.progress()
		}
		if err == nil || s.ctx.Err() != nil {
			continue // the select above ends it, or failAll
		}
		if kindOf(err) == final || r.over() {
			for _, m := range s.waiting {
				s.finish(m, nil, err)
			}
			s.waiting = nil
			continue
		}
		s.client.leave(at)
		r.wait()
	}
}

// failAll ends what is left when ctx has ended.
func (s *Pipeline[M, R]) failAll() {
	for _, m := range s.waiting {
		s.finish(m, nil, s.ctx.Err())
	}
	s.waiting = nil
}

// sends is one stream of a Pipeline.
type sends[M, R any] struct {
	sender   *Pipeline[M, R]
	stream   frames[M, R]
	next     uint64 // number of the next message on the stream
	limit    int    // of unanswered messages
	inflight []*Pending[M, R]
	again    []*Pending[M, R] // answered by a failure that may pass
	answered bool
}

// sendAnswer is one answer on the stream.
type sendAnswer[R any] struct {
	results []*R
	err     error
}

// stream sends over one stream until nothing is left to send and the sender is
// closed (no error), or the stream ends. answered says that it got anywhere.
func (s *Pipeline[M, R]) stream(at int, e *endpoint) (answered bool, err error) {
	ctx, cancel := context.WithCancel(s.ctx)
	defer cancel()
	stream, err := s.kind.open(ctx, e)
	if stream.ClientStream == nil {
		return false, err
	}
	_, limit, err := stream.receive() // which says why the first request failed, if it did
	if hints, failed := stream.Header(); failed == nil {
		s.client.learn(at, hints)
	}
	if err != nil {
		return false, err
	}
	one := &sends[M, R]{sender: s, stream: stream, next: 1, limit: int(limit)}
	answers, over := make(chan sendAnswer[R]), make(chan struct{})
	defer func() { cancel(); <-over }()
	go func() {
		defer close(over)
		for {
			results, _, err := stream.receive()
			select {
			case answers <- sendAnswer[R]{results, err}:
			case <-ctx.Done():
				return
			}
			if err != nil {
				return
			}
		}
	}()
	err = one.serve(answers)
	one.takeBack(err)
	return one.answered, err
}

// serve sends what waits and takes answers.
func (o *sends[M, R]) serve(answers <-chan sendAnswer[R]) error {
	s := o.sender
	for {
		for len(s.waiting) > 0 && len(o.inflight)+frameMessages <= o.limit {
			if o.sendFrame() != nil {
				break // the answers say why
			}
		}
		in, closed := s.in, s.closed
		if len(s.waiting) >= frameMessages {
			in = nil
		}
		if len(s.waiting) > 0 || len(o.inflight) > 0 {
			closed = nil
		}
		select {
		case m := <-in:
			s.take(m)
		case a := <-answers:
			if a.err != nil {
				return a.err
			}
			if err := o.take(a.results); err != nil {
				return err
			}
		case <-closed:
			return o.stream.CloseSend()
		case <-s.ctx.Done():
			return s.ctx.Err()
		}
	}
}

// sendFrame sends what fits into one request.
func (o *sends[M, R]) sendFrame() error {
	s, n, size := o.sender, 0, 0
	var messages []*M
	for n < len(s.waiting) && n < frameMessages {
		if size += s.kind.size(s.waiting[n].message); n > 0 && size > frameBytes {
			break
		}
		messages = append(messages, s.waiting[n].message)
		n++
	}
	o.inflight = append(o.inflight, s.waiting[:n]...)
	s.waiting = slices.Clone(s.waiting[n:])
	first := o.next
	o.next += uint64(n)
	return o.stream.send(first, messages)
}

// take takes results.
func (o *sends[M, R]) take(results []*R) error {
	if len(results) > len(o.inflight) {
		return status.Error(codes.Internal, "more results than messages")
	}
	for _, r := range results {
		m := o.inflight[0]
		o.inflight = o.inflight[1:]
		f := o.sender.kind.failure(r)
		if passing(f) && (o.sender.kind.fifo || f.GetReason() != reasonOutcomeUnknown) {
			o.again = append(o.again, m)
			continue
		}
		o.answered = true
		o.sender.finish(m, r, failureOf(f))
	}
	return nil
}

// takeBack makes what the stream did not deal with wait for another one, or fails
// it if sending it again might store it twice.
func (o *sends[M, R]) takeBack(err error) {
	s := o.sender
	unanswered := o.inflight
	if !s.kind.fifo && err != nil && kindOf(err) == unknown && Reason(err) != reasonOutcomeUnknown {
		for _, m := range unanswered {
			s.finish(m, nil, err)
		}
		unanswered = nil
	}
	back := slices.Concat(o.again, unanswered)
	slices.SortFunc(back, func(a, b *Pending[M, R]) int { return cmp.Compare(a.number, b.number) })
	s.waiting = slices.Concat(back, s.waiting)
}
