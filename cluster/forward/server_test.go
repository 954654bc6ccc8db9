package forward

import (
	"context"
	"crypto/rand"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/raft"

	"github.com/seriatimq/seriatim/cluster/clustertest"
	"github.com/seriatimq/seriatim/cluster/leader"
	"github.com/seriatimq/seriatim/cluster/peerpb"
	"github.com/seriatimq/seriatim/fsm"
	"github.com/seriatimq/seriatim/fsm/codec"
	"github.com/seriatimq/seriatim/fsm/format"
	"github.com/seriatimq/seriatim/queue"
)

// inboundStub is a stream whose calling end is the test.
type inboundStub struct {
	ctx      context.Context
	requests chan *peerpb.RequestFrame // unbuffered
	answers  chan *peerpb.AnswerFrame  // large capacity
}

func (s *inboundStub) Recv() (*peerpb.RequestFrame, error) {
	select {
	case frame := <-s.requests:
		return frame, nil
	case <-s.ctx.Done():
		return nil, s.ctx.Err()
	}
}

func (s *inboundStub) Send(frame *peerpb.AnswerFrame) error {
	s.answers <- frame
	return nil
}

// testGroup is the group of these tests.
const testGroup = 0

// stubGroup is a group that records commands and applies nothing. Commands complete when they are
// proposed.
type stubGroup struct {
	ready chan struct{} // Barrier ends when it is closed

	mu      sync.Mutex
	index   uint64
	clients int // proposed commands of clients
}

func (g *stubGroup) Propose(entry []byte) (func() (fsm.EntryResult, error), error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.index++
	result := fsm.EntryResult{Index: g.index}
	_, err := codec.DecodeEntry(entry, func(frame []byte) error {
		if name, _ := codec.CommandName(frame); name != "SetFormatVersion" && name != "SetClusterSetting" {
			g.clients++
		}
		result.Responses = append(result.Responses, codec.Response{Result: queue.Done{}})
		return nil
	})
	return func() (fsm.EntryResult, error) { return result, nil }, err
}

