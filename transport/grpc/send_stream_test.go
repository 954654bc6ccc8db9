package grpc

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"

	"github.com/seriatimq/seriatim/cluster"
	"github.com/seriatimq/seriatim/cluster/clustertest"
	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/limits"
	"github.com/seriatimq/seriatim/queue/refusal"
	"github.com/seriatimq/seriatim/transport/grpc/seriatimpb"
)

// sender is the client's end of a SendStream.
type sender struct {
	t      *testing.T
	stream grpc.BidiStreamingClient[seriatimpb.SendStreamRequest, seriatimpb.SendStreamResponse]
	next   uint64 // the number of the next message
	heard  uint64 // the number of the next result
}

func (f *fixture) sender(name string) *sender {
	f.t.Helper()
	stream, err := f.client.SendStream(f.t.Context())
	clustertest.Must(f.t, err)
	clustertest.Must(f.t, stream.Send(&seriatimpb.SendStreamRequest{Queue: name}))
	if out, err := stream.Recv(); err != nil || out.GetUnansweredMax() != unansweredMax {
		f.t.Fatal(out, err)
	}
	return &sender{t: f.t, stream: stream, next: 1, heard: 1}
}

func (s *sender) send(messages ...*seriatimpb.OutgoingMessage) {
	s.t.Helper()
	clustertest.Must(s.t, s.stream.Send(&seriatimpb.SendStreamRequest{FirstNumber: s.next, Messages: messages}))
	s.next += uint64(len(messages))
}

// results returns the results of the next n messages.
func (s *sender) results(n int) []*seriatimpb.SendResult {
	s.t.Helper()
	var results []*seriatimpb.SendResult
	for len(results) < n {
		out, err := s.stream.Recv()
		clustertest.Must(s.t, err)
		if out.GetFirstNumber() != s.heard {
			s.t.Fatalf("results from %d, want %d", out.GetFirstNumber(), s.heard)
		}
		s.heard += uint64(len(out.GetResults()))
		results = append(results, out.GetResults()...)
	}
	return results
}

// ended returns the status of the stream after its last result.
func (s *sender) ended() error {
	s.t.Helper()
	out, err := s.stream.Recv()
	if err == nil {
		s.t.Fatalf("another answer: %v", out)
	}
	return err
}

// Messages of each group keep their order, however many commands are in flight, and results come in
// the order of the messages.
func TestSendStreamOrder(t *testing.T) {
	f := newFixture(t, nil)
	name := f.create(nil)
	s := f.sender(name)
	const groups, each = 7, 60
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for i := range each {
			for g := range groups {
				s.send(outgoingMessage(fmt.Sprint("g", g), fmt.Sprintf("%d-%03d", g, i)))
			}
		}
	}()
	results := s.results(groups * each)
	<-ended
	clustertest.Must(t, s.stream.CloseSend())
	if err := s.ended(); !errors.Is(err, io.EOF) {
		t.Errorf("ended with %v", err)
	}
	last := map[int]uint64{}
	for i, r := range results {
		if r.GetFailure() != nil || r.GetSequenceNumber() <= last[i%groups] {
			t.Fatalf("message %d: %v after %d", i, r, last[i%groups])
		}
		last[i%groups] = r.GetSequenceNumber()
	}
	got := map[string][]string{}
	for {
		out := f.receive(name)
		if len(out.GetMessages()) == 0 {
			break
		}
		var handles []string
		for _, m := range out.GetMessages() {
			got[m.GetGroupId()] = append(got[m.GetGroupId()], m.GetBody())
			handles = append(handles, m.GetReceiptHandle())
		}
		clustertest.Must(t, clustertest.Err(f.client.Delete(t.Context(), &seriatimpb.DeleteRequest{Queue: name, ReceiptHandles: handles})))
	}
	for g := range groups {
		bodies := got[fmt.Sprint("g", g)]
		if len(bodies) != each || !slices.IsSorted(bodies) {
			t.Errorf("group %d: %v", g, bodies)
		}
	}
}

