package grpc

import (
	"slices"
	"strings"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/access"
	"github.com/seriatimq/seriatim/transport/grpc/seriatimpb"
)

// domainInt converts an optional number.
func domainInt(v *int32) queue.Int {
	if v == nil {
		return queue.Int{}
	}
	return queue.Some(int64(*v))
}

// sendEntry converts a message of a request.
func sendEntry(m *seriatimpb.OutgoingMessage) queue.SendEntry {
	body, encoded := m.GetBody(), (*queue.Encoded)(nil)
	if m.BodyBytes != nil || m.GetAmqp() != nil || len(m.GetChanges()) > 0 {
		body, encoded = domainContent(body, m.BodyBytes, m.GetAmqp(), m.GetChanges())
	}
	return queue.SendEntry{
		Body: body, Encoded: encoded, Attributes: domainAttributes(m.GetAttributes()), TraceHeader: m.GetTraceHeader(),
		DelaySeconds: domainInt(m.DelaySeconds), Native: true,
		GroupID: groupID(m.GroupId), GroupIDGiven: m.GroupId != nil,
		DeduplicationID: m.GetDeduplicationId(), DeduplicationIDGiven: m.DeduplicationId != nil, Options: sendOptions(m),
	}
}

// sendOptions returns the options that SQS and SNS lack, nil if the request has none.
func sendOptions(m interface {
	GetEnqueueAtMs() int64
	GetPartitionKey() string
}) *queue.SendOptions {
	if m.GetEnqueueAtMs() == 0 && m.GetPartitionKey() == "" {
		return nil
	}
	return &queue.SendOptions{EnqueueAt: queue.Timestamp(m.GetEnqueueAtMs()), PartitionKey: m.GetPartitionKey()}
}

// domainAttributes converts message attributes, sorted by name. One with a value of another type loses
// its type, which package queue refuses.
func domainAttributes(values map[string]*seriatimpb.Attribute) []queue.MessageAttribute {
	if len(values) == 0 {
		return nil
	}
	out := make([]queue.MessageAttribute, 0, len(values))
	for name, v := range values {
		a := queue.MessageAttribute{Name: name, DataType: v.GetDataType(), Value: v.GetText()}
		if isBinary(a.DataType) {
			a.Value = string(v.GetBinary())
		}
		if _, binary := v.GetValue().(*seriatimpb.Attribute_Binary); v.GetValue() != nil && binary != isBinary(a.DataType) {
			a.DataType = ""
		}
		out = append(out, a)
	}
	slices.SortFunc(out, func(a, b queue.MessageAttribute) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// isBinary reports whether values of a type are bytes. The type may have a suffix, such as
// Binary.png.
func isBinary(dataType string) bool { return strings.HasPrefix(dataType, "Binary") }

// sendResult converts the result of a message. A repeated command may be the duplicate of its
// own first attempt, so its result leaves duplicates out.
func sendResult(e *queue.SentEntry, repeated bool) *seriatimpb.SendResult {
	if e.Err != nil {
		return &seriatimpb.SendResult{Failure: refusalFailure(e.Err)}
	}
	out := &seriatimpb.SendResult{MessageId: e.MessageID.String(), SequenceNumber: e.Sequence.Number()}
	if !repeated {
		out.Duplicate, out.FirstAcceptedAtMs, out.FirstIsScheduled = &e.Duplicate, int64(e.FirstAcceptedAt), e.FirstIsScheduled
	}
	return out
}

// wireMessages converts deliveries, and returns their size.
func wireMessages(received []queue.ReceivedMessage) (out []*seriatimpb.Message, size int64) {
	out = make([]*seriatimpb.Message, len(received))
	for i := range received {
		m := &received[i]
		out[i] = &seriatimpb.Message{
			MessageId: m.MessageID.String(),
			GroupId:   m.GroupID, DeduplicationId: m.DeduplicationID, SequenceNumber: m.Sequence.Number(),
			SentAtMs: int64(m.SentAt), FirstReceivedAtMs: int64(m.FirstReceivedAt), ReceiveCount: m.ReceiveCount,
			SenderId: m.SenderID, TraceHeader: m.TraceHeader, DeadLetterSource: access.PlainName(m.DeadLetterSource),
		}
		if m.Handle != (queue.ReceiptHandle{}) { // none after Peek or a deletion on receipt
			out[i].ReceiptHandle = m.Handle.String()
		}
		attributes := m.Attributes
		if m.Encoded == nil {
			out[i].Body = m.Body.String()
		} else {
			attributes = wireContent(out[i], m)
		}
		size += int64(len(out[i].Body)+len(out[i].BodyBytes)+len(out[i].GetAmqp().GetBody())) + m.Encoded.Size()
		out[i].Attributes = wireAttributes(attributes)
		for _, a := range attributes {
			size += int64(len(a.Value))
		}
	}
	return out, size
}

// wireAttributes converts message attributes, nil if there are none.
func wireAttributes(list []queue.MessageAttribute) map[string]*seriatimpb.Attribute {
	if len(list) == 0 {
		return nil
	}
	out := make(map[string]*seriatimpb.Attribute, len(list))
	for _, a := range list {
		v := &seriatimpb.Attribute{DataType: a.DataType}
		if isBinary(a.DataType) {
			v.Value = &seriatimpb.Attribute_Binary{Binary: []byte(a.Value)}
		} else {
			v.Value = &seriatimpb.Attribute_Text{Text: a.Value}
		}
		out[a.Name] = v
	}
	return out
}

// outcomes converts the results of a batch whose entries return nothing.
func outcomes(done queue.EntriesDone) []*seriatimpb.Outcome {
	out := make([]*seriatimpb.Outcome, len(done.Errs))
	for i, err := range done.Errs {
		out[i] = &seriatimpb.Outcome{}
		if err != nil {
			out[i].Failure = refusalFailure(err)
		}
	}
	return out
}
