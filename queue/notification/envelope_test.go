package notification

import (
	"encoding/base64"
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seriatimq/seriatim/queue/identifier"
	"github.com/seriatimq/seriatim/queue/limits"
	"github.com/seriatimq/seriatim/queue/logtime"
	"github.com/seriatimq/seriatim/queue/message"
)

const (
	topic        = "arn:aws:sns:us-east-1:000000000000:orders.fifo"
	subscription = topic + ":6b0e71bd-7e97-4d97-80ce-4a0994e55286"
	endpoint     = "http://localhost:9324"
	unsubscribe  = `"UnsubscribeURL":"` + endpoint + `/?Action=Unsubscribe&SubscriptionArn=` + subscription + `"`
)

var messageID = identifier.MessageID{0: 0xab, 6: 0x4c, 8: 0x8d, 15: 0x01}

func TestEnvelope(t *testing.T) {
	t.Parallel()
	const begin = `{"Type":"Notification","MessageId":"ab000000-0000-4c00-8d00-000000000001",`
	const numbered = begin + `"SequenceNumber":"10000000000000000007","TopicArn":"` + topic + `",`
	const at = `"Timestamp":"2026-01-02T03:04:05.006Z",`
	plain := func() Notification {
		return Notification{
			TopicARN: topic, MessageID: messageID, SequenceNumber: 7, Message: message.NewBody("Hello"), Timestamp: 1_767_323_045_006,
			Endpoint: endpoint, GroupID: "group", DeduplicationID: "id",
		}
	}
	for _, tc := range []struct {
		name     string
		change   func(*Notification)
		replayed bool
		want     string
	}{
		{"plain", func(*Notification) {}, false, numbered + `"Message":"Hello",` + at + unsubscribe + `}`},
		{"subject", func(n *Notification) { n.Subject = `a "b"` }, false,
			numbered + `"Subject":"a \"b\"","Message":"Hello",` + at + unsubscribe + `}`},
		{"empty message", func(n *Notification) { n.Message = message.Body{} }, false, numbered + `"Message":"",` + at + unsubscribe + `}`},
		{
			"escapes", func(n *Notification) { n.Message = message.NewBody("\x00\x0b\b\f\n\r\t\x7f\"\\/<&>é\u2028🙂") }, false,
			numbered + `"Message":"\u0000\u000B\b\f\n\r\t` + "\x7f" + `\"\\/<&>é` + "\u2028" + `🙂",` + at + unsubscribe + `}`,
		},
		{
			"no milliseconds", func(n *Notification) { n.Timestamp = 1_767_323_045_000 }, false,
			numbered + `"Message":"Hello","Timestamp":"2026-01-02T03:04:05.000Z",` + unsubscribe + `}`,
		},
		{
			"standard topic", func(n *Notification) { n.SequenceNumber = 0 }, false,
			begin + `"TopicArn":"` + topic + `","Message":"Hello",` + at + unsubscribe + `}`,
		},
		{
			"bytes", func(n *Notification) {
				n.Message, n.Encoded = message.NewBody("\x00\xff"), &message.Encoded{Format: message.FormatBytes}
			}, false, numbered + `"Message":"AP8=",` + at + unsubscribe +
				`,"MessageAttributes":{"seriatim.BodyEncoding":{"Type":"String","Value":"base64"}}}`,
		},
		{"replayed", func(*Notification) {}, true, numbered + `"Message":"Hello",` + at + unsubscribe + `,"Replayed":true}`},
		{
			"attributes", func(n *Notification) {
				n.Attributes = []message.MessageAttribute{
					{Name: "n", DataType: "Number", Value: "99.12"},
					{Name: "a", DataType: "String.Array", Value: `["x",1]`},
					{Name: "b", DataType: "Binary", Value: "\x00\xff"},
					{Name: "p", DataType: "Binary.png", Value: "png"},
					{Name: "s", DataType: "String", Value: "Binary"},
				}
			}, true,
			numbered + `"Message":"Hello",` + at + unsubscribe + `,"MessageAttributes":{"n":{"Type":"Number","Value":"99.12"},` +
				`"a":{"Type":"String.Array","Value":"[\"x\",1]"},"b":{"Type":"Binary","Value":"AP8="},"p":{"Type":"Binary.png","Value":"cG5n"},` +
				`"s":{"Type":"String","Value":"Binary"}},"Replayed":true}`,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			n := plain()
			tc.change(&n)
			d := Delivery{SubscriptionARN: subscription, Replayed: tc.replayed}
			if diff := cmp.Diff(tc.want, n.Envelope(d)); diff != "" {
				t.Error(diff)
			}
			if n.Encoded == nil {
				checkReadAgain(t, &n, d)
			}
		})
	}
}