// An invalid message fails alone, and the other messages of its frame are stored.
func TestSendStreamRefusals(t *testing.T) {
	f := newFixture(t, nil)
	name := f.create(nil)
	s := f.sender(name)
	good := outgoingMessage("g", "good")
	noID := &seriatimpb.OutgoingMessage{Body: "no deduplication id", GroupId: new("g")}
	s.send(good, noID, outgoingMessage("h", ""), outgoingMessage("g", "better"))
	results := s.results(4)
	for i, want := range []string{"", "InvalidParameterValue", "MissingParameter", ""} {
		if got := results[i].GetFailure().GetReason(); got != want {
			t.Errorf("message %d: %v, want %q", i, results[i], want)
		}
	}
	s.send(good)
	if r := s.results(1)[0]; !r.GetDuplicate() || r.GetMessageId() != results[0].GetMessageId() {
		t.Errorf("%v", r)
	}
	clustertest.Must(t, s.stream.CloseSend())
	if err := s.ended(); !errors.Is(err, io.EOF) {
		t.Errorf("ended with %v", err)
	}
}

func TestSendStreamBadRequests(t *testing.T) {
	f := newFixture(t, nil)
	name := f.create(nil)
	for _, tc := range []struct {
		name   string
		first  *seriatimpb.SendStreamRequest
		second *seriatimpb.SendStreamRequest
		code   codes.Code
		reason string
	}{
		{"no queue", &seriatimpb.SendStreamRequest{}, nil, codes.InvalidArgument, "MissingParameter"},
		{"unknown queue", &seriatimpb.SendStreamRequest{Queue: "none"}, nil, codes.NotFound, "QueueDoesNotExist"},
		{"messages at once", &seriatimpb.SendStreamRequest{Queue: name, Messages: []*seriatimpb.OutgoingMessage{outgoingMessage("g", "a")}},
			nil, codes.InvalidArgument, "InvalidParameterValue"},
		{"nothing", &seriatimpb.SendStreamRequest{Queue: name}, &seriatimpb.SendStreamRequest{FirstNumber: 1}, codes.InvalidArgument,
			"EmptyBatchRequest"},
		{
			"a gap", &seriatimpb.SendStreamRequest{Queue: name},
			&seriatimpb.SendStreamRequest{FirstNumber: 2, Messages: []*seriatimpb.OutgoingMessage{outgoingMessage("g", "a")}},
			codes.InvalidArgument, "InvalidParameterValue",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			stream, err := f.client.SendStream(t.Context())
			clustertest.Must(t, err)
			for _, in := range []*seriatimpb.SendStreamRequest{tc.first, tc.second} {
				if in != nil {
					clustertest.Must(t, stream.Send(in))
				}
			}
			for err == nil {
				_, err = stream.Recv()
			}
			wantStatus(t, err, tc.code, tc.reason)
		})
	}
}

// gate lets commands through one at a time.
type gate struct {
	begun  chan *queue.SendMessages
	permit chan error // the answer to a command; nil: submit it to the node
}

func (f *fixture) gate() *gate {
	g := &gate{begun: make(chan *queue.SendMessages, commandsMax+1), permit: make(chan error)}
	submit := func(next func() (cluster.Reply, error), cmd queue.Command) (cluster.Reply, error) {
		send, ok := cmd.(*queue.SendMessages)
		if !ok {
			return next()
		}
		g.begun <- send
		if err := <-g.permit; err != nil {
			return cluster.Reply{}, err
		}
		return next()
	}
	f.node.submit.Store(&submit)
	return g
}

// Commands of different groups do not wait for each other. Those of one group do, and messages that
// wait form one command.
func TestSendStreamPipelines(t *testing.T) {
	f := newFixture(t, nil)
	name := f.create(nil)
	g := f.gate()
	s := f.sender(name)
	s.send(outgoingMessage("a", "a1"))
	<-g.begun
	s.send(outgoingMessage("a", "a2"))
	s.send(outgoingMessage("b", "b1"))
	if cmd := <-g.begun; len(cmd.Entries) != 1 || cmd.Entries[0].Body != "b1" {
		t.Errorf("%+v", cmd.Entries)
	}
	s.send(outgoingMessage("a", "a3"), outgoingMessage("c", "c1"))
	if cmd := <-g.begun; len(cmd.Entries) != 1 || cmd.Entries[0].Body != "c1" {
		t.Errorf("%+v", cmd.Entries)
	}
	for range 3 {
		g.permit <- nil
	}
	if cmd := <-g.begun; len(cmd.Entries) != 2 || cmd.Entries[0].Body != "a2" || cmd.Entries[1].Body != "a3" {
		t.Errorf("%+v", cmd.Entries)
	}
	g.permit <- nil
	for i, r := range s.results(5) {
		if r.GetFailure() != nil {
			t.Errorf("message %d: %v", i, r)
		}
	}
}

