package codec

import (
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/seriatimq/seriatim/queue"
)

// Options are messages inside those that are encoded by hand. The commands of
// SQS clients have none.

func numberFieldBytes(value int64) int {
	if value == 0 {
		return 0
	}
	return tagBytes + protowire.SizeVarint(uint64(value))
}

// appendNumber leaves out zero.
func appendNumber(dst []byte, number protowire.Number, value int64) []byte {
	if value == 0 {
		return dst
	}
	return appendNumberField(dst, number, value)
}

func appendSendOptions(dst []byte, o *queue.SendOptions) []byte {
	dst = protowire.AppendTag(dst, 8, protowire.BytesType)
	dst = protowire.AppendVarint(dst, uint64(sendOptionsBytes(o)))
	dst = appendNumber(dst, 1, int64(o.EnqueueAt))
	return appendText(dst, 2, o.PartitionKey)
}

// sendOptionsBytes is how long the message is that appendSendOptions appends.
func sendOptionsBytes(o *queue.SendOptions) int {
	return numberFieldBytes(int64(o.EnqueueAt)) + textBytes(o.PartitionKey)
}

// parseSendOptions merges repeated options, as the library does.
func parseSendOptions(message []byte, e *queue.SendEntry) error {
	if e.Options == nil {
		e.Options = &queue.SendOptions{}
	}
	f := fields{rest: message}
	for f.next() {
		switch {
		case f.is(1, protowire.VarintType):
			e.Options.EnqueueAt = queue.Timestamp(f.varint())
		case f.is(2, protowire.BytesType):
			e.Options.PartitionKey = f.text()
		default:
			f.skip()
		}
	}
	return f.err
}

func appendReceiveOptions(dst []byte, o *queue.ReceiveOptions) []byte {
	dst = protowire.AppendTag(dst, 6, protowire.BytesType)
	n := sessionFieldBytes(o.Session)
	if o.Delete {
		n += flagBytes
	}
	dst = protowire.AppendVarint(dst, uint64(n))
	dst = appendSessionRef(dst, o.Session)
	return appendFlag(dst, 2, o.Delete)
}

// appendSessionRef leaves out no session.
func appendSessionRef(dst []byte, s queue.SessionRef) []byte {
	if s == (queue.SessionRef{}) {
		return dst
	}
	dst = protowire.AppendTag(dst, 1, protowire.BytesType)
	dst = protowire.AppendVarint(dst, uint64(sessionRefBytes(s)))
	dst = appendText(dst, 1, s.SessionID)
	return appendText(dst, 2, s.Token)
}

// sessionFieldBytes is how much appendSessionRef appends.
func sessionFieldBytes(s queue.SessionRef) int {
	if s == (queue.SessionRef{}) {
		return 0
	}
	return tagBytes + protowire.SizeBytes(sessionRefBytes(s))
}

func sessionRefBytes(s queue.SessionRef) int { return textBytes(s.SessionID) + textBytes(s.Token) }

// parseReceiveOptions merges repeated options, as the library does.
func parseReceiveOptions(message []byte, cmd *queue.ReceiveMessages) error {
	if cmd.Options == nil {
		cmd.Options = &queue.ReceiveOptions{}
	}
	f := fields{rest: message}
	for f.next() {
		switch {
		case f.is(1, protowire.BytesType):
			if ref := f.bytes(); f.err == nil {
				f.err = parseSessionRef(ref, &cmd.Options.Session)
			}
		case f.is(2, protowire.VarintType):
			cmd.Options.Delete = f.varint() != 0
		default:
			f.skip()
		}
	}
	return f.err
}

func parseSessionRef(message []byte, s *queue.SessionRef) error {
	f := fields{rest: message}
	for f.next() {
		switch {
		case f.is(1, protowire.BytesType):
			s.SessionID = f.text()
		case f.is(2, protowire.BytesType):
			s.Token = f.text()
		default:
			f.skip()
		}
	}
	return f.err
}

func appendSettleOptions(dst []byte, o *queue.SettlementOptions) []byte {
	dst = protowire.AppendTag(dst, 4, protowire.BytesType)
	dst = protowire.AppendVarint(dst, uint64(sessionFieldBytes(o.Session)))
	return appendSessionRef(dst, o.Session)
}

// parseSettleOptions merges repeated options, as the library does.
func parseSettleOptions(message []byte, cmd *queue.DeleteMessages) error {
	if cmd.Options == nil {
		cmd.Options = &queue.SettlementOptions{}
	}
	f := fields{rest: message}
	for f.next() {
		if !f.is(1, protowire.BytesType) {
			f.skip()
		} else if ref := f.bytes(); f.err == nil {
			f.err = parseSessionRef(ref, &cmd.Options.Session)
		}
	}
	return f.err
}
