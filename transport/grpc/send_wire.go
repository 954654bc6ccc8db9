package grpc

import (
	"google.golang.org/protobuf/proto"

	"github.com/seriatimq/seriatim/transport/grpc/seriatimpb"
)

// Most calls are sends without attributes. Generated methods decode these, and encode the
// answers, in a third of the time of the protobuf library.

const (
	// messagesTag is the tag of SendRequest.messages.
	messagesTag = 2<<3 | 2
	// fastMessagesMax bounds the messages for which unmarshal allocates memory at once.
	fastMessagesMax = 10
)

// unmarshal decodes a request. The texts of a send share one copy of b.
func unmarshal(b []byte, into proto.Message) error {
	if in, ok := into.(*seriatimpb.SendRequest); ok && seriatimpb.FastCount(b, messagesTag) <= fastMessagesMax &&
		in.ReadFast(b, string(b)) {
		return nil
	}
	return proto.Unmarshal(b, into)
}

// marshalAppend appends an encoded answer.
func marshalAppend(b []byte, m proto.Message) ([]byte, error) {
	if out, ok := m.(*seriatimpb.SendResponse); ok {
		if whole, ok := out.AppendFast(b); ok {
			return whole, nil
		}
	}
	return proto.MarshalOptions{}.MarshalAppend(b, m)
}