// A temporary failure ends the stream, after the results of all commands in flight.
func TestSendStreamFailure(t *testing.T) {
	f := newFixture(t, nil)
	name := f.create(nil)
	g := f.gate()
	s := f.sender(name)
	s.send(outgoingMessage("a", "a1"))
	<-g.begun
	s.send(outgoingMessage("b", "b1"))
	<-g.begun
	g.permit <- cluster.ErrOutcomeUnknown
	g.permit <- nil
	unknown, written := 0, 0
	for _, r := range s.results(2) {
		switch {
		case r.GetFailure() == nil:
			written++
		case r.GetFailure().GetReason() == reasonOutcomeUnknown:
			unknown++
		}
	}
	if unknown != 1 || written != 1 {
		t.Errorf("%d unknown, %d written", unknown, written)
	}
	wantStatus(t, s.ended(), codes.Unavailable, reasonOutcomeUnknown)
	if got := f.receive(name).GetMessages(); len(got) != 1 {
		t.Errorf("stored: %v", bodies(got))
	}
}

// After a failure, waiting messages are not written, and commands in flight still get their
// results.
func TestPipelineStopsAtFailure(t *testing.T) {
	failing, others := make(chan struct{}), make(chan struct{})
	p := newPipeline(commands[string, seriatimpb.SendResult]{
		entriesMax: 10, bytesMax: 1 << 20, status: (&call{}).statusOf,
		failed: func(f *seriatimpb.Failure) *seriatimpb.SendResult { return &seriatimpb.SendResult{Failure: f} },
		submit: func(entries []string) ([]*seriatimpb.SendResult, error) {
			if entries[0] == "a1" {
				<-failing
				return nil, cluster.ErrUnavailable
			}
			<-others
			return []*seriatimpb.SendResult{{}}, nil
		},
	})
	entry := func(group, body string) *outgoing[string, seriatimpb.SendResult] {
		return &outgoing[string, seriatimpb.SendResult]{entry: body, group: group, ordered: true, memory: 1}
	}
	type messages = []*outgoing[string, seriatimpb.SendResult]
	p.add(messages{entry("a", "a1")})
	p.add(messages{entry("a", "a2"), entry("b", "b1"), entry("a", "a3")})
	close(failing)
	<-p.progress
	close(others)
	p.inFlight.Wait()
	if p.add(messages{entry("c", "c1")}) {
		t.Error("takes messages after the failure")
	}
	results, memory, done, failed := p.answered()
	reasons := []string{}
	for _, r := range results {
		reasons = append(reasons, r.GetFailure().GetReason())
	}
	if len(results) != 4 || memory != 4 || !done {
		t.Fatalf("%v, %d bytes, done: %v", results, memory, done)
	}
	if !slices.Equal(reasons, []string{reasonNoLeader, reasonNotReached, "", reasonNotReached}) {
		t.Errorf("%v", reasons)
	}
	wantStatus(t, failed, codes.Unavailable, reasonNoLeader)
}

// A node that drains answers the messages that it has accepted, and ends the stream.
func TestSendStreamDrain(t *testing.T) {
	f := newFixture(t, nil)
	name := f.create(nil)
	g := f.gate()
	s := f.sender(name)
	s.send(outgoingMessage("a", "a1"))
	<-g.begun
	f.server.Drain()
	g.permit <- nil
	if r := s.results(1)[0]; r.GetFailure() != nil {
		t.Errorf("%v", r)
	}
	wantStatus(t, s.ended(), codes.Unavailable, reasonDraining)
	stream, err := f.client.SendStream(t.Context())
	clustertest.Must(t, err)
	_, err = stream.Recv()
	wantStatus(t, err, codes.Unavailable, reasonDraining)
}

