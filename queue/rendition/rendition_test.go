package rendition

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/seriatimq/seriatim/queue/message"
	"github.com/seriatimq/seriatim/queue/property"
)

// Encoded parts of messages.
const (
	data       = "\x00Su\xa0\x05hello"
	annotated  = "\x00Sr\xc1\x01\x00"
	properties = "\x00Ss\xc0\x0b\x04\xa1\x01m\x40\x40\xa1\x03lab" // message-id m, subject lab
	colors     = "\x00St\xc1\x0d\x02\xa1\x05color\xa1\x03red"
)

func amqp(sections, body string, changes ...message.Change) Message {
	return Message{Body: body, Encoded: &message.Encoded{Format: message.FormatAMQP, Sections: sections, Changes: changes}}
}

func text(body string, attributes ...message.MessageAttribute) Message {
	return Message{Body: body, Attributes: attributes}
}

func bytes(body string) Message {
	return Message{Body: body, Encoded: &message.Encoded{Format: message.FormatBytes}}
}

func user(name, value string) message.Change { return message.Change{Name: name, Value: value} }

func system(name, value string) message.Change {
	return message.Change{Scope: message.ScopeSystem, Name: name, Value: value}
}

func TestText(t *testing.T) {
	long := strings.Repeat("y", 300)
	encodedAs := func(how string) message.MessageAttribute {
		return message.MessageAttribute{Name: "seriatim.BodyEncoding", DataType: "String", Value: how}
	}
	for _, c := range []struct {
		name       string
		m          Message
		body       string
		attributes []message.MessageAttribute
	}{
		{"text", text("hello"), "hello", nil},
		{"bytes that are text", bytes("hello"), "hello", nil},
		{"no bytes", bytes(""), "", nil},
		{"bytes", bytes("\x00\xff"), "AP8=", []message.MessageAttribute{encodedAs("base64")}},
		{"data section", amqp("", data), "hello", nil},
		{"long data section", amqp("", "\x00Su\xb0\x00\x00\x01\x2c"+long), long, nil},
		{"descriptor of eight bytes", amqp("", "\x00\x80\x00\x00\x00\x00\x00\x00\x00u\xa0\x01x"), "x", nil},
		{"descriptor as a symbol", amqp("", "\x00\xa3\x10amqp:data:binary\xa0\x01x"), "x", nil},
		{"two data sections and a footer", amqp("", data+"\x00Su\xa0\x01!\x00Sx\xc1\x01\x00"), "hello!", nil},
		{"binary data section", amqp("", "\x00Su\xa0\x02\x00\xff"), "AP8=", []message.MessageAttribute{encodedAs("base64")}},
		{"string value", amqp("", "\x00Sw\xa1\x02hi"), "hi", nil},
		{"binary value", amqp("", "\x00Sw\xa0\x01\x01"), "AQ==", []message.MessageAttribute{encodedAs("base64")}},
		{"null value", amqp("", "\x00Sw\x40"), "", nil},
		{"no body", amqp(properties, ""), "", nil},
		{"number", amqp("", "\x00Sw\x54\x05"), base64.StdEncoding.EncodeToString([]byte("\x00Sw\x54\x05")),
			[]message.MessageAttribute{encodedAs("amqp-base64")}},
		{"sequence", amqp("", "\x00Sv\x45"), base64.StdEncoding.EncodeToString([]byte("\x00Sv\x45")),
			[]message.MessageAttribute{encodedAs("amqp-base64")}},
		{"no AMQP", amqp("\x00", "no section"), base64.StdEncoding.EncodeToString([]byte("no section")),
			[]message.MessageAttribute{encodedAs("amqp-base64")}},
		{"properties", amqp(annotated+properties+colors, data), "hello",
			[]message.MessageAttribute{{Name: "color", DataType: "String", Value: "red"}}},
		{"properties that SQS does not permit", Message{Body: "x", Attributes: []message.MessageAttribute{
			{Name: "a b", DataType: "String", Value: "v"}, {Name: "empty", DataType: "String"},
			{Name: "fine", DataType: "Number", Value: "1"},
		}}, "x", []message.MessageAttribute{
			{Name: "fine", DataType: "Number", Value: "1"}, {Name: "seriatim.PropertiesOmitted", DataType: "Number", Value: "2"},
		}},
	} {
		body, attributes := c.m.Text()
		if diff := cmp.Diff(c.attributes, attributes); body != c.body || diff != "" {
			t.Errorf("%s: %q, want %q; attributes (-want +got):\n%s", c.name, body, c.body, diff)
		}
	}
}

