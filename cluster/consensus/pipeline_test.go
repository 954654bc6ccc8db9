package consensus

import (
	"errors"
	"io"
	"slices"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"

	"github.com/seriatimq/seriatim/cluster/clustertest"
	"github.com/seriatimq/seriatim/cluster/environment"
	"github.com/seriatimq/seriatim/cluster/peernet"
	"github.com/seriatimq/seriatim/cluster/peernet/peernettest"
)

// TestPipelineSendsWhenNobodyTakesAnswers covers raft issue 612: a library that no longer reads
// answers must not block for ever when it sends.
func TestPipelineSendsWhenNobodyTakesAnswers(t *testing.T) {
	a, b := peernettest.Pair(t, nil)
	notifier := newCommitNotifier(environment.SystemClock(), 25*time.Millisecond, hclog.NewNullLogger())
	barriers := 0
	notifier.watch(fixedCommit{state: raft.Follower, barriers: &barriers})
	options := testOptions(a, newContacts(environment.SystemClock()))
	options.Commits = notifier
	from := newTransport(options)
	to := newTransport(testOptions(b, newContacts(environment.SystemClock())))
	defer from.Close()
	defer to.Close()
	const messages = 10
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		for range messages {
			rpc := <-to.Consumer()
			rpc.Respond(&raft.AppendEntriesResponse{Term: 4}, nil)
		}
	}()
	pipeline, err := from.AppendEntriesPipeline("b-2", "b-2")
	clustertest.Must(t, err)
	defer pipeline.Close()
	sent := make(chan error, messages) // all of them
	go func() {
		for range messages {
			_, err := pipeline.AppendEntries(&raft.AppendEntriesRequest{Term: 4}, new(raft.AppendEntriesResponse))
			sent <- err
		}
	}()
	for i := range messages {
		select {
		case err := <-sent:
			clustertest.Must(t, err)
		case <-clustertest.Context(t).Done():
			t.Fatalf("message %d waits for answers to be taken", i)
		}
	}
	<-answered
	// A later reader gets all of them, in order.
	for range messages {
		<-pipeline.Consumer()
	}
}

// openPipeline returns a pipeline to another transport with network b.
func openPipeline(t *testing.T) (p *pipeline, to *transport, b *peernet.Network) {
	t.Helper()
	a, b := peernettest.Pair(t, nil)
	from := newTransport(testOptions(a, newContacts(environment.SystemClock())))
	to = newTransport(testOptions(b, newContacts(environment.SystemClock())))
	use, err := from.links.dial("b-2", peernet.KindConsensus)
	clustertest.Must(t, err)
	p = newPipeline(from.links, use, from.options.Leads, from.options.Timeout, from.options.Contacts)
	t.Cleanup(func() { _, _, _ = p.Close(), to.Close(), from.Close() })
	return p, to, b
}

// A pipeline whose connection breaks delivers one unanswered message, after which the library
// closes it, and blocks no sender.
func TestBrokenPipelineEndsSending(t *testing.T) {
	pipeline, to, b := openPipeline(t)
	for range sentMax {
		clustertest.Must(t, clustertest.Err(pipeline.AppendEntries(&raft.AppendEntriesRequest{Term: 4}, new(raft.AppendEntriesResponse))))
	}
	<-to.Consumer() // it does not answer
	sent := make(chan error, 1)
	go func() {
		_, err := pipeline.AppendEntries(&raft.AppendEntriesRequest{Term: 4}, new(raft.AppendEntriesResponse))
		sent <- err
	}()
	b.Disconnect()
	ctx := clustertest.Context(t)
	select {
	case answer := <-pipeline.Consumer():
		if answer.Error() == nil || answer.Response().Success {
			t.Errorf("an answer that nobody gave: %+v", answer.Response())
		}
	case <-ctx.Done():
		t.Fatal("nobody hears that the connection broke")
	}
	select {
	case err := <-sent:
		if err == nil {
			t.Error("a message is sent on a broken connection")
		}
	case <-ctx.Done():
		t.Fatal("a message waits for a place on a broken connection")
	}
}

