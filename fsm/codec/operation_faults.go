//go:build faults

package codec

import (
	"encoding/binary"

	"google.golang.org/protobuf/encoding/protowire"
)

// OperationBytesMax bounds the id of an operation.
const OperationBytesMax = 64

// operationField is a field that no command has. Decoders skip it like a field of a later version,
// so only the tap reads it.
const operationField protowire.Number = 2047

// AppendOperation adds the id of the client's operation to the frame of a command, so that fault
// runs find the operation in the log. Use only the returned frame.
func AppendOperation(frame []byte, id string) []byte {
	if id == "" {
		return frame
	}
	frame = protowire.AppendTag(frame, operationField, protowire.BytesType)
	frame = protowire.AppendString(frame, id)
	binary.LittleEndian.PutUint32(frame[2:], uint32(len(frame)-frameHeaderBytes))
	return frame
}

// OperationOf returns the id that AppendOperation added, empty without one.
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

// SameOperation adds the operation of the frame before to the frame that replaces it.
func SameOperation(before, frame []byte) []byte { return AppendOperation(frame, OperationOf(before)) }
