package wire

import (
	"encoding/binary"
	"math"
)

// Mark is the beginning of a list, a map or an array that is not complete.
type Mark struct {
	start int
	code  byte
}

// compoundHeader is the space for the constructor, the size and the count of a small list or map.
const compoundHeader = 3

func begin(b []byte, code byte) ([]byte, Mark) {
	return append(b, code, 0, 0), Mark{start: len(b), code: code}
}

// BeginList begins a list. Append its items, then call End.
func BeginList(b []byte) ([]byte, Mark) { return begin(b, codeList8) }

// BeginMap begins a map. Append its keys and values, then call End.
func BeginMap(b []byte) ([]byte, Mark) { return begin(b, codeMap8) }

// End completes a list or a map.
func (m Mark) End(b []byte) []byte {
	n := 0
	for rest := b[m.start+compoundHeader:]; len(rest) > 0; n++ {
		rest = rest[length(rest):]
	}
	return m.end(b, n)
}

// end writes the size and the count in front of the items.
func (m Mark) end(b []byte, n int) []byte {
	size := len(b) - m.start - compoundHeader
	if n == 0 && m.code == codeList8 {
		return append(b[:m.start], codeList0)
	}
	if size+1 <= math.MaxUint8 && n <= math.MaxUint8 {
		b[m.start+1], b[m.start+2] = byte(size+1), byte(n)
		return b
	}
	var more [6]byte
	b = append(b, more[:]...)
	items := b[m.start+compoundHeader:]
	copy(items[len(more):], items[:size])
	b[m.start] = m.code + wide
	binary.BigEndian.PutUint32(b[m.start+1:], uint32(size+4)) //nolint:gosec // messages are much smaller
	binary.BigEndian.PutUint32(b[m.start+5:], uint32(n))      //nolint:gosec // items take bytes
	return b
}

// BeginArray begins an array of items of one type. Append each with a function for items, then call
// EndArray.
func BeginArray(b []byte, item Kind) ([]byte, Mark) {
	b, m := begin(b, codeArray8)
	return append(b, itemCodes[item]), m
}

// itemCodes has the constructor for the items of an array.
var itemCodes = map[Kind]byte{
	Long: codeLong, Timestamp: codeTimestamp, UUID: codeUUID, String: codeString32, Symbol: codeSymbol32,
}

// AppendLongItem appends a long or a timestamp to an array.
func AppendLongItem(b []byte, n int64) []byte {
	return binary.BigEndian.AppendUint64(b, uint64(n)) //nolint:gosec // two's complement
}

// AppendUUIDItem appends a UUID to an array.
func AppendUUIDItem(b []byte, id [16]byte) []byte { return append(b, id[:]...) }

// AppendTextItem appends a string or a symbol to an array.
func AppendTextItem(b []byte, s string) []byte {
	b = binary.BigEndian.AppendUint32(b, uint32(len(s))) //nolint:gosec // messages are much smaller
	return append(b, s...)
}

// EndArray completes an array of n items.
func (m Mark) EndArray(b []byte, n int) []byte { return m.end(b, n) }