// Each type has one form as a message attribute, and returns from it.
func TestTypes(t *testing.T) {
	guid := property.GUID([16]byte{0: 0xab, 15: 1})
	for _, c := range []struct {
		value property.Value
		want  string // type and value
		back  property.Value
	}{
		{value: property.String("red"), want: "String red"},
		{value: property.String(""), want: "String "},
		{value: property.Binary("\x00\xff"), want: "Binary \x00\xff"},
		{value: property.Boolean(true), want: "String.boolean True"},
		{value: property.Integer(property.TypeUByte, 7), want: "Number.ubyte 7"},
		{value: property.Integer(property.TypeInt, -7), want: "Number.int -7"},
		{value: property.Long(-1 << 63), want: "Number.long -9223372036854775808"},
		{value: property.ULong(1<<64 - 1), want: "Number.ulong 18446744073709551615"},
		{value: property.DoubleBits(0x3FE0_0000_0000_0000), want: "Number.double 0.5"},
		{value: property.DoubleBits(0x7FF0_0000_0000_0000), want: "String.double Infinity", back: property.String("Infinity")},
		{value: property.Time(1_767_323_045_006), want: "String.timestamp 2026-01-02T03:04:05.006Z"},
		{value: property.Duration(10_000_000), want: "String.timespan 00:00:01"},
		{value: guid, want: "String.uuid ab000000-0000-0000-0000-000000000001"},
		{value: property.Null, want: "String.null "},
	} {
		a := attributeOf("n", c.value)
		if got := a.DataType + " " + a.Value; got != c.want {
			t.Errorf("%v is %q, want %q", c.value, got, c.want)
		}
		if c.back.Type() == property.TypeNone {
			c.back = c.value
		}
		if got := valueOf(&a); got != c.back {
			t.Errorf("%s became %v of the type %s", c.want, got, got.Type())
		}
	}
	for _, c := range []struct{ dataType, value, want string }{
		{"Number", "5", "long"}, {"Number", "5.5", "double"}, {"Number", "1e3", "double"}, {"Number.custom", "5", "long"},
		{"Number.int", "5000000000", "long"}, {"Number.int", "1.5", "double"}, {"String.json", "{}", "string"},
		{"String.uuid", "no uuid", "string"}, {"Binary.png", "png", "binary"}, {"Number", strings.Repeat("9", 38), "double"},
	} {
		a := message.MessageAttribute{Name: "n", DataType: c.dataType, Value: c.value}
		if got := valueOf(&a).Type().String(); got != c.want {
			t.Errorf("%s %s is a property of the type %s, want %s", c.dataType, c.value, got, c.want)
		}
	}
}

func TestAMQP(t *testing.T) {
	red := message.MessageAttribute{Name: "color", DataType: "String", Value: "red"}
	for _, c := range []struct {
		name           string
		m              Message
		sections, body string
	}{
		{"as sent", amqp(annotated+properties+colors, data), annotated + properties + colors, data},
		{"no AMQP", amqp("no", "section"), "no", "section"},
		{"text", text("hello"), "", data},
		{"text with an attribute", text("hello", red), colors, data},
		{"bytes", bytes("hello"), "", data},
		{"the same color", amqp(colors, data, user("color", "\xa1\x03red")), colors, data},
		{"a new color", amqp("", data, user("color", "\xa1\x03red")), colors, data},
		{"a removed color", amqp(annotated+colors, data, user("color", "")), annotated, data},
		{"a dead letter", Message{Body: data, Attributes: []message.MessageAttribute{red},
			Encoded: &message.Encoded{Format: message.FormatAMQP, Sections: properties}}, properties + colors, data},
		{"a change after a dead letter", Message{Body: data, Attributes: []message.MessageAttribute{red},
			Encoded: &message.Encoded{Format: message.FormatAMQP, Changes: []message.Change{user("color", "")}}}, "", data},
		{"a subject", amqp("", data, system("subject", "\xa1\x03lab"), system("MessageId", "\xa1\x01m")), properties, data},
		{"a label is the subject", amqp(colors, data, system("Label", "\xa1\x03lab"), system("message-id", "\xa1\x01m")),
			properties + colors, data},
		{"no subject", amqp(properties, data, system("subject", "")), "\x00Ss\xc0\x04\x01\xa1\x01m", data},
		{"elsewhere", amqp(properties, data, system("TimeToLive", "\x40")), properties, data},
		{"a message of no properties", amqp(properties, data, system("subject", ""), system("message-id", "")), "\x00Ss\xc0\x01\x00", data},
	} {
		sections, body := c.m.AMQP()
		if sections != c.sections || body != c.body {
			t.Errorf("%s:\n%q %q, want\n%q %q", c.name, sections, body, c.sections, c.body)
		}
	}
}

// A section with more than 255 bytes or entries has the long encoding.
func TestManyProperties(t *testing.T) {
	var changes []message.Change
	for i := range 6000 {
		changes = append(changes, user(fmt.Sprintf("name-%04d", i), "\x54\x01"))
	}
	m := amqp(colors, data, changes...)
	sections, _ := m.AMQP()
	if _, _, err := Split(sections + data); err == nil || !strings.Contains(err.Error(), "64 KiB") {
		t.Errorf("a section of %d bytes: %v", len(sections), err)
	}
	if all := m.All(); len(all) != 6001 || all[1].Name != "name-0000" || all[1].DataType != "Number.int" {
		t.Errorf("%d properties, %v", len(all), all[:2])
	}
	changed := amqp(colors, data, user("big", strings.Repeat("x", 70_000)))
	if all := changed.All(); len(all) != 2 || all[0].DataType != "Binary.other" {
		t.Errorf("a value that cannot be read: %d properties", len(all))
	}
}

