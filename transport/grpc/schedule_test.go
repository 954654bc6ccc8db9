package grpc

import (
	"slices"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/seriatimq/seriatim/cluster/clustertest"
	"github.com/seriatimq/seriatim/transport/grpc/seriatimpb"
)

// schedule sends a scheduled message of a group.
func (f *fixture) schedule(queue, group, body string, at int64) *seriatimpb.SendResult {
	f.t.Helper()
	m := outgoingMessage(group, body)
	m.EnqueueAtMs = at
	out, err := f.messages().ScheduleMessages(f.t.Context(),
		&seriatimpb.ScheduleMessagesRequest{Queue: queue, Messages: []*seriatimpb.OutgoingMessage{m}})
	if err != nil || out.GetResults()[0].GetFailure() != nil {
		f.t.Fatal(out, err)
	}
	return out.GetResults()[0]
}

func (f *fixture) cancel(in *seriatimpb.CancelScheduledRequest) *seriatimpb.Failure {
	f.t.Helper()
	out, err := f.messages().CancelScheduled(f.t.Context(), in)
	clustertest.Must(f.t, err)
	return out.GetOutcomes()[0].GetFailure()
}

func TestScheduleAndCancel(t *testing.T) {
	f := newFixture(t, nil)
	name := f.create(nil)
	later := time.Now().Add(time.Hour).UnixMilli()
	first := f.schedule(name, "g", "m", later)
	again := f.schedule(name, "g", "m", later+1)
	if !again.GetDuplicate() || !again.GetFirstIsScheduled() || again.GetSequenceNumber() != first.GetSequenceNumber() ||
		again.GetFirstAcceptedAtMs() == 0 {
		t.Errorf("scheduled again: %v, at first %v", again, first)
	}
	if now := f.send(name, "g", "m")[0]; !now.GetDuplicate() || !now.GetFirstIsScheduled() {
		t.Errorf("sent: %v", now)
	}
	cancel := &seriatimpb.CancelScheduledRequest{Queue: name, SequenceNumbers: []uint64{first.GetSequenceNumber()},
		ForgetDeduplicationId: true}
	if failure := f.cancel(cancel); failure != nil {
		t.Error(failure)
	}
	if failure := f.cancel(cancel); failure.GetCode() != int32(codes.NotFound) || failure.GetReason() != "MessageNotFound" {
		t.Errorf("cancelled again: %v", failure)
	}
	if sent := f.send(name, "g", "m")[0]; sent.GetDuplicate() {
		t.Errorf("a forgotten id: %v", sent)
	}
	_, err := f.messages().ScheduleMessages(t.Context(), &seriatimpb.ScheduleMessagesRequest{Queue: name,
		Messages: []*seriatimpb.OutgoingMessage{outgoingMessage("g", "n")}})
	wantStatus(t, err, codes.InvalidArgument, "MissingParameter")
}

func TestPeek(t *testing.T) {
	f := newFixture(t, nil)
	name := f.create(nil)
	second := f.send(name, "g", "a", "b")[1]
	f.send(name, "h", "c")
	scheduled := f.schedule(name, "g", "later", time.Now().Add(time.Hour).UnixMilli())
	received := f.receive(name).GetMessages()
	if len(received) != 3 || received[1].GetBody() != "b" {
		t.Fatalf("received %v", bodies(received))
	}
	var got []string
	in := &seriatimpb.PeekRequest{Queue: name, MaxMessages: 2}
	for {
		out, err := f.messages().Peek(t.Context(), in)
		clustertest.Must(t, err)
		for _, m := range out.GetMessages() {
			got = append(got, m.GetMessage().GetBody()+" "+m.GetState().String())
			if m.GetMessage().GetReceiptHandle() != "" || m.GetVisibleAtMs() == 0 {
				t.Errorf("peeked %v", m)
			}
		}
		if in.FromSequenceNumber = out.GetNextSequenceNumber(); in.GetFromSequenceNumber() == 0 {
			break
		}
	}
	want := []string{"a MESSAGE_STATE_IN_FLIGHT", "b MESSAGE_STATE_IN_FLIGHT", "c MESSAGE_STATE_IN_FLIGHT", "later MESSAGE_STATE_SCHEDULED"}
	if !slices.Equal(got, want) {
		t.Errorf("peeked %v", got)
	}
	out, err := f.messages().Peek(t.Context(), &seriatimpb.PeekRequest{Queue: name, FromSequenceNumber: second.GetSequenceNumber(),
		GroupId: "g"})
	if err != nil || len(out.GetMessages()) != 2 || out.GetMessages()[1].GetMessage().GetSequenceNumber() != scheduled.GetSequenceNumber() {
		t.Errorf("peeked %v, %v", out, err)
	}
	_, err = f.messages().Peek(t.Context(), &seriatimpb.PeekRequest{Queue: name, MaxMessages: 101})
	wantStatus(t, err, codes.InvalidArgument, "InvalidParameterValue")
}

