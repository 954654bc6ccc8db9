package notification

import (
	"encoding/base64"
	"strings"

	"github.com/seriatimq/seriatim/queue/jsontext"
	"github.com/seriatimq/seriatim/queue/message"
)

// Envelope returns the JSON text for a queue without raw message delivery. Members and order are
// those of SNS.
func (n *Notification) Envelope(d Delivery) string {
	var w writer
	w.text.Grow(n.EnvelopeLength(d))
	n.write(&w, d)
	return w.text.String()
}

// EnvelopeLength returns the length of the Envelope without building it. It is the same for all
// subscriptions of a topic.
func (n *Notification) EnvelopeLength(d Delivery) int {
	w := writer{counting: true}
	n.write(&w, d)
	return w.length
}

func (n *Notification) write(w *writer, d Delivery) {
	text, attributes := n.rendered(d.Changes)
	var scratch [64]byte // longer than any id, number and time
	w.plain(`{"Type":"Notification","MessageId":"`)
	w.bytes(n.MessageID.Append(scratch[:0]))
	if n.SequenceNumber != 0 {
		w.plain(`","SequenceNumber":"`)
		w.bytes(n.SequenceNumber.Append(scratch[:0]))
	}
	w.plain(`","TopicArn":"`)
	w.escaped(n.TopicARN)
	if n.Subject != "" {
		w.plain(`","Subject":"`)
		w.escaped(n.Subject)
	}
	w.plain(`","Message":"`)
	w.escaped(text)
	w.plain(`","Timestamp":"`)
	w.bytes(n.Timestamp.AppendRFC3339(scratch[:0]))
	w.plain(`","UnsubscribeURL":"`)
	w.escaped(n.Endpoint)
	w.plain(`/?Action=Unsubscribe&SubscriptionArn=`)
	w.escaped(d.SubscriptionARN)
	w.plain(`"`)
	writeAttributes(w, attributes)
	if d.Replayed {
		w.plain(`,"Replayed":true`)
	}
	w.plain(`}`)
}

// writeAttributes writes MessageAttributes in the order of the publish. A type keeps its custom
// suffix, and a String.Array is written as text.
func writeAttributes(w *writer, attributes []message.MessageAttribute) {
	if len(attributes) == 0 {
		return
	}
	before := `,"MessageAttributes":{"`
	for i := range attributes {
		a := &attributes[i]
		w.plain(before)
		before = `,"`
		w.escaped(a.Name)
		w.plain(`":{"Type":"`)
		w.escaped(a.DataType)
		w.plain(`","Value":"`)
		if a.IsBinary() {
			w.base64(a.Value)
		} else {
			w.escaped(a.Value)
		}
		w.plain(`"}`)
	}
	w.plain(`}`)
}

// writer writes an envelope, or counts its bytes.
type writer struct {
	text     strings.Builder
	length   int // if counting
	counting bool
}

// plain writes text that needs no escaping.
func (w *writer) plain(s string) {
	if w.counting {
		w.length += len(s)
		return
	}
	w.text.WriteString(s)
}

// bytes writes bytes that need no escaping.
func (w *writer) bytes(b []byte) {
	if w.counting {
		w.length += len(b)
		return
	}
	w.text.Write(b)
}

// escaped writes a text inside a string.
func (w *writer) escaped(s string) {
	if w.counting {
		w.length += jsontext.EscapedLength(s)
		return
	}
	jsontext.WriteEscaped(&w.text, s)
}

// base64 writes bytes in base64 without allocating.
func (w *writer) base64(s string) {
	if w.counting {
		w.length += base64.StdEncoding.EncodedLen(len(s))
		return
	}
	const step = 3 * 64 // whole groups: only the last step is padded
	var from [step]byte
	var to [step / 3 * 4]byte
	for s != "" {
		n := copy(from[:], s)
		s = s[n:]
		base64.StdEncoding.Encode(to[:], from[:n])
		w.text.Write(to[:base64.StdEncoding.EncodedLen(n)])
	}
}