// The answer to an early message is delivered when the library requests it, and not before.
func TestPipelineKeepsAnswersUntilAsked(t *testing.T) {
	pipeline, to, b := openPipeline(t)
	message := func(index uint64) *raft.AppendEntriesRequest {
		return &raft.AppendEntriesRequest{Term: 4, PrevLogEntry: index - 1, PrevLogTerm: 4, Entries: []*raft.Log{{Index: index, Term: 4}}}
	}
	answer := func() {
		rpc := <-to.Consumer()
		entries := rpc.Command.(*raft.AppendEntriesRequest).Entries
		rpc.Respond(&raft.AppendEntriesResponse{Term: 4, LastLog: entries[0].Index, Success: true}, nil)
	}
	idle := func() { // waits until the slot of an answered message is free
		for range sentMax {
			pipeline.slots <- struct{}{}
		}
		for range sentMax {
			<-pipeline.slots
		}
	}
	for i, answeredFirst := range []bool{true, false, true, false} {
		idle()
		early, finish, err := pipeline.sendEarly(message(8), i < 2)
		if err != nil || finish != nil {
			t.Fatalf("%v, it is written in part: %v", err, finish != nil)
		}
		if answeredFirst {
			answer()
			<-early.done
			if len(pipeline.answers) > 0 {
				t.Fatal("the library gets an answer to what it has not sent")
			}
		}
		clustertest.Must(t, pipeline.request(early))
		if !answeredFirst {
			answer()
		}
		if got := <-pipeline.Consumer(); got.Response().LastLog != 8 || got.Error() != nil {
			t.Errorf("%+v, %v", got.Response(), got.Error())
		}
	}
	idle()
	for range sentMax {
		if _, _, err := pipeline.sendEarly(message(9), false); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := pipeline.sendEarly(message(9), false); !errors.Is(err, errBusy) {
		t.Errorf("sent with %d under way: %v", sentMax, err)
	}
	b.Disconnect()
	<-pipeline.broken
	if err := pipeline.request(&appended{kept: true}); err == nil {
		t.Error("the answer of a broken connection is awaited")
	}
}

// A message that the connection accepts in part is completed and answered like any other.
func TestPipelineFinishesWhatIsWrittenInPart(t *testing.T) {
	pipeline, to, _ := openPipeline(t)
	data := make([]byte, 64<<20) // more than the socket buffers hold
	early, finish, err := pipeline.sendEarly(&raft.AppendEntriesRequest{Term: 4, Entries: []*raft.Log{{Index: 1, Term: 4, Data: data}}},
		false)
	if err != nil || finish == nil {
		t.Fatalf("%v, it is written in part: %v", err, finish != nil)
	}
	finished := make(chan error, 1)
	go func() { finished <- finish() }()
	rpc := <-to.Consumer()
	if got := len(rpc.Command.(*raft.AppendEntriesRequest).Entries[0].Data); got != len(data) {
		t.Errorf("%d of %d bytes arrive", got, len(data))
	}
	rpc.Respond(&raft.AppendEntriesResponse{Term: 4, LastLog: 1, Success: true}, nil)
	clustertest.Check(t, <-finished)
	if <-early.done; early.err != nil || early.resp.LastLog != 1 {
		t.Errorf("%+v, %v", early.resp, early.err)
	}
}

// Idle connections end unnoticed with the process at their other end. The first message after its
// restart must arrive.
func TestMessageGoesOverANewConnection(t *testing.T) {
	a, b := peernettest.Pair(t, nil)
	from := newTransport(testOptions(a, newContacts(environment.SystemClock())))
	to := newTransport(testOptions(b, newContacts(environment.SystemClock())))
	defer from.Close()
	defer to.Close()
	ask := func() error {
		done := make(chan error, 1)
		go func() {
			done <- from.RequestVote("b-2", "b-2", &raft.RequestVoteRequest{Term: 4}, new(raft.RequestVoteResponse))
		}()
		for {
			select {
			case rpc := <-to.Consumer():
				rpc.Respond(&raft.RequestVoteResponse{Term: 4}, nil)
			case err := <-done:
				return err
			}
		}
	}
	for range 3 {
		clustertest.Must(t, ask())
		b.Disconnect()
	}
}

// A node stops although another node is connected and has sent a part of a snapshot.
func TestCloseWaitsForNobody(t *testing.T) {
	a, b := peernettest.Pair(t, nil)
	from := newTransport(testOptions(a, newContacts(environment.SystemClock())))
	to := newTransport(testOptions(b, newContacts(environment.SystemClock())))
	content, rest := io.Pipe()
	installed := make(chan error, 1)
	go func() {
		request := &raft.InstallSnapshotRequest{Term: 4, Size: 1000}
		installed <- from.InstallSnapshot("b-2", "b-2", request, new(raft.InstallSnapshotResponse), content)
	}()
	rpc := <-to.Consumer() // asks whether the log has its end
	rpc.Respond(&raft.AppendEntriesResponse{Term: 5}, nil)
	rpc = <-to.Consumer()
	reading := make(chan error, 1)
	go func() {
		_, err := io.ReadAll(rpc.Reader)
		reading <- err
	}()
	clustertest.Must(t, to.Close())
	if err := <-reading; err == nil {
		t.Error("half a snapshot is taken for a whole one")
	}
	rest.Close()
	if err := <-installed; err == nil {
		t.Error("half a snapshot is installed")
	}
	clustertest.Must(t, from.Close())
}

// partial is a pipeline that writes a part of an early message, and completes it when the test
// allows it.
type partial struct {
	raft.AppendPipeline
	sent []uint64 // indexes of the first entries, in order
	may  chan struct{}
}

func (p *partial) sendEarly(args *raft.AppendEntriesRequest, _ bool) (*appended, func() error, error) {
	p.sent = append(p.sent, args.Entries[0].Index)
	return &appended{args: args, kept: true}, func() error { <-p.may; return nil }, nil
}

func (p *partial) request(*appended) error { return nil }
func (p *partial) busy() bool              { return false }

func (p *partial) AppendEntries(args *raft.AppendEntriesRequest, _ *raft.AppendEntriesResponse) (raft.AppendFuture, error) {
	p.sent = append(p.sent, args.Entries[0].Index)
	return nil, nil
}

func (p *partial) Close() error { return nil }

// A partly sent message does not block the writing goroutine, and nothing is sent between its
// parts.
func TestNothingIsSentWithinAMessage(t *testing.T) {
	notifier := newCommitNotifier(environment.SystemClock(), time.Hour, hclog.NewNullLogger())
	notifier.watch(fixedCommit{term: 4, state: raft.Leader, barriers: new(int)})
	entries := func(index uint64) []*raft.Log { return []*raft.Log{{Index: index, Term: 4}} }
	inner := &partial{may: make(chan struct{})}
	pipeline := notifier.pipeline("b-2", inner).(*notifyingPipeline)
	pipeline.last = sentMessage{AppendEntriesRequest: raft.AppendEntriesRequest{Term: 4, PrevLogEntry: 7, PrevLogTerm: 4}}
	notifier.begun(entries(8))
	notifier.begun(entries(9)) // the library sends these
	if pipeline.tryLock() {
		t.Fatal("something may be sent within the message")
	}
	close(inner.may)
	for _, index := range []uint64{8, 9} {
		message := &raft.AppendEntriesRequest{Term: 4, PrevLogEntry: index - 1, PrevLogTerm: 4, Entries: entries(index)}
		clustertest.Must(t, clustertest.Err(pipeline.AppendEntries(message, new(raft.AppendEntriesResponse))))
	}
	clustertest.Must(t, pipeline.Close())
	if !slices.Equal(inner.sent, []uint64{8, 9}) {
		t.Errorf("messages are sent from %d on", inner.sent)
	}
}
