package wire

import "encoding/binary"

// HeaderBytes is the length of a frame header and of a protocol header.
const HeaderBytes = 8

// Types of frames.
const (
	FrameAMQP = 0
	FrameSASL = 1
)

// Protocol headers, which begin a connection (specification 2.2 and 5.3.2).
const (
	ProtocolAMQP = "AMQP\x00\x01\x00\x00"
	ProtocolSASL = "AMQP\x03\x01\x00\x00"
)

// FrameHeader is the beginning of a frame.
type FrameHeader struct {
	Size    uint32 // of the whole frame
	Offset  uint32 // of the body
	Type    uint8
	Channel uint16
}

// ReadFrameHeader reads the first HeaderBytes of a frame.
func ReadFrameHeader(b []byte) (FrameHeader, error) {
	h := FrameHeader{
		Size: binary.BigEndian.Uint32(b), Offset: 4 * uint32(b[4]), Type: b[5], Channel: binary.BigEndian.Uint16(b[6:]),
	}
	if h.Offset < HeaderBytes || h.Size < h.Offset {
		return h, malformed("a frame of %d bytes whose body begins at %d", h.Size, h.Offset)
	}
	return h, nil
}

// BeginFrame appends a frame header. Append the body, then call EndFrame with the length that b had
// before.
func BeginFrame(b []byte, kind uint8, channel uint16) []byte {
	b = append(b, 0, 0, 0, 0, HeaderBytes/4, kind)
	return binary.BigEndian.AppendUint16(b, channel)
}

// EndFrame writes the size of the frame that begins at start.
func EndFrame(b []byte, start int) []byte {
	binary.BigEndian.PutUint32(b[start:], uint32(len(b)-start)) //nolint:gosec // a frame is much smaller
	return b
}

// AppendEmptyFrame appends a frame without body, which only says that the sender is alive.
func AppendEmptyFrame(b []byte) []byte {
	start := len(b)
	return EndFrame(BeginFrame(b, FrameAMQP, 0), start)
}

// ReadPerformative reads the body of a frame: the code of its performative, the performative's
// fields, and the payload behind them.
func ReadPerformative(body []byte) (code uint64, list Value, payload []byte, err error) {
	v, payload, err := Scan(body)
	if err != nil {
		return 0, nil, nil, err
	}
	code, list, ok := v.Descriptor()
	if !ok || list.Kind() != List {
		return 0, nil, nil, malformed("a frame without performative")
	}
	return code, list, payload, nil
}
