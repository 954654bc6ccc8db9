package grpc

import (
	"fmt"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/seriatimq/seriatim/cluster/clustertest"
	"github.com/seriatimq/seriatim/transport/grpc/seriatimpb"
)

// Encoded parts of AMQP messages.
const (
	dataHello  = "\x00Su\xa0\x05hello"
	colorRed   = "\x00St\xc1\x0d\x02\xa1\x05color\xa1\x03red"
	valueFive  = "\x00Sw\x54\x05"
	properties = "\x00Ss\xc0\x04\x01\xa1\x01m"
)

// A message of each format is received as it was sent.
func TestFormats(t *testing.T) {
	f := newFixture(t, nil)
	name := f.create(nil)
	group := "g"
	text := map[string]*seriatimpb.Attribute{"color": {DataType: "String", Value: &seriatimpb.Attribute_Text{Text: "red"}}}
	for i, c := range []struct {
		sent, want *seriatimpb.OutgoingMessage
	}{
		{sent: &seriatimpb.OutgoingMessage{Body: "text"}},
		{sent: &seriatimpb.OutgoingMessage{BodyBytes: []byte("\x00\xff")}},
		{sent: &seriatimpb.OutgoingMessage{BodyBytes: []byte{}}},
		{
			sent: &seriatimpb.OutgoingMessage{
				Amqp: &seriatimpb.AMQPContent{Sections: []byte(properties + colorRed), Body: []byte(dataHello)},
			},
			want: &seriatimpb.OutgoingMessage{
				Amqp: &seriatimpb.AMQPContent{Sections: []byte(properties + colorRed)}, BodyBytes: []byte("hello"), Attributes: text,
			},
		},
		{sent: &seriatimpb.OutgoingMessage{Amqp: &seriatimpb.AMQPContent{Sections: []byte(properties)}, BodyBytes: []byte("hello")}},
		{sent: &seriatimpb.OutgoingMessage{Amqp: &seriatimpb.AMQPContent{Body: []byte(valueFive)}}},
	} {
		c.sent.GroupId, c.sent.DeduplicationId = &group, new(string(rune('a'+i)))
		out, err := f.client.Send(t.Context(), &seriatimpb.SendRequest{Queue: name, Messages: []*seriatimpb.OutgoingMessage{c.sent}})
		clustertest.Must(t, err)
		if failure := out.GetResults()[0].GetFailure(); failure != nil {
			t.Fatalf("message %d: %v", i, failure)
		}
		m := f.receive(name).GetMessages()[0]
		got, want := &seriatimpb.OutgoingMessage{
			Body: m.GetBody(), BodyBytes: m.GetBodyBytes(), Amqp: m.GetAmqp(), Attributes: m.GetAttributes(),
		}, c.want
		if want == nil {
			want = c.sent
		}
		want.GroupId, want.DeduplicationId = nil, nil
		if len(want.BodyBytes) == 0 {
			want.BodyBytes = nil
		}
		if len(got.BodyBytes) == 0 {
			got.BodyBytes = nil
		}
		if !proto.Equal(got, want) {
			t.Errorf("message %d: %v, want %v", i, got, want)
		}
		_, err = f.client.Delete(t.Context(), &seriatimpb.DeleteRequest{Queue: name, ReceiptHandles: []string{m.GetReceiptHandle()}})
		clustertest.Must(t, err)
	}
}

// Messages with several bodies, and malformed ones, are refused one by one.
func TestMalformedContents(t *testing.T) {
	f := newFixture(t, nil)
	name := f.create(map[string]string{"MessageGroupIdMode": "Optional", "DeduplicationEnabled": "false"})
	for _, c := range []struct {
		m    *seriatimpb.OutgoingMessage
		says string
	}{
		{&seriatimpb.OutgoingMessage{}, "MessageBody"},
		{&seriatimpb.OutgoingMessage{Body: "x", BodyBytes: []byte("x")}, "more than one body"},
		{&seriatimpb.OutgoingMessage{Body: "x", Amqp: &seriatimpb.AMQPContent{}}, "more than one body"},
		{&seriatimpb.OutgoingMessage{BodyBytes: []byte("x"), Amqp: &seriatimpb.AMQPContent{Body: []byte(dataHello)}}, "more than one body"},
		{&seriatimpb.OutgoingMessage{Amqp: &seriatimpb.AMQPContent{}}, "no sections"},
		{&seriatimpb.OutgoingMessage{Amqp: &seriatimpb.AMQPContent{Body: []byte("hello")}}, "not a sequence"},
		{&seriatimpb.OutgoingMessage{Amqp: &seriatimpb.AMQPContent{Body: []byte(colorRed)}}, "out of order"},
		{&seriatimpb.OutgoingMessage{Amqp: &seriatimpb.AMQPContent{Sections: []byte("\x00St\xc1\x04\x02\x54\x01\x40")}},
			"a name is not a string"},
		{&seriatimpb.OutgoingMessage{Body: "x", Changes: []*seriatimpb.PropertyChange{{Value: []byte("\x40")}}}, "changed property"},
		{&seriatimpb.OutgoingMessage{Body: "x", Attributes: map[string]*seriatimpb.Attribute{
			"n": {DataType: "String", Value: &seriatimpb.Attribute_Binary{Binary: []byte{1}}},
		}}, "type of message"},
		{&seriatimpb.OutgoingMessage{Body: "x", DeduplicationId: new(strings.Repeat("ü", 129))}, "1 to 128 characters"},
	} {
		out, err := f.client.Send(t.Context(), &seriatimpb.SendRequest{Queue: name, Messages: []*seriatimpb.OutgoingMessage{c.m}})
		if text := fmt.Sprint(err, out.GetResults()); !strings.Contains(text, c.says) {
			t.Errorf("%v: %s, want %q", c.m, text, c.says)
		}
	}
}

