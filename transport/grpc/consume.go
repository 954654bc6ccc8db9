package grpc

import (
	"context"
	"errors"
	"io"
	"strconv"
	"sync"
	"time"

	"google.golang.org/grpc"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/limits"
	"github.com/seriatimq/seriatim/queue/refusal"
	"github.com/seriatimq/seriatim/transport/grpc/seriatimpb"
)

const (
	creditMax = 1000
	// settlementsMax bounds the settlements of a stream in progress.
	settlementsMax = 16
	// consumeWait bounds one receive of a stream.
	consumeWait = limits.WaitSecondsMax * time.Second
)

type consumeStream = grpc.BidiStreamingServer[seriatimpb.ConsumeRequest, seriatimpb.ConsumeResponse]

// Consume receives messages as long as the client has credit for them.
func (q *queues) Consume(stream consumeStream) error {
	if q.server.waits.Context().Err() != nil {
		return errDraining
	}
	c := callOf(stream.Context())
	open, err := c.readOpen(stream)
	if err != nil {
		return err
	}
	session, err := c.openSession(stream.Context(), open)
	if err != nil {
		return err
	}
	visibility, err := c.openVisibility(stream.Context(), open)
	if err != nil {
		return err
	}
	s := &consumer{
		call: c, stream: stream, session: session, visibility: visibility,
		attempt: open.GetAttemptId(), resumed: open.GetAttemptId() != "",
		held: newDeliveries(int(open.GetCredit()), visibility, q.server.Now), settling: make(chan struct{}, settlementsMax),
	}
	if s.attempt == "" || !isFIFO(c.queue) {
		if s.attempt, err = s.newAttempt(); err != nil {
			return err
		}
	}
	s.held.add(open.GetHeld(), q.server.Now())
	return s.run()
}

// readOpen reads and checks the first request.
func (c *call) readOpen(stream consumeStream) (*seriatimpb.ConsumeOpen, error) {
	first, err := stream.Recv()
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	open := first.GetOpen()
	if err := c.on(open.GetQueue()); err != nil {
		return nil, err
	}
	switch credit := open.GetCredit(); {
	case credit < 1 || credit > creditMax:
		return nil, c.refuse(stream.Context(), refusal.InvalidValue(strconv.FormatUint(uint64(credit), 10), "credit",
			"Must be between 1 and 1000."))
	case len(open.GetHeld()) > creditMax:
		return nil, c.refuse(stream.Context(), refusal.InvalidValue(strconv.Itoa(len(open.GetHeld())), "held", "There are at most 1000."))
	}
	return open, nil
}

// openVisibility returns the visibility timeout of a stream: that of the request or of the
// queue, zero in a session.
func (c *call) openVisibility(ctx context.Context, open *seriatimpb.ConsumeOpen) (seconds int32, err error) {
	err = c.Read(ctx, func(v queue.View) error {
		attributes, refused := v.Typed(c.queue)
		if refused != nil {
			return refused
		}
		seconds = int32(attributes.VisibilitySeconds)
		return nil
	})
	if open.GetSession() != nil {
		return 0, err
	}
	if open.VisibilityTimeoutSeconds != nil {
		seconds = open.GetVisibilityTimeoutSeconds()
	}
	if err == nil && (seconds < 1 || seconds > limits.VisibilitySecondsMax) {
		err = refusal.InvalidValue(strconv.Itoa(int(seconds)), "visibility_timeout_seconds", "Must be between 1 and 43200 to consume.")
	}
	return seconds, err
}

// consumer serves one Consume. Receives, renewals and the reader each have a goroutine.
type consumer struct {
	call       *call
	stream     consumeStream
	session    *consumedSession // nil: the stream consumes none
	visibility int32            // seconds
	held       *deliveries
	settling   chan struct{} // a slot for each settlement in progress

	attempt string // of the next receive; used by receive
	resumed bool   // attempt is from an earlier stream; used by receive

	sending sync.Mutex // of stream

	mu          sync.Mutex
	ended       bool // no further settlement begins
	settlements sync.WaitGroup
}

// begin runs a settlement in a goroutine, unless end was called.
func (s *consumer) begin(settlement func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ended {
		s.settlements.Go(settlement)
	}
}

// end waits for the settlements in progress.
func (s *consumer) end() {
	s.mu.Lock()
	s.ended = true
	s.mu.Unlock()
	s.settlements.Wait()
}

func (s *consumer) send(out *seriatimpb.ConsumeResponse) error {
	s.sending.Lock()
	defer s.sending.Unlock()
	return s.stream.Send(out)
}

// newAttempt draws the id of a receive; standard queues have none.
func (s *consumer) newAttempt() (string, error) {
	if !isFIFO(s.call.queue) {
		return "", nil
	}
	return s.call.server.newAttemptID()
}

// run serves the stream until it ends.
func (s *consumer) run() error {
	opened := &seriatimpb.ConsumeOpened{NextAttemptId: s.attempt, VisibilityTimeoutSeconds: s.visibility}
	renew, lost := s.renewAll, (chan error)(nil)
	if in := s.session; in != nil {
		opened.Session, opened.LockedUntilMs = &seriatimpb.SessionRef{SessionId: in.ref.SessionID, Token: in.ref.Token}, int64(in.until)
		renew, lost = s.renewSession, in.lost
	}
	if err := s.send(&seriatimpb.ConsumeResponse{Response: &seriatimpb.ConsumeResponse_Opened{Opened: opened}}); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(s.stream.Context())
	var parts sync.WaitGroup
	ended := make(chan error, 3) // one result of each goroutine
	parts.Go(func() { ended <- s.receiveAll(ctx) })
	parts.Go(func() { ended <- renew(ctx) })
	// The reader ends with the stream, after this method has returned.
	go func() { ended <- s.read() }()
	var err error
	select {
	case err = <-ended:
	case err = <-lost:
	case <-s.call.server.waits.Context().Done():
		err = errDraining
	}
	cancel()
	parts.Wait()
	s.end()
	if errors.Is(err, io.EOF) {
		return s.giveBack()
	}
	return err
}

