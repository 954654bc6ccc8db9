package client

import (
	"context"
	"errors"
	"io"

	"google.golang.org/grpc"

	"github.com/seriatimq/seriatim/transport/grpc/seriatimpb"
)

// Delivery is a received message.
type Delivery = seriatimpb.Message

// Handler processes one message. Without an error the message is deleted. With an error it
// becomes visible at once, together with the later messages of its group that the client
// holds. The end of ctx means that the client has lost the message, or that Consume ends.
type Handler func(ctx context.Context, m *Delivery) error

// ConsumeOptions configure Consume. The zero value is useful.
type ConsumeOptions struct {
	// Credit bounds the messages that the client holds, and so the handlers that run at the
	// same time; 0: 10.
	Credit uint32
	// VisibilityTimeoutSeconds is the time after which others receive the messages of a
	// client that has died; 0: the queue's. Do not set it in a session, which has a lock.
	VisibilityTimeoutSeconds int32
	// NotSettled, if set, is called for messages whose deletion or return was refused, for
	// example because a renewal came too late. They may be received again.
	NotSettled func(m *Delivery, err error)
}

// Consume calls handle for the messages of a queue, one at a time for each group, until ctx
// ends (no error) or the queue refuses. When a node fails it continues over another one. It
// returns when all handlers have returned.
func (c *Client) Consume(ctx context.Context, queue string, options ConsumeOptions, handle Handler) error {
	return c.consume(ctx, queue, nil, options, handle)
}

func (c *Client) consume(ctx context.Context, queue string, session *Session, options ConsumeOptions, handle Handler) error {
	if options.Credit == 0 {
		options.Credit = 10
	}
	// The stream outlives ctx until the handlers have returned and their results are stored.
	base, cancel := context.WithCancel(c.header(context.WithoutCancel(ctx)))
	defer cancel()
	s := &consumer{
		client: c, queue: queue, session: session, options: options, handle: handle, ctx: ctx, base: base,
		held: make(map[string]*held), lanes: make(map[string][]*held), unanswered: make(map[uint64]*unsettled), finished: make(chan *held),
	}
	if isFIFO(queue) {
		s.attempt = newID()
	}
	return s.run()
}

// held is a delivery that the client holds.
type held struct {
	message *Delivery
	cancel  context.CancelFunc // nil: its handler has not begun
	err     error              // of its handler
	lost    bool               // others may receive it
}

func (h *held) handle() string { return h.message.GetReceiptHandle() }

// lane returns the key of the messages that are handled one after another.
func (h *held) lane() string {
	if h.message.GetGroupId() == "" {
		return "h" + h.handle()
	}
	return "g" + h.message.GetGroupId()
}

// unsettled is a settlement without an answer.
type unsettled struct {
	kind       seriatimpb.SettlementKind
	deliveries []*held
	again      bool // an earlier stream may have executed it
}

// consumer is one Consume. Used by the goroutine of run only.
type consumer struct {
	client  *Client
	queue   string
	session *Session // nil: consume the groups without a session lock
	options ConsumeOptions
	handle  Handler
	ctx     context.Context // of the caller
	base    context.Context // of streams

	attempt    string
	held       map[string]*held // by receipt handle; without those in unanswered
	lanes      map[string][]*held
	running    int // handlers
	finished   chan *held
	number     uint64
	unanswered map[uint64]*unsettled
	progress   bool // the stream received an answer
}

// consumeAnswer is one answer on the stream.
type consumeAnswer struct {
	out *seriatimpb.ConsumeResponse
	err error
}

type consumeClient = grpc.BidiStreamingClient[seriatimpb.ConsumeRequest, seriatimpb.ConsumeResponse]

// run consumes over one stream after another.
func (s *consumer) run() error {
	defer s.await()
	r := newRetries(s.base, s.client.options.RetryFor)
	defer func() { r.cancel() }()
	for {
		at, e := s.client.pick()
		s.progress = false
		err := s.stream(at, e)
		if err == nil {
			return nil
		}
		if s.progress {
			r.progress()
		}
		if kindOf(err) == final || r.over() {
			return err
		}
		if s.ctx.Err() != nil && s.running == 0 && len(s.unanswered) == 0 {
			return nil // held messages become visible when their time ends
		}
		s.client.leave(at)
		r.wait()
	}
}