// The server stops reading when too many messages are unanswered.
func TestSendStreamIsBounded(t *testing.T) {
	f := newFixture(t, nil)
	name := f.create(nil)
	g := f.gate()
	s := f.sender(name)
	const frames = 3 * unansweredMax / 10
	go func() {
		for range frames {
			var messages []*seriatimpb.OutgoingMessage
			for i := range 10 {
				messages = append(messages, outgoingMessage("a", strconv.Itoa(int(s.next)+i)))
			}
			s.send(messages...)
		}
		_ = s.stream.CloseSend() // results reports a failure
	}()
	largest := make(chan int, 1)
	go func() {
		n := 0
		for stored := 0; stored < 10*frames; {
			cmd := <-g.begun
			n = max(n, len(cmd.Entries))
			stored += len(cmd.Entries)
			g.permit <- nil
		}
		largest <- n
	}()
	for i, r := range s.results(10 * frames) {
		if r.GetFailure() != nil {
			t.Fatalf("message %d: %v", i, r)
		}
	}
	if n := <-largest; n > limits.StreamEntriesMax {
		t.Errorf("the largest command has %d messages", n)
	}
	if err := s.ended(); !errors.Is(err, io.EOF) {
		t.Errorf("ended with %v", err)
	}
}

// Messages that arrive while a command is in flight form one large command.
func TestSendStreamLargeCommand(t *testing.T) {
	f := newFixture(t, nil)
	name := f.create(nil)
	g := f.gate()
	s := f.sender(name)
	s.send(outgoingMessage("a", "a0"))
	<-g.begun
	var messages []*seriatimpb.OutgoingMessage
	for i := range requestMessagesMax {
		messages = append(messages, outgoingMessage("a", "a"+strconv.Itoa(i+1)))
	}
	s.send(messages...)
	s.send(outgoingMessage("b", "b0"))
	if cmd := <-g.begun; cmd.Entries[0].GroupID != "b" {
		t.Fatalf("the second command begins with %v", cmd.Entries[0])
	}
	g.permit <- nil
	g.permit <- nil
	if cmd := <-g.begun; len(cmd.Entries) != requestMessagesMax || !cmd.Streamed {
		t.Errorf("the third command has %d messages, streamed: %v", len(cmd.Entries), cmd.Streamed)
	}
	g.permit <- nil
	previous := uint64(0)
	for i, r := range s.results(2 + requestMessagesMax)[1 : 1+requestMessagesMax] {
		if r.GetFailure() != nil || r.GetSequenceNumber() <= previous {
			t.Fatalf("message %d: %v after number %d", i, r, previous)
		}
		previous = r.GetSequenceNumber()
	}
}

// A refused message fails alone, however many messages share its command.
func TestPipelineFindsTheRefused(t *testing.T) {
	made := 0
	p := newPipeline(commands[string, seriatimpb.SendResult]{
		entriesMax: limits.StreamEntriesMax, bytesMax: 1 << 20, status: (&call{}).statusOf,
		failed: func(f *seriatimpb.Failure) *seriatimpb.SendResult { return &seriatimpb.SendResult{Failure: f} },
		submit: func(entries []string) ([]*seriatimpb.SendResult, error) {
			made++
			if slices.Contains(entries, "bad") {
				return nil, refusal.MissingParameter("x")
			}
			results := make([]*seriatimpb.SendResult, len(entries))
			for i := range results {
				results[i] = &seriatimpb.SendResult{}
			}
			return results, nil
		},
	})
	const count, bad = 256, 77
	var messages []*outgoing[string, seriatimpb.SendResult]
	for i := range count {
		body := "good"
		if i == bad {
			body = "bad"
		}
		messages = append(messages, &outgoing[string, seriatimpb.SendResult]{entry: body, group: "a", ordered: true})
	}
	p.add(messages)
	p.inFlight.Wait()
	results, _, _, failed := p.answered()
	if len(results) != count || failed != nil {
		t.Fatalf("%d results, failed: %v", len(results), failed)
	}
	for i, r := range results {
		if (r.GetFailure() != nil) != (i == bad) {
			t.Errorf("message %d: %v", i, r)
		}
	}
	if made > 20 {
		t.Errorf("%d commands", made)
	}
}
