package property

import (
	"encoding/binary"
	"unicode/utf8"
)

// Append appends a value in its AMQP encoding. Nothing is encoded as null.
func Append(b []byte, v Value) []byte {
	switch v.typ {
	case TypeNone, TypeNull:
		return append(b, codeNull)
	case TypeBoolean:
		if v.low == 1 {
			return append(b, codeTrue)
		}
		return append(b, codeFalse)
	case TypeUByte:
		return append(b, codeUByte, byte(v.low))
	case TypeByte:
		return append(b, codeByte, byte(v.low))
	case TypeUShort:
		return binary.BigEndian.AppendUint16(append(b, codeUShort), uint16(v.low))
	case TypeShort:
		return binary.BigEndian.AppendUint16(append(b, codeShort), uint16(v.low))
	case TypeUInt:
		return binary.BigEndian.AppendUint32(append(b, codeUInt), uint32(v.low))
	case TypeInt:
		return binary.BigEndian.AppendUint32(append(b, codeInt), uint32(v.low))
	case TypeULong:
		return binary.BigEndian.AppendUint64(append(b, codeULong), v.low)
	case TypeLong:
		return binary.BigEndian.AppendUint64(append(b, codeLong), v.low)
	case TypeFloat:
		narrow, _ := floatOfDouble(v.low)
		return binary.BigEndian.AppendUint32(append(b, codeFloat), narrow)
	case TypeDouble:
		return binary.BigEndian.AppendUint64(append(b, codeDouble), v.low)
	case TypeTimestamp:
		return binary.BigEndian.AppendUint64(append(b, codeTimestamp), uint64(v.Millis()))
	case TypeDecimal:
		high := v.high | uint64(6176-int(v.scale))<<49
		if v.negative {
			high |= signBit
		}
		return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(append(b, codeDecimal128), high), v.low)
	case TypeUUID:
		id := v.bytes()
		return append(append(b, codeUUID), id[:]...)
	case TypeChar:
		r, _ := utf8.DecodeRuneInString(v.text)
		return binary.BigEndian.AppendUint32(append(b, codeChar), uint32(r))
	case TypeBinary:
		return appendVariable(b, codeBinary8, v.text)
	case TypeString:
		return appendVariable(b, codeString8, v.text)
	case TypeSymbol:
		return appendVariable(b, codeSymbol8, v.text)
	case TypeTimeSpan:
		return Append(appendDescriptor(b, descriptorTimeSpan), Long(int64(v.low)))
	case TypeURI:
		return Append(appendDescriptor(b, descriptorURI), String(v.text))
	case TypeDateTimeOffset:
		return Append(appendDescriptor(b, descriptorDateTimeOffset), Long(int64(v.low)))
	default: // TypeOther
		return append(b, v.text...)
	}
}

func appendDescriptor(b []byte, name string) []byte {
	return appendVariable(append(b, codeDescribed), codeSymbol8, name)
}

// appendVariable appends a text. The code for a long text is 16 above that for a short one.
func appendVariable(b []byte, short byte, text string) []byte {
	if len(text) < 256 {
		return append(append(b, short, byte(len(text))), text...)
	}
	return append(binary.BigEndian.AppendUint32(append(b, short+0x10), uint32(len(text))), text...)
}
