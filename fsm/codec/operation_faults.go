//go:build faults

package codec

import (
	"encoding/binary"

	"google.golang.org/protobuf/encoding/protowire"
)

// OperationBytesMax bounds the id of an operation.
const OperationBytesMax = 64

// operationField is a field that no command has. Decoding drops it as one of a
// later version, so that an id travels in a frame wherever the frame goes and
// nothing but the tap sees it.
const operationField protowire.Number = 2047

// AppendOperation puts the id of the client's operation into the frame of a
// command: the hook by which fault runs find an operation in the log. It takes
// the place of the frame, which must not be used any more.
func AppendOperation(frame []byte, id string) []byte {
	if id == "" {
		return frame
	}
	frame = protowire.AppendTag(frame, operationField, protowire.BytesType)
	frame = protowire.AppendString(frame, id)
	binary.LittleEndian.PutUint32(frame[2:], uint32(len(frame)-frameHeaderBytes))
	return frame
}

// OperationOf is the id that AppendOperation put into a frame, or empty.
func OperationOf(frame []byte) string {
	_, body, err := parseFrame(frame)
	if err != nil {
		return ""
	}
	id := ""
	for len(body) > 0 {
		number, kind, n := protowire.ConsumeTag(body)
		if n < 0 {
			return ""
		}
		body = body[n:]
		value := protowire.ConsumeFieldValue(number, kind, body)
		if value < 0 {
			return ""
		}
		if number == operationField && kind == protowire.BytesType {
			text, _ := protowire.ConsumeBytes(body)
			id = string(text)
		}
		body = body[value:]
	}
	return id
}

// SameOperation marks a frame that replaces another with the client's operation of
// that one.
func SameOperation(before, frame []byte) []byte { return AppendOperation(frame, OperationOf(before)) }
