package grpcwire

import (
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
)

// Names of the methods.
const (
	MethodSend       = "/seriatim.v1.Queues/Send"
	MethodReceive    = "/seriatim.v1.Queues/Receive"
	MethodDelete     = "/seriatim.v1.Queues/Delete"
	MethodSendStream = "/seriatim.v1.Queues/SendStream"
	MethodConsume    = "/seriatim.v1.Queues/Consume"
)

// Message begins a message in the memory of b. The bytes in front are for what says
// how long it is.
func Message(b []byte) []byte { return append(b[:0], make([]byte, prefixBytes)...) }

// Text appends a field of text.
func Text[T string | []byte](b []byte, field protowire.Number, value T) []byte {
	b = protowire.AppendTag(b, field, protowire.BytesType)
	b = protowire.AppendVarint(b, uint64(len(value)))
	return append(b, value...)
}

// Number appends a field with a number.
func Number(b []byte, field protowire.Number, value uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(b, field, protowire.VarintType), value)
}

// Outgoing appends a message to send, as the given field: an OutgoingMessage.
func Outgoing(b []byte, field protowire.Number, body, group, deduplication []byte) []byte {
	text := func(n int) int { return protowire.SizeTag(1) + protowire.SizeBytes(n) }
	b = protowire.AppendTag(b, field, protowire.BytesType)
	b = protowire.AppendVarint(b, uint64(text(len(body))+text(len(group))+text(len(deduplication))))
	b = Text(b, 1, body)
	b = Text(b, 3, group)
	return Text(b, 4, deduplication)
}

// Fields calls f for every field of a message: with its bytes, or its number.
func Fields(b []byte, f func(field protowire.Number, text []byte, number uint64) error) error {
	for len(b) > 0 {
		field, kind, n := protowire.ConsumeTag(b)
		if n < 0 {
			return fmt.Errorf("unreadable answer: %w", protowire.ParseError(n))
		}
		b = b[n:]
		var text []byte
		var number uint64
		switch kind {
		case protowire.BytesType:
			text, n = protowire.ConsumeBytes(b)
		case protowire.VarintType:
			number, n = protowire.ConsumeVarint(b)
		default:
			n = protowire.ConsumeFieldValue(field, kind, b)
		}
		if n < 0 {
			return fmt.Errorf("unreadable answer: %w", protowire.ParseError(n))
		}
		b = b[n:]
		if err := f(field, text, number); err != nil {
			return err
		}
	}
	return nil
}

// Failure reads a Failure.
func Failure(b []byte) (reason, message string) {
	_ = Fields(b, func(field protowire.Number, text []byte, _ uint64) error {
		switch field {
		case 2:
			reason = string(text)
		case 3:
			message = string(text)
		default: // nobody wants it
		}
		return nil
	})
	return reason, message
}

// Result reads a SendResult: the id of the message, or why there is none.
func Result(b []byte) (id, failure []byte, err error) {
	err = Fields(b, func(field protowire.Number, text []byte, _ uint64) error {
		switch field {
		case 1:
			failure = text
		case 2:
			id = text
		default: // nobody wants it
		}
		return nil
	})
	return id, failure, err
}

// Delivered reads a Message: its receipt handle and its body.
func Delivered(b []byte) (handle, body []byte, err error) {
	err = Fields(b, func(field protowire.Number, text []byte, _ uint64) error {
		switch field {
		case 2:
			handle = text
		case 3:
			body = text
		default: // nobody wants it
		}
		return nil
	})
	return handle, body, err
}
