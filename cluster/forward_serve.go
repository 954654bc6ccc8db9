package cluster

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"sync"
	"time"

	"google.golang.org/grpc"

	"github.com/seriatimq/seriatim/cluster/peerpb"
	"github.com/seriatimq/seriatim/fsm"
	"github.com/seriatimq/seriatim/queue"
)

// inboundStream is the leader's end of Peer.Forward.
type inboundStream = grpc.BidiStreamingServer[peerpb.RequestFrame, peerpb.AnswerFrame]

// peerServer serves the requests of other nodes.
type peerServer struct {
	peerpb.UnimplementedPeerServer
	nodeID    string
	tenure    func() *tenure // nil if this node does not lead
	monotonic func() time.Duration
	counts    *counters
	log       *slog.Logger
	audits    *auditor

	closing chan struct{} // closed when the other nodes are to close their streams

	mu     sync.Mutex
	newest map[string]*inbound // by node id: its newest stream
}

// succeed makes in the newest stream of a node and ends the one before. What
// that one brings from now on is dropped, what it brought and was not proposed
// is cancelled: the node may have asked for it again.
func (p *peerServer) succeed(in *inbound, nodeID string) {
	p.mu.Lock()
	before := p.newest[nodeID]
	p.newest[nodeID] = in
	p.mu.Unlock()
	if before != nil && before != in {
		before.cancelAll()
	}
}

// forget lets go of a stream that has ended.
func (p *peerServer) forget(in *inbound, nodeID string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.newest[nodeID] == in {
		delete(p.newest, nodeID)
	}
}

// Forward serves one stream until the other node closes it or is gone. What
// was not proposed by then never is: the other node may already have asked
// somebody else.
func (p *peerServer) Forward(stream inboundStream) error {
	ctx, cancel := context.WithCancel(stream.Context())
	defer cancel()
	in := &inbound{
		server:  p,
		cancels: make(map[uint64]func()),
		wake:    make(chan struct{}, 1),
	}
	var running sync.WaitGroup
	defer running.Wait()
	defer in.cancelAll()
	defer cancel()
	running.Go(func() {
		defer cancel()
		in.send(ctx, stream)
	})
	sender := ""
	defer func() { p.forget(in, sender) }()
	for {
		frame, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			in.flush(ctx)
			return nil
		}
		if err != nil {
			return err
		}
		if sender == "" {
			sender = frame.SenderId
			p.succeed(in, sender)
		}
		for _, r := range frame.Requests {
			in.accept(ctx, &running, frame, r)
		}
	}
}

// inbound is one stream from another node.
type inbound struct {
	server *peerServer

	mu      sync.Mutex
	cancels map[uint64]func() // of requests that are under way
	answers []inboundAnswer   // not yet sent
	sending bool              // a frame is being sent
	idled   chan struct{}     // closed and forgotten when nothing is left to do
	closed  bool              // the stream is gone or has a successor
	wake    chan struct{}     // capacity 1: a token says that answers is not empty
}

type inboundAnswer struct {
	id      uint64
	outcome outcome
}

// accept takes one request. The outcome is answered later, maybe at once.
func (in *inbound) accept(ctx context.Context, running *sync.WaitGroup, frame *peerpb.RequestFrame, r *peerpb.Request) {
	p := in.server
	if r.Kind == cancelRequest {
		in.cancel(r.Id)
		return
	}
	p.counts.served.Add(1)
	t := p.tenure()
	if t == nil || frame.GroupId != thisGroup || frame.LeaderId != p.nodeID || r.Term != t.term {
		in.answer(r.Id, outcome{verdict: notProposed})
		return
	}
	deadline := time.Duration(0)
	if r.BudgetMillis > 0 {
		deadline = p.monotonic() + time.Duration(r.BudgetMillis)*time.Millisecond
	}
	switch r.Kind {
	case auditRequest:
		p.audits.collect(r.Audit)
		in.answer(r.Id, outcome{verdict: answered})
	case submitRequest:
		in.submit(t, r, deadline)
	case receiveKind:
		in.receive(ctx, running, t, r, deadline)
	case readIndexRequest:
		if !in.expect(r.Id, func() {}) {
			return
		}
		t.reads.join(func(index uint64, err error) {
			o := outcome{verdict: answered, at: Position{Index: index}}
			if err != nil {
				o = outcome{verdict: notProposed}
			}
			in.answer(r.Id, o)
		})
	default:
		in.answer(r.Id, outcome{verdict: unsupported})
	}
}

