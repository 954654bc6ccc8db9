package notification

import (
	"encoding/base64"
	"strings"

	"github.com/seriatimq/seriatim/queue/content"
	"github.com/seriatimq/seriatim/queue/jsontext"
)

// Envelope is the JSON text that a queue receives without raw message delivery:
// the members and their order are those that SNS documents for notifications and
// sends from FIFO topics.
func (n *Notification) Envelope(d Delivery) string {
	var w writer
	w.text.Grow(n.EnvelopeLength(d))
	n.write(&w, d)
	return w.text.String()
}

// EnvelopeLength is the length of the Envelope, which is not made for it. It is the
// same for ARNs of the same length, hence for all subscriptions of one topic.
func (n *Notification) EnvelopeLength(d Delivery) int {
	w := writer{counting: true}
	n.write(&w, d)
	return w.length
}

func (n *Notification) write(w *writer, d Delivery) {
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
	w.escaped(n.Message.String())
	w.plain(`","Timestamp":"`)
	w.bytes(n.Timestamp.AppendRFC3339(scratch[:0]))
	w.plain(`","UnsubscribeURL":"`)
	w.escaped(n.Endpoint)
	w.plain(`/?Action=Unsubscribe&SubscriptionArn=`)
	w.escaped(d.SubscriptionARN)
	w.plain(`"`)
	writeAttributes(w, n.Attributes)
	if d.Replayed {
		w.plain(`,"Replayed":true`)
	}
	w.plain(`}`)
}

// writeAttributes writes the member MessageAttributes, in the order in which they
// were given. A type is written with its custom suffix, and the value of a
// String.Array as the text that it is.
func writeAttributes(w *writer, attributes []content.MessageAttribute) {
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

// writer writes an envelope, or only counts its bytes.
type writer struct {
	text     strings.Builder
	length   int // if it counts
	counting bool
}

// plain writes what needs no escaping.
func (w *writer) plain(s string) {
	if w.counting {
		w.length += len(s)
		return
	}
	w.text.WriteString(s)
}

// bytes writes what needs no escaping.
func (w *writer) bytes(b []byte) {
	if w.counting {
		w.length += len(b)
		return
	}
	w.text.Write(b)
}

// escaped writes a text within a string.
func (w *writer) escaped(s string) {
	if w.counting {
		w.length += jsontext.EscapedLength(s)
		return
	}
	jsontext.WriteEscaped(&w.text, s)
}

// base64 writes bytes within a string, some at a time: the encoder takes no string
// and writes to no builder without memory of its own.
func (w *writer) base64(s string) {
	if w.counting {
		w.length += base64.StdEncoding.EncodedLen(len(s))
		return
	}
	const step = 3 * 64 // whole groups, so that only the last step is padded
	var from [step]byte
	var to [step / 3 * 4]byte
	for s != "" {
		n := copy(from[:], s)
		s = s[n:]
		base64.StdEncoding.Encode(to[:], from[:n])
		w.text.Write(to[:base64.StdEncoding.EncodedLen(n)])
	}
}
