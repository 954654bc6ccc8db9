package oracle

import (
	"fmt"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/message"
	"github.com/seriatimq/seriatim/test/oracle/reference"
)

func (o *Oracle) send(c *queue.SendMessages, result queue.Result, refusal *queue.Error) (Answer, *Difference) {
	entries := sendEntries(c.Entries)
	var want Answer
	if c.RepeatedSince != 0 && o.Model.Queue(c.Queue) != nil && !o.Model.Remembers(c.Queue, int64(c.RepeatedSince)) {
		// An invalid command is refused for that.
		want.Err = &reference.Error{Code: "UnsupportedOperation"}
		if refusal == nil {
			return want, differ("I12", "product: accepted a repetition\nmodel:   the queue would not know that it is one")
		}
		return want, nil
	}
	want.Sent, want.Err = o.Model.Send(c.Queue, c.SenderID, c.Batch, c.Atomic, entries)
	sent, isSent := result.(queue.MessagesSent)
	if !c.Batch {
		// As with deletes, a client sees no difference between an error of the call and of its only
		// entry.
		err := want.Err
		if err == nil {
			err = want.Sent[0].Err
		}
		if refusal == nil && isSent && len(sent.Entries) == 1 {
			refusal = sent.Entries[0].Err
		}
		if text := errorDifference(err, refusal); text != "" || err != nil {
			return want, differ("I11", text)
		}
	} else if text := errorDifference(want.Err, refusal); text != "" || want.Err != nil {
		return want, differ("I11", text)
	}
	if !isSent {
		return want, differ("I11", fmt.Sprintf("product answered %T %+v to a send", result, result))
	}
	return want, o.compareAllSent(c.Queue, want.Sent, sent)
}

func (o *Oracle) compareAllSent(name string, want []reference.Sent, got queue.MessagesSent) *Difference {
	if len(got.Entries) != len(want) {
		return differ("I11", fmt.Sprintf("product answered %+v for %d entries", got, len(want)))
	}
	for i, e := range want {
		d := differ("I11", errorDifference(e.Err, got.Entries[i].Err))
		if d == nil && e.Err == nil {
			d = o.compareSent(name, e, &got.Entries[i])
		}
		if d != nil {
			d.Text = fmt.Sprintf("entry %d\n%s", i, d.Text)
			return d
		}
	}
	return nil
}

func (o *Oracle) compareSent(name string, want reference.Sent, got *queue.SentEntry) *Difference {
	if got.Duplicate != want.Duplicate {
		return differ("I3", fmt.Sprintf("duplicate: product %v (message id %s), model %v (message %d)",
			got.Duplicate, got.MessageID, want.Duplicate, want.Message))
	}
	if got.Duplicate && (int64(got.FirstAcceptedAt) != want.FirstAt || got.FirstIsScheduled != want.FirstScheduled) {
		return differ("I3", fmt.Sprintf("first accepted at: product %d, scheduled %v; model %d, scheduled %v",
			got.FirstAcceptedAt, got.FirstIsScheduled, want.FirstAt, want.FirstScheduled))
	}
	return first(
		differ("I3", o.bound.messages.bind("message id", want.Message, got.MessageID)),
		differ("I9", o.bound.bindNumber(name, want.Number, got.Sequence)),
	)
}

func sendEntries(list []queue.SendEntry) (entries []reference.SendEntry) {
	for i := range list {
		entries = append(entries, sendEntry(&list[i]))
	}
	return entries
}

func sendEntry(e *queue.SendEntry) reference.SendEntry {
	out := reference.SendEntry{
		Body: e.Body, Attributes: attributes(e.Attributes), Trace: e.TraceHeader,
		Group: text(e.GroupID, e.GroupIDGiven), Dedup: text(e.DeduplicationID, e.DeduplicationIDGiven),
		Delay: optional(e.DelaySeconds), Native: e.Native, Parts: parts(e.Encoded),
	}
	out.EnqueueAt, out.Partition, out.TimeToLive = options(e.Options)
	return out
}

// parts returns the model's form of what a message has beside text.
func parts(e *queue.Encoded) (p reference.Parts) {
	if e == nil {
		return p
	}
	format := map[message.Format]string{message.FormatBytes: "bytes", message.FormatAMQP: "amqp"}[e.Format]
	return reference.Parts{Format: format, Sections: e.Sections, Changes: changes(e.Changes)}
}

func changes(list []queue.PropertyChange) (out []reference.Change) {
	for _, c := range list {
		out = append(out, reference.Change{System: c.Scope == message.ScopeSystem, Name: c.Name, Value: c.Value})
	}
	return out
}

func compareParts(got *queue.Encoded, want reference.Parts) *Difference {
	return field("I2", "parts", parts(got).String(), want.String())
}

func attributes(list []queue.MessageAttribute) []reference.Attribute {
	var out []reference.Attribute
	for _, a := range list {
		out = append(out, reference.Attribute{Name: a.Name, Type: a.DataType, Value: a.Value})
	}
	return out
}

// options returns nil for what is not given.
func options(o *queue.SendOptions) (enqueueAt *int64, partition *string, timeToLive *int64) {
	if o == nil {
		return nil, nil, nil
	}
	if o.EnqueueAt != 0 {
		enqueueAt = new(int64(o.EnqueueAt))
	}
	if o.TimeToLive != 0 {
		timeToLive = new(int64(o.TimeToLive))
	}
	return enqueueAt, text(o.PartitionKey, o.PartitionKey != ""), timeToLive
}
