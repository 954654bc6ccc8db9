package grpc

import (
	"slices"
	"strings"
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

// A topic schedules and cancels as a queue does, and an answer says whether the first message of a
// duplicate can be cancelled.
func TestSchedulePublishAndCancel(t *testing.T) {
	f := newFixture(t, nil)
	ctx := t.Context()
	client, name := f.topic(map[string]string{"DeduplicationScope": "partitionKey", "MessageGroupIdMode": "Optional"})
	publish := func(id, key string, at int64) *seriatimpb.PublishResult {
		t.Helper()
		out, err := client.Publish(ctx, &seriatimpb.PublishRequest{Topic: name, Messages: []*seriatimpb.TopicMessage{
			{Message: "m" + id + key, DeduplicationId: &id, PartitionKey: key, EnqueueAtMs: at},
		}})
		clustertest.Must(t, err)
		return out.GetResults()[0]
	}
	later := time.Now().Add(time.Hour).UnixMilli()
	first, other := publish("1", "k", later), publish("1", "l", later)
	if first.GetDuplicate() || other.GetDuplicate() {
		t.Errorf("two keys: %v, %v", first, other)
	}
	if again := publish("1", "k", 0); !again.GetDuplicate() || !again.GetFirstIsScheduled() ||
		again.GetSequenceNumber() != first.GetSequenceNumber() || again.GetMessageId() != first.GetMessageId() {
		t.Errorf("published again: %v, at first %v", again, first)
	}
	list := func(from uint64, limit int32) *seriatimpb.ListScheduledPublishesResponse {
		t.Helper()
		out, err := client.ListScheduledPublishes(ctx,
			&seriatimpb.ListScheduledPublishesRequest{Topic: name, FromSequenceNumber: from, MaxMessages: limit})
		clustertest.Must(t, err)
		return out
	}
	page := list(0, 1)
	if len(page.GetMessages()) != 1 || page.GetNextSequenceNumber() != other.GetSequenceNumber() {
		t.Errorf("the first page is %v", page)
	}
	page = list(page.GetNextSequenceNumber(), 0)
	if m := page.GetMessages(); len(m) != 1 || page.GetNextSequenceNumber() != 0 || m[0].GetMessageId() != other.GetMessageId() ||
		m[0].GetMessage().GetMessage() != "m1l" || m[0].GetMessage().GetEnqueueAtMs() != later {
		t.Errorf("the second page is %v", page)
	}
	attributes, err := client.GetTopicAttributes(ctx, &seriatimpb.GetTopicAttributesRequest{Topic: name})
	if err != nil || attributes.GetAttributes()["ApproximateNumberOfMessagesScheduled"] != "2" {
		t.Errorf("%v %v", attributes, err)
	}
	in := &seriatimpb.CancelScheduledPublishesRequest{Topic: name, ForgetDeduplicationId: true,
		SequenceNumbers: []uint64{first.GetSequenceNumber(), 99}}
	done, err := client.CancelScheduledPublishes(ctx, in)
	clustertest.Must(t, err)
	if out := done.GetOutcomes(); out[0].GetFailure() != nil || out[1].GetFailure().GetReason() != "MessageNotFound" ||
		!strings.HasSuffix(out[1].GetFailure().GetMessage(), " 99.") {
		t.Errorf("cancelled: %v", out)
	}
	if again := publish("1", "k", later); again.GetDuplicate() {
		t.Errorf("a forgotten id: %v", again)
	}
	_, err = client.ListScheduledPublishes(ctx, &seriatimpb.ListScheduledPublishesRequest{Topic: name, MaxMessages: 101})
	wantStatus(t, err, codes.InvalidArgument, "InvalidParameterValue")
	_, err = client.ListScheduledPublishes(ctx, &seriatimpb.ListScheduledPublishesRequest{Topic: "none.fifo"})
	wantStatus(t, err, codes.NotFound, "NotFound")
}

// A list has a scheduled message in the format of its publish.
func TestScheduledPublishOfBytes(t *testing.T) {
	f := newFixture(t, nil)
	client, topic := f.topic(nil)
	at := time.Now().Add(time.Hour).UnixMilli()
	sections := []byte("\x00Ss\xc0\x04\x01\xa1\x01s")
	in := &seriatimpb.PublishRequest{Topic: topic, Messages: []*seriatimpb.TopicMessage{
		{BodyBytes: []byte("\x00\xff"), GroupId: new("g"), DeduplicationId: new("1"), EnqueueAtMs: at, TraceHeader: "Root=1-2-3"},
		{Amqp: &seriatimpb.AMQPContent{Sections: sections}, BodyBytes: []byte("x"), GroupId: new(""), DeduplicationId: new("2"),
			EnqueueAtMs: at},
		{BodyBytes: []byte{}, GroupId: new("g"), DeduplicationId: new("3"), EnqueueAtMs: at},
	}}
	clustertest.Must(t, clustertest.Err(client.Publish(t.Context(), in)))
	out, err := client.ListScheduledPublishes(t.Context(), &seriatimpb.ListScheduledPublishesRequest{Topic: topic})
	if err != nil || len(out.GetMessages()) != len(in.GetMessages()) {
		t.Fatalf("scheduled %v, %v", out, err)
	}
	for i, listed := range out.GetMessages() {
		got, want := listed.GetMessage(), in.GetMessages()[i]
		if got.BodyBytes == nil || string(got.GetBodyBytes()) != string(want.GetBodyBytes()) || got.GetMessage() != "" ||
			string(got.GetAmqp().GetSections()) != string(want.GetAmqp().GetSections()) || got.GetTraceHeader() != want.GetTraceHeader() {
			t.Errorf("published %v, listed %v", want, got)
		}
	}
}

// The leader publishes a scheduled message without a command of a client.
func TestScheduledPublishComes(t *testing.T) {
	f := newFixture(t, nil)
	name := f.create(nil)
	client, topic := f.topic(nil, name)
	m := published("g", "soon")
	m.EnqueueAtMs = time.Now().Add(300 * time.Millisecond).UnixMilli()
	clustertest.Must(t, clustertest.Err(client.Publish(t.Context(), &seriatimpb.PublishRequest{Topic: topic,
		Messages: []*seriatimpb.TopicMessage{m}})))
	in := &seriatimpb.ReceiveRequest{Queue: name, WaitSeconds: new(int32(20))}
	out, err := f.client.Receive(t.Context(), in)
	if err != nil || len(out.GetMessages()) != 1 || out.GetMessages()[0].GetBody() != "soon" {
		t.Errorf("received %v, %v", out, err)
	}
}

// A peek is a use of a queue that is deleted when it is idle.
func TestPeekIsAUse(t *testing.T) {
	f := newFixture(t, nil)
	name := f.create(map[string]string{"AutoDeleteOnIdleSeconds": "300"})
	if _, err := f.messages().Peek(t.Context(), &seriatimpb.PeekRequest{Queue: name}); err != nil || f.node.noted.Load() != 1 {
		t.Errorf("%v, noted %d times", err, f.node.noted.Load())
	}
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
