package wire

import (
	"encoding/binary"
	"math"
)

// AppendNull appends null.
func AppendNull(b []byte) []byte { return append(b, codeNull) }

// AppendValue appends an encoded value, and null for an absent one.
func AppendValue(b []byte, v Value) []byte {
	if len(v) == 0 {
		return AppendNull(b)
	}
	return append(b, v...)
}

// AppendBool appends a boolean.
func AppendBool(b []byte, is bool) []byte {
	if is {
		return append(b, codeTrue)
	}
	return append(b, codeFalse)
}

// AppendUbyte appends a ubyte.
func AppendUbyte(b []byte, n uint8) []byte { return append(b, codeUbyte, n) }

// AppendUshort appends a ushort.
func AppendUshort(b []byte, n uint16) []byte {
	return binary.BigEndian.AppendUint16(append(b, codeUshort), n)
}

// AppendUint appends a uint.
func AppendUint(b []byte, n uint32) []byte {
	switch {
	case n == 0:
		return append(b, codeUint0)
	case n <= math.MaxUint8:
		return append(b, codeSmallUint, byte(n))
	}
	return binary.BigEndian.AppendUint32(append(b, codeUint), n)
}

// AppendUlong appends a ulong.
func AppendUlong(b []byte, n uint64) []byte {
	switch {
	case n == 0:
		return append(b, codeUlong0)
	case n <= math.MaxUint8:
		return append(b, codeSmallUlong, byte(n))
	}
	return binary.BigEndian.AppendUint64(append(b, codeUlong), n)
}

// AppendByte appends a byte, which has a sign.
func AppendByte(b []byte, n int8) []byte { return append(b, codeByte, byte(n)) } //nolint:gosec // two's complement

// AppendShort appends a short.
func AppendShort(b []byte, n int16) []byte {
	return binary.BigEndian.AppendUint16(append(b, codeShort), uint16(n)) //nolint:gosec // two's complement
}

// AppendInt appends an int.
func AppendInt(b []byte, n int32) []byte {
	if n == int32(int8(n)) { //nolint:gosec // compared
		return append(b, codeSmallInt, byte(n)) //nolint:gosec // two's complement
	}
	return binary.BigEndian.AppendUint32(append(b, codeInt), uint32(n)) //nolint:gosec // two's complement
}

// AppendLong appends a long.
func AppendLong(b []byte, n int64) []byte {
	if n == int64(int8(n)) { //nolint:gosec // compared
		return append(b, codeSmallLong, byte(n)) //nolint:gosec // two's complement
	}
	return AppendLongItem(append(b, codeLong), n)
}

// AppendFloat appends a float.
func AppendFloat(b []byte, f float32) []byte {
	return binary.BigEndian.AppendUint32(append(b, codeFloat), math.Float32bits(f))
}

// AppendDouble appends a double.
func AppendDouble(b []byte, f float64) []byte {
	return binary.BigEndian.AppendUint64(append(b, codeDouble), math.Float64bits(f))
}

// AppendDecimal32 appends a decimal of 32 bits in its IEEE 754 encoding.
func AppendDecimal32(b []byte, d [4]byte) []byte { return append(append(b, codeDecimal32), d[:]...) }

// AppendDecimal64 appends a decimal of 64 bits.
func AppendDecimal64(b []byte, d [8]byte) []byte { return append(append(b, codeDecimal64), d[:]...) }

// AppendDecimal128 appends a decimal of 128 bits.
func AppendDecimal128(b []byte, d [16]byte) []byte { return append(append(b, codeDecimal128), d[:]...) }

// AppendChar appends a char.
func AppendChar(b []byte, r rune) []byte {
	return binary.BigEndian.AppendUint32(append(b, codeChar), uint32(r)) //nolint:gosec // not negative
}

// AppendTimestamp appends a timestamp in Unix milliseconds.
func AppendTimestamp(b []byte, ms int64) []byte { return AppendLongItem(append(b, codeTimestamp), ms) }

// AppendUUID appends a UUID in the order of RFC 9562.
func AppendUUID(b []byte, id [16]byte) []byte { return append(append(b, codeUUID), id[:]...) }

// AppendBinary appends a binary value.
func AppendBinary(b, data []byte) []byte {
	return append(appendSize(b, codeBinary8, len(data)), data...)
}

// AppendString appends a string, which must be valid UTF-8.
func AppendString(b []byte, s string) []byte {
	return append(appendSize(b, codeString8, len(s)), s...)
}

// AppendSymbol appends a symbol, which must be ASCII.
func AppendSymbol(b []byte, s string) []byte {
	return append(appendSize(b, codeSymbol8, len(s)), s...)
}

// wide is the difference between the constructors with sizes of 32 bits and of 8 bits.
const wide = 0x10

// appendSize appends the constructor and the size of a value of variable width.
func appendSize(b []byte, code byte, size int) []byte {
	if size <= math.MaxUint8 {
		return append(b, code, byte(size))
	}
	return binary.BigEndian.AppendUint32(append(b, code+wide), uint32(size)) //nolint:gosec // messages are much smaller
}

// AppendDescriptor appends the beginning of a described value, which the next value completes.
func AppendDescriptor(b []byte, code uint64) []byte {
	return AppendUlong(append(b, codeDescribed), code)
}
