package codec

import (
	"math"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/seriatimq/seriatim/queue"
)

// appendReceiveMessages appends what the protobuf library would make of
// receiveMessagesMessage.
func appendReceiveMessages(dst []byte, cmd *queue.ReceiveMessages) ([]byte, error) {
	dst = slices.Grow(dst, textBytes(cmd.Queue)+2*(tagBytes+protowire.SizeVarint(math.MaxUint64))+textFieldBytes(cmd.AttemptID)+2*flagBytes)
	dst = appendText(dst, 1, cmd.Queue)
	if cmd.MaxMessages.Given {
		dst = appendNumberField(dst, 2, cmd.MaxMessages.Value)
	}
	if cmd.VisibilityTimeout.Given {
		dst = appendNumberField(dst, 3, cmd.VisibilityTimeout.Value)
	}
	if cmd.AttemptIDGiven {
		dst = appendTextField(dst, 4, cmd.AttemptID)
	}
	dst = appendFlag(dst, 5, cmd.ShortPoll)
	if cmd.Options != nil {
		dst = appendReceiveOptions(dst, cmd.Options)
	}
	return appendFlag(dst, 7, cmd.Streamed), nil
}

// parseReceiveMessages is the inverse of appendReceiveMessages. With a nil d the command
// holds no part of body.
func parseReceiveMessages(d *Decoder, body []byte) (*queue.ReceiveMessages, error) {
	cmd := d.receiveMessages()
	f := fields{rest: body}
	for f.next() {
		switch {
		case f.is(1, protowire.BytesType):
			cmd.Queue = d.name(f.bytes())
		case f.is(2, protowire.VarintType):
			cmd.MaxMessages = queue.Some(int64(f.varint()))
		case f.is(3, protowire.VarintType):
			cmd.VisibilityTimeout = queue.Some(int64(f.varint()))
		case f.is(4, protowire.BytesType):
			cmd.AttemptID, cmd.AttemptIDGiven = f.text(), true
		case f.is(5, protowire.VarintType):
			cmd.ShortPoll = f.varint() != 0
		case f.is(6, protowire.BytesType):
			if options := f.bytes(); f.err == nil {
				f.err = parseReceiveOptions(options, cmd)
			}
		case f.is(7, protowire.VarintType):
			cmd.Streamed = f.varint() != 0
		default:
			f.skip()
		}
	}
	return cmd, f.err
}
