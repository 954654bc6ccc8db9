package cluster

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"

	"github.com/seriatimq/seriatim/cluster/clustertest"
	"github.com/seriatimq/seriatim/cluster/peerpb"
	"github.com/seriatimq/seriatim/fsm"
	"github.com/seriatimq/seriatim/queue"
)

// streamStub is the other end of a stream, played by the test.
type streamStub struct {
	grpc.ClientStream
	ctx     context.Context
	frames  chan *peerpb.RequestFrame // what the link sends; unbuffered
	answers chan *peerpb.AnswerFrame  // closed: the stream ended well
	broken  chan struct{}
	closed  chan struct{} // closed by CloseSend
}

func (s *streamStub) Send(frame *peerpb.RequestFrame) error {
	select {
	case s.frames <- frame:
		return nil
	case <-s.broken:
		return io.EOF
	case <-s.ctx.Done():
		return s.ctx.Err()
	}
}

func (s *streamStub) Recv() (*peerpb.AnswerFrame, error) {
	select {
	case frame, ok := <-s.answers:
		if !ok {
			return nil, io.EOF
		}
		return frame, nil
	case <-s.broken:
		return nil, errors.New("connection reset")
	case <-s.ctx.Done():
		return nil, s.ctx.Err()
	}
}

func (s *streamStub) CloseSend() error { close(s.closed); return nil }

// linkTest is a link whose streams are played by the test.
type linkTest struct {
	*link
	t       *testing.T
	streams chan *streamStub // one per session, as it connects
	refuse  error

	mu      sync.Mutex
	leader  string
	changed chan struct{}
}

func (lt *linkTest) currentLeader() (string, <-chan struct{}) {
	lt.mu.Lock()
	defer lt.mu.Unlock()
	return lt.leader, lt.changed
}

// elect makes another node the leader.
func (lt *linkTest) elect(leader string) {
	lt.mu.Lock()
	defer lt.mu.Unlock()
	close(lt.changed)
	lt.leader, lt.changed = leader, make(chan struct{})
}

func newLinkTest(t *testing.T, limits RequestLimits) *linkTest {
	lt := &linkTest{t: t, streams: make(chan *streamStub, 8), leader: "peer", changed: make(chan struct{})}
	life, end := context.WithCancel(t.Context())
	var running sync.WaitGroup
	t.Cleanup(func() { end(); running.Wait() })
	connect := func(ctx context.Context, _ string) (forwardStream, func() error, error) {
		if lt.refuse != nil {
			return nil, nil, lt.refuse
		}
		s := &streamStub{
			ctx:     ctx,
			frames:  make(chan *peerpb.RequestFrame),
			answers: make(chan *peerpb.AnswerFrame),
			broken:  make(chan struct{}),
			closed:  make(chan struct{}),
		}
		lt.streams <- s
		return s, func() error { return nil }, nil
	}
	lt.link = newLink(life, &running, "self", "peer", connect, limits.withDefaults(), slog.New(slog.DiscardHandler))
	return lt
}

// ask starts a call and returns where its outcome will be.
func (lt *linkTest) ask(ctx context.Context, r *peerpb.Request) <-chan outcome {
	done := make(chan outcome, 1)
	go func() { // ends with its outcome, which every test awaits
		done <- lt.call(ctx, r, lt.currentLeader, nil)
	}()
	return done
}

func submitWire() *peerpb.Request {
	return &peerpb.Request{Kind: submitRequest, Command: []byte("command")}
}

func TestLinkAnswers(t *testing.T) {
	lt := newLinkTest(t, RequestLimits{})
	response, err := fsm.AppendResponse(nil, fsm.Response{Result: queue.QueueCreated{Queue: "q"}})
	if err != nil {
		t.Fatal(err)
	}
	done := lt.ask(t.Context(), submitWire())
	stream := <-lt.streams
	frame := <-stream.frames
	if frame.LeaderId != "peer" || frame.SenderId != "self" || frame.GroupId != thisGroup || len(frame.Requests) != 1 {
		t.Fatalf("sent %v", frame)
	}
	stream.answers <- &peerpb.AnswerFrame{Answers: []*peerpb.Answer{
		{Id: frame.Requests[0].Id + 100, Outcome: peerpb.Outcome_OUTCOME_ANSWERED}, // of nobody
		{Id: frame.Requests[0].Id, Outcome: peerpb.Outcome_OUTCOME_ANSWERED, Response: response, Index: 7, LogTime: 8},
	}}
	o := outcomeOf(t, done)
	if created, ok := o.response.Result.(queue.QueueCreated); !ok || created.Queue != "q" || o.verdict != answered || o.at != (Position{7, 8}) {
		t.Fatalf("got %+v", o)
	}
}

