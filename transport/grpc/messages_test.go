package grpc

import (
	"errors"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/seriatimq/seriatim/cluster"
	"github.com/seriatimq/seriatim/cluster/clustertest"
	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/transport/auth"
	"github.com/seriatimq/seriatim/transport/auth/sigv4"
	"github.com/seriatimq/seriatim/transport/budget"
	"github.com/seriatimq/seriatim/transport/grpc/seriatimpb"
)

func TestSendAndReceive(t *testing.T) {
	f := newFixture(t, nil)
	ctx := t.Context()
	name := f.create(nil)
	first := outgoingMessage("g", "one")
	first.Attributes = map[string]*seriatimpb.Attribute{
		"n": {DataType: "Number", Value: &seriatimpb.Attribute_Text{Text: "7"}},
		"b": {DataType: "Binary.png", Value: &seriatimpb.Attribute_Binary{Binary: []byte{0, 255}}},
	}
	sent, err := f.client.Send(ctx, &seriatimpb.SendRequest{Queue: name,
		Messages: []*seriatimpb.OutgoingMessage{first, outgoingMessage("g", "two"), outgoingMessage("g", "one")}})
	clustertest.Must(t, err)
	results := sent.GetResults()
	if results[0].GetDuplicate() || results[0].Duplicate == nil || !results[2].GetDuplicate() ||
		results[2].GetMessageId() != results[0].GetMessageId() {
		t.Errorf("%v", results)
	}
	if results[0].GetSequenceNumber() >= results[1].GetSequenceNumber() {
		t.Errorf("numbers do not rise: %v", results)
	}
	got := f.receive(name)
	if !slices.Equal(bodies(got.GetMessages()), []string{"one", "two"}) || got.GetAttemptId() == "" || got.GetReplayed() {
		t.Fatalf("%v", got)
	}
	m := got.GetMessages()[0]
	if m.GetAttributes()["n"].GetText() != "7" || string(m.GetAttributes()["b"].GetBinary()) != "\x00\xff" || m.GetReceiveCount() != 1 ||
		m.GetGroupId() != "g" || m.GetDeduplicationId() != "one" || m.GetSequenceNumber() != results[0].GetSequenceNumber() ||
		m.GetSentAtMs() == 0 {
		t.Errorf("%v", m)
	}
	// The receive can be repeated with the id that the server made.
	again, err := f.client.Receive(ctx, &seriatimpb.ReceiveRequest{Queue: name, MaxMessages: new(int32(10)), AttemptId: &got.AttemptId})
	if err != nil || !again.GetReplayed() || again.GetMessages()[0].GetReceiptHandle() != m.GetReceiptHandle() ||
		len(again.GetMessages()) != 2 {
		t.Errorf("%v %v", again, err)
	}
	changed, err := f.client.ChangeVisibility(ctx, &seriatimpb.ChangeVisibilityRequest{Queue: name, Entries: []*seriatimpb.VisibilityEntry{
		{ReceiptHandle: m.GetReceiptHandle(), VisibilityTimeoutSeconds: new(int32(0))},
		{ReceiptHandle: "x", VisibilityTimeoutSeconds: new(int32(0))},
	}})
	if err != nil || changed.GetOutcomes()[0].GetFailure() != nil ||
		changed.GetOutcomes()[1].GetFailure().GetReason() != "ReceiptHandleIsInvalid" {
		t.Errorf("%v %v", changed, err)
	}
	deleted, err := f.client.Delete(ctx, &seriatimpb.DeleteRequest{Queue: name,
		ReceiptHandles: []string{got.GetMessages()[1].GetReceiptHandle(), "x"}})
	if err != nil || deleted.GetOutcomes()[0].GetFailure() != nil ||
		codes.Code(deleted.GetOutcomes()[1].GetFailure().GetCode()) != codes.InvalidArgument {
		t.Errorf("%v %v", deleted, err)
	}
	if got := f.receive(name); !slices.Equal(bodies(got.GetMessages()), []string{"one"}) {
		t.Errorf("%v", got)
	}
}

