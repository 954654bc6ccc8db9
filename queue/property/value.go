package property

import "math"

// Type is the AMQP type of a value.
type Type uint8

// The types. TypeNone is the type of the zero Value, which means that there is no such property.
// TypeTimeSpan, TypeURI and TypeDateTimeOffset have the descriptors com.microsoft:timespan, :uri and
// :datetime-offset.
const (
	TypeNone Type = iota
	TypeNull
	TypeBoolean
	TypeUByte
	TypeUShort
	TypeUInt
	TypeULong
	TypeByte
	TypeShort
	TypeInt
	TypeLong
	TypeFloat
	TypeDouble
	TypeDecimal
	TypeChar
	TypeTimestamp
	TypeUUID
	TypeBinary
	TypeString
	TypeSymbol
	TypeTimeSpan
	TypeURI
	TypeDateTimeOffset
	TypeOther // a value that no operator takes
	typeCount
)

var typeNames = [typeCount]string{
	"none", "null", "boolean", "ubyte", "ushort", "uint", "ulong", "byte", "short", "int", "long", "float", "double", "decimal", "char",
	"timestamp", "uuid", "binary", "string", "symbol", "timespan", "uri", "datetime-offset", "other",
}

// String returns the name of the type in AMQP.
func (t Type) String() string {
	if t < typeCount {
		return typeNames[t]
	}
	return "invalid"
}

// Kind is the type of a value for operators.
type Kind uint8

// The kinds.
const (
	KindNone Kind = iota // no such property
	KindNull
	KindBoolean
	KindLong
	KindDouble
	KindDecimal
	KindString
	KindTime
	KindDuration
	KindGUID
	KindBinary // no operator takes it
	kindCount
)

var (
	kindNames = [kindCount]string{
		"nothing", "null", "a boolean", "an integer", "a double", "a decimal", "a string", "a date and time", "a duration", "a GUID",
		"a binary value",
	}
	kinds = [typeCount]Kind{
		TypeNone: KindNone, TypeNull: KindNull, TypeBoolean: KindBoolean,
		TypeUByte: KindLong, TypeUShort: KindLong, TypeUInt: KindLong, TypeULong: KindLong,
		TypeByte: KindLong, TypeShort: KindLong, TypeInt: KindLong, TypeLong: KindLong,
		TypeFloat: KindDouble, TypeDouble: KindDouble, TypeDecimal: KindDecimal,
		TypeChar: KindString, TypeString: KindString, TypeSymbol: KindString, TypeURI: KindString,
		TypeTimestamp: KindTime, TypeDateTimeOffset: KindTime, TypeTimeSpan: KindDuration,
		TypeUUID: KindGUID, TypeBinary: KindBinary, TypeOther: KindBinary,
	}
)

// String returns the kind with its article, for errors and explanations.
func (k Kind) String() string {
	if k < kindCount {
		return kindNames[k]
	}
	return "invalid"
}

// Value is a typed value. Values are immutable and comparable: equal values have the same type.
type Value struct {
	typ      Type
	scale    uint8  // decimal places
	negative bool   // of a decimal
	low      uint64 // integers, bits of a double, ticks, the low half of a decimal or UUID
	high     uint64
	text     string // strings, and the bytes of binary and other values
}

// Null is the null value.
var Null = Value{typ: TypeNull}

// Boolean returns a boolean value.
func Boolean(b bool) Value {
	v := Value{typ: TypeBoolean}
	if b {
		v.low = 1
	}
	return v
}

// Long returns a long value.
func Long(n int64) Value { return Value{typ: TypeLong, low: uint64(n)} }

// Integer returns a value of an integer type. It is none if the type cannot hold n.
func Integer(t Type, n int64) Value {
	var least, most int64
	switch t {
	case TypeUByte:
		most = math.MaxUint8
	case TypeUShort:
		most = math.MaxUint16
	case TypeUInt:
		most = math.MaxUint32
	case TypeULong:
		most = math.MaxInt64
	case TypeByte:
		least, most = math.MinInt8, math.MaxInt8
	case TypeShort:
		least, most = math.MinInt16, math.MaxInt16
	case TypeInt:
		least, most = math.MinInt32, math.MaxInt32
	case TypeLong:
		least, most = math.MinInt64, math.MaxInt64
	default:
		return Value{}
	}
	if n < least || n > most {
		return Value{}
	}
	return Value{typ: t, low: uint64(n)}
}

// ULong returns a ulong value.
func ULong(n uint64) Value { return Value{typ: TypeULong, low: n} }

// DoubleBits returns the double with these IEEE 754 bits.
func DoubleBits(bits uint64) Value { return Value{typ: TypeDouble, low: bits} }

// String returns a string value. text is valid UTF-8.
func String(text string) Value { return Value{typ: TypeString, text: text} }

// Binary returns a binary value.
func Binary(bytes string) Value { return Value{typ: TypeBinary, text: bytes} }

// GUID returns a UUID value with its bytes in the order of RFC 4122.
func GUID(id [16]byte) Value {
	v := Value{typ: TypeUUID}
	for i := range 8 {
		v.high = v.high<<8 | uint64(id[i])
		v.low = v.low<<8 | uint64(id[i+8])
	}
	return v
}

// Time returns a timestamp from milliseconds since 1970, limited to the years 1 to 9999.
func Time(millis int64) Value {
	millis = min(max(millis, -epochTicks/ticksPerMilli), (timeTicksMax-epochTicks)/ticksPerMilli)
	return Value{typ: TypeTimestamp, low: uint64(millis*ticksPerMilli + epochTicks)}
}

// Duration returns a timespan of ticks of 100 ns.
func Duration(ticks int64) Value { return Value{typ: TypeTimeSpan, low: uint64(ticks)} }

// Type returns the AMQP type.
func (v Value) Type() Type { return v.typ }

// Kind returns the kind.
func (v Value) Kind() Kind {
	if v.typ == TypeULong && v.low > math.MaxInt64 {
		return KindDecimal
	}
	return kinds[v.typ]
}

// Long returns the number of an integer, and zero for other kinds.
func (v Value) Long() int64 {
	if v.Kind() != KindLong {
		return 0
	}
	return int64(v.low)
}

// Bool returns the value of a boolean, and false for other kinds.
func (v Value) Bool() bool { return v.typ == TypeBoolean && v.low == 1 }

// Bits returns the IEEE 754 bits of a double, and zero for other kinds.
func (v Value) Bits() uint64 {
	if v.Kind() != KindDouble {
		return 0
	}
	return v.low
}

// Millis returns a time in milliseconds since 1970, truncated, and zero for other kinds.
func (v Value) Millis() int64 {
	if v.Kind() != KindTime {
		return 0
	}
	ticks := int64(v.low) - epochTicks
	if ticks < 0 {
		return (ticks - ticksPerMilli + 1) / ticksPerMilli
	}
	return ticks / ticksPerMilli
}

// Ticks returns a duration in ticks of 100 ns, and zero for other kinds.
func (v Value) Ticks() int64 {
	if v.Kind() != KindDuration {
		return 0
	}
	return int64(v.low)
}

// Str returns the text of a string, the bytes of a binary value, and "" for other kinds.
func (v Value) Str() string { return v.text }

// bytes returns the bytes of a UUID in the order of RFC 4122.
func (v Value) bytes() (id [16]byte) {
	for i := range 8 {
		id[i] = byte(v.high >> (56 - 8*i))
		id[i+8] = byte(v.low >> (56 - 8*i))
	}
	return id
}
