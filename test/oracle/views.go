package oracle

import (
	"fmt"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/test/oracle/reference"
)

// ComparePeeked compares all messages of a queue, as an operator sees them, with the model's. It
// returns the first difference, empty if there is none.
func (o *Oracle) ComparePeeked(q *reference.Queue, peeked []queue.PeekedMessage) string {
	want := o.Model.Peek(q)
	for i := range min(len(want), len(peeked)) {
		m, got := &want[i], &peeked[i]
		if text := o.bound.bindNumber(q.Name, m.Number, got.Sequence); text != "" {
			return fmt.Sprintf("message %d: %s", i, text)
		}
		if text := o.bound.messages.bind("message id", m.Message, got.MessageID); text != "" {
			return fmt.Sprintf("message %d: %s", i, text)
		}
		if got.State != m.State || got.GroupID != m.Group || got.ReceiveCount != int64(m.Receives) || int64(got.SentAt) != m.SentAt {
			return fmt.Sprintf("message %s: product: %s, group %q, received %d times, sent at %d\nmodel: %+v",
				got.Sequence, got.State, got.GroupID, got.ReceiveCount, got.SentAt, *m)
		}
		if d := first(o.compareBody(got.Body.String(), &m.Sent),
			compareAttributes(attributes(got.Attributes), m.Sent.Attributes), compareParts(got.Encoded, m.Sent.Parts)); d != nil {
			return fmt.Sprintf("message %s: %s", got.Sequence, d.Text)
		}
	}
	if len(want) != len(peeked) {
		return fmt.Sprintf("product has %d messages, model %d", len(peeked), len(want))
	}
	return ""
}

// CompareKnown compares the product's data on a deduplication id with the model's.
func (o *Oracle) CompareKnown(q *reference.Queue, got queue.KnownID, want reference.KnownID) string {
	if int64(got.AcceptedAt) != want.AcceptedAt || int64(got.ForgottenAt) != want.ForgottenAt || got.State != want.State {
		return fmt.Sprintf("product %+v, model %+v", got, want)
	}
	if text := o.bound.bindNumber(q.Name, want.Number, got.Sequence); text != "" {
		return text
	}
	return o.bound.messages.bind("message id", want.Message, got.MessageID)
}

// SessionOf returns the model's lock for a token.
func (o *Oracle) SessionOf(s queue.SessionRef) reference.SessionRef { return o.sessionRef(s) }

// MessageID returns the product's id for a message of the model. If no answer had the id yet, seen is its
// text.
func (o *Oracle) MessageID(message int, seen string) string {
	if _, known := o.bound.messages.product[message]; !known {
		o.bound.messages.bind("message id", message, messageID(seen))
	}
	return o.bound.messages.product[message].String()
}
