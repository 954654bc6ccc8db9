package wire

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"pgregory.net/rapid"

	"github.com/seriatimq/seriatim/fsm/format"
	_ "github.com/seriatimq/seriatim/fsm/fsmpb" // registers the messages of the protobuf library
	"github.com/seriatimq/seriatim/fsm/fsmtest"
	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/message"
	"github.com/seriatimq/seriatim/queue/notification"
)

// message describes one message of the generated code. The values are pointers.
type messageCode struct {
	name   protoreflect.FullName
	value  func() any // zero
	size   func(any) int
	append func(any) []byte
	read   func(Reader) (any, error)
}

func messageOf[T any](name protoreflect.FullName, of Codec[T]) messageCode {
	return messageCode{
		name:   name,
		value:  func() any { return new(T) },
		size:   func(v any) int { return of.Size(v.(*T)) },
		append: func(v any) []byte { return of.Append([]byte("before"), v.(*T))[len("before"):] },
		read: func(r Reader) (any, error) {
			v := new(T)
			return v, of.Read(r, v)
		},
	}
}

// same compares values. The id of a publication is in the message around it.
func same(a, b any) string {
	return cmp.Diff(a, b, fsmtest.SameBody, cmpopts.EquateEmpty(), cmpopts.IgnoreFields(notification.Notification{}, "MessageID"))
}

