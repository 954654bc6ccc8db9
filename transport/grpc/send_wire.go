package grpc

import (
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/seriatimq/seriatim/transport/grpc/seriatimpb"
)

// What most calls of the API say is read and written here: a send, as far as it says nothing
// but what sends mostly say, and its answer. The library goes through a table of fields, and
// takes three times as long.

// unmarshal reads the message of a request. The texts of a send share one copy of the bytes.
func unmarshal(b []byte, into proto.Message) error {
	if in, ok := into.(*seriatimpb.SendRequest); ok && unmarshalSend(string(b), in) {
		return nil
	}
	return proto.Unmarshal(b, into)
}

// Fields of a SendRequest and of its messages.
const (
	sendQueue    = 1
	sendMessages = 2

	outgoingBody            = 1
	outgoingGroupID         = 3
	outgoingDeduplicationID = 4
)

// unmarshalSend reads a SendRequest into an empty one. It reports false if there is
// something in it that is the library's to read, or to refuse; then in is as before.
func unmarshalSend(text string, in *seriatimpb.SendRequest) bool {
	queue, messages := "", []*seriatimpb.OutgoingMessage(nil)
	for len(text) > 0 {
		field, value, rest, ok := consumeText(text)
		if !ok {
			return false
		}
		text = rest
		switch field {
		case sendQueue:
			if queue = value; !utf8.ValidString(queue) {
				return false
			}
		case sendMessages:
			m, ok := unmarshalOutgoing(value)
			if !ok {
				return false
			}
			messages = append(messages, m)
		default:
			return false
		}
	}
	in.Queue, in.Messages = queue, messages
	return true
}

// unmarshalOutgoing reads a message that has a body, a group and a deduplication id at most.
func unmarshalOutgoing(text string) (*seriatimpb.OutgoingMessage, bool) {
	m := &struct {
		seriatimpb.OutgoingMessage
		group, id string
	}{}
	for len(text) > 0 {
		field, value, rest, ok := consumeText(text)
		if !ok || !utf8.ValidString(value) {
			return nil, false
		}
		text = rest
		switch field {
		case outgoingBody:
			m.Body = value
		case outgoingGroupID:
			m.group, m.GroupId = value, &m.group
		case outgoingDeduplicationID:
			m.id, m.DeduplicationId = value, &m.id
		default:
			return nil, false
		}
	}
	return &m.OutgoingMessage, true
}

// consumeText takes a field whose number is below 16 and whose value has a length.
func consumeText(b string) (field protowire.Number, value, rest string, ok bool) {
	field, kind := protowire.DecodeTag(uint64(b[0]))
	if b[0] >= 1<<7 || kind != protowire.BytesType {
		return 0, "", "", false
	}
	length, n := uint64(0), 1
	for shift := 0; ; shift += 7 {
		if n == len(b) || shift > 21 { // longer than any request
			return 0, "", "", false
		}
		c := b[n]
		n++
		if length |= uint64(c&0x7f) << shift; c < 1<<7 {
			break
		}
	}
	if length > uint64(len(b)-n) {
		return 0, "", "", false
	}
	return field, b[n : n+int(length)], b[n+int(length):], true
}

// Fields of a SendResponse and of its results.
const (
	responseResults = 1

	resultMessageID       = 2
	resultSequenceNumber  = 3
	resultDuplicate       = 4
	resultFirstAcceptedAt = 5
	resultFirstScheduled  = 6
)

// marshalAppend appends the message of an answer.
func marshalAppend(b []byte, m proto.Message) ([]byte, error) {
	if out, ok := m.(*seriatimpb.SendResponse); ok {
		if whole, ok := appendSendResponse(b, out); ok {
			return whole, nil
		}
	}
	return proto.MarshalOptions{}.MarshalAppend(b, m)
}

// appendSendResponse appends the answer to a send of which nothing failed. It reports false
// if something did.
func appendSendResponse(b []byte, m *seriatimpb.SendResponse) ([]byte, bool) {
	for _, r := range m.GetResults() {
		if r.GetFailure() != nil {
			return nil, false
		}
		b = protowire.AppendTag(b, responseResults, protowire.BytesType)
		b = append(b, 0) // for the length, which is below 128 as all fields together are
		start := len(b)
		if id := r.GetMessageId(); id != "" {
			b = protowire.AppendString(protowire.AppendTag(b, resultMessageID, protowire.BytesType), id)
		}
		if n := r.GetSequenceNumber(); n != 0 {
			b = protowire.AppendVarint(protowire.AppendTag(b, resultSequenceNumber, protowire.VarintType), n)
		}
		if r.Duplicate != nil {
			b = protowire.AppendVarint(protowire.AppendTag(b, resultDuplicate, protowire.VarintType), protowire.EncodeBool(r.GetDuplicate()))
		}
		if at := r.GetFirstAcceptedAtMs(); at != 0 {
			b = protowire.AppendVarint(protowire.AppendTag(b, resultFirstAcceptedAt, protowire.VarintType), uint64(at))
		}
		if r.GetFirstIsScheduled() {
			b = protowire.AppendVarint(protowire.AppendTag(b, resultFirstScheduled, protowire.VarintType), 1)
		}
		size := len(b) - start
		if size >= 1<<7 {
			return nil, false
		}
		b[start-1] = byte(size)
	}
	return b, true
}
