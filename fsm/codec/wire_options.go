package codec

import (
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/seriatimq/seriatim/queue"
)

// Options are messages inside the two that are encoded by hand. Sends and receives
// of SQS clients have none.

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
	n := 0
	if o.Session != (queue.SessionRef{}) {
		n += tagBytes + protowire.SizeBytes(sessionRefBytes(o.Session))
	}
	if o.Delete {
		n += flagBytes
	}
	dst = protowire.AppendVarint(dst, uint64(n))
	if o.Session != (queue.SessionRef{}) {
		dst = protowire.AppendTag(dst, 1, protowire.BytesType)
		dst = protowire.AppendVarint(dst, uint64(sessionRefBytes(o.Session)))
		dst = appendText(dst, 1, o.Session.SessionID)
		dst = appendText(dst, 2, o.Session.Token)
	}
	return appendFlag(dst, 2, o.Delete)
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
