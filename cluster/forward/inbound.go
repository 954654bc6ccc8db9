package forward

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"time"

	"github.com/seriatimq/seriatim/cluster/leader"
	"github.com/seriatimq/seriatim/cluster/peerpb"
	"github.com/seriatimq/seriatim/cluster/wakeup"
	"github.com/seriatimq/seriatim/fsm/codec"
)

// inbound is one stream from another node.
type inbound struct {
	server  *requests
	decoder codec.Decoder  // used by submit only, on one goroutine
	waiting sync.WaitGroup // for goroutines that wait for bodies

	mu      sync.Mutex
	cancels map[uint64]func() // of unfinished requests
	answers []inboundAnswer   // not yet sent
	sending bool              // a frame is being sent
	idled   chan struct{}     // closed when no request or answer is left; nil if no flush waits
	closed  bool              // the stream is gone or has a successor
	queued  wakeup.Signal     // notified when answers has an element
}

func newInbound(p *requests) *inbound {
	return &inbound{server: p, cancels: make(map[uint64]func()), queued: wakeup.NewSignal()}
}

type inboundAnswer struct {
	id      uint64
	outcome leader.Outcome
}

// accept begins one request. Its answer may come at once.
func (in *inbound) accept(ctx context.Context, running *sync.WaitGroup, frame *peerpb.RequestFrame, r *peerpb.Request) {
	p := in.server
	if r.Kind == cancelRequest {
		in.cancel(r.Id)
		return
	}
	p.served.Add(1)
	t := p.options.Term()
	if t == nil || frame.GroupId != p.options.Group || frame.LeaderId != p.options.NodeID || r.Term != t.Number() {
		in.answer(r.Id, leader.Outcome{Verdict: leader.NotProposed})
		return
	}
	deadline := time.Duration(0)
	if r.BudgetMillis > 0 {
		deadline = p.options.Monotonic() + time.Duration(r.BudgetMillis)*time.Millisecond
	}
	switch r.Kind {
	case Audit:
		p.options.Audits(r.Audit)
		in.answer(r.Id, leader.Outcome{Verdict: leader.Answered})
	case Submit:
		in.submit(t, r, deadline)
	case Receive:
		in.receive(ctx, running, t, r, deadline)
	case ReadIndex:
		if !in.expect(r.Id, func() {}) {
			return
		}
		t.AskReadIndex(func(index uint64, err error) {
			o := leader.Outcome{Verdict: leader.Answered, At: leader.Position{Index: index}}
			if err != nil {
				o = leader.Outcome{Verdict: leader.NotProposed}
			}
			in.answer(r.Id, o)
		})
	default:
		in.answer(r.Id, leader.Outcome{Verdict: leader.Unsupported})
	}
}

func (in *inbound) submit(t *leader.Term, r *peerpb.Request, deadline time.Duration) {
	// A command that cannot be decoded would stop every node that applies it, again after each
	// restart.
	defer in.decoder.Reset()
	cmd, err := in.decoder.Decode(r.Command)
	if err != nil {
		in.server.options.Log.Error("a node forwarded a command that cannot be read", "error", err)
		in.answer(r.Id, leader.Outcome{Verdict: leader.Unsupported})
		return
	}
	s := &leader.Submission{Request: requestOf(r, cmd, deadline)}
	s.Complete = func(o leader.Outcome) { in.answer(r.Id, o) }
	cancel := func() {
		if s.Cancel() {
			in.answer(r.Id, leader.Outcome{Verdict: leader.Expired})
		}
	}
	if in.expect(r.Id, cancel) {
		t.Enqueue(s)
	}
}

func (in *inbound) receive(ctx context.Context, running *sync.WaitGroup, t *leader.Term, r *peerpb.Request, deadline time.Duration) {
	cmd, err := codec.DecodeCommand(r.Command)
	if err != nil || codec.WaitingOf(cmd) == nil {
		in.server.options.Log.Error("a node forwarded a receive that cannot be read", "error", err)
		in.answer(r.Id, leader.Outcome{Verdict: leader.Unsupported})
		return
	}
	call := t.NewReceive(ctx, leader.ReceiveRequest{
		Request: requestOf(r, cmd, deadline),
		Command: cmd,
		Wait:    time.Duration(r.WaitMillis) * time.Millisecond,
		Waited:  time.Duration(r.WaitedMillis) * time.Millisecond,
	}, func(o leader.Outcome) {
		in.answer(r.Id, o)
		running.Done()
	})
	if !in.expect(r.Id, call.HangUp) { // the end of ctx hangs up, too
		call.HangUp()
		return
	}
	running.Add(1)
	go call.Begin() // counted by running until its outcome
}

// expect registers a request. It reports false if the stream is closed; then the request must not
// begin.
func (in *inbound) expect(id uint64, cancel func()) bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.closed {
		return false
	}
	in.cancels[id] = cancel
	return true
}

// cancel cancels one request. It calls the function without the lock because that may answer at
// once.
func (in *inbound) cancel(id uint64) {
	in.mu.Lock()
	cancel := in.cancels[id]
	in.mu.Unlock()
	if cancel != nil {
		cancel()
	}
}