func (in *inbound) submit(t *tenure, r *peerpb.Request, deadline time.Duration) {
	// What cannot be decoded would stop every node that finds it in the log, at
	// each of its starts; it must not get there.
	cmd, err := fsm.DecodeCommand(r.Command)
	if err != nil {
		in.server.log.Error("a node forwarded a command that cannot be read", "error", err)
		in.answer(r.Id, outcome{verdict: unsupported})
		return
	}
	if o, refused := t.refuses(r.Command); refused {
		in.answer(r.Id, o)
		return
	}
	s := &submission{frame: r.Command, id: requestIDOf(r), minimumVersion: max(r.MinimumVersion, fsm.MinimumVersion(cmd)), deadline: deadline, essential: !isSend(r.Command)}
	s.settle = func(o outcome) { in.answer(r.Id, o) }
	cancel := func() {
		if s.cancel() {
			in.answer(r.Id, outcome{verdict: expired})
		}
	}
	if in.expect(r.Id, cancel) {
		t.propose(s)
	}
}

func (in *inbound) receive(ctx context.Context, running *sync.WaitGroup, t *tenure, r *peerpb.Request, deadline time.Duration) {
	cmd, err := fsm.DecodeCommand(r.Command)
	receive, ok := cmd.(*queue.ReceiveMessages)
	if err != nil || !ok {
		in.server.log.Error("a node forwarded a receive that cannot be read", "error", err)
		in.answer(r.Id, outcome{verdict: unsupported})
		return
	}
	wait := time.Duration(r.WaitMillis) * time.Millisecond
	ctx, cancel := context.WithCancel(ctx)
	if !in.expect(r.Id, cancel) {
		cancel()
		return
	}
	running.Go(func() {
		defer cancel()
		in.answer(r.Id, t.receive(ctx, receiveRequest{
			cmd:            receive,
			frame:          r.Command,
			minimumVersion: max(r.MinimumVersion, fsm.MinimumVersion(receive)),
			id:             requestIDOf(r),
			wait:           wait,
			waited:         time.Duration(r.WaitedMillis) * time.Millisecond,
			deadline:       deadline,
		}))
	})
}

// requestIDOf names a forwarded request in the log.
func requestIDOf(r *peerpb.Request) fsm.RequestID {
	return fsm.RequestID{Origin: r.RequestOrigin, Number: r.RequestNumber}
}

// expect notes a request whose answer is to come. It reports false if the
// stream is gone, and nothing must be begun.
func (in *inbound) expect(id uint64, cancel func()) bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.closed {
		return false
	}
	in.cancels[id] = cancel
	return true
}

// cancel gives up on one request. The function is called without the lock, as
// it may answer at once.
func (in *inbound) cancel(id uint64) {
	in.mu.Lock()
	cancel := in.cancels[id]
	in.mu.Unlock()
	if cancel != nil {
		cancel()
	}
}

// cancelAll gives up on everything when the stream is gone or has a successor.
func (in *inbound) cancelAll() {
	in.mu.Lock()
	in.closed = true
	cancels := in.cancels
	in.cancels = make(map[uint64]func())
	in.mu.Unlock()
	for _, cancel := range cancels { // order does not matter: they are independent
		cancel()
	}
}

// answer queues an answer. It never blocks.
func (in *inbound) answer(id uint64, o outcome) {
	in.mu.Lock()
	defer in.mu.Unlock()
	delete(in.cancels, id)
	if in.closed {
		return
	}
	in.answers = append(in.answers, inboundAnswer{id, o})
	select {
	case in.wake <- struct{}{}:
	default:
	}
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
		case <-in.wake:
		}
		for taken := in.takeAnswers(); len(taken) > 0; taken = in.takeAnswers() {
			if !in.sendAnswers(stream, taken) {
				return
			}
		}
	}
}

// takeAnswers takes all that waits, and notices when nothing is left to do.
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
func (in *inbound) sendAnswers(stream inboundStream, taken []inboundAnswer) bool {
	frame, size := &peerpb.AnswerFrame{}, 0
	for i := range taken {
		answer := in.encode(&taken[i])
		if len(frame.Answers) == frameRequestsMax || (len(frame.Answers) > 0 && size+len(answer.Response) > frameBytesMax) {
			if stream.Send(frame) != nil {
				return false
			}
			frame, size = &peerpb.AnswerFrame{}, 0
		}
		frame.Answers = append(frame.Answers, answer)
		size += len(answer.Response)
	}
	return stream.Send(frame) == nil
}

func (in *inbound) encode(a *inboundAnswer) *peerpb.Answer {
	answer := &peerpb.Answer{
		Id:      a.id,
		Outcome: a.outcome.verdict.wire(),
		Index:   a.outcome.at.Index,
		LogTime: int64(a.outcome.at.LogTime),
		Reason:  a.outcome.reason,
	}
	if a.outcome.verdict != answered || (a.outcome.response.Result == nil && a.outcome.response.Err == nil) {
		return answer
	}
	response, err := fsm.AppendResponse(nil, a.outcome.response)
	if err != nil {
		in.server.log.Error("an answer cannot be encoded", "error", err)
		answer.Outcome = peerpb.Outcome_OUTCOME_UNKNOWN
		return answer
	}
	answer.Response = response
	return answer
}
