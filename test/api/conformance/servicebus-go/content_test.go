package servicebus

import (
	"fmt"
	"strings"
	"testing"
	"time"

	bus "github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"
	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus/admin"
	"github.com/Azure/go-amqp"
)

// returned sends a message, and returns it as it is received.
func (f *fixture) returned(m *bus.AMQPAnnotatedMessage) *bus.ReceivedMessage {
	f.Helper()
	path := f.queue(admin.QueueProperties{})
	f.must(f.sender(path).SendAMQPAnnotatedMessage(f.ctx, m, nil))
	return f.one(f.receiver(path))
}

func TestBodies(t *testing.T) {
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	for name, body := range map[string][]byte{"text": []byte("Grüße, 世界 🎉\x00\x1f"), "every byte": all, "one byte": {0}} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			path := f.queue(admin.QueueProperties{})
			f.send(path, &bus.Message{Body: body})
			f.same(f.one(f.receiver(path)).Body, body, "body")
		})
	}
}

func TestEmptyBody(t *testing.T) {
	f := newFixture(t)
	path := f.queue(admin.QueueProperties{})
	f.send(path, &bus.Message{MessageID: new("m")}, &bus.Message{Body: []byte{}, MessageID: new("n")})
	for _, m := range f.drain(path, 2) {
		f.same(len(m.Body), 0, "length of "+m.MessageID)
	}
}

func TestBodySections(t *testing.T) {
	for name, body := range map[string]bus.AMQPAnnotatedMessageBody{
		"data":     {Data: [][]byte{[]byte("one"), {}, []byte("two")}},
		"sequence": {Sequence: [][]any{{int64(1), "a", nil}, {[]byte("b"), true}}},
		"text":     {Value: "a"}, "bytes": {Value: []byte{255, 0}}, "long": {Value: int64(-7)}, "true": {Value: true},
		"double": {Value: 1.5}, "list": {Value: []any{int64(1), []any{"a"}}},
		"map":  {Value: map[string]any{"k": map[string]any{"x": int64(1)}}},
		"uuid": {Value: amqp.UUID{1, 2, 3}}, "time": {Value: time.UnixMilli(1767312000123)},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			got := f.returned(&bus.AMQPAnnotatedMessage{Body: body})
			f.same(got.RawAMQPMessage.Body, body, "body")
		})
	}
}

func TestApplicationProperties(t *testing.T) {
	f := newFixture(t)
	sent := map[string]any{
		"text": "é", "empty": "", "true": true, "false": false, "null": nil, "ubyte": uint8(255), "byte": int8(-128),
		"ushort": uint16(65535), "short": int16(-32768), "uint": uint32(1<<32 - 1), "int": int32(-1 << 31), "ulong": uint64(1<<64 - 1),
		"long": int64(-1 << 63), "float": float32(0.5), "double": 0.1, "uuid": amqp.UUID{1, 15: 2}, "binary": []byte{0, 255},
		"time": time.UnixMilli(1767312000123), "symbol": amqp.Symbol("s"), "name with blanks.é": int64(1),
	}
	path := f.queue(admin.QueueProperties{})
	f.send(path, &bus.Message{ApplicationProperties: sent})
	got := f.one(f.receiver(path)).ApplicationProperties
	f.same(len(got), len(sent), "properties")
	for name, value := range sent {
		if symbol, ok := value.(amqp.Symbol); ok {
			value = string(symbol) // as the SDK returns it
		}
		f.same(got[name], value, name)
	}
}

func TestManyApplicationProperties(t *testing.T) {
	f := newFixture(t)
	sent := make(map[string]any)
	for i := range 300 {
		sent[fmt.Sprintf("name.%d é", i)] = strings.Repeat("x", 50)
	}
	f.same(f.returned(&bus.AMQPAnnotatedMessage{ApplicationProperties: sent}).ApplicationProperties, sent, "properties")
}

func TestAnnotationsHeaderAndFooter(t *testing.T) {
	f := newFixture(t)
	sent := &bus.AMQPAnnotatedMessage{
		Body:                bus.AMQPAnnotatedMessageBody{Data: [][]byte{[]byte("x")}},
		MessageAnnotations:  map[any]any{"x-mine": int64(1), "x-opt-partition-key": "g"},
		DeliveryAnnotations: map[any]any{"x-way": "w"}, Footer: map[any]any{"x-end": "f"},
		Header: &bus.AMQPAnnotatedMessageHeader{Durable: true, Priority: 7, TTL: 10 * time.Minute},
		Properties: &bus.AMQPAnnotatedMessageProperties{
			MessageID: "m", UserID: []byte("user"), To: new("to"), Subject: new("s"), ReplyTo: new("r"), CorrelationID: uint64(7),
			ContentType: new("ct"), ContentEncoding: new("ce"), GroupID: new("g"), GroupSequence: new(uint32(3)), ReplyToGroupID: new("rg"),
		},
	}
	got := f.returned(sent).RawAMQPMessage
	for name, value := range sent.MessageAnnotations {
		f.same(got.MessageAnnotations[name], value, fmt.Sprint(name))
	}
	f.same(got.Footer, sent.Footer, "footer")
	f.same(got.Header, sent.Header, "header")
	f.same(got.Properties, sent.Properties, "properties")
}

func TestIDsOfEveryType(t *testing.T) {
	f := newFixture(t)
	path := f.queue(admin.QueueProperties{RequiresDuplicateDetection: new(true)})
	ids := []any{uint64(7), amqp.UUID{15: 7}, []byte{0, 7}, "seven"}
	s := f.sender(path)
	for _, id := range ids {
		for range 2 {
			f.must(s.SendAMQPAnnotatedMessage(f.ctx, &bus.AMQPAnnotatedMessage{
				Properties: &bus.AMQPAnnotatedMessageProperties{MessageID: id, CorrelationID: id},
			}, nil))
		}
	}
	for i, m := range f.drain(path, len(ids)) {
		p := m.RawAMQPMessage.Properties
		f.same([]any{p.MessageID, p.CorrelationID}, []any{ids[i], ids[i]}, "ids")
	}
}

func TestPartitionKey(t *testing.T) {
	f := newFixture(t)
	path := f.queue(admin.QueueProperties{})
	f.send(path, &bus.Message{PartitionKey: new("é/1")})
	got := f.one(f.receiver(path))
	f.same([]string{text(got.PartitionKey), text(got.SessionID)}, []string{"é/1", ""}, "partition key and session")
	err := f.sender(path).SendMessage(f.ctx, &bus.Message{PartitionKey: new("a"), SessionID: new("b")}, nil)
	f.failed(err, "amqp:not-allowed", "PartitionKey")
}
