package http2

import (
	"encoding/binary"

	frame "golang.org/x/net/http2"
)

// appendFrame appends the header of a frame.
func appendFrame(b []byte, length int, kind frame.FrameType, flags frame.Flags, stream uint32) []byte {
	b = append(b, byte(length>>16), byte(length>>8), byte(length), byte(kind), byte(flags))
	return binary.BigEndian.AppendUint32(b, stream)
}

func appendSettings(b []byte, settings ...frame.Setting) []byte {
	b = appendFrame(b, 6*len(settings), frame.FrameSettings, 0, 0)
	for _, s := range settings {
		b = binary.BigEndian.AppendUint16(b, uint16(s.ID))
		b = binary.BigEndian.AppendUint32(b, s.Val)
	}
	return b
}

func appendSettingsAck(b []byte) []byte {
	return appendFrame(b, 0, frame.FrameSettings, frame.FlagSettingsAck, 0)
}

func appendWindowUpdate(b []byte, stream uint32, n int64) []byte {
	return binary.BigEndian.AppendUint32(appendFrame(b, 4, frame.FrameWindowUpdate, 0, stream), uint32(n))
}

func appendPing(b []byte, answer bool, data [8]byte) []byte {
	flags := frame.Flags(0)
	if answer {
		flags = frame.FlagPingAck
	}
	return append(appendFrame(b, len(data), frame.FramePing, flags, 0), data[:]...)
}

func appendReset(b []byte, stream uint32, code frame.ErrCode) []byte {
	return binary.BigEndian.AppendUint32(appendFrame(b, 4, frame.FrameRSTStream, 0, stream), uint32(code))
}

func appendGoAway(b []byte, last uint32, code frame.ErrCode) []byte {
	b = binary.BigEndian.AppendUint32(appendFrame(b, 8, frame.FrameGoAway, 0, 0), last)
	return binary.BigEndian.AppendUint32(b, uint32(code))
}

func appendData(b []byte, stream uint32, data []byte, last bool) []byte {
	flags := frame.Flags(0)
	if last {
		flags = frame.FlagDataEndStream
	}
	return append(appendFrame(b, len(data), frame.FrameData, flags, stream), data...)
}

// appendHeaders appends a block of headers, in as many frames as it needs.
func appendHeaders(b []byte, stream uint32, block []byte, last bool) []byte {
	kind, flags := frame.FrameHeaders, frame.Flags(0)
	if last {
		flags = frame.FlagHeadersEndStream
	}
	for len(block) > frameBytesMax {
		b = append(appendFrame(b, frameBytesMax, kind, flags, stream), block[:frameBytesMax]...)
		kind, flags, block = frame.FrameContinuation, 0, block[frameBytesMax:]
	}
	return append(appendFrame(b, len(block), kind, flags|frame.FlagHeadersEndHeaders, stream), block...)
}

// noTable begins a block of headers after the client has reduced its table, although the table was
// never used (RFC 7541, 4.2; RFC 9113, 4.3.1).
const noTable = 0x20

// appendStatus appends the pseudo-header of an answer (RFC 7541, appendix A).
func appendStatus(b []byte, status int) []byte {
	if status == 200 {
		return append(b, 0x88)
	}
	return append(b, 0x08, 3, byte('0'+status/100%10), byte('0'+status/10%10), byte('0'+status%10))
}

// appendField appends a field without indexing. A line end in the value, which would split a header
// of HTTP/1, becomes a blank.
func appendField(b []byte, name, value string) []byte {
	b = appendLength(append(b, 0), len(name))
	for i := range len(name) {
		c := name[i]
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		b = append(b, c)
	}
	b = appendLength(b, len(value))
	start := len(b)
	b = append(b, value...)
	for i := start; i < len(b); i++ {
		if b[i] == '\r' || b[i] == '\n' || b[i] == 0 {
			b[i] = ' '
		}
	}
	return b
}

// appendLength appends the length of an uncompressed text (RFC 7541, 5.1).
func appendLength(b []byte, n int) []byte {
	if n < 127 {
		return append(b, byte(n))
	}
	b = append(b, 127)
	for n -= 127; n >= 128; n >>= 7 {
		b = append(b, byte(n)|128)
	}
	return append(b, byte(n))
}