// A message of the largest size is accepted, and one that is larger is not.
func TestLargeMessages(t *testing.T) {
	f := newFixture(t, nil)
	name := f.create(nil)
	body := strings.Repeat("x", 1<<20)
	in := outgoingMessage("g", "large")
	in.Body = body
	if out, err := f.client.Send(t.Context(), &seriatimpb.SendRequest{Queue: name,
		Messages: []*seriatimpb.OutgoingMessage{in}}); err != nil || out.GetResults()[0].GetFailure() != nil {
		t.Fatal(out, err)
	}
	if got := f.receive(name).GetMessages(); len(got) != 1 || got[0].GetBody() != body {
		t.Errorf("%d messages", len(got))
	}
	in.Body = strings.Repeat("x", messageBytesMax)
	_, err := f.client.Send(t.Context(), &seriatimpb.SendRequest{Queue: name, Messages: []*seriatimpb.OutgoingMessage{in}})
	wantStatus(t, err, codes.ResourceExhausted, "ResourceExhausted")
}

func TestRefusals(t *testing.T) {
	f := newFixture(t, nil)
	ctx := t.Context()
	name := f.create(nil)
	eleven := make([]*seriatimpb.OutgoingMessage, 11)
	for i := range eleven {
		eleven[i] = outgoingMessage("g", strconv.Itoa(i))
	}
	for _, tc := range []struct {
		name   string
		call   func() error
		code   codes.Code
		reason string
	}{
		{"no queue", func() error {
			_, err := f.client.PurgeQueue(ctx, &seriatimpb.PurgeQueueRequest{})
			return err
		}, codes.InvalidArgument, "MissingParameter"},
		{"long name", func() error {
			_, err := f.client.PurgeQueue(ctx, &seriatimpb.PurgeQueueRequest{Queue: strings.Repeat("q", 81)})
			return err
		}, codes.NotFound, "QueueDoesNotExist"},
		{"bad name", func() error {
			_, err := f.client.CreateQueue(ctx, &seriatimpb.CreateQueueRequest{Queue: "a b"})
			return err
		}, codes.InvalidArgument, "InvalidParameterValue"},
		{"other attributes", func() error {
			_, err := f.client.CreateQueue(ctx, &seriatimpb.CreateQueueRequest{Queue: name,
				Attributes: map[string]string{"FifoQueue": "true", "VisibilityTimeout": "7"}})
			return err
		}, codes.AlreadyExists, "QueueNameExists"},
		{"unknown attribute", func() error {
			_, err := f.client.GetQueueAttributes(ctx, &seriatimpb.GetQueueAttributesRequest{Queue: name, Names: []string{"Colour"}})
			return err
		}, codes.InvalidArgument, "InvalidAttributeName"},
		{"too many messages", func() error {
			_, err := f.client.Send(ctx, &seriatimpb.SendRequest{Queue: name, Messages: eleven})
			return err
		}, codes.InvalidArgument, "TooManyEntriesInBatchRequest"},
		{"no messages", func() error {
			_, err := f.client.Send(ctx, &seriatimpb.SendRequest{Queue: name})
			return err
		}, codes.InvalidArgument, "EmptyBatchRequest"},
		{"an unknown queue comes first", func() error {
			_, err := f.client.Send(ctx, &seriatimpb.SendRequest{Queue: "none"})
			return err
		}, codes.NotFound, "QueueDoesNotExist"},
		{"wait", func() error {
			_, err := f.client.Receive(ctx, &seriatimpb.ReceiveRequest{Queue: name, WaitSeconds: new(int32(21))})
			return err
		}, codes.InvalidArgument, "InvalidParameterValue"},
		{"no tags", func() error {
			_, err := f.client.TagQueue(ctx, &seriatimpb.TagQueueRequest{Queue: name})
			return err
		}, codes.InvalidArgument, "MissingParameter"},
	} {
		t.Run(tc.name, func(t *testing.T) { wantStatus(t, tc.call(), tc.code, tc.reason) })
	}
}