func TestLinkVerdicts(t *testing.T) {
	for _, v := range []verdict{answered, notProposed, overloaded, expired, outcomeUnknown, unsupported, pressed} {
		if got := verdictOf(v.wire()); got != v {
			t.Errorf("verdict %d travels as %v and arrives as %d", v, v.wire(), got)
		}
	}
	if got := verdictOf(peerpb.Outcome(99)); got != outcomeUnknown {
		t.Errorf("an outcome of a later version arrives as %d", got)
	}
}

// faults.md 0.1: no bytes written means certainly nothing happened; else the
// outcome of what was under way is unknown.
func TestLinkBreaks(t *testing.T) {
	t.Run("before connecting", func(t *testing.T) {
		lt := newLinkTest(t, RequestLimits{})
		lt.refuse = errors.New("connection refused")
		if o := outcomeOf(t, lt.ask(t.Context(), submitWire())); o.verdict != notProposed {
			t.Fatalf("verdict %d", o.verdict)
		}
	})
	t.Run("while sending and waiting", func(t *testing.T) {
		lt := newLinkTest(t, RequestLimits{})
		sent := lt.ask(t.Context(), submitWire())
		stream := <-lt.streams
		<-stream.frames
		close(stream.broken)
		if o := outcomeOf(t, sent); o.verdict != outcomeUnknown {
			t.Fatalf("verdict %d", o.verdict)
		}
		again := lt.ask(t.Context(), submitWire())
		o := outcome{verdict: notProposed}
		for o.verdict == notProposed { // it may still have met the old session
			select {
			case stream := <-lt.streams:
				frame := <-stream.frames
				stream.answers <- &peerpb.AnswerFrame{Answers: []*peerpb.Answer{{Id: frame.Requests[0].Id, Outcome: peerpb.Outcome_OUTCOME_OVERLOADED}}}
				o = outcomeOf(t, again)
			case o = <-again:
				again = lt.ask(t.Context(), submitWire())
			}
		}
		if o.verdict != overloaded {
			t.Fatalf("verdict %d over a new stream", o.verdict)
		}
	})
}

func TestLinkCancels(t *testing.T) {
	lt := newLinkTest(t, RequestLimits{})
	ctx, cancel := context.WithCancel(t.Context())
	sent := lt.ask(ctx, submitWire())
	stream := <-lt.streams
	id := (<-stream.frames).Requests[0].Id
	cancel()
	if o := outcomeOf(t, sent); o.verdict != outcomeUnknown {
		t.Fatalf("verdict %d of a request under way", o.verdict)
	}
	if frame := <-stream.frames; len(frame.Requests) != 1 || frame.Requests[0].Kind != cancelRequest || frame.Requests[0].Id != id {
		t.Fatalf("sent %v", frame)
	}
}

func TestLinkDropsWhatWasNotSent(t *testing.T) {
	lt := newLinkTest(t, RequestLimits{})
	first := lt.ask(t.Context(), submitWire())
	stream := <-lt.streams
	// The stream takes nothing yet: the link blocks in its first frame or has
	// not begun it, so one of these two at least waits.
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	second := lt.ask(ctx, submitWire())
	o := outcomeOf(t, second)
	frame := <-stream.frames
	total := len(frame.Requests)
	stream.answers <- &peerpb.AnswerFrame{Answers: []*peerpb.Answer{{Id: frame.Requests[0].Id, Outcome: peerpb.Outcome_OUTCOME_ANSWERED}}}
	outcomeOf(t, first)
	switch {
	case o.verdict == expired && total == 1:
	case o.verdict == outcomeUnknown && total == 2:
	default:
		t.Fatalf("verdict %d with %d requests sent", o.verdict, total)
	}
}

// A node that another has replaced as leader and that does not answer is not
// waited for.
func TestLinkLeavesADeadLeader(t *testing.T) {
	lt := newLinkTest(t, RequestLimits{})
	done := lt.ask(t.Context(), submitWire())
	stream := <-lt.streams
	<-stream.frames
	lt.elect("other")
	if o := outcomeOf(t, done); o.verdict != outcomeUnknown {
		t.Fatalf("verdict %d", o.verdict)
	}
}

func TestLinkEndsWhenAsked(t *testing.T) {
	lt := newLinkTest(t, RequestLimits{})
	done := lt.ask(t.Context(), submitWire())
	stream := <-lt.streams
	frame := <-stream.frames
	stream.answers <- &peerpb.AnswerFrame{Closing: true}
	<-stream.closed
	late := lt.ask(t.Context(), submitWire())
	stream.answers <- &peerpb.AnswerFrame{Answers: []*peerpb.Answer{{Id: frame.Requests[0].Id, Outcome: peerpb.Outcome_OUTCOME_NOT_LEADER}}}
	close(stream.answers)
	if o := outcomeOf(t, done); o.verdict != notProposed {
		t.Fatalf("verdict %d of what the other node still answered", o.verdict)
	}
	select {
	case o := <-late:
		if o.verdict != notProposed {
			t.Fatalf("verdict %d of what was not sent", o.verdict)
		}
	case stream := <-lt.streams: // it came after the end, and got a stream of its own
		close(stream.broken)
		outcomeOf(t, late)
	}
}