// Ids have any characters. A given, but empty group is one of its own.
func TestNativeIDs(t *testing.T) {
	f := newFixture(t, nil)
	name := f.create(nil)
	out, err := f.client.Send(t.Context(), &seriatimpb.SendRequest{Queue: name, Messages: []*seriatimpb.OutgoingMessage{
		{Body: "1", GroupId: new(""), DeduplicationId: new("a b\t\u00fc")}, {Body: "2", GroupId: new("a b"), DeduplicationId: new("2")},
		{Body: "3", GroupId: new(""), DeduplicationId: new("a b\t\u00fc")},
	}})
	clustertest.Must(t, err)
	if !out.GetResults()[2].GetDuplicate() {
		t.Errorf("%v", out)
	}
	locked, err := f.sessions().AcceptSession(t.Context(), &seriatimpb.AcceptSessionRequest{Queue: name, SessionId: new("")})
	clustertest.Must(t, err)
	ref := &seriatimpb.SessionRef{Token: locked.GetSession().GetToken()}
	got := f.receiveIn(name, ref, 0)
	if len(got) != 1 || got[0].GetGroupId() != "\x00" || got[0].GetDeduplicationId() != "a b\t\u00fc" ||
		locked.GetSession().GetSessionId() != "\x00" {
		t.Errorf("%v in %v", got, locked)
	}
	if rest := f.receive(name).GetMessages(); len(rest) != 1 || rest[0].GetGroupId() != "a b" {
		t.Errorf("%v", rest)
	}
}

// Properties that a settlement changes are those of the next receive.
func TestChangedProperties(t *testing.T) {
	f := newFixture(t, nil)
	ctx, name := t.Context(), f.create(map[string]string{"ImplicitDeadLetterQueue": "true"})
	_, err := f.client.Send(ctx, &seriatimpb.SendRequest{Queue: name, Messages: []*seriatimpb.OutgoingMessage{{
		GroupId: new("g"), DeduplicationId: new("1"), Amqp: &seriatimpb.AMQPContent{Sections: []byte(colorRed)}, BodyBytes: []byte("x"),
	}}})
	clustertest.Must(t, err)
	change := func(name, value string) []*seriatimpb.PropertyChange {
		return []*seriatimpb.PropertyChange{{Name: name, Value: []byte(value)}}
	}
	settled := func(r *seriatimpb.SettleResponse, err error) {
		t.Helper()
		if err != nil || r.GetOutcomes()[0].GetFailure() != nil {
			t.Fatalf("%v %v", r, err)
		}
	}
	m := f.receive(name).GetMessages()[0]
	settled(f.messages().Abandon(ctx, &seriatimpb.AbandonRequest{Queue: name, ReceiptHandles: []string{m.GetReceiptHandle()},
		Changes: change("color", "\xa1\x04blue")}))
	m = f.receive(name).GetMessages()[0]
	if got := m.GetAttributes()["color"].GetText(); got != "blue" || len(m.GetChanges()) != 1 ||
		string(m.GetAmqp().GetSections()) != colorRed {
		t.Errorf("%v", m)
	}
	settled(f.messages().Defer(ctx, &seriatimpb.DeferRequest{Queue: name, ReceiptHandles: []string{m.GetReceiptHandle()},
		Changes: change("size", "\x54\x05")}))
	deferred, err := f.messages().ReceiveDeferred(ctx, &seriatimpb.ReceiveDeferredRequest{Queue: name,
		SequenceNumbers: []uint64{m.GetSequenceNumber()}})
	clustertest.Must(t, err)
	m = deferred.GetMessages()[0]
	if a := m.GetAttributes()["size"]; a.GetDataType() != "Number.int" || a.GetText() != "5" {
		t.Errorf("%v", m)
	}
	settled(f.messages().DeadLetter(ctx, &seriatimpb.DeadLetterRequest{Queue: name, Changes: change("color", ""),
		Entries: []*seriatimpb.DeadLetterEntry{{ReceiptHandle: m.GetReceiptHandle(), Reason: "poison"}}}))
	m = f.receive(strings.TrimSuffix(name, ".fifo") + "-dlq.fifo").GetMessages()[0]
	if m.GetAttributes()["color"] != nil || m.GetAttributes()["DeadLetterReason"].GetText() != "poison" ||
		len(m.GetAmqp().GetAttributesBeside()) != 1 || len(m.GetChanges()) != 2 {
		t.Errorf("%v", m)
	}
	found, err := f.messages().Peek(ctx, &seriatimpb.PeekRequest{Queue: strings.TrimSuffix(name, ".fifo") + "-dlq.fifo"})
	if err != nil || string(found.GetMessages()[0].GetMessage().GetBodyBytes()) != "x" {
		t.Errorf("%v %v", found, err)
	}
}