// The status of a failed command tells whether the command may have been executed.
func TestUnavailable(t *testing.T) {
	f := newFixture(t, nil)
	name := f.create(nil)
	for _, tc := range []struct {
		err    error
		code   codes.Code
		reason string
	}{
		{cluster.ErrOutcomeUnknown, codes.Unavailable, "OutcomeUnknown"},
		{&cluster.PressureError{Reason: "the disk is full"}, codes.Unavailable, "UnderPressure"},
		{cluster.ErrOverloaded, codes.Unavailable, "Overloaded"},
		{cluster.ErrUnavailable, codes.Unavailable, "NoLeader"},
		{cluster.ErrNotLeader, codes.Unavailable, "NoLeader"},
		{&cluster.UpgradeNeededError{Reason: "the format is old"}, codes.FailedPrecondition, "UpgradeNeeded"},
		{errors.New("a mistake"), codes.Internal, "InternalFailure"},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			f.node.fail.Store(&tc.err)
			_, err := f.client.Send(t.Context(), &seriatimpb.SendRequest{Queue: name,
				Messages: []*seriatimpb.OutgoingMessage{outgoingMessage("g", "m")}})
			wantStatus(t, err, tc.code, tc.reason)
		})
	}
}

// A panic fails its call, and the process continues.
func TestPanic(t *testing.T) {
	f := newFixture(t, nil)
	name := f.create(nil)
	broken := func(func() (cluster.Reply, error), queue.Command) (cluster.Reply, error) { panic("a mistake") }
	f.node.submit.Store(&broken)
	_, err := f.client.PurgeQueue(t.Context(), &seriatimpb.PurgeQueueRequest{Queue: name})
	wantStatus(t, err, codes.Internal, "InternalFailure")
	f.node.submit.Store(nil)
	clustertest.Check(t, clustertest.Err(f.client.PurgeQueue(t.Context(), &seriatimpb.PurgeQueueRequest{Queue: name})))
}

// denied refuses every caller.
type denied struct{ sigv4.Authenticator }

func (denied) Verify(*http.Request, string) (auth.Identity, string, error) {
	return auth.Identity{}, "", &auth.Error{Code: "InvalidClientTokenId", Status: http.StatusForbidden, Message: "no"}
}

func TestVerifier(t *testing.T) {
	f := newFixture(t, func(o *Options) { o.Verifier = denied{} })
	_, err := f.client.ListQueues(t.Context(), &seriatimpb.ListQueuesRequest{})
	wantStatus(t, err, codes.Unauthenticated, "InvalidClientTokenId")
}

// A request or answer for which memory has no room fails with a retryable status, and returns its
// memory.
func TestOverBudget(t *testing.T) {
	small := budget.New(100 << 10)
	f := newFixture(t, func(o *Options) { o.Budget = small })
	name := f.create(nil)
	large := outgoingMessage("g", "large")
	large.Body = strings.Repeat("x", 8*chunkBytes)
	_, err := f.client.Send(t.Context(), &seriatimpb.SendRequest{Queue: name, Messages: []*seriatimpb.OutgoingMessage{large}})
	wantStatus(t, err, codes.Unavailable, reasonOverloaded)
	large.Body = strings.Repeat("x", 70<<10)
	for i := range 2 {
		large.DeduplicationId = new(strconv.Itoa(i))
		if _, err := f.client.Send(t.Context(), &seriatimpb.SendRequest{Queue: name,
			Messages: []*seriatimpb.OutgoingMessage{large}}); err != nil {
			t.Fatal(err)
		}
	}
	_, err = f.client.Receive(t.Context(), &seriatimpb.ReceiveRequest{Queue: name, MaxMessages: new(int32(2))})
	wantStatus(t, err, codes.Unavailable, reasonOutcomeUnknown)
	s := f.sender(name)
	for i := range 2 {
		large.DeduplicationId = new(strconv.Itoa(i))
		s.send(large)
		if r := s.results(1)[0]; !r.GetDuplicate() {
			t.Errorf("%v", r)
		}
	}
	clustertest.Must(t, s.stream.CloseSend())
	if err := s.ended(); !errors.Is(err, io.EOF) {
		t.Errorf("ended with %v", err)
	}
	for deadline := time.Now().Add(time.Minute); small.Usage().Used != 0; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d bytes were not given back", small.Usage().Used)
		}
	}
}