// await cancels the handlers and waits for them.
func (s *consumer) await() {
	for _, h := range s.held {
		if h.cancel != nil {
			h.cancel()
		}
	}
	for ; s.running > 0; s.running-- {
		(<-s.finished).cancel()
	}
}

// stream consumes over one stream until it ends, without an error if ctx has ended.
func (s *consumer) stream(at int, e *endpoint) error {
	ctx, cancel := context.WithCancel(s.base)
	defer cancel()
	stream, err := e.queues.Consume(ctx)
	if err != nil {
		return err
	}
	s.abandonBehind()
	open := &seriatimpb.ConsumeOpen{Queue: s.queue, Credit: s.options.Credit, AttemptId: s.attempt}
	if n := s.options.VisibilityTimeoutSeconds; n != 0 {
		open.VisibilityTimeoutSeconds = &n
	}
	for handle := range s.held {
		open.Held = append(open.Held, handle)
	}
	if s.session != nil {
		s.openSession(open)
	}
	// Recv returns the error if this fails.
	_ = stream.Send(&seriatimpb.ConsumeRequest{Request: &seriatimpb.ConsumeRequest_Open{Open: open}})
	first, err := stream.Recv()
	if hints, failed := stream.Header(); failed == nil {
		s.client.learn(at, hints)
	}
	if err != nil {
		return err
	}
	s.progress = true
	s.attempt = first.GetOpened().GetNextAttemptId()
	for number, u := range s.unanswered {
		u.again = true
		s.send(stream, number, u)
	}
	answers, over := make(chan consumeAnswer), make(chan struct{})
	defer func() { cancel(); <-over }()
	go func() {
		defer close(over)
		for {
			out, err := stream.Recv()
			select {
			case answers <- consumeAnswer{out, err}:
			case <-ctx.Done():
				return
			}
			if err != nil {
				return
			}
		}
	}()
	return s.serve(stream, answers)
}

// serve passes messages to handlers and sends settlements.
func (s *consumer) serve(stream consumeClient, answers <-chan consumeAnswer) error {
	ending, closed := s.ctx.Done(), false
	for {
		if s.ctx.Err() != nil && !closed && s.running == 0 && len(s.unanswered) == 0 {
			closed = true
			if err := stream.CloseSend(); err != nil {
				return err
			}
		}
		select {
		case h := <-s.finished:
			s.finish(stream, h)
		case a := <-answers:
			if closed && errors.Is(a.err, io.EOF) {
				return nil
			}
			if a.err != nil {
				return a.err
			}
			s.take(stream, a.out)
		case <-ending:
			ending = nil
			// Without credit no messages follow. The answers report a broken stream.
			_ = stream.Send(&seriatimpb.ConsumeRequest{Request: &seriatimpb.ConsumeRequest_Credit{Credit: 0}})
		}
	}
}

// take processes one answer.
func (s *consumer) take(stream consumeClient, out *seriatimpb.ConsumeResponse) {
	switch response := out.GetResponse().(type) {
	case *seriatimpb.ConsumeResponse_Delivery:
		s.attempt = response.Delivery.GetNextAttemptId()
		for _, m := range response.Delivery.GetMessages() {
			s.deliver(m)
		}
	case *seriatimpb.ConsumeResponse_Settled:
		s.answered(stream, response.Settled)
	case *seriatimpb.ConsumeResponse_Lost:
		for _, handle := range response.Lost.GetReceiptHandles() {
			if h := s.held[handle]; h != nil {
				s.lose(h)
			}
		}
	}
}

// deliver notes a message and begins its handler, unless the lane is busy.
func (s *consumer) deliver(m *Delivery) {
	if s.holds(m.GetReceiptHandle()) {
		return // delivered again after the stream broke
	}
	h := &held{message: m}
	s.held[h.handle()] = h
	lane := h.lane()
	s.lanes[lane] = append(s.lanes[lane], h)
	if len(s.lanes[lane]) == 1 && !s.abandoning() {
		s.begin(h)
	}
}

