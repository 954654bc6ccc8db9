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

const (
	// frameRequestsMax bounds the requests or answers of one frame; measured
	// as enough to make the stream five times as fast as single calls
	// (raft.md A6, B7).
	frameRequestsMax = 64
	// frameBytesMax ends a frame early; one larger request makes its own.
	frameBytesMax = 1 << 20
	// frameLimit is the largest frame a node accepts: ten messages of 1 MiB
	// with their attributes, escaped and packed, and room to spare.
	frameLimit = 64 << 20
	// streamWindow is what may be under way unread. It is fixed, because the
	// library measures for a better one by asking the other end all the time.
	streamWindow = 4 << 20
)

// requestKind is what a request asks for.
type requestKind = peerpb.RequestKind

const (
	submitRequest    = peerpb.RequestKind_REQUEST_KIND_SUBMIT
	receiveKind      = peerpb.RequestKind_REQUEST_KIND_RECEIVE
	readIndexRequest = peerpb.RequestKind_REQUEST_KIND_READ_INDEX
	cancelRequest    = peerpb.RequestKind_REQUEST_KIND_CANCEL
	auditRequest     = peerpb.RequestKind_REQUEST_KIND_AUDIT
)

// forwardStream is the client's end of Peer.Forward.
type forwardStream = grpc.BidiStreamingClient[peerpb.RequestFrame, peerpb.AnswerFrame]

// connectFunc opens a stream to a node. The stream ends with ctx; disconnect
// frees what is left of the connection.
type connectFunc func(ctx context.Context, nodeID string) (stream forwardStream, disconnect func() error, err error)

// link is the way to one other node: at most one stream, opened when there is
// something to send and kept from then on. Safe for concurrent use.
type link struct {
	self    string // this node
	nodeID  string // the other one
	connect connectFunc
	limits  RequestLimits
	log     *slog.Logger
	life    context.Context // ends when the node closes
	running *sync.WaitGroup // of the node

	mu     sync.Mutex
	lastID uint64
	calls  map[uint64]*forwardCall // not yet answered
	outbox []*peerpb.Request       // not yet handed to the stream
	bytes  int                     // of commands in outbox
	open   bool                    // a session runs
	wake   chan struct{}           // capacity 1: a token says that outbox is not empty
}

// forwardCall is one request that another node executes.
type forwardCall struct {
	done chan outcome // capacity 1: the only outcome
	sent bool         // handed to the stream, so that it may take effect
}

func newLink(life context.Context, running *sync.WaitGroup, self, nodeID string, connect connectFunc, limits RequestLimits, log *slog.Logger) *link {
	return &link{
		self:    self,
		nodeID:  nodeID,
		connect: connect,
		limits:  limits,
		log:     log,
		life:    life,
		running: running,
		calls:   make(map[uint64]*forwardCall),
		wake:    make(chan struct{}, 1),
	}
}

// start queues a request; its id is set here. The outcome comes on done.
func (l *link) start(r *peerpb.Request) *forwardCall {
	c := &forwardCall{done: make(chan outcome, 1)}
	bytesMax, commandsMax := l.limits.room(!isSend(r.Command))
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.life.Err() != nil:
		c.done <- outcome{verdict: notProposed}
		return c
	case len(l.calls) >= commandsMax,
		l.bytes+len(r.Command) > bytesMax && len(l.outbox) > 0:
		c.done <- outcome{verdict: overloaded}
		return c
	}
	l.lastID++
	r.Id = l.lastID
	l.calls[r.Id] = c
	l.enqueue(r)
	if !l.open {
		l.open = true
		l.running.Go(l.session)
	}
	return c
}

