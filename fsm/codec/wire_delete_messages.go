package codec

import (
	"slices"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/seriatimq/seriatim/queue"
)

// appendDeleteMessages appends what the protobuf library would make of
// deleteMessagesMessage.
func appendDeleteMessages(dst []byte, cmd *queue.DeleteMessages) ([]byte, error) {
	n := textBytes(cmd.Queue) + 2*flagBytes
	for _, handle := range cmd.Handles {
		n += textFieldBytes(handle)
	}
	dst = slices.Grow(dst, n)
	dst = appendText(dst, 1, cmd.Queue)
	dst = appendFlag(dst, 2, cmd.Batch)
	for _, handle := range cmd.Handles {
		dst = appendTextField(dst, 3, handle)
	}
	if cmd.Options != nil {
		dst = appendSettleOptions(dst, cmd.Options)
	}
	return appendFlag(dst, 5, cmd.Streamed), nil
}

// parseDeleteMessages is the inverse of appendDeleteMessages. With a nil d the command
// holds no part of body.
func parseDeleteMessages(d *Decoder, body []byte) (*queue.DeleteMessages, error) {
	cmd := d.deleteMessages()
	f := fields{rest: body, shared: d.textOf(body)}
	for f.next() {
		switch {
		case f.is(1, protowire.BytesType):
			cmd.Queue = d.name(f.bytes())
		case f.is(2, protowire.VarintType):
			cmd.Batch = f.varint() != 0
		case f.is(3, protowire.BytesType):
			if cmd.Handles == nil {
				cmd.Handles = d.texts(room(cmd.Batch, body, 3))
			}
			cmd.Handles = append(cmd.Handles, f.text())
		case f.is(4, protowire.BytesType):
			if options := f.bytes(); f.err == nil {
				f.err = parseSettleOptions(options, cmd)
			}
		case f.is(5, protowire.VarintType):
			cmd.Streamed = f.varint() != 0
		default:
			f.skip()
		}
	}
	return cmd, f.err
}

// room is for how many fields of a number a message has to have room: a command that
// is no batch has one, and is not read twice.
func room(batch bool, message []byte, number protowire.Number) int {
	if !batch {
		return 1
	}
	return count(message, number)
}