// cancelAll closes the stream and cancels all its requests.
func (in *inbound) cancelAll() {
	in.mu.Lock()
	in.closed = true
	cancels := in.cancels
	in.cancels = make(map[uint64]func())
	in.mu.Unlock()
	for _, cancel := range cancels { // order does not matter
		cancel()
	}
}

// answer queues an answer. It never blocks.
func (in *inbound) answer(id uint64, o leader.Outcome) {
	in.mu.Lock()
	defer in.mu.Unlock()
	delete(in.cancels, id)
	if in.closed {
		return
	}
	in.answers = append(in.answers, inboundAnswer{id, o})
	in.queued.Notify()
}

// send sends answers until ctx ends or the stream breaks.
func (in *inbound) send(ctx context.Context, stream inboundStream) {
	closing := in.server.closing
	for {
		select {
		case <-ctx.Done():
			return
		case <-closing:
			closing = nil
			if stream.Send(&peerpb.AnswerFrame{Closing: true}) != nil {
				return
			}
		case <-in.queued:
		}
		runtime.Gosched() // lets the other commands of the entry be answered: one frame for all of them
		for taken := in.takeAnswers(); len(taken) > 0; taken = in.takeAnswers() {
			if !in.sendAnswers(ctx, stream, taken) {
				return
			}
		}
	}
}

// takeAnswers returns all queued answers. It ends a flush if nothing is left to do.
func (in *inbound) takeAnswers() []inboundAnswer {
	in.mu.Lock()
	defer in.mu.Unlock()
	taken := in.answers
	in.answers = nil
	in.sending = len(taken) > 0
	if in.idled != nil && !in.sending && len(in.cancels) == 0 {
		close(in.idled)
		in.idled = nil
	}
	return taken
}

// flush waits until everything is answered and sent, or ctx ends.
func (in *inbound) flush(ctx context.Context) {
	in.mu.Lock()
	if len(in.cancels) == 0 && len(in.answers) == 0 && !in.sending {
		in.mu.Unlock()
		return
	}
	idled := make(chan struct{})
	in.idled = idled
	in.mu.Unlock()
	select {
	case <-idled:
	case <-ctx.Done():
	}
}

// sendAnswers sends answers in as few frames as the limits allow.
func (in *inbound) sendAnswers(ctx context.Context, stream inboundStream, taken []inboundAnswer) bool {
	frame, size := &peerpb.AnswerFrame{}, 0
	for i := range taken {
		answer, late := in.encode(&taken[i])
		if late != nil {
			in.answerAfter(ctx, late, taken[i])
			continue
		}
		if len(frame.Answers) == frameRequestsMax || (len(frame.Answers) > 0 && size+len(answer.Response) > frameBytesMax) {
			if stream.Send(frame) != nil {
				return false
			}
			frame, size = &peerpb.AnswerFrame{}, 0
		}
		frame.Answers = append(frame.Answers, answer)
		size += len(answer.Response)
	}
	return len(frame.Answers) == 0 || stream.Send(frame) == nil
}

// late is an error for a body that becomes readable when Done is closed, or never. The calling node
// waits for it as long as its client does; other answers continue.
type late interface {
	error
	Done() <-chan struct{}
	// Outcome returns nil if the body can be read now.
	Outcome() error
}

// answerAfter answers when the body can be read.
func (in *inbound) answerAfter(ctx context.Context, body late, a inboundAnswer) {
	if !in.expect(a.id, func() {}) {
		return
	}
	in.waiting.Go(func() {
		select {
		case <-body.Done():
		case <-ctx.Done():
			return
		}
		if body.Outcome() != nil {
			a.outcome = leader.Outcome{Verdict: leader.Unknown}
		}
		in.answer(a.id, a.outcome)
	})
}

// encode encodes an answer with its bodies.
func (p *requests) encode(response codec.Response) ([]byte, error) {
	if p.options.Bodies != nil {
		var err error
		if response, err = p.options.Bodies(response); err != nil {
			return nil, err
		}
	}
	return codec.AppendResponse(nil, response)
}

func (in *inbound) encode(a *inboundAnswer) (answer *peerpb.Answer, delay late) {
	answer = &peerpb.Answer{
		Id:      a.id,
		Outcome: outcomes[a.outcome.Verdict],
		Index:   a.outcome.At.Index,
		LogTime: int64(a.outcome.At.LogTime),
		Reason:  a.outcome.Reason,
	}
	if a.outcome.Verdict != leader.Answered || (a.outcome.Response.Result == nil && a.outcome.Response.Err == nil) {
		return answer, nil
	}
	response, err := in.server.encode(a.outcome.Response)
	if errors.As(err, &delay) {
		return nil, delay
	}
	if err != nil {
		in.server.options.Log.Error("an answer cannot be encoded", "error", err)
		answer.Outcome = peerpb.Outcome_OUTCOME_UNKNOWN
		return answer, nil
	}
	answer.Response = response
	return answer, nil
}