// enqueue adds to the outbox. The caller holds mu.
func (l *link) enqueue(r *peerpb.Request) {
	l.outbox = append(l.outbox, r)
	l.bytes += len(r.Command)
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// abandon gives up on a request and returns what has become of it by then.
func (l *link) abandon(c *forwardCall, id uint64) outcome {
	l.mu.Lock()
	_, pending := l.calls[id]
	delete(l.calls, id)
	if pending && c.sent {
		l.enqueue(&peerpb.Request{Id: id, Kind: cancelRequest})
	}
	sent := c.sent
	l.mu.Unlock()
	switch {
	case !pending:
		return <-c.done // it is being settled in this very moment
	case sent:
		return outcome{verdict: outcomeUnknown}
	default:
		return outcome{verdict: expired} // takeFrame skips it
	}
}

// session runs one stream from its opening to its end.
func (l *link) session() {
	ctx, cancel := context.WithCancel(l.life)
	defer cancel()
	defer l.failAll()
	stream, disconnect, err := l.connect(ctx, l.nodeID)
	if err != nil {
		l.log.Debug("connecting to a node failed", "peer", l.nodeID, "error", err)
		return
	}
	defer func() {
		if err := disconnect(); err != nil {
			l.log.Debug("closing a connection failed", "peer", l.nodeID, "error", err)
		}
	}()
	var receiver sync.WaitGroup
	defer receiver.Wait()
	defer cancel() // ends the receiver
	closing := make(chan struct{})
	receiver.Go(func() {
		defer cancel()
		if err := l.receive(stream, sync.OnceFunc(func() { close(closing) })); err != nil && ctx.Err() == nil {
			l.log.Debug("a stream to a node ended", "peer", l.nodeID, "error", err)
		}
	})
	for {
		select {
		case <-ctx.Done():
			return
		case <-closing:
			// Everything sent so far will be answered, then the stream
			// ends; what was not sent was not proposed.
			if stream.CloseSend() == nil {
				receiver.Wait()
			}
			return
		case <-l.wake:
		}
		for frame := l.takeFrame(); frame != nil; frame = l.takeFrame() {
			if err := stream.Send(frame); err != nil {
				return
			}
		}
	}
}

// takeFrame packs what waits and marks it as sent.
func (l *link) takeFrame() *peerpb.RequestFrame {
	l.mu.Lock()
	defer l.mu.Unlock()
	frame := &peerpb.RequestFrame{GroupId: thisGroup, LeaderId: l.nodeID, SenderId: l.self}
	size, taken := 0, 0
	for _, r := range l.outbox {
		if len(frame.Requests) == frameRequestsMax || (len(frame.Requests) > 0 && size+len(r.Command) > frameBytesMax) {
			break
		}
		taken++
		l.bytes -= len(r.Command)
		if r.Kind != cancelRequest {
			c := l.calls[r.Id]
			if c == nil {
				continue // abandoned before it was sent
			}
			c.sent = true
		}
		size += len(r.Command)
		frame.Requests = append(frame.Requests, r)
	}
	clear(l.outbox[:taken])
	l.outbox = l.outbox[taken:]
	if len(frame.Requests) == 0 {
		return nil
	}
	return frame
}

// receive settles calls until the stream ends. It tells if the other node is
// about to end it.
func (l *link) receive(stream forwardStream, closing func()) error {
	for {
		frame, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		for _, answer := range frame.Answers {
			l.settle(answer)
		}
		if frame.Closing {
			closing()
		}
	}
}

func (l *link) settle(answer *peerpb.Answer) {
	l.mu.Lock()
	c := l.calls[answer.Id]
	delete(l.calls, answer.Id)
	l.mu.Unlock()
	if c == nil {
		return // abandoned meanwhile
	}
	o := outcome{
		verdict: verdictOf(answer.Outcome),
		at:      Position{Index: answer.Index, LogTime: queue.Timestamp(answer.LogTime)},
		reason:  answer.Reason,
	}
	if o.verdict == answered && len(answer.Response) > 0 {
		response, err := fsm.DecodeResponse(answer.Response)
		if err != nil {
			l.log.Error("a node sent an answer that cannot be read", "peer", l.nodeID, "error", err)
			o.verdict = outcomeUnknown
		}
		o.response = response
	}
	c.done <- o
}

// failAll ends a session: what was sent is unknown, the rest was not proposed.
func (l *link) failAll() {
	l.mu.Lock()
	calls := l.calls
	l.calls = make(map[uint64]*forwardCall)
	l.outbox, l.bytes, l.open = nil, 0, false
	l.mu.Unlock()
	// order does not matter: each call has its own channel
	for _, c := range calls {
		verdict := notProposed
		if c.sent {
			verdict = outcomeUnknown
		}
		c.done <- outcome{verdict: verdict}
	}
}

// departureGrace is how long a call still hopes for an answer of a node that
// another has replaced as leader. A node that is alive answers at once when it
// loses leadership; one that is cut off or hung never does.
const departureGrace = 500 * time.Millisecond

// call sends a request and waits for its outcome. leader tells who leads now
// and when that changes. Once withdraw is closed the other node is asked not to
// propose the request if it has not yet, and to say so.
func (l *link) call(ctx context.Context, r *peerpb.Request, leader func() (id string, changed <-chan struct{}), withdraw <-chan struct{}) outcome {
	c := l.start(r)
	var grace graceTimer
	defer grace.stop()
	for {
		id, changed := leader()
		if id != "" && id != l.nodeID {
			grace.start()
			changed = nil // whoever leads next, this node has to be asked anew
		}
		select {
		case o := <-c.done:
			return o
		case <-ctx.Done():
			return l.abandon(c, r.Id)
		case <-grace.over:
			return l.abandon(c, r.Id)
		case <-withdraw:
			withdraw = nil
			l.withdraw(r.Id)
			grace.start()
		case <-changed:
		}
	}
}

// graceTimer ends a departureGrace; most calls need none.
type graceTimer struct {
	timer *time.Timer
	over  <-chan time.Time // nil before start
}

// start begins the time anew.
func (g *graceTimer) start() {
	if g.timer == nil {
		g.timer = time.NewTimer(departureGrace)
		g.over = g.timer.C
		return
	}
	g.timer.Reset(departureGrace)
}

func (g *graceTimer) stop() {
	if g.timer != nil {
		g.timer.Stop()
	}
}

// withdraw asks the other node to give up on a request, whose outcome is still
// awaited.
func (l *link) withdraw(id uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.calls[id] != nil {
		l.enqueue(&peerpb.Request{Id: id, Kind: cancelRequest})
	}
}
