// Package protobuf encodes equal messages to equal bytes, and converts values that commands,
// answers and records share.
package protobuf

import (
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/seriatimq/seriatim/fsm/format"
)

// Unmarshal decodes a protobuf message. It copies strings and bytes out of data, which belongs to
// the consensus library, and drops unknown fields of later versions, as command.proto permits.
func Unmarshal(data []byte, message proto.Message) error {
	if err := (proto.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(data, message); err != nil {
		return fmt.Errorf("%w: %T: %w", format.ErrMalformed, message, err)
	}
	return nil
}

// Append encodes a protobuf message after dst. Equal messages give equal bytes, because none
// contains a map.
func Append(dst []byte, message proto.Message) ([]byte, error) {
	dst, err := (proto.MarshalOptions{Deterministic: true}).MarshalAppend(dst, message)
	if err != nil {
		return nil, fmt.Errorf("encoding %T: %w", message, err)
	}
	return dst, nil
}
