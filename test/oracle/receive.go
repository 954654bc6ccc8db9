package oracle

import (
	"cmp"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/test/oracle/reference"
)

func (o *Oracle) receive(c *queue.ReceiveMessages, result queue.Result, refusal *queue.Error) (Answer, *Difference) {
	// This state is needed only if the answers differ, but the model's receive changes it.
	before := o.lookAt(c.Queue, result)
	var want Answer
	request := reference.ReceiveRequest{
		Max: optional(c.MaxMessages), Visibility: optional(c.VisibilityTimeout), Attempt: text(c.AttemptID, c.AttemptIDGiven),
	}
	if c.Options != nil {
		request.Session, request.Delete = o.session(c.Options.Session), c.Options.Delete
	}
	want.Received, want.Err = o.Model.Receive(c.Queue, request)
	return o.compareReceived(c.Queue, c.AttemptIDGiven, before, want, result, refusal)
}

func (o *Oracle) compareReceived(
	name string, attempted bool, before sight, want Answer, result queue.Result, refusal *queue.Error,
) (Answer, *Difference) {
	if text := errorDifference(want.Err, refusal); text != "" || want.Err != nil {
		invariant := "I11"
		if attempted {
			invariant = "I6"
		}
		return want, differ(invariant, text)
	}
	got, ok := result.(queue.MessagesReceived)
	if !ok {
		return want, differ("I11", fmt.Sprintf("product answered %T %+v to a receive", result, result))
	}
	if len(got.Messages) != len(want.Received.Messages) || got.Replayed != want.Received.Replayed {
		return want, differ(o.blame(before, want.Received, got), o.describeBoth(want.Received, got))
	}
	for i, m := range want.Received.Messages {
		if d := o.compareDelivered(name, want.Received.Replayed, m, &got.Messages[i]); d != nil {
			if d.Invariant == "" {
				d.Invariant = o.blame(before, want.Received, got)
			}
			d.Text = fmt.Sprintf("message %d: %s\n%s", i, d.Text, o.describeBoth(want.Received, got))
			return want, d
		}
	}
	return want, nil
}

// compareDelivered compares the delivered messages. It leaves Invariant empty if another message
// was expected.
func (o *Oracle) compareDelivered(name string, replayed bool, want reference.Delivered, got *queue.ReceivedMessage) *Difference {
	counts, handles := "I10", "I7"
	if replayed {
		counts, handles = "I6", "I6"
	}
	group := ""
	if want.Sent.Group != nil {
		group = *want.Sent.Group
	}
	if d := first(
		differ("", o.bound.messages.bind("message id", want.Message, got.MessageID)),
		differ(handles, o.bindHandle(want.Delivery, got.Handle)),
		differ("I9", o.bound.bindNumber(name, want.Number, got.Sequence)),
	); d != nil {
		return d
	}
	dedup := want.DedupID
	if want.DedupOf != 0 { // a message that perhaps no answer contained before
		if text := o.bound.messages.bind("message id", want.DedupOf, messageID(got.DeduplicationID)); text != "" {
			return differ("I2", "deduplication id: "+text)
		}
		dedup = o.bound.messages.product[want.DedupOf].String()
	}
	return first(
		o.compareBody(got.Body.String(), &want.Sent),
		field("I2", "group", got.GroupID, group),
		field("I2", "deduplication id", got.DeduplicationID, dedup),
		field("I2", "sender", got.SenderID, want.Sender),
		field("I2", "trace header", got.TraceHeader, want.Sent.Trace),
		field("I2", "dead-letter source", got.DeadLetterSource, want.Source),
		field("I2", "sent at", int64(got.SentAt), want.SentAt),
		field("I2", "first received at", int64(got.FirstReceivedAt), want.FirstAt),
		field(counts, "receive count", int(got.ReceiveCount), want.Receives),
		compareAttributes(attributes(got.Attributes), want.Sent.Attributes),
		compareParts(got.Encoded, want.Sent.Parts),
	)
}

// messageID reads the text of a message id, zero if it is none.
func messageID(text string) (id queue.MessageID) {
	if raw, err := hex.DecodeString(strings.ReplaceAll(text, "-", "")); err == nil && len(raw) == len(id) {
		copy(id[:], raw)
	}
	return id
}

// bindHandle binds a handle to a delivery. A message that the receive itself deletes has no handle.
func (o *Oracle) bindHandle(delivery int, h queue.ReceiptHandle) string {
	if delivery == 0 || h == (queue.ReceiptHandle{}) {
		if delivery == 0 && h == (queue.ReceiptHandle{}) {
			return ""
		}
		return fmt.Sprintf("receipt handle: product %s, model %d (0: none)", h, delivery)
	}
	o.bound.tokens[h.LockToken().String()] = h.String()
	return o.bound.handles.bind("receipt handle", delivery, h.String())
}

func field[T comparable](invariant, what string, got, want T) *Difference {
	if got == want {
		return nil
	}
	return differ(invariant, fmt.Sprintf("%s: product %v, model %v", what, got, want))
}

func compareAttributes(got, want []reference.Attribute) *Difference {
	if len(got) == 0 && len(want) == 0 {
		return nil
	}
	return field("I2", "attributes", describeAttributes(got), describeAttributes(want))
}

func describeAttributes(list []reference.Attribute) string {
	sorted := slices.SortedFunc(slices.Values(list), func(x, y reference.Attribute) int { return cmp.Compare(x.Name, y.Name) })
	return fmt.Sprintf("%q", sorted)
}

func (o *Oracle) describeBoth(want reference.Received, got queue.MessagesReceived) string {
	return fmt.Sprintf("product: %d messages, replayed %v: %s\nmodel:   %d messages, replayed %v: %s",
		len(got.Messages), got.Replayed, describeReceived(got.Messages),
		len(want.Messages), want.Replayed, o.describeDelivered(want.Messages))
}

func describeReceived(list []queue.ReceivedMessage) string {
	var text strings.Builder
	for i := range list {
		m := &list[i]
		text.WriteString(fmt.Sprintf("[%s #%d %.12q group %q count %d] ", m.MessageID.String()[:8], m.Sequence, m.Body, m.GroupID,
			m.ReceiveCount))
	}
	return text.String()
}

func (o *Oracle) describeDelivered(list []reference.Delivered) string {
	var text strings.Builder
	for _, m := range list {
		group, id := "", "new"
		if m.Sent.Group != nil {
			group = *m.Sent.Group
		}
		if known, ok := o.bound.messages.product[m.Message]; ok {
			id = known.String()[:8]
		}
		text.WriteString(fmt.Sprintf("[%s m%d %.12q group %q count %d] ", id, m.Number, m.Sent.Body, group, m.Receives))
	}
	return text.String()
}