// The size of an answer of Peek is bounded, however long the messages are.
func TestPeekOfLongMessages(t *testing.T) {
	f := newFixture(t, nil)
	name := f.create(nil)
	body := string(slices.Repeat([]byte("x"), 1<<20))
	for _, id := range []string{"1", "2", "3", "4", "5", "6"} {
		m := outgoingMessage("g", id)
		m.Body = body
		if _, err := f.client.Send(t.Context(), &seriatimpb.SendRequest{Queue: name,
			Messages: []*seriatimpb.OutgoingMessage{m}}); err != nil {
			t.Fatal(err)
		}
	}
	in, seen := &seriatimpb.PeekRequest{Queue: name}, 0
	for {
		out, err := f.messages().Peek(t.Context(), in)
		clustertest.Must(t, err)
		if len(out.GetMessages()) > 4 {
			t.Errorf("%d messages at once", len(out.GetMessages()))
		}
		seen += len(out.GetMessages())
		if in.FromSequenceNumber = out.GetNextSequenceNumber(); in.GetFromSequenceNumber() == 0 {
			break
		}
	}
	if seen != 6 {
		t.Errorf("%d messages", seen)
	}
}

// TestOneSequenceNumber checks that every call accepts the sequence number that the SQS API shows,
// and also the number without its base, and that errors repeat the number as it was given.
func TestOneSequenceNumber(t *testing.T) {
	const base = 10_000_000_000_000_000_000
	f := newFixture(t, nil)
	ctx, name := t.Context(), f.create(nil)
	sent := f.send(name, "g", "m")[0]
	number := sent.GetSequenceNumber()
	if number <= base || number > base+9 {
		t.Fatalf("the number is %d, the SQS API begins at %d", number, uint64(base+1))
	}
	got := f.receive(name).GetMessages()[0]
	if got.GetSequenceNumber() != sent.GetSequenceNumber() {
		t.Fatalf("sent as %d, received as %d", sent.GetSequenceNumber(), got.GetSequenceNumber())
	}
	if _, err := f.messages().Defer(ctx, &seriatimpb.DeferRequest{Queue: name,
		ReceiptHandles: []string{got.GetReceiptHandle()}}); err != nil {
		t.Fatal(err)
	}
	for _, from := range []uint64{number, number - base, 0} {
		out, err := f.messages().Peek(ctx, &seriatimpb.PeekRequest{Queue: name, FromSequenceNumber: from})
		if err != nil || len(out.GetMessages()) != 1 || out.GetMessages()[0].GetMessage().GetSequenceNumber() != number {
			t.Errorf("peeked from %d: %v, %v", from, out, err)
		}
	}
	for absent, want := range map[uint64]string{
		50:                  "There is no deferred message with the sequence number 50.",
		base + 50:           "There is no deferred message with the sequence number 10000000000000000050.",
		9223372036854775808: "Value 9223372036854775808 for parameter sequence_number is invalid. Reason: No message has such a number.",
	} {
		_, err := f.messages().ReceiveDeferred(ctx, &seriatimpb.ReceiveDeferredRequest{Queue: name, SequenceNumbers: []uint64{absent}})
		if got := status.Convert(err).Message(); got != want {
			t.Errorf("ReceiveDeferred(%d): %q, want %q", absent, got, want)
		}
	}
	if failure := f.cancel(&seriatimpb.CancelScheduledRequest{Queue: name,
		SequenceNumbers: []uint64{7}}); failure.GetMessage() != "There is no scheduled message with the sequence number 7." {
		t.Errorf("CancelScheduled(7): %v", failure)
	}
	out, err := f.messages().ReceiveDeferred(ctx, &seriatimpb.ReceiveDeferredRequest{Queue: name, SequenceNumbers: []uint64{number}})
	if err != nil || len(out.GetMessages()) != 1 {
		t.Errorf("ReceiveDeferred: %v, %v", out, err)
	}
}
