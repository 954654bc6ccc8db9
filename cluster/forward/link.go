package forward

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seriatimq/seriatim/cluster/leader"
	"github.com/seriatimq/seriatim/cluster/peerpb"
	"github.com/seriatimq/seriatim/cluster/wakeup"
	"github.com/seriatimq/seriatim/fsm/codec"
	"github.com/seriatimq/seriatim/queue"
)

// Stream is the calling node's end of a connection: a FramedStream, or a stub in tests.
type Stream interface {
	Send(*peerpb.RequestFrame) error
	// Recv returns io.EOF when the other node has ended the stream.
	Recv() (*peerpb.AnswerFrame, error)
	// CloseSend announces that no more requests follow.
	CloseSend() error
	// Close closes the connection.
	Close() error
}

// ConnectFunc opens a stream to a node. The stream ends with ctx.
type ConnectFunc func(ctx context.Context, nodeID string) (Stream, error)

// LinkOptions configures a Link.
type LinkOptions struct {
	Self    string // this node
	NodeID  string // the other node
	Group   uint32 // consensus group
	Connect ConnectFunc
	// Leads returns the id of the leader, and a channel that is closed when it changes.
	Leads func() (id string, changed <-chan struct{})
	// Silent is called when calls wait and nothing came from the node for Silence, and when a
	// connection to it fails. It must not block.
	Silent  func()
	Silence time.Duration
	// Closing is closed when this node stops; it cancels waiting receives.
	Closing <-chan struct{}
	Limits  leader.Limits
	Log     *slog.Logger
}

// Link carries calls to one other node over at most one stream. The first call opens the stream,
// which then stays open. Safe for concurrent use.
type Link struct {
	options LinkOptions
	life    context.Context // ends when the node closes
	running *sync.WaitGroup // of the node

	mu     sync.Mutex
	lastID uint64
	calls  map[uint64]*pendingCall // not yet answered
	outbox []*peerpb.Request       // not yet handed to the stream
	bytes  int                     // of commands in outbox
	open   bool                    // a session runs
	queued wakeup.Signal           // notified when outbox has an element

	unanswered int           // calls, without receives
	looking    bool          // checks for silence are running, see expectAnswers
	heard      atomic.Uint64 // frames received
}

// NewLink returns a Link that ends with life. It counts its goroutines in running.
func NewLink(life context.Context, running *sync.WaitGroup, options LinkOptions) *Link {
	return &Link{
		options: options,
		life:    life,
		running: running,
		calls:   make(map[uint64]*pendingCall),
		queued:  wakeup.NewSignal(),
	}
}

// enqueue adds to the outbox. The caller holds mu.
func (l *Link) enqueue(r *peerpb.Request) {
	l.outbox = append(l.outbox, r)
	l.bytes += len(r.Command)
	l.queued.Notify()
}

// session runs one stream from its opening to its end.
func (l *Link) session() {
	ctx, cancel := context.WithCancel(l.life)
	defer cancel()
	defer l.failAll()
	var helpers sync.WaitGroup
	defer helpers.Wait()
	defer cancel() // ends the helpers
	helpers.Go(func() { l.watch(ctx) })
	stream, err := l.options.Connect(ctx, l.options.NodeID)
	if err != nil {
		l.options.Log.Debug("connecting to a node failed", "peer", l.options.NodeID, "error", err)
		l.options.Silent()
		return
	}
	defer func() {
		if err := stream.Close(); err != nil {
			l.options.Log.Debug("closing a connection failed", "peer", l.options.NodeID, "error", err)
		}
	}()
	var receiver sync.WaitGroup
	defer receiver.Wait()
	defer cancel() // ends the receiver
	closing := make(chan struct{})
	receiver.Go(func() {
		defer cancel()
		if err := l.receive(stream, sync.OnceFunc(func() { close(closing) })); err != nil && ctx.Err() == nil {
			l.options.Log.Debug("a stream to a node ended", "peer", l.options.NodeID, "error", err)
		}
	})
	for {
		select {
		case <-ctx.Done():
			return
		case <-closing:
			// The server answers everything sent so far, then the stream ends. Unsent requests were
			// not proposed.
			if stream.CloseSend() == nil {
				receiver.Wait()
			}
			return
		case <-l.queued:
		}
		runtime.Gosched() // lets other goroutines enqueue their calls: one frame for all of them
		for frame := l.takeFrame(); frame != nil; frame = l.takeFrame() {
			if err := stream.Send(frame); err != nil {
				return
			}
		}
	}
}

// takeFrame packs waiting requests into a frame and marks them as sent.
func (l *Link) takeFrame() *peerpb.RequestFrame {
	l.mu.Lock()
	defer l.mu.Unlock()
	frame := &peerpb.RequestFrame{GroupId: l.options.Group, LeaderId: l.options.NodeID, SenderId: l.options.Self}
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

// receive completes calls until the stream ends. It calls closing if the other node is about to
// end the stream.
func (l *Link) receive(stream Stream, closing func()) error {
	for {
		frame, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		for _, answer := range frame.Answers {
			l.complete(answer)
		}
		l.heard.Add(1)
		if frame.Closing {
			closing()
		}
	}
}

func (l *Link) complete(answer *peerpb.Answer) {
	l.mu.Lock()
	c := l.take(answer.Id)
	l.mu.Unlock()
	if c == nil {
		return // abandoned meanwhile
	}
	o := leader.Outcome{
		Verdict: verdictOf(answer.Outcome),
		At:      leader.Position{Index: answer.Index, LogTime: queue.Timestamp(answer.LogTime)},
		Reason:  answer.Reason,
	}
	if o.Verdict == leader.Answered && len(answer.Response) > 0 {
		response, err := codec.DecodeResponse(answer.Response)
		if err != nil {
			l.options.Log.Error("a node sent an answer that cannot be read", "peer", l.options.NodeID, "error", err)
			o.Verdict = leader.Unknown
		}
		o.Response = response
	}
	c.complete(o)
}

// failAll ends a session. The outcome of requests that were sent is unknown; the others were
// not proposed.
func (l *Link) failAll() {
	l.mu.Lock()
	calls := l.calls
	l.calls = make(map[uint64]*pendingCall)
	l.outbox, l.bytes, l.open, l.unanswered = nil, 0, false, 0
	l.mu.Unlock()
	for _, c := range calls { // order does not matter
		c.stopGrace()
		verdict := leader.NotProposed
		if c.sent {
			verdict = leader.Unknown
		}
		c.complete(leader.Outcome{Verdict: verdict})
	}
}
