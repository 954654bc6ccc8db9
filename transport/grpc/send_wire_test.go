package grpc

import (
	"strings"
	"testing"
	"unsafe"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/seriatimq/seriatim/cluster"
	"github.com/seriatimq/seriatim/cluster/clustertest"
	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/refusal"
	"github.com/seriatimq/seriatim/transport/grpc/seriatimpb"
)

// sendRequests returns requests in all forms that ReadFast distinguishes, and whether it reads
// them.
func sendRequests(tb testing.TB) map[string]bool {
	tb.Helper()
	group, id, delay := "group", strings.Repeat("i", 128), int32(5)
	bytes := func(messages ...*seriatimpb.OutgoingMessage) string {
		b, err := proto.Marshal(&seriatimpb.SendRequest{Queue: "orders.fifo", Messages: messages})
		clustertest.Must(tb, err)
		return string(b)
	}
	usual := &seriatimpb.OutgoingMessage{Body: strings.Repeat("äx", 9000), GroupId: &group, DeduplicationId: &id}
	text := func(field protowire.Number, value string) string {
		return string(protowire.AppendString(protowire.AppendTag(nil, field, protowire.BytesType), value))
	}
	return map[string]bool{
		"":           true,
		bytes():      true,
		bytes(usual): true,
		bytes(usual, usual, &seriatimpb.OutgoingMessage{Body: "b", GroupId: new(string)}, &seriatimpb.OutgoingMessage{}): true,
		bytes(&seriatimpb.OutgoingMessage{Body: "b", DelaySeconds: &delay}):                                              true,
		bytes(&seriatimpb.OutgoingMessage{Body: "b", Attributes: map[string]*seriatimpb.Attribute{"a": {}}}):             false,
		bytes(&seriatimpb.OutgoingMessage{Body: "b", EnqueueAtMs: 7, PartitionKey: "p", TraceHeader: "t"}):               true,
		text(1, "first") + text(1, "second"):                     true,
		text(2, text(1, "first")+text(1, "second")+text(3, "g")): true,
		text(1, "\xff"):              false,
		text(2, text(1, "\xff")):     false,
		text(2, text(4, "\xc0\x80")): false,
		text(17, "unknown"):          false,
		"\x0a":                       false,
		"\x0a\x05abc":                false,
		"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01": false,
		"\x0a\x83\x80\x80\x00abc":                      true,
		"\x02\x00":                                     false,
		"\x12\x02\x0a\x05":                             false,
		"\x08\x01":                                     false,
	}
}

// same checks that b is read as the library reads it.
func same(t *testing.T, b []byte) (ours bool) {
	t.Helper()
	got, want := new(seriatimpb.SendRequest), new(seriatimpb.SendRequest)
	ours = got.ReadFast(b, string(b))
	failed, err := unmarshal(b, got), proto.Unmarshal(b, want)
	switch {
	case ours && err != nil, (failed == nil) != (err == nil):
		t.Errorf("%q was read as %v, %v, the library says %v", b, got, failed, err)
	case err == nil && !proto.Equal(got, want):
		t.Errorf("%q was read as %v, want %v", b, got, want)
	}
	return ours
}

func TestUnmarshalSend(t *testing.T) {
	for b, want := range sendRequests(t) {
		if ours := same(t, []byte(b)); ours != want {
			t.Errorf("%q: read %t, want %t", b, ours, want)
		}
	}
}

func FuzzUnmarshalSend(f *testing.F) {
	for b := range sendRequests(f) {
		f.Add([]byte(b))
	}
	f.Fuzz(func(t *testing.T, b []byte) { same(t, b) })
}

// Answers to sends are encoded as by the library.
func TestAppendSendResponse(t *testing.T) {
	yes, no, id := true, false, strings.Repeat("i", 36)
	for _, c := range []struct {
		results []*seriatimpb.SendResult
		ours    bool
	}{
		{nil, true},
		{[]*seriatimpb.SendResult{{}}, true},
		{[]*seriatimpb.SendResult{{MessageId: id, SequenceNumber: 1 << 63, Duplicate: &no},
			{MessageId: id, Duplicate: &yes, FirstAcceptedAtMs: 1 << 41, FirstIsScheduled: true}}, true},
		{[]*seriatimpb.SendResult{{FirstAcceptedAtMs: -1}}, true},
		{[]*seriatimpb.SendResult{{MessageId: id}, {Failure: &seriatimpb.Failure{Reason: "r"}}}, false},
		{[]*seriatimpb.SendResult{{MessageId: strings.Repeat("i", 127)}}, true},
	} {
		m := &seriatimpb.SendResponse{Results: c.results}
		if _, ours := m.AppendFast(nil); ours != c.ours {
			t.Errorf("%v: written %t, want %t", m, ours, c.ours)
		}
		want, err := proto.Marshal(m)
		clustertest.Must(t, err)
		if got, err := marshalAppend([]byte("before"), m); err != nil || string(got) != "before"+string(want) {
			t.Errorf("%v: got %q, %v, want %q", m, got, err, want)
		}
	}
}

// Metrics and spans keep the name of a queue after its request, but not the memory of the request.
func TestNamesAreNotPartsOfRequests(t *testing.T) {
	f := newFixture(t, nil)
	var text string // the received body, which shares the request's memory
	submit := func(_ func() (cluster.Reply, error), cmd queue.Command) (cluster.Reply, error) {
		text = cmd.(*queue.SendMessages).Entries[0].Body
		return cluster.Reply{}, refusal.NoSuchQueue()
	}
	f.node.submit.Store(&submit)
	in := &seriatimpb.SendRequest{Queue: "none", Messages: []*seriatimpb.OutgoingMessage{{Body: strings.Repeat("x", 1<<16)}}}
	_, err := f.client.Send(t.Context(), in)
	wantStatus(t, err, codes.NotFound, "QueueDoesNotExist")
	name := f.observed.last(t, "Send").Queue
	body, at := uintptr(unsafe.Pointer(unsafe.StringData(text))), uintptr(unsafe.Pointer(unsafe.StringData(name)))
	if name != in.GetQueue() || len(text) != 1<<16 || body > at && body-at < 100 {
		t.Errorf("the name %q is kept %d bytes before a body of %d", name, body-at, len(text))
	}
}
