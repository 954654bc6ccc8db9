package faults

import (
	"encoding/base64"
	"fmt"
	"hash/crc32"

	"github.com/seriatimq/seriatim/test/oracle/history"
)

// attributesFor returns the message attributes of a body, the same for each try. Every third body
// has none.
func attributesFor(body string) []history.Attribute {
	sum := crc32.ChecksumIEEE([]byte(body))
	switch sum % 3 {
	case 0:
		return nil
	case 1:
		return []history.Attribute{{Name: "of", Type: "String", Value: fmt.Sprintf("%08x", sum)}}
	}
	return []history.Attribute{
		{Name: "sum", Type: "Number", Value: fmt.Sprint(sum)},
		{Name: "of", Type: "String.hex", Value: fmt.Sprintf("ü-%08x", sum)},
		{Name: "bytes", Type: "Binary", Value: string([]byte{0, byte(sum), 0xff, byte(sum >> 8)})},
	}
}

// wireAttribute is a message attribute in JSON.
type wireAttribute struct {
	DataType    string
	StringValue string `json:",omitempty"`
	BinaryValue string `json:",omitempty"` // base64
}

func wireAttributes(attributes []history.Attribute) map[string]wireAttribute {
	wire := map[string]wireAttribute{}
	for _, a := range attributes {
		w := wireAttribute{DataType: a.Type}
		if a.Type == "Binary" {
			w.BinaryValue = base64.StdEncoding.EncodeToString([]byte(a.Value))
		} else {
			w.StringValue = a.Value
		}
		wire[a.Name] = w
	}
	return wire
}

func unwireAttributes(wire map[string]wireAttribute) []history.Attribute {
	var attributes []history.Attribute
	for name, w := range wire {
		a := history.Attribute{Name: name, Type: w.DataType, Value: w.StringValue}
		if w.BinaryValue != "" {
			// A value that is not base64 differs from what was sent, so the checker finds it.
			value, _ := base64.StdEncoding.DecodeString(w.BinaryValue)
			a.Value = string(value)
		}
		attributes = append(attributes, a)
	}
	return attributes
}

// sendInput returns the input of a send, for a single call or an entry of a batch.
func sendInput(group, dedup, body string) map[string]any {
	in := map[string]any{"MessageBody": body, "MessageGroupId": group, "MessageDeduplicationId": dedup}
	if attributes := attributesFor(body); attributes != nil {
		in["MessageAttributes"] = wireAttributes(attributes)
	}
	return in
}

// checkDigests compares the digests of an answer with those of a body and its attributes, and
// records the first difference.
func checkDigests(e *history.Event, body string, attributes []history.Attribute, ofBody, ofAttributes string) {
	e.Digests++
	if want := history.BodyDigest(body); ofBody != want && e.BadDigest == "" {
		e.BadDigest = fmt.Sprintf("of the body %.60q is %q, want %s", body, ofBody, want)
	}
	if want := history.AttributesDigest(attributes); ofAttributes != want && e.BadDigest == "" {
		e.BadDigest = fmt.Sprintf("of the attributes of %.60q is %q, want %q", body, ofAttributes, want)
	}
}