// library decodes data with the protobuf library and encodes it again without unknown fields.
func (m messageCode) library(data []byte) ([]byte, error) {
	kind, err := protoregistry.GlobalTypes.FindMessageByName(m.name)
	if err != nil {
		return nil, err
	}
	decoded := kind.New().Interface()
	if err := (proto.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(data, decoded); err != nil {
		return nil, err
	}
	return proto.MarshalOptions{Deterministic: true}.Marshal(decoded)
}

// accepted checks that data that is read gives the value that the library reads.
func (m messageCode) accepted(t testing.TB, data []byte) {
	t.Helper()
	got, err := m.read(NewReader(data))
	if err != nil {
		if !errors.Is(err, format.ErrMalformed) {
			t.Fatalf("%s: %v", m.name, err)
		}
		return
	}
	again, err := m.library(data)
	if err != nil {
		t.Fatalf("%s: %x is read, the library says %v", m.name, data, err)
	}
	want, err := m.read(NewReader(again))
	if err != nil && strings.Contains(err.Error(), "more than") {
		return // the library merges two messages into an array that is too long
	}
	if err != nil {
		t.Fatalf("%s: %x is read, %x is not: %v", m.name, data, again, err)
	}
	if diff := same(want, got); diff != "" {
		t.Fatalf("%s: %x (-library +ours):\n%s", m.name, data, diff)
	}
	shared, err := m.read((&Memory{}).SharedReader(string(data)))
	if diff := same(got, shared); err != nil || diff != "" {
		t.Fatalf("%s: %x with a memory: %v (-without +with):\n%s", m.name, data, err, diff)
	}
}

// kept checks that a filled value is encoded as by the library and read back.
func (m messageCode) kept(t testing.TB, filler *fsmtest.Filler) []byte {
	t.Helper()
	want := m.value()
	filler.Fill(t, reflect.ValueOf(want).Elem())
	data := m.append(want)
	if size := m.size(want); size != len(data) {
		t.Fatalf("%s: %d bytes, the size is %d", m.name, len(data), size)
	}
	if again, err := m.library(data); err != nil || !bytes.Equal(again, data) {
		t.Fatalf("%s: %v\nours    %x\nlibrary %x", m.name, err, data, again)
	}
	got, err := m.read(NewReader(data))
	if diff := same(want, got); err != nil || diff != "" {
		t.Fatalf("%s changed on the way: %v (-want +got):\n%s", m.name, err, diff)
	}
	return data
}

// TestMessagesAreThoseOfTheLibrary compares every message with the library: full, random, damaged,
// truncated, repeated, and with unknown fields.
func TestMessagesAreThoseOfTheLibrary(t *testing.T) {
	unknown := protowire.AppendVarint(protowire.AppendTag(nil, 1023, protowire.VarintType), 300)
	for _, m := range messages {
		t.Run(string(m.name.Name()), func(t *testing.T) {
			random := rand.New(rand.NewPCG(1, 2))
			data := m.kept(t, fsmtest.Distinct())
			m.accepted(t, nil)
			m.accepted(t, append(bytes.Clone(data), data...))
			for i := range data {
				m.accepted(t, data[:i])
				m.accepted(t, append(append(bytes.Clone(data[:i]), unknown...), data[i:]...))
				damaged := bytes.Clone(data)
				damaged[i] = byte(random.Uint32())
				m.accepted(t, damaged)
				damaged[random.IntN(len(damaged))]++
				m.accepted(t, damaged)
			}
			rapid.Check(t, func(r *rapid.T) { m.kept(t, fsmtest.Drawn(r)) })
		})
	}
}

// FuzzRead compares how we and the library read arbitrary bytes.
func FuzzRead(f *testing.F) {
	for i, m := range messages {
		v := m.value()
		fsmtest.Distinct().Fill(f, reflect.ValueOf(v).Elem())
		f.Add(byte(i), m.append(v))
	}
	f.Fuzz(func(t *testing.T, i byte, data []byte) { messages[int(i)%len(messages)].accepted(t, data) })
}

// awkward contains messages that are valid but never written by an encoder.
func TestAwkwardMessages(t *testing.T) {
	text := func(dst []byte, number protowire.Number, text string) []byte {
		return protowire.AppendString(protowire.AppendTag(dst, number, protowire.BytesType), text)
	}
	number := func(number protowire.Number, v uint64) []byte {
		return protowire.AppendVarint(protowire.AppendTag(nil, number, protowire.VarintType), v)
	}
	for name, body := range map[string][]byte{
		"order":        text(text(nil, 2, "sender"), 1, "queue"),
		"twice":        text(text(nil, 1, "first"), 1, "second"),
		"another form": number(1, 5),
		"unknown group": append(protowire.AppendGroup(protowire.AppendTag(nil, 9, protowire.StartGroupType), 9, text(nil, 1, "x")),
			text(nil, 1, "q")...),
		"end of no group":    protowire.AppendTag(nil, 9, protowire.EndGroupType),
		"flag above one":     number(3, 1<<40),
		"flag of zero":       number(5, 0),
		"negative":           number(6, 1<<64-1),
		"long number":        append(protowire.AppendTag(nil, 3, protowire.VarintType), bytes.Repeat([]byte{0xff}, 10)...),
		"field zero":         {0x00, 0x00},
		"largest number":     number(protowire.MaxValidNumber, 1),
		"number too large":   append(protowire.AppendVarint(nil, uint64(protowire.MaxValidNumber+1)<<3), 0),
		"cut text":           {0x0a, 0x05, 'a'},
		"cut tag":            {0x80},
		"long tag":           append([]byte{0x8a, 0x80, 0x00, 1}, 'q'),
		"no text":            text(nil, 4, ""),
		"item without end":   {0x22, 0x02, 0x0a, 0x05},
		"text that is bytes": text(nil, 1, "\xff\x00\xfe"),
		"items among text":   text(text(text(nil, 4, "\x0a\x01a"), 1, "q"), 4, "\x0a\x01b"),
		"unpacked numbers":   append(number(2, 7), number(2, 300)...),
	} {
		t.Run(name, func(t *testing.T) {
			for _, m := range messages {
				m.accepted(t, body)
			}
		})
	}
}

// TestReadRefuses checks values that the Go types cannot hold.
func TestReadRefuses(t *testing.T) {
	number := func(number protowire.Number, v uint64) []byte {
		return protowire.AppendVarint(protowire.AppendTag(nil, number, protowire.VarintType), v)
	}
	field := func(number protowire.Number, v []byte) []byte {
		return protowire.AppendBytes(protowire.AppendTag(nil, number, protowire.BytesType), v)
	}
	read := func(m messageCode, data []byte) error {
		_, err := m.read(NewReader(data))
		return err
	}
	place := append(append(number(1, 1), number(2, 1)...), number(3, 1)...)
	for name, err := range map[string]error{
		"move task status":    read(messageOf("", MoveTaskRecordCodec), number(6, 257)),
		"deduplication scope": read(messageOf("", DeduplicationRecordCodec), number(3, 256)),
		"profile":             read(messageOf("", QueueAttributesCodec), number(19, 256)),
		"signature version":   read(messageOf("", TopicAttributesCodec), number(6, 256)),
		"tracing":             read(messageOf("", TopicAttributesCodec), number(7, 256)),
		"filter scope":        read(messageOf("", SubscriptionRecordCodec), number(8, 256)),
		"replay status":       read(messageOf("", SubscriptionRecordCodec), number(11, 256)),
		"protocol":            read(messageOf("", SubscriptionRecordCodec), number(13, 256)),
		"protocol of command": read(messageOf("", SubscribeCodec), number(6, 256)),
		"outcome":             read(messageOf("", DeliveryReportCodec), number(4, 256)),
		"key":                 read(messageOf("", DeduplicationRecordCodec), field(2, []byte{1})),
		"publication id":      read(messageOf("", PublishedMessageCodec), field(1, []byte{1})),
		"message id":          read(messageOf("", MessageRecordCodec), field(3, make([]byte, 17))),
		"hash of an audit":    read(messageOf("", AuditReportCodec), field(2, make([]byte, 15))),
		"two bodies":          read(messageOf("", MessageRecordCodec), append(field(2, []byte("text")), field(33, place)...)),
		"bodies, other order": read(messageOf("", MessageRecordCodec), append(field(33, place), field(2, []byte("text"))...)),
		"no place":            read(messageOf("", MessageRecordCodec), field(33, nil)),
		"six feedbacks":       read(messageOf("", TopicAttributesCodec), bytes.Repeat(field(12, nil), 6)),
	} {
		if !errors.Is(err, format.ErrMalformed) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestStoredBodies checks that the place of a body is encoded.
func TestStoredBodies(t *testing.T) {
	for _, digest := range []uint64{0, 1 << 63} {
		want := queue.MessageRecord{Sequence: 1, Body: message.StoredBody(message.Place{Segment: 3, Offset: 1 << 20}, 300, digest)}
		data := AppendMessageRecord(nil, &want)
		if again, err := messageOf("seriatim.fsm.MessageRecord", MessageRecordCodec).library(data); err != nil ||
			!bytes.Equal(again, data) {
			t.Errorf("%v\nours    %x\nlibrary %x", err, data, again)
		}
		var got queue.MessageRecord
		if err := ReadMessageRecord(NewReader(data), &got); err != nil || !reflect.DeepEqual(want, got) {
			t.Errorf("got %+v, %v", got, err)
		}
	}
}

// TestEmptyListOfQueuesIsNotNone checks that an empty list of queues in a policy differs from no
// list.
func TestEmptyListOfQueuesIsNotNone(t *testing.T) {
	for _, want := range [][]string{nil, {}, {"a"}} {
		a := queue.QueueAttributes{}
		a.RedriveAllow.ByQueue = want
		var got queue.QueueAttributes
		err := ReadQueueAttributes(NewReader(AppendQueueAttributes(nil, &a)), &got)
		if err != nil || !cmp.Equal(want, got.RedriveAllow.ByQueue) {
			t.Errorf("want %#v, got %#v, %v", want, got.RedriveAllow.ByQueue, err)
		}
	}
}
