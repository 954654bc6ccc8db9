// Package protobuf encodes equal messages to equal bytes, and converts the values that commands,
// answers and records share: attributes, tags, policies and identifiers.
package protobuf

import (
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/seriatimq/seriatim/fsm/format"
)

// Unmarshal decodes a protobuf message. Strings and bytes are copied out of
// data, which belongs to the consensus library; fields added by later
// versions are dropped, as command.proto says they may be.
func Unmarshal(data []byte, message proto.Message) error {
	if err := (proto.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(data, message); err != nil {
		return fmt.Errorf("%w: %T: %w", format.ErrMalformed, message, err)
	}
	return nil
}

// Append encodes a protobuf message behind dst. Without maps in any message equal
// ones give equal bytes; Deterministic says so, too.
func Append(dst []byte, message proto.Message) ([]byte, error) {
	dst, err := (proto.MarshalOptions{Deterministic: true}).MarshalAppend(dst, message)
	if err != nil {
		return nil, fmt.Errorf("encoding %T: %w", message, err)
	}
	return dst, nil
}
