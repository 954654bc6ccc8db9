package codec

import (
	"encoding/binary"
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/seriatimq/seriatim/fsm/format"
	"github.com/seriatimq/seriatim/queue"
)

// A frame is one command: number (1 byte), version (1 byte), length of the
// body (4 bytes, little-endian), body (protobuf).
const (
	frameHeaderBytes = 6
	// FrameBytesMax bounds one frame: a full batch has 1 MiB of bodies and attributes, and names.
	FrameBytesMax = 4 << 20
)

// AppendCommand appends the frame of cmd to dst. A node forwards frames to the leader, and
// AppendEntry takes them. DecodeCommand accepts every frame that AppendCommand makes.
func AppendCommand(dst []byte, cmd queue.Command) ([]byte, error) {
	c, err := codecOf(cmd)
	if err != nil {
		return nil, err
	}
	if c.check != nil {
		if err := c.check(cmd); err != nil {
			return nil, fmt.Errorf("encoding %s: %w", c.name, err)
		}
	}
	start := len(dst)
	dst = c.append(append(dst, c.number, c.version, 0, 0, 0, 0), cmd)
	if len(dst)-start > FrameBytesMax {
		return nil, fmt.Errorf("encoding %s: %d bytes are more than the %d allowed", c.name, len(dst)-start, FrameBytesMax)
	}
	binary.LittleEndian.PutUint32(dst[start+2:], uint32(len(dst)-start-frameHeaderBytes))
	return dst, nil
}

// DecodeCommand decodes exactly one frame. The command shares no memory with frame. A leader
// decodes forwarded frames before it proposes them: an invalid frame in the log would end every
// node that applies it.
func DecodeCommand(frame []byte) (queue.Command, error) {
	return (*Decoder)(nil).Decode(frame)
}

// parseFrame finds the table line and the body of exactly one frame.
func parseFrame(frame []byte) (*codec, []byte, error) {
	first, rest, err := cutFrame(frame)
	if err != nil {
		return nil, nil, err
	}
	if len(rest) > 0 {
		return nil, nil, fmt.Errorf("%w: %d bytes after the command", format.ErrMalformed, len(rest))
	}
	c, err := codecByNumber(first[0], first[1])
	if err != nil {
		return nil, nil, err
	}
	return c, first[frameHeaderBytes:], nil
}

// cutFrame separates the first frame from what follows it.
func cutFrame(data []byte) (frame, rest []byte, err error) {
	if len(data) < frameHeaderBytes {
		return nil, nil, fmt.Errorf("%w: %d bytes are too few for a command", format.ErrMalformed, len(data))
	}
	length := uint64(binary.LittleEndian.Uint32(data[2:]))
	end := frameHeaderBytes + length
	if end > FrameBytesMax || end > uint64(len(data)) {
		return nil, nil, fmt.Errorf("%w: a command of %d bytes, %d are left", format.ErrMalformed, end, len(data))
	}
	return data[:end:end], data[end:], nil
}

// SendsTo returns the queue in the frame of a SendMessages, without decoding the other fields. It
// reports false for any other command. The name is a part of frame.
func SendsTo(frame []byte) (queue []byte, sends bool) {
	c, body, err := parseFrame(frame)
	if err != nil || c.number != sendMessagesNumber {
		return nil, false
	}
	for len(body) > 0 {
		number, kind, n := protowire.ConsumeTag(body)
		if n < 0 {
			return nil, false
		}
		body = body[n:]
		if number == 1 && kind == protowire.BytesType {
			queue, n = protowire.ConsumeBytes(body)
			return queue, n >= 0
		}
		if n = protowire.ConsumeFieldValue(number, kind, body); n < 0 {
			return nil, false
		}
		body = body[n:]
	}
	return nil, false
}