// holds reports whether the client holds a delivery or waits for its settlement.
func (s *consumer) holds(handle string) bool {
	if s.held[handle] != nil {
		return true
	}
	for _, u := range s.unanswered {
		for _, h := range u.deliveries {
			if h.handle() == handle {
				return true
			}
		}
	}
	return false
}

// begin starts the handler of a delivery unless ctx has ended.
func (s *consumer) begin(h *held) {
	if s.ctx.Err() != nil {
		return
	}
	var ctx context.Context
	ctx, h.cancel = context.WithCancel(s.ctx)
	s.running++
	go func() {
		h.err = s.handle(ctx, h.message)
		s.finished <- h
	}()
}

// lose drops a delivery that others may receive.
func (s *consumer) lose(h *held) {
	delete(s.held, h.handle())
	h.lost = true
	if h.cancel != nil {
		h.cancel() // finish removes it when the handler has returned
		return
	}
	lane := s.lanes[h.lane()]
	for i := range lane {
		if lane[i] == h {
			s.lanes[h.lane()] = append(lane[:i:i], lane[i+1:]...)
		}
	}
}

// finish sends the settlement of a delivery whose handler has returned, and starts the next
// handler of its lane.
func (s *consumer) finish(stream consumeClient, h *held) {
	s.running--
	h.cancel()
	key := h.lane()
	rest := s.lanes[key][1:]
	u := &unsettled{kind: seriatimpb.SettlementKind_SETTLEMENT_KIND_ACKNOWLEDGE, deliveries: []*held{h}}
	if h.err != nil || h.lost {
		// It is delivered again, and the rest of its group must not be handled before.
		u.kind = seriatimpb.SettlementKind_SETTLEMENT_KIND_ABANDON
		u.deliveries = append(u.deliveries, rest...)
		rest = nil
	}
	if s.lanes[key] = rest; len(rest) == 0 {
		delete(s.lanes, key)
	}
	kept := u.deliveries[:0:0]
	for _, d := range u.deliveries {
		if delete(s.held, d.handle()); !d.lost {
			kept = append(kept, d)
		}
	}
	for len(kept) > 0 {
		n := min(len(kept), frameMessages)
		s.number++
		s.unanswered[s.number] = &unsettled{kind: u.kind, deliveries: kept[:n]}
		s.send(stream, s.number, s.unanswered[s.number])
		kept = kept[n:]
	}
	if len(rest) > 0 {
		s.begin(rest[0])
	}
}

// send sends a settlement. If that fails, the next stream sends it again.
func (s *consumer) send(stream consumeClient, number uint64, u *unsettled) {
	in := &seriatimpb.Settlement{Number: number, Kind: u.kind}
	for _, h := range u.deliveries {
		in.ReceiptHandles = append(in.ReceiptHandles, h.handle())
	}
	// the answers report the error
	_ = stream.Send(&seriatimpb.ConsumeRequest{Request: &seriatimpb.ConsumeRequest_Settlement{Settlement: in}})
}

// answered processes the answer to a settlement. It sends again what failed for a reason
// that may pass.
func (s *consumer) answered(stream consumeClient, out *seriatimpb.Settled) {
	u := s.unanswered[out.GetNumber()]
	if u == nil {
		return
	}
	delete(s.unanswered, out.GetNumber())
	s.progress = true
	again := &unsettled{kind: u.kind, again: true}
	for i, outcome := range out.GetOutcomes() {
		switch f := outcome.GetFailure(); {
		case f == nil || i >= len(u.deliveries) || s.settledBefore(u, f):
		case passing(f):
			again.deliveries = append(again.deliveries, u.deliveries[i])
		case s.options.NotSettled != nil:
			s.options.NotSettled(u.deliveries[i].message, failureOf(f))
		}
	}
	if len(again.deliveries) > 0 {
		s.number++
		s.unanswered[s.number] = again
		s.send(stream, s.number, again)
	}
	s.resume()
}
