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
	// unansweredMax bounds the messages of a Pipeline without an answer.
	unansweredMax = 1000
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

// Pipeline sends messages over a stream without waiting for answers. When the stream breaks
// it continues over another one, to any node. Messages of one group are accepted in the
// order of the calls of Send. M is a message as in the proto, R its result.
//
// Each frame takes all messages that wait, up to frameMessages: the faster Send is called,
// the fewer frames a message costs.
type Pipeline[M, R any] struct {
	client *Client
	kind   streamKind[M, R]
	ctx    context.Context
	slots  chan struct{} // one for each unanswered message
	added  chan struct{} // capacity 1: queued may have messages
	closed chan struct{} // closed by Close
	once   sync.Once     // closes closed
	ended  chan struct{} // closed when run has returned

	mu     sync.Mutex
	queued []*Pending[M, R] // by Send, not yet taken by run
	over   bool             // run takes no more

	// Used by run only.
	number  uint64           // of the last message
	waiting []*Pending[M, R] // to be sent, in order
}

// streamKind holds the differences between queues and topics.
type streamKind[M, R any] struct {
	fifo    bool
	withID  func(*M) *M // adds a deduplication id if one is needed
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

// Wait waits for the result of the message. The error is that of ctx, of the sender, or a
// *FailureError if a rule refused the message.
func (m *Pending[M, R]) Wait(ctx context.Context) (*R, error) {
	select {
	case <-m.done:
		return m.result, m.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// NewSender returns a sender for a queue. Close it at the end. The end of ctx fails the
// messages without an answer.
func (c *Client) NewSender(ctx context.Context, queue string) *Sender {
	return newPipeline(ctx, c, streamKind[Message, Result]{
		fifo: isFIFO(queue), size: func(m *Message) int {
			return len(m.GetBody()) + len(m.GetBodyBytes()) + len(m.GetAmqp().GetSections()) + len(m.GetAmqp().GetBody())
		}, failure: (*Result).GetFailure,
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
		client: c, kind: kind, ctx: c.header(ctx), slots: make(chan struct{}, unansweredMax), added: make(chan struct{}, 1),
		closed: make(chan struct{}), ended: make(chan struct{}),
	}
	go s.run()
	return s
}

// Send queues a message. It waits while too many are unanswered. The order of messages is
// that of the calls, so call it from one goroutine.
func (s *Pipeline[M, R]) Send(ctx context.Context, m *M) (*Pending[M, R], error) {
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
	sent := &Pending[M, R]{message: s.kind.withID(m), done: make(chan struct{})}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		return nil, cmp.Or(s.ctx.Err(), ErrClosed)
	}
	s.queued = append(s.queued, sent)
	select {
	case s.added <- struct{}{}:
	default:
	}
	return sent, nil
}

// Close waits until all messages are answered. Do not call Send any more.
func (s *Pipeline[M, R]) Close() {
	s.once.Do(func() { close(s.closed) })
	<-s.ended
}

// finish sets the result of a message.
func (s *Pipeline[M, R]) finish(m *Pending[M, R], result *R, err error) {
	m.result, m.err = result, err
	close(m.done)
	<-s.slots
}

// take moves the queued messages to waiting, and reports whether any message waits.
func (s *Pipeline[M, R]) take() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range s.queued {
		s.number++
		m.number = s.number
	}
	s.waiting = append(s.waiting, s.queued...)
	clear(s.queued)
	s.queued = s.queued[:0]
	return len(s.waiting) > 0
}

// next waits until a message waits. It reports false at the end of the pipeline.
func (s *Pipeline[M, R]) next() bool {
	for !s.take() {
		select {
		case <-s.added:
		case <-s.closed:
			return s.take()
		case <-s.ctx.Done():
			return false
		}
	}
	return true
}

// run sends until the pipeline is closed and no message is left, or ctx ends.
func (s *Pipeline[M, R]) run() {
	defer close(s.ended)
	defer s.end()
	r := newRetries(s.ctx, s.client.options.RetryFor)
	defer func() { r.cancel() }()
	for {
		if len(s.waiting) == 0 {
			if !s.next() {
				return
			}
			r.progress()
		}
		at, e := s.client.pick()
		answered, err := s.stream(at, e)
		if answered {
			r.progress()
		}
		if s.ctx.Err() != nil {
			return
		}
		if err == nil {
			continue
		}
		if kindOf(err) == final || r.over() {
			s.fail(err)
			continue
		}
		s.client.leave(at)
		r.wait()
	}
}

// end refuses further messages, and fails those that are left because ctx has ended.
func (s *Pipeline[M, R]) end() {
	s.mu.Lock()
	s.over = true
	s.waiting = append(s.waiting, s.queued...)
	s.mu.Unlock()
	s.fail(cmp.Or(s.ctx.Err(), ErrClosed))
}

// fail fails the messages that wait.
func (s *Pipeline[M, R]) fail(err error) {
	for _, m := range s.waiting {
		s.finish(m, nil, err)
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
	again    []*Pending[M, R] // failed for a reason that may pass
	answered bool             // a message got its result
}

// sendAnswer is one answer on the stream.
type sendAnswer[R any] struct {
	results []*R
	err     error
}

// stream sends over one stream until the pipeline is closed and no message is left (no
// error), or the stream ends. answered reports whether a message got its result.
func (s *Pipeline[M, R]) stream(at int, e *endpoint) (answered bool, err error) {
	ctx, cancel := context.WithCancel(s.ctx)
	defer cancel()
	stream, err := s.kind.open(ctx, e)
	if stream.ClientStream == nil {
		return false, err
	}
	_, limit, err := stream.receive() // with the error of the first request, if it failed
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

// serve sends the messages that wait, and receives results.
func (o *sends[M, R]) serve(answers <-chan sendAnswer[R]) error {
	s := o.sender
	for {
		for s.take() && len(o.inflight)+frameMessages <= o.limit {
			if o.sendFrame() != nil {
				break // receive returns the error
			}
		}
		closed := s.closed
		if len(s.waiting) > 0 || len(o.inflight) > 0 {
			closed = nil
		}
		select {
		case <-s.added:
		case a := <-answers:
			if a.err != nil {
				return a.err
			}
			if err := o.finish(a.results); err != nil {
				return err
			}
		case <-closed:
			if !s.take() {
				return o.stream.CloseSend()
			}
		case <-s.ctx.Done():
			return s.ctx.Err()
		}
	}
}

// sendFrame sends as many messages as fit into one request.
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
	s.waiting = s.waiting[n:]
	first := o.next
	o.next += uint64(n)
	return o.stream.send(first, messages)
}

// finish sets the results of the oldest messages in flight.
func (o *sends[M, R]) finish(results []*R) error {
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

// takeBack makes the messages without a result wait for the next stream. It fails those
// that a repetition could store twice.
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