// giveBack makes the remaining deliveries visible after a clean end of the client. If the
// stream accepted the session, it releases the session instead, which does the same.
func (s *consumer) giveBack() error {
	if s.session != nil && s.session.accepted {
		_, err := s.call.server.Node.Submit(s.stream.Context(), &queue.ReleaseSession{Queue: s.call.queue, Session: s.session.ref})
		return err
	}
	_, err := s.changeVisibility(s.stream.Context(), s.held.all(), 0)
	return err
}

// receiveAll receives and sends messages while there is credit.
func (s *consumer) receiveAll(ctx context.Context) error {
	for {
		room := s.held.room()
		for room <= 0 {
			select {
			case <-s.held.changed:
				room = s.held.room()
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		var r reception
		err := s.call.permitStill()
		if err == nil {
			err = s.prepareReceive(ctx)
		}
		if err == nil {
			r, err = s.receive(ctx, min(room, limits.StreamEntriesMax))
		}
		if err == nil && r.news {
			err = s.deliver(ctx, &r.MessagesReceived, r.index)
		}
		if err != nil {
			return err
		}
	}
}

// reception is the result of one receive.
type reception struct {
	queue.MessagesReceived
	index uint64 // in the log
	news  bool   // the client gets messages or a new attempt id
}

// receive receives once.
func (s *consumer) receive(ctx context.Context, room int) (r reception, err error) {
	cmd := &queue.ReceiveMessages{
		Queue: s.call.queue, MaxMessages: queue.Some(int64(room)), VisibilityTimeout: queue.Some(int64(s.visibility)),
		AttemptID: s.attempt, AttemptIDGiven: s.attempt != "", Streamed: true,
	}
	if s.session != nil {
		cmd.VisibilityTimeout, cmd.Options = queue.Int{}, &queue.ReceiveOptions{Session: s.session.ref}
	}
	reply, err := s.call.server.Node.Receive(ctx, cmd, consumeWait)
	r.index = reply.Index
	r.MessagesReceived, err = resultOf[queue.MessagesReceived](reply.Result, err)
	var refused *queue.Error
	spent := errors.As(err, &refused) && refused.Code == refusal.InvalidParameterValue
	if s.session != nil && spent {
		return r, s.skipAttempt()
	}
	if s.resumed && spent {
		// The messages of the earlier stream cannot be received again: they were deleted, or
		// become visible when their time ends. The client gets the next id.
		s.resumed, r.news = false, true
		return r, nil
	}
	if err == nil {
		// An empty receive stores no attempt, so its id can be used again.
		s.resumed, r.news = false, len(r.Messages) > 0
	}
	return r, err
}

// deliver sends received messages with the id of the next receive, before that begins.
func (s *consumer) deliver(ctx context.Context, received *queue.MessagesReceived, index uint64) error {
	until := s.call.server.Now().Add(time.Duration(s.visibility) * time.Second)
	var err error
	if s.session != nil {
		s.attempt = nextAttempt(s.attempt)
		err = s.holdInOrder(ctx, received, index, until)
	} else {
		s.attempt, err = s.newAttempt()
		s.held.hold(received.Messages, index, until)
	}
	if err != nil {
		return err
	}
	s.call.Record.Trace.Received(received.Messages)
	messages, size := wireMessages(received.Messages)
	if err := s.call.in.account.acquire(ctx, size); err != nil {
		return errAnswer
	}
	defer s.call.in.account.release(size)
	return s.send(&seriatimpb.ConsumeResponse{Response: &seriatimpb.ConsumeResponse_Delivery{Delivery: &seriatimpb.Delivery{
		Messages: messages, NextAttemptId: s.attempt, Replayed: received.Replayed,
	}}})
}

// renewAll renews the deliveries after each third of the visibility timeout.
func (s *consumer) renewAll(ctx context.Context) error {
	tick := time.NewTicker(time.Duration(s.visibility) * time.Second / 3)
	defer tick.Stop()
	for {
		err := s.call.permitStill()
		if err == nil {
			err = s.renew(ctx)
		}
		if err != nil {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// renew renews the deliveries that are due. Those that a rule refuses are lost; after any
// other error the next tick retries.
func (s *consumer) renew(ctx context.Context) error {
	due := s.held.due()
	done, _ := s.changeVisibility(ctx, due, s.visibility)
	lost := s.held.renewed(due[:len(done.Errs)], done.Errs)
	if len(lost) == 0 {
		return nil
	}
	return s.sendLost(lost)
}

// sendLost reports messages that others may receive.
func (s *consumer) sendLost(handles []string) error {
	lost := &seriatimpb.Lost{ReceiptHandles: handles}
	return s.send(&seriatimpb.ConsumeResponse{Response: &seriatimpb.ConsumeResponse_Lost{Lost: lost}})
}
