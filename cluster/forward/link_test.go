package forward

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/seriatimq/seriatim/cluster/clustertest"
	"github.com/seriatimq/seriatim/cluster/leader"
	"github.com/seriatimq/seriatim/cluster/peerpb"
	"github.com/seriatimq/seriatim/fsm/codec"
	"github.com/seriatimq/seriatim/queue"
)

// streamStub is a stream whose other end is the test.
type streamStub struct {
	ctx     context.Context
	frames  chan *peerpb.RequestFrame // sent by the link; unbuffered
	answers chan *peerpb.AnswerFrame  // closed when the stream ends without an error
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
func (s *streamStub) Close() error     { return nil }

// linkTest is a link whose other end is the test.
type linkTest struct {
	*Link
	t       *testing.T
	streams chan *streamStub // one per session
	refuse  error

	mu      sync.Mutex
	leader  string
	changed chan struct{}

	closing chan struct{}
	silent  chan struct{} // one value per call of Silent
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

func newLinkTest(t *testing.T, limits leader.Limits) *linkTest {
	lt := &linkTest{t: t, streams: make(chan *streamStub, 8), leader: "peer", changed: make(chan struct{}), closing: make(chan struct{}),
		silent: make(chan struct{}, 100)}
	life, end := context.WithCancel(t.Context())
	var running sync.WaitGroup
	t.Cleanup(func() { end(); running.Wait() })
	connect := func(ctx context.Context, _ string) (Stream, error) {
		if lt.refuse != nil {
			return nil, lt.refuse
		}
		s := &streamStub{
			ctx:     ctx,
			frames:  make(chan *peerpb.RequestFrame),
			answers: make(chan *peerpb.AnswerFrame),
			broken:  make(chan struct{}),
			closed:  make(chan struct{}),
		}
		lt.streams <- s
		return s, nil
	}
	lt.Link = NewLink(life, &running, LinkOptions{
		Self: "self", NodeID: "peer", Group: testGroup, Connect: connect, Leads: lt.currentLeader, Closing: lt.closing,
		Silent: func() { lt.silent <- struct{}{} }, Silence: testSilence,
		Limits: limits.WithDefaults(), Log: slog.New(slog.DiscardHandler),
	})
	return lt
}

// ask starts a call and returns the channel for its outcome.
func (lt *linkTest) ask(ctx context.Context, r Request) <-chan leader.Outcome {
	done := make(chan leader.Outcome, 1)
	go func() { // every test awaits its outcome
		done <- lt.Call(ctx, r)
	}()
	return done
}

func submitted() Request {
	return Request{Kind: Submit, Request: leader.Request{Frame: []byte("command")}}
}

func outcomeOf(t *testing.T, done <-chan leader.Outcome) leader.Outcome {
	t.Helper()
	select {
	case o := <-done:
		return o
	case <-time.After(30 * time.Second):
		t.Fatal("no outcome")
		return leader.Outcome{}
	}
}

func TestLinkAnswers(t *testing.T) {
	lt := newLinkTest(t, leader.Limits{})
	response, err := codec.AppendResponse(nil, codec.Response{Result: queue.QueueCreated{Queue: "q"}})
	clustertest.Must(t, err)
	done := lt.ask(t.Context(), submitted())
	stream := <-lt.streams
	frame := <-stream.frames
	if frame.LeaderId != "peer" || frame.SenderId != "self" || frame.GroupId != testGroup || len(frame.Requests) != 1 {
		t.Fatalf("sent %v", frame)
	}
	stream.answers <- &peerpb.AnswerFrame{Answers: []*peerpb.Answer{
		{Id: frame.Requests[0].Id + 100, Outcome: peerpb.Outcome_OUTCOME_ANSWERED}, // of no call
		{Id: frame.Requests[0].Id, Outcome: peerpb.Outcome_OUTCOME_ANSWERED, Response: response, Index: 7, LogTime: 8},
	}}
	o := outcomeOf(t, done)
	if created, ok := o.Response.Result.(queue.QueueCreated); !ok || created.Queue != "q" || o.Verdict != leader.Answered ||
		o.At != (leader.Position{Index: 7, LogTime: 8}) {
		t.Fatalf("got %+v", o)
	}
}

func TestLinkVerdicts(t *testing.T) {
	for _, v := range []leader.Verdict{
		leader.Answered, leader.NotProposed, leader.Overloaded, leader.Expired, leader.Unknown, leader.Unsupported, leader.UnderPressure,
	} {
		if got := verdictOf(outcomes[v]); got != v {
			t.Errorf("verdict %d travels as %v and arrives as %d", v, outcomes[v], got)
		}
	}
	if got := verdictOf(peerpb.Outcome(99)); got != leader.Unknown {
		t.Errorf("an outcome of a later version arrives as %d", got)
	}
}

// Without a byte written, a request certainly had no effect; otherwise its outcome is unknown
// (faults.md 0.1).
func TestLinkBreaks(t *testing.T) {
	t.Run("before connecting", func(t *testing.T) {
		lt := newLinkTest(t, leader.Limits{})
		lt.refuse = errors.New("connection refused")
		if o := outcomeOf(t, lt.ask(t.Context(), submitted())); o.Verdict != leader.NotProposed {
			t.Fatalf("verdict %d", o.Verdict)
		}
	})
	t.Run("while sending and waiting", func(t *testing.T) {
		lt := newLinkTest(t, leader.Limits{})
		sent := lt.ask(t.Context(), submitted())
		stream := <-lt.streams
		<-stream.frames
		close(stream.broken)
		if o := outcomeOf(t, sent); o.Verdict != leader.Unknown {
			t.Fatalf("verdict %d", o.Verdict)
		}
		again := lt.ask(t.Context(), submitted())
		o := leader.Outcome{Verdict: leader.NotProposed}
		for o.Verdict == leader.NotProposed { // it may have used the old session
			select {
			case stream := <-lt.streams:
				frame := <-stream.frames
				stream.answers <- &peerpb.AnswerFrame{Answers: []*peerpb.Answer{{Id: frame.Requests[0].Id,
					Outcome: peerpb.Outcome_OUTCOME_OVERLOADED}}}
				o = outcomeOf(t, again)
			case o = <-again:
				again = lt.ask(t.Context(), submitted())
			}
		}
		if o.Verdict != leader.Overloaded {
			t.Fatalf("verdict %d over a new stream", o.Verdict)
		}
	})
}

func TestLinkCancels(t *testing.T) {
	lt := newLinkTest(t, leader.Limits{})
	ctx, cancel := context.WithCancel(t.Context())
	sent := lt.ask(ctx, submitted())
	stream := <-lt.streams
	id := (<-stream.frames).Requests[0].Id
	cancel()
	if o := outcomeOf(t, sent); o.Verdict != leader.Unknown {
		t.Fatalf("verdict %d of a request under way", o.Verdict)
	}
	if frame := <-stream.frames; len(frame.Requests) != 1 || frame.Requests[0].Kind != cancelRequest || frame.Requests[0].Id != id {
		t.Fatalf("sent %v", frame)
	}
}

func TestLinkDropsWhatWasNotSent(t *testing.T) {
	lt := newLinkTest(t, leader.Limits{})
	first := lt.ask(t.Context(), submitted())
	stream := <-lt.streams
	// The stream takes nothing yet: the link blocks in its first frame or has not begun it, so one
	// of these two waits.
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	second := lt.ask(ctx, submitted())
	o := outcomeOf(t, second)
	frame := <-stream.frames
	total := len(frame.Requests)
	stream.answers <- &peerpb.AnswerFrame{Answers: []*peerpb.Answer{{Id: frame.Requests[0].Id, Outcome: peerpb.Outcome_OUTCOME_ANSWERED}}}
	outcomeOf(t, first)
	switch {
	case o.Verdict == leader.Expired && total == 1:
	case o.Verdict == leader.Unknown && total == 2:
	default:
		t.Fatalf("verdict %d with %d requests sent", o.Verdict, total)
	}
}

// A call does not wait for a node that is no longer leader and does not answer.
func TestLinkLeavesADeadLeader(t *testing.T) {
	lt := newLinkTest(t, leader.Limits{})
	done := lt.ask(t.Context(), submitted())
	stream := <-lt.streams
	<-stream.frames
	lt.elect("other")
	if o := outcomeOf(t, done); o.Verdict != leader.Unknown {
		t.Fatalf("verdict %d", o.Verdict)
	}
}

// Neither does a call that begins after the change. Receives are cancelled when this node stops,
// even if they begin later.
func TestLinkEndsLateCalls(t *testing.T) {
	lt := newLinkTest(t, leader.Limits{})
	early := lt.ask(t.Context(), Request{Kind: Receive})
	stream := <-lt.streams
	id := (<-stream.frames).Requests[0].Id
	close(lt.closing)
	if r := (<-stream.frames).Requests[0]; r.Kind != cancelRequest || r.Id != id {
		t.Fatalf("sent %v", r)
	}
	late := lt.ask(t.Context(), Request{Kind: Receive})
	for cancelled := false; !cancelled; {
		for _, r := range (<-stream.frames).Requests {
			cancelled = cancelled || r.Kind == cancelRequest && r.Id == id+1
		}
	}
	lt.elect("other")
	submit := lt.ask(t.Context(), submitted())
	<-stream.frames
	for _, done := range []<-chan leader.Outcome{early, late, submit} {
		if o := outcomeOf(t, done); o.Verdict != leader.Unknown {
			t.Fatalf("verdict %d", o.Verdict)
		}
	}
}

func TestLinkEndsWhenAsked(t *testing.T) {
	lt := newLinkTest(t, leader.Limits{})
	done := lt.ask(t.Context(), submitted())
	stream := <-lt.streams
	frame := <-stream.frames
	stream.answers <- &peerpb.AnswerFrame{Closing: true}
	<-stream.closed
	late := lt.ask(t.Context(), submitted())
	stream.answers <- &peerpb.AnswerFrame{Answers: []*peerpb.Answer{{Id: frame.Requests[0].Id, Outcome: peerpb.Outcome_OUTCOME_NOT_LEADER}}}
	close(stream.answers)
	if o := outcomeOf(t, done); o.Verdict != leader.NotProposed {
		t.Fatalf("verdict %d of what the other node still answered", o.Verdict)
	}
	select {
	case o := <-late:
		if o.Verdict != leader.NotProposed {
			t.Fatalf("verdict %d of what was not sent", o.Verdict)
		}
	case stream := <-lt.streams: // it came after the end and has its own stream
		close(stream.broken)
		outcomeOf(t, late)
	}
}

func TestLinkIsBounded(t *testing.T) {
	lt := newLinkTest(t, leader.Limits{QueueCommands: 2})
	first, second := lt.ask(t.Context(), submitted()), lt.ask(t.Context(), submitted())
	stream := <-lt.streams
	for sent := 0; sent < 2; {
		sent += len((<-stream.frames).Requests)
	}
	if o := outcomeOf(t, lt.ask(t.Context(), submitted())); o.Verdict != leader.Overloaded {
		t.Fatalf("verdict %d", o.Verdict)
	}
	close(stream.broken)
	outcomeOf(t, first)
	outcomeOf(t, second)
}

// A frame holds at most frameRequestsMax requests and about frameBytesMax bytes.
func TestLinkPacksFrames(t *testing.T) {
	lt := newLinkTest(t, leader.Limits{})
	var answers []<-chan leader.Outcome
	for range 3 * frameRequestsMax {
		answers = append(answers, lt.ask(t.Context(), submitted()))
	}
	answers = append(answers, lt.ask(t.Context(), Request{Kind: Submit, Request: leader.Request{Frame: make([]byte, 2*frameBytesMax)}}))
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
