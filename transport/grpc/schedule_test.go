package grpc

import (
	"slices"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/seriatimq/seriatim/transport/grpc/seriatimpb"
)

// schedule schedules a message of a group.
func (f *fixture) schedule(queue, group, body string, at int64) *seriatimpb.SendResult {
	f.t.Helper()
	m := message(group, body)
	m.EnqueueAtMs = at
	out, err := f.messages().ScheduleMessages(f.t.Context(), &seriatimpb.ScheduleMessagesRequest{Queue: queue, Messages: []*seriatimpb.OutgoingMessage{m}})
	if err != nil || out.GetResults()[0].GetFailure() != nil {
		f.t.Fatal(out, err)
	}
	return out.GetResults()[0]
}

func (f *fixture) cancel(in *seriatimpb.CancelScheduledRequest) *seriatimpb.Failure {
	f.t.Helper()
	out, err := f.messages().CancelScheduled(f.t.Context(), in)
	if err != nil {
		f.t.Fatal(err)
	}
	return out.GetOutcomes()[0].GetFailure()
}

func TestScheduleAndCancel(t *testing.T) {
	f := newFixture(t, nil)
	name := f.create(nil)
	later := time.Now().Add(time.Hour).UnixMilli()
	first := f.schedule(name, "g", "m", later)
	again := f.schedule(name, "g", "m", later+1)
	if !again.GetDuplicate() || !again.GetFirstIsScheduled() || again.GetSequenceNumber() != first.GetSequenceNumber() || again.GetFirstAcceptedAtMs() == 0 {
		t.Errorf("scheduled again: %v, at first %v", again, first)
	}
	if now := f.send(name, "g", "m")[0]; !now.GetDuplicate() || !now.GetFirstIsScheduled() {
		t.Errorf("sent: %v", now)
	}
	cancel := &seriatimpb.CancelScheduledRequest{Queue: name, SequenceNumbers: []uint64{first.GetSequenceNumber()}, ForgetDeduplicationId: true}
	if failure := f.cancel(cancel); failure != nil {
		t.Error(failure)
	}
	if failure := f.cancel(cancel); failure.GetCode() != int32(codes.NotFound) || failure.GetReason() != "MessageNotFound" {
		t.Errorf("cancelled again: %v", failure)
	}
	if sent := f.send(name, "g", "m")[0]; sent.GetDuplicate() {
		t.Errorf("a forgotten id: %v", sent)
	}
	_, err := f.messages().ScheduleMessages(t.Context(), &seriatimpb.ScheduleMessagesRequest{Queue: name, Messages: []*seriatimpb.OutgoingMessage{message("g", "n")}})
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
		if err != nil {
			t.Fatal(err)
		}
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
	out, err := f.messages().Peek(t.Context(), &seriatimpb.PeekRequest{Queue: name, FromSequenceNumber: second.GetSequenceNumber(), GroupId: "g"})
	if err != nil || len(out.GetMessages()) != 2 || out.GetMessages()[1].GetMessage().GetSequenceNumber() != scheduled.GetSequenceNumber() {
		t.Errorf("peeked %v, %v", out, err)
	}
	_, err = f.messages().Peek(t.Context(), &seriatimpb.PeekRequest{Queue: name, MaxMessages: 101})
	wantStatus(t, err, codes.InvalidArgument, "InvalidParameterValue")
}

// An answer of Peek is bounded, however long the messages are.
func TestPeekOfLongMessages(t *testing.T) {
	f := newFixture(t, nil)
	name := f.create(nil)
	body := string(slices.Repeat([]byte("x"), 1<<20))
	for _, id := range []string{"1", "2", "3", "4", "5", "6"} {
		m := message("g", id)
		m.Body = body
		if _, err := f.client.Send(t.Context(), &seriatimpb.SendRequest{Queue: name, Messages: []*seriatimpb.OutgoingMessage{m}}); err != nil {
			t.Fatal(err)
		}
	}
	in, seen := &seriatimpb.PeekRequest{Queue: name}, 0
	for {
		out, err := f.messages().Peek(t.Context(), in)
		if err != nil {
			t.Fatal(err)
		}
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