func (g *stubGroup) Barrier(ctx context.Context) error {
	select {
	case <-g.ready:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// proposed returns the number of commands of clients in the log.
func (g *stubGroup) proposed() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.clients
}

func (g *stubGroup) LeaderTerm() (uint64, bool)                      { return 5, true }
func (g *stubGroup) ConfirmLeadership(context.Context, uint64) error { return nil }
func (g *stubGroup) Writing(func()) bool                             { return false }
func (g *stubGroup) CommitIndex() uint64                             { return 0 }
func (g *stubGroup) WaitApplied(context.Context, uint64) error       { return nil }

// startTerm begins a term that proposes nothing before g is ready and ends with the test. format is
// the version in force, 0 for none.
func startTerm(t testing.TB, g *stubGroup, format uint32) *leader.Term {
	t.Helper()
	replica := fsm.New(fsm.Options{StateLock: new(sync.RWMutex)})
	if format != 0 {
		frame, err := codec.AppendCommand(nil, &queue.SetFormatVersion{Version: format})
		clustertest.Must(t, err)
		replica.Apply(&raft.Log{Index: 1, Term: 1, Type: raft.LogCommand, Data: codec.AppendEntry(nil, 1, [][]byte{frame})})
	}
	term := leader.Begin(t.Context(), leader.Options{
		Group: g, Term: 5, Replica: replica, ClusterID: func() string { return "" },
		Clock: clustertest.NewHandClock(1000), Limits: leader.Limits{}.WithDefaults(), Settings: leader.Settings{}.WithDefaults(),
		Entropy: rand.Reader, Counters: leader.NewCounters(0), Log: slog.New(slog.DiscardHandler),
	})
	t.Cleanup(term.End)
	return term
}

// serverTest serves requests with a term that proposes nothing until open.
type serverTest struct {
	*requests
	t     testing.TB
	group *stubGroup
}

func newServing(t testing.TB) *serverTest { return newServingOf(t, format.CurrentVersion) }

func newServingOf(t testing.TB, format uint32) *serverTest {
	group := &stubGroup{ready: make(chan struct{})}
	term := startTerm(t, group, format)
	return &serverTest{t: t, group: group, requests: newRequests(ServerOptions{
		NodeID: "leader", Group: testGroup, Term: func() *leader.Term { return term }, Audits: func(*peerpb.Audit) {},
		Monotonic: clustertest.NewHandClock(1000).Monotonic, Log: slog.New(slog.DiscardHandler),
	})}
}

// open allows proposals.
func (s *serverTest) open() { close(s.group.ready) }

func tickFrame(t testing.TB) []byte {
	t.Helper()
	frame, err := codec.AppendCommand(nil, &queue.AdvanceClock{})
	clustertest.Must(t, err)
	return frame
}

// connect serves another stream, which ends with the test.
func (s *serverTest) connect() *inboundStub {
	ctx, cancel := context.WithCancel(s.t.Context())
	stub := &inboundStub{ctx: ctx, requests: make(chan *peerpb.RequestFrame), answers: make(chan *peerpb.AnswerFrame, 64)}
	number := s.connections.Add(1)
	var running sync.WaitGroup
	running.Go(func() { _ = s.serve(ctx, stub, number) }) // ends with the context's error
	s.t.Cleanup(func() { cancel(); running.Wait() })
	return stub
}

func (s *serverTest) frame(change func(*peerpb.RequestFrame, *peerpb.Request)) *peerpb.RequestFrame {
	r := &peerpb.Request{Id: 1, Kind: Submit, Term: 5, Command: tickFrame(s.t)}
	frame := &peerpb.RequestFrame{GroupId: testGroup, LeaderId: "leader", SenderId: "asker", Requests: []*peerpb.Request{r}}
	if change != nil {
		change(frame, r)
	}
	return frame
}

func answerSent(t *testing.T, stub *inboundStub) *peerpb.Answer {
	t.Helper()
	select {
	case frame := <-stub.answers:
		if len(frame.Answers) != 1 {
			t.Fatalf("%d answers", len(frame.Answers))
		}
		return frame.Answers[0]
	case <-time.After(30 * time.Second):
		t.Fatal("no answer")
		return nil
	}
}

func TestServerExecutes(t *testing.T) {
	s := newServing(t)
	s.open()
	stub := s.connect()
	stub.requests <- s.frame(nil)
	if a := answerSent(t, stub); a.Outcome != peerpb.Outcome_OUTCOME_ANSWERED || a.Id != 1 || a.Index == 0 || len(a.Response) == 0 {
		t.Fatalf("got %v", a)
	}
}

// A request for another leader, term or group is not executed. So a request makes at most one hop,
// and none takes effect after an election.
func TestServerRefuses(t *testing.T) {
	cases := []struct {
		name   string
		change func(*peerpb.RequestFrame, *peerpb.Request)
		want   peerpb.Outcome
	}{
		{"another leader", func(f *peerpb.RequestFrame, _ *peerpb.Request) { f.LeaderId = "other" }, peerpb.Outcome_OUTCOME_NOT_LEADER},
		{"another group", func(f *peerpb.RequestFrame, _ *peerpb.Request) { f.GroupId = testGroup + 1 }, peerpb.Outcome_OUTCOME_NOT_LEADER},
		{"an earlier term", func(_ *peerpb.RequestFrame, r *peerpb.Request) { r.Term-- }, peerpb.Outcome_OUTCOME_NOT_LEADER},
		{"a later term", func(_ *peerpb.RequestFrame, r *peerpb.Request) { r.Term++ }, peerpb.Outcome_OUTCOME_NOT_LEADER},
		{"a command that cannot be read", func(_ *peerpb.RequestFrame, r *peerpb.Request) { r.Command = []byte{250, 1} },
			peerpb.Outcome_OUTCOME_UNSUPPORTED},
		{"a command of a later format", func(_ *peerpb.RequestFrame, r *peerpb.Request) { r.MinimumVersion = 1000 },
			peerpb.Outcome_OUTCOME_UNSUPPORTED},
		{"a receive that is none", func(_ *peerpb.RequestFrame, r *peerpb.Request) { r.Kind = Receive },
			peerpb.Outcome_OUTCOME_UNSUPPORTED},
		{"an unknown kind", func(_ *peerpb.RequestFrame, r *peerpb.Request) { r.Kind = 99 }, peerpb.Outcome_OUTCOME_UNSUPPORTED},
	}
	s := newServing(t)
	s.open()
	for _, test := range cases {
		t.Run(test.name, func(t *testing.T) {
			stub := s.connect()
			stub.requests <- s.frame(test.change)
			if a := answerSent(t, stub); a.Outcome != test.want {
				t.Fatalf("got %v, want %v", a.Outcome, test.want)
			}
		})
	}
	if n := s.group.proposed(); n != 0 {
		t.Fatalf("%d commands were proposed", n)
	}
}

// A command with a known number and an unreadable body never enters the log, where it would stop
// every node.
func TestServerRefusesBodiesThatCannotBeDecoded(t *testing.T) {
	s := newServing(t)
	s.open()
	stub := s.connect()
	tried := 0
	for number := range 256 {
		for _, body := range [][]byte{{0x0a, 0xff}, {0x0a, 0x05, 'a'}, {0xff}, {0x22, 0x02, 0x3a, 0x07}} {
			command := append([]byte{byte(number), 1, byte(len(body)), 0, 0, 0}, body...)
			name, err := codec.CommandName(command)
			if err != nil {
				continue
			}
			if _, err := codec.DecodeCommand(command); err == nil {
				continue // this command has no such field
			}
			tried++
			for _, kind := range []Kind{Submit, Receive} {
				stub.requests <- s.frame(func(_ *peerpb.RequestFrame, r *peerpb.Request) { r.Kind, r.Command = kind, command })
				if a := answerSent(t, stub); a.Outcome != peerpb.Outcome_OUTCOME_UNSUPPORTED {
					t.Errorf("%s with the body %x: %v", name, body, a.Outcome)
				}
			}
		}
	}
	if tried < 17 {
		t.Errorf("%d commands were tried", tried)
	}
	if n := s.group.proposed(); n != 0 {
		t.Errorf("%d commands were proposed", n)
	}
}

// The server computes the format version that a command needs; the other node may be wrong.
func TestServerKnowsWhichFormatACommandNeeds(t *testing.T) {
	s := newServingOf(t, 0)
	s.open()
	stub := s.connect()
	command, err := codec.AppendCommand(nil, &queue.PurgeQueue{Queue: "orders"})
	clustertest.Must(t, err)
	stub.requests <- s.frame(func(_ *peerpb.RequestFrame, r *peerpb.Request) { r.Command, r.MinimumVersion = command, 0 })
	if a := answerSent(t, stub); a.Outcome != peerpb.Outcome_OUTCOME_UNSUPPORTED {
		t.Errorf("got %v", a.Outcome)
	}
	if n := s.group.proposed(); n != 0 {
		t.Errorf("%d commands were proposed", n)
	}
}

func TestServerCancels(t *testing.T) {
	s := newServing(t) // not open: nothing is proposed
	stub := s.connect()
	stub.requests <- s.frame(nil)
	stub.requests <- s.frame(func(_ *peerpb.RequestFrame, r *peerpb.Request) { r.Kind = cancelRequest })
	if a := answerSent(t, stub); a.Outcome != peerpb.Outcome_OUTCOME_EXPIRED {
		t.Fatalf("got %v", a)
	}
	s.open()
	after := s.connect()
	after.requests <- s.frame(func(f *peerpb.RequestFrame, _ *peerpb.Request) { f.SenderId = "another" })
	answerSent(t, after)
	if n := s.group.proposed(); n != 1 {
		t.Fatalf("%d commands were proposed, want the last one", n)
	}
}

// exchange sends a frame over a stream and returns the answer.
func exchange(t *testing.T, stream Stream, frame *peerpb.RequestFrame) *peerpb.Answer {
	t.Helper()
	clustertest.Must(t, stream.Send(frame))
	answers := make(chan *peerpb.AnswerFrame, 1)
	go func() { // ends with the stream
		if frame, err := stream.Recv(); err == nil {
			answers <- frame
		}
	}()
	select {
	case frame := <-answers:
		return frame.Answers[0]
	case <-time.After(30 * time.Second):
		t.Fatal("no answer")
		return nil
	}
}

// Requests that arrive late on an older connection, for example after a partition, do not replace
// the node's newest stream.
func TestServerKnowsALateStreamByItsConnection(t *testing.T) {
	s := newServing(t)
	s.open()
	audited := make(chan struct{}, 1)
	options := s.options
	options.Audits = func(*peerpb.Audit) { audited <- struct{}{} }
	served := serveFramedOf(t, &serverTest{requests: newRequests(options), t: t, group: s.group})
	late, newest := served.connect(t), served.connect(t)
	number := func(id uint64) func(*peerpb.RequestFrame, *peerpb.Request) {
		return func(_ *peerpb.RequestFrame, r *peerpb.Request) { r.Id = id }
	}
	if a := exchange(t, newest, s.frame(number(1))); a.Outcome != peerpb.Outcome_OUTCOME_ANSWERED {
		t.Fatalf("got %v", a)
	}
	clustertest.Must(t, late.Send(s.frame(func(_ *peerpb.RequestFrame, r *peerpb.Request) { r.Kind = Audit })))
	<-audited
	if a := exchange(t, newest, s.frame(number(2))); a.Outcome != peerpb.Outcome_OUTCOME_ANSWERED || a.Id != 2 {
		t.Fatalf("got %v", a)
	}
}

// When a node repeats requests over a new stream, the leader proposes nothing more from the old one
// (faults.md I12), whether it had arrived or arrives later.
func TestServerFencesTheOldStream(t *testing.T) {
	s := newServing(t) // not open: the first requests wait
	old := s.connect()
	old.requests <- s.frame(nil)
	old.requests <- s.frame(func(_ *peerpb.RequestFrame, r *peerpb.Request) { r.Id = 4 }) // after the first frame was accepted
	newer := s.connect()
	newer.requests <- s.frame(nil)
	newer.requests <- s.frame(func(_ *peerpb.RequestFrame, r *peerpb.Request) { r.Id = 2 }) // after the first frame was accepted
	old.requests <- s.frame(func(_ *peerpb.RequestFrame, r *peerpb.Request) { r.Id = 2 })
	old.requests <- s.frame(func(_ *peerpb.RequestFrame, r *peerpb.Request) { r.Id = 3 }) // after the previous one was accepted
	s.open()
	for answered := 0; answered < 2; {
		select {
		case frame := <-newer.answers:
			answered += len(frame.Answers)
		case <-time.After(30 * time.Second):
			t.Fatalf("%d answers over the new stream", answered)
		}
	}
	if commands := s.group.proposed(); commands != 2 {
		t.Fatalf("%d commands were proposed, want the two of the new stream", commands)
	}
}