func TestLinkIsBounded(t *testing.T) {
	lt := newLinkTest(t, RequestLimits{QueueCommands: 2})
	first, second := lt.ask(t.Context(), submitWire()), lt.ask(t.Context(), submitWire())
	stream := <-lt.streams
	for sent := 0; sent < 2; {
		sent += len((<-stream.frames).Requests)
	}
	if o := outcomeOf(t, lt.ask(t.Context(), submitWire())); o.verdict != overloaded {
		t.Fatalf("verdict %d", o.verdict)
	}
	close(stream.broken)
	outcomeOf(t, first)
	outcomeOf(t, second)
}

// A frame holds at most frameRequestsMax requests and about frameBytesMax bytes.
func TestLinkPacksFrames(t *testing.T) {
	lt := newLinkTest(t, RequestLimits{})
	var answers []<-chan outcome
	for range 3 * frameRequestsMax {
		answers = append(answers, lt.ask(t.Context(), submitWire()))
	}
	answers = append(answers, lt.ask(t.Context(), &peerpb.Request{Kind: submitRequest, Command: make([]byte, 2*frameBytesMax)}))
	stream := <-lt.streams
	for sent := 0; sent < len(answers); {
		frame := <-stream.frames
		sent += len(frame.Requests)
		size := 0
		for _, r := range frame.Requests {
			size += len(r.Command)
		}
		if len(frame.Requests) > frameRequestsMax || (size > frameBytesMax && len(frame.Requests) > 1) {
			t.Fatalf("a frame of %d requests with %d bytes", len(frame.Requests), size)
		}
	}
	close(stream.broken)
	for _, done := range answers {
		outcomeOf(t, done)
	}
}

func TestRetrySafety(t *testing.T) {
	n := &Node{}
	cases := []struct {
		name string
		cmd  queue.Command
		want bool
	}{
		{"a receive with an attempt id", &queue.ReceiveMessages{Queue: fifo, AttemptID: "a", AttemptIDGiven: true}, true},
		{"a receive without", &queue.ReceiveMessages{Queue: fifo}, false},
		{"a receive on a standard queue", &queue.ReceiveMessages{Queue: standard, AttemptID: "a", AttemptIDGiven: true}, false},
		{"a delete", &queue.DeleteMessages{Queue: fifo}, true},
		{"a visibility change", &queue.ChangeMessageVisibility{Queue: fifo}, true},
		{"a queue deletion", &queue.DeleteQueue{Queue: fifo}, false},
		{"a purge", &queue.PurgeQueue{Queue: fifo}, false},
		{"a move task", &queue.StartMoveTask{Source: standard}, false},
	}
	for _, test := range cases {
		t.Run(test.name, func(t *testing.T) {
			if got := n.retrySafe(t.Context(), &request{cmd: test.cmd}); got != test.want {
				t.Fatalf("got %v", got)
			}
		})
	}
}

func TestResendSafety(t *testing.T) {
	c := startNodes(t, 1, func(cfg *Config) { cfg.Settings.MinimumWindowSeconds = 1 })
	n := c.nodes[0]
	c.create(0, fifo)
	c.create(0, standard)
	c.create(0, "content.fifo", queue.Attribute{Name: "ContentBasedDeduplication", Value: "true"})
	c.create(0, "off.fifo", queue.Attribute{Name: "DeduplicationEnabled", Value: "false"})
	entry := func(id string) queue.SendEntry {
		return queue.SendEntry{Body: "m", GroupID: "g", GroupIDGiven: true, DeduplicationID: id, DeduplicationIDGiven: id != ""}
	}
	cases := []struct {
		name    string
		queue   string
		entries []queue.SendEntry
		ago     time.Duration
		want    bool
	}{
		{"explicit ids", fifo, []queue.SendEntry{entry("a"), entry("b")}, 0, true},
		{"one without an id", fifo, []queue.SendEntry{entry("a"), entry("")}, 0, false},
		{"content-based", "content.fifo", []queue.SendEntry{entry("a"), entry("")}, 0, true},
		{"deduplication turned off", "off.fifo", []queue.SendEntry{entry("a")}, 0, false},
		{"a standard queue", standard, []queue.SendEntry{entry("a")}, 0, false},
		{"an unknown queue", "unknown.fifo", []queue.SendEntry{entry("a")}, 0, false},
		{"the window could be over", fifo, []queue.SendEntry{entry("a")}, time.Hour, false},
	}
	for _, test := range cases {
		t.Run(test.name, func(t *testing.T) {
			r := &request{cmd: &queue.SendMessages{Queue: test.queue, Entries: test.entries}, started: n.cfg.Clock.Monotonic() - test.ago}
			if got := n.retrySafe(clustertest.Context(t), r); got != test.want {
				t.Fatalf("got %v", got)
			}
		})
	}
}