// envelope is an envelope as parsed by the standard library.
type envelope struct {
	Type              string
	MessageID         string `json:"MessageId"`
	SequenceNumber    *string
	TopicArn          string
	Subject           *string
	Message           string
	Timestamp         time.Time
	UnsubscribeURL    string
	MessageAttributes map[string]struct{ Type, Value string }
	Replayed          bool
	Signature         *string
}

// checkReadAgain compares the parsed envelope with the notification, and its length with
// EnvelopeLength.
func checkReadAgain(t *testing.T, n *Notification, d Delivery) {
	t.Helper()
	text := n.Envelope(d)
	if got := n.EnvelopeLength(d); got != len(text) {
		t.Fatalf("%d bytes were said, %d are in %q", got, len(text), text)
	}
	var got envelope
	if err := json.Unmarshal([]byte(text), &got); err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	want := envelope{
		Type: "Notification", MessageID: n.MessageID.String(), TopicArn: n.TopicARN, Message: n.Message.String(),
		Timestamp:      time.UnixMilli(int64(n.Timestamp)).UTC(),
		UnsubscribeURL: n.Endpoint + "/?Action=Unsubscribe&SubscriptionArn=" + d.SubscriptionARN, Replayed: d.Replayed,
	}
	if n.SequenceNumber != 0 {
		number := n.SequenceNumber.String()
		want.SequenceNumber = &number
	}
	if n.Subject != "" {
		want.Subject = &n.Subject
	}
	for _, a := range n.Attributes {
		if want.MessageAttributes == nil {
			want.MessageAttributes = map[string]struct{ Type, Value string }{}
		}
		value := a.Value
		if strings.HasPrefix(a.DataType, "Binary") {
			value = base64.StdEncoding.EncodeToString([]byte(value))
		}
		want.MessageAttributes[a.Name] = struct{ Type, Value string }{a.DataType, value}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("%q: %s", text, diff)
	}
}