func TestSplit(t *testing.T) {
	for _, c := range []struct{ encoded, sections string }{
		{annotated + properties + colors + data, annotated + properties + colors},
		{data + data, ""}, {properties, properties}, {"", ""}, {data + "\x00Sx\xc1\x01\x00", ""},
	} {
		sections, body, err := Split(c.encoded)
		if err != nil || sections != c.sections || sections+body != c.encoded {
			t.Errorf("%q: %q and %q, %v", c.encoded, sections, body, err)
		}
	}
	for _, encoded := range []string{
		"x", "\x00", "\x00Su", data + "x", data + properties, properties + properties, data + "\x00Sw\x40", "\x00Sw\x40\x00Sw\x40",
		"\x00Sy\x40", colors + annotated, "\x00Ss\x40" + data, "\x00St\xc1\x04\x02\x54\x01\x40", strings.Repeat("\x00", 1<<20),
		"\x00Su\xb0\xff\xff\xff\xffx",
	} {
		if _, _, err := Split(encoded); err == nil {
			t.Errorf("%.40q was accepted", encoded)
		}
	}
}

func TestIsPlainData(t *testing.T) {
	for body, want := range map[string]bool{
		data: true, Data(""): false, Data(strings.Repeat("x", 256)): true, data + data: false, "": false, "\x00Sw\xa0\x01x": false,
		"\x00Su\xb0\x00\x00\x00\x01x": false,
	} {
		if got := IsPlainData(body); got != want {
			t.Errorf("%.40q: %v", body, got)
		}
	}
}

func TestID(t *testing.T) {
	for id, want := range map[string]string{"a": "a", "": "", "\x00": "", "ü b": "ü b", "a\x01\uffff": "a\ufffd\ufffd"} {
		if got := ID(id); got != want {
			t.Errorf("%q became %q, want %q", id, got, want)
		}
	}
}

// Sections that were changed are valid again, and an unchanged message is as sent.
func TestRandomChanges(t *testing.T) {
	values := []string{"", "\x40", "\xa1\x01x", "\x54\x05", "\xa0\x02\x00\xff", "\x41"}
	rapid.Check(t, func(t *rapid.T) {
		m := amqp(rapid.SampledFrom([]string{"", annotated, properties, colors, annotated + properties + colors}).Draw(t, "sections"), data)
		before := m.Encoded.Sections
		want := map[string]string{}
		if strings.Contains(before, colors) {
			want["color"] = "\xa1\x03red"
		}
		for range rapid.IntRange(0, 5).Draw(t, "settlements") {
			c := user(rapid.SampledFrom([]string{"color", "a", "ü"}).Draw(t, "name"), rapid.SampledFrom(values).Draw(t, "value"))
			encoded, refused := m.Encoded.With([]message.Change{c})
			if refused != nil {
				t.Fatal(refused)
			}
			m.Encoded, want[c.Name] = encoded, c.Value
			if c.Value == "" {
				delete(want, c.Name)
			}
		}
		sections, body := m.AMQP()
		if len(m.Encoded.Changes) == 0 && sections != before || body != data {
			t.Fatalf("%q %q", sections, body)
		}
		if _, _, err := Split(sections + body); err != nil {
			t.Fatalf("%q: %v", sections, err)
		}
		got := map[string]string{}
		for _, p := range (&Message{Encoded: &message.Encoded{Sections: sections}}).changedPairs() {
			got[p.name] = p.value
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatal(diff)
		}
	})
}

// No bytes make a rendition fail, and valid messages keep every byte.
func FuzzRenditions(f *testing.F) {
	f.Add(annotated+properties+colors, data, "color", "\x40")
	f.Add("", "\x00Sw\xa1\x02hi", "subject", "")
	f.Add("\x00St\xd1\x00\x00\x00\x04\xff\xff\xff\xff", "\x00", "", "\x00")
	f.Fuzz(func(t *testing.T, sections, body, name, value string) {
		m := amqp(sections, body)
		if s, b := m.AMQP(); s != sections || b != body {
			t.Fatalf("%q %q", s, b)
		}
		body64, attributes := m.Text()
		if message.BadCharacter(body64) || !allPermitted(attributes) {
			t.Fatalf("%q %v", body64, attributes)
		}
		if s, b, err := Split(sections + body); err == nil && s+b != sections+body {
			t.Fatalf("%q and %q", s, b)
		}
		m.Encoded.Changes = []message.Change{user(name, value), system(name, value)}
		m.AMQP()
		m.Text()
		if payload, ok := m.Payload(); ok && IsPlainData(body) && Data(payload) != body {
			t.Fatalf("%q", payload)
		}
	})
}
