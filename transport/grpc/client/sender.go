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
	frameMessages = 10
	frameBytes    = 1 << 20
)

// ErrClosed is the error of a Send after Close.
var ErrClosed = errors.New("the sender is closed")

// Sender sends to one queue over a stream, without waiting for one answer before
// the next message. When the stream breaks it goes on with another one, on any
// node. Messages of one group are stored in the order of the calls of Send.
type Sender struct {
	client *Client
	queue  string
	ctx    context.Context
	in     chan *Sent
	slots  chan struct{} // one for each unfinished message
	closed chan struct{} // closed by Close
	once   sync.Once     // of closing it
	ended  chan struct{} // closed when run has returned

	// The rest belongs to run.
	number  uint64  // of the last message
	waiting []*Sent // to be sent, in order
}

// Sent is a message on its way.
type Sent struct {
	message *Message
	number  uint64
	done    chan struct{}
	result  *Result
	err     error
}

// Wait waits until it is known what became of the message. The error is that of
// ctx, of the sender, or a *FailureError if a rule refused the message.
func (s *Sent) Wait(ctx context.Context) (*Result, error) {
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
	s := &Sender{
		client: c, queue: queue, ctx: c.header(ctx), in: make(chan *Sent), slots: make(chan struct{}, unfinishedMax),
		closed: make(chan struct{}), ended: make(chan struct{}),
	}
	go s.run()
	return s
}

// Send takes a message to be sent. It waits while too many are unanswered. One
// goroutine calls it, or the order of messages is nobody's.
func (s *Sender) Send(ctx context.Context, m *Message) (*Sent, error) {
	if isFIFO(s.queue) && !s.client.options.ContentDeduplication {
		m = withID(m)
	}
	sent := &Sent{message: m, done: make(chan struct{})}
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
func (s *Sender) Close() {
	s.once.Do(func() { close(s.closed) })
	<-s.ended
}

// finish says what became of a message.
func (s *Sender) finish(m *Sent, result *Result, err error) {
	m.result, m.err = result, err
	close(m.done)
	<-s.slots
}

// take takes a message to be sent.
func (s *Sender) take(m *Sent) {
	s.number++
	m.number = s.number
	s.waiting = append(s.waiting, m)
}

// run sends until the sender is closed and nothing is left, or ctx ends.
func (s *Sender) run() {
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
func (s *Sender) failAll() {
	for _, m := range s.waiting {
		s.finish(m, nil, s.ctx.Err())
	}
	s.waiting = nil
}

// sends is one stream of a Sender.
type sends struct {
	sender   *Sender
	stream   grpc.BidiStreamingClient[seriatimpb.SendStreamRequest, seriatimpb.SendStreamResponse]
	next     uint64 // number of the next message on the stream
	limit    int    // of unanswered messages
	inflight []*Sent
	again    []*Sent // answered by a failure that may pass
	answered bool
}

// sendAnswer is what the stream brought.
type sendAnswer struct {
	out *seriatimpb.SendStreamResponse
	err error
}

// stream sends over one stream until nothing is left to send and the sender is
// closed (no error), or the stream ends. answered says that it got anywhere.
func (s *Sender) stream(at int, e *endpoint) (answered bool, err error) {
	ctx, cancel := context.WithCancel(s.ctx)
	defer cancel()
	stream, err := e.queues.SendStream(ctx)
	if err != nil {
		return false, err
	}
	if err := stream.Send(&seriatimpb.SendStreamRequest{Queue: s.queue}); err != nil {
		_, err = stream.Recv() // which says why
		return false, err
	}
	opened, err := stream.Recv()
	if hints, failed := stream.Header(); failed == nil {
		s.client.learn(at, hints)
	}
	if err != nil {
		return false, err
	}
	one := &sends{sender: s, stream: stream, next: 1, limit: int(opened.GetUnansweredMax())}
	answers, over := make(chan sendAnswer), make(chan struct{})
	defer func() { cancel(); <-over }()
	go func() {
		defer close(over)
		for {
			out, err := stream.Recv()
			select {
			case answers <- sendAnswer{out, err}:
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
func (o *sends) serve(answers <-chan sendAnswer) error {
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
			if err := o.take(a.out); err != nil {
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
func (o *sends) sendFrame() error {
	s, n, size := o.sender, 0, 0
	in := &seriatimpb.SendStreamRequest{FirstNumber: o.next}
	for n < len(s.waiting) && n < frameMessages && (n == 0 || size+len(s.waiting[n].message.GetBody()) <= frameBytes) {
		size += len(s.waiting[n].message.GetBody())
		in.Messages = append(in.Messages, s.waiting[n].message)
		n++
	}
	o.inflight = append(o.inflight, s.waiting[:n]...)
	s.waiting = slices.Clone(s.waiting[n:])
	o.next += uint64(n)
	return o.stream.Send(in)
}

// take takes results.
func (o *sends) take(out *seriatimpb.SendStreamResponse) error {
	if len(out.GetResults()) > len(o.inflight) {
		return status.Error(codes.Internal, "more results than messages")
	}
	for _, r := range out.GetResults() {
		m := o.inflight[0]
		o.inflight = o.inflight[1:]
		f := r.GetFailure()
		if passing(f) && (isFIFO(o.sender.queue) || f.GetReason() != reasonOutcomeUnknown) {
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
func (o *sends) takeBack(err error) {
	s := o.sender
	unanswered := o.inflight
	if !isFIFO(s.queue) && err != nil && kindOf(err) == unknown && Reason(err) != reasonOutcomeUnknown {
		for _, m := range unanswered {
			s.finish(m, nil, err)
		}
		unanswered = nil
	}
	back := slices.Concat(o.again, unanswered)
	slices.SortFunc(back, func(a, b *Sent) int { return cmp.Compare(a.number, b.number) })
	s.waiting = slices.Concat(back, s.waiting)
}