// Random notifications contain characters that JSON writers treat differently.
func TestEnvelopeIsReadAgain(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 0))
	alphabet := []rune("ab \"\\/<&>'\x00\x01\b\t\n\v\f\r\x1f\x7f\u0080\u00e9\u2028\u2029\ud7ff\ue000\ufffd\uffff🙂\U0010ffff")
	text := func(longest int) string {
		var s strings.Builder
		for range random.IntN(longest + 1) {
			s.WriteRune(alphabet[random.IntN(len(alphabet))])
		}
		return s.String()
	}
	types := []string{"String", "String.Array", "Number", "Binary", "Binary.é\"", "String.\x01"}
	for range 500 {
		n := Notification{
			TopicARN: text(20), SequenceNumber: identifier.SequenceNumber(random.Uint64N(1 << 40)), Subject: text(10),
			Message:   message.NewBody(text(200)),
			Timestamp: logtime.Timestamp(random.Int64N(253_402_300_800_000)), Endpoint: text(10), GroupID: text(5),
			DeduplicationID: text(5),
		}
		for i := range n.MessageID {
			n.MessageID[i] = byte(random.Uint32())
		}
		for i := range random.IntN(12) {
			a := message.MessageAttribute{Name: string(rune('a'+i)) + text(5), DataType: types[random.IntN(len(types))], Value: text(30)}
			if a.IsBinary() {
				value := make([]byte, random.IntN(600))
				for i := range value {
					value[i] = byte(random.Uint32())
				}
				a.Value = string(value)
			}
			n.Attributes = append(n.Attributes, a)
		}
		checkReadAgain(t, &n, Delivery{SubscriptionARN: text(20), Replayed: random.IntN(2) == 0})
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// The envelope of the largest publish fits into a queue.
func TestEnvelopeOfTheLargestPublishFits(t *testing.T) {
	t.Parallel()
	n := Notification{
		TopicARN: strings.Repeat("t", 512), SequenceNumber: 1, Subject: strings.Repeat(`"`, limits.SubjectLengthMax),
		Message: message.NewBody(strings.Repeat(`"`, limits.PublishBytesMax)), Endpoint: strings.Repeat("e", 512),
	}
	d := Delivery{SubscriptionARN: strings.Repeat("s", 1024), Replayed: true}
	if got := n.EnvelopeLength(d); got != len(n.Envelope(d)) || got > limits.MessageBytesMax {
		t.Errorf("the envelope has %d bytes", got)
	}
}

// The length is right for any text, and valid UTF-8 is read back.
func FuzzEnvelope(f *testing.F) {
	f.Add(topic, "subject", "message", "name", "String", "value", int64(1_767_323_045_006), uint64(1), true)
	f.Add("", "", "", "", "", "", int64(0), uint64(0), false)
	f.Add("\xff", "\"\\", "\x00\u2028🙂", "a.b", "Binary.x", "\xff\x00\xfe", int64(-1), uint64(1<<63), false)
	f.Fuzz(func(t *testing.T, arn, subject, text, name, dataType, value string, at int64, number uint64, replayed bool) {
		n := Notification{
			TopicARN: arn, MessageID: messageID, SequenceNumber: identifier.SequenceNumber(number), Subject: subject,
			Message: message.NewBody(text), Timestamp: logtime.Timestamp(at), Endpoint: endpoint,
		}
		if name != "" {
			n.Attributes = []message.MessageAttribute{{Name: name, DataType: dataType, Value: value}}
		}
		d := Delivery{SubscriptionARN: subscription, Replayed: replayed}
		if got, want := n.EnvelopeLength(d), len(n.Envelope(d)); got != want {
			t.Fatalf("%d bytes were said, %d written", got, want)
		}
		binary := name != "" && n.Attributes[0].IsBinary()
		if !utf8All(arn, subject, text, name, dataType) || !binary && !utf8All(value) || !binary &&
			strings.HasPrefix(dataType, "Binary") {
			return
		}
		if at < 0 || at >= 253_402_300_800_000 { // times that package time can parse
			n.Timestamp = 0
		}
		checkReadAgain(t, &n, d)
	})
}

func BenchmarkEnvelope(b *testing.B) {
	for _, bench := range []struct{ name, message string }{
		{"1KiB", strings.Repeat("a message of words ", 54)},
		{"256KiB of JSON", strings.Repeat(`{"name":"value"},`, 15_000)},
	} {
		n := Notification{
			TopicARN: topic, MessageID: messageID, SequenceNumber: 7, Subject: "subject", Message: message.NewBody(bench.message),
			Timestamp: 1_767_323_045_006, Endpoint: endpoint,
			Attributes: []message.MessageAttribute{{Name: "a", DataType: "String", Value: "v"},
				{Name: "b", DataType: "Binary", Value: strings.Repeat("\xff", 300)}},
		}
		d := Delivery{SubscriptionARN: subscription}
		b.Run(bench.name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(n.EnvelopeLength(d)))
			for b.Loop() {
				n.Envelope(d)
			}
		})
		b.Run(bench.name+" length", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				n.EnvelopeLength(d)
			}
		})
	}
}

// An envelope is the only allocation.
func TestEnvelopeAllocatesOnce(t *testing.T) {
	n := Notification{
		TopicARN: topic, MessageID: messageID, SequenceNumber: 7, Subject: "s", Message: message.NewBody(`{"a":"b"}`),
		Timestamp:  1_767_323_045_006,
		Attributes: []message.MessageAttribute{{Name: "b", DataType: "Binary", Value: strings.Repeat("\xff", 1000)}},
	}
	d := Delivery{SubscriptionARN: subscription, Replayed: true}
	if got := testing.AllocsPerRun(100, func() { n.Envelope(d) }); got != 1 {
		t.Errorf("an envelope needs %v allocations", got)
	}
	if got := testing.AllocsPerRun(100, func() { n.EnvelopeLength(d) }); got != 0 {
		t.Errorf("a length needs %v allocations", got)
	}
}
