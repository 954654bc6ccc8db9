package property

import (
	"errors"
	"math"
	"unicode/utf8"
)

// decoder reads encoded values. It never copies a text. The first problem is kept, and every later
// read returns zero.
type decoder struct {
	text    string
	at      int
	problem string
}

func (d *decoder) fail(problem string) {
	if d.problem == "" {
		d.problem = problem
	}
}

// take returns the next n bytes.
func (d *decoder) take(n int) string {
	if d.problem != "" {
		return ""
	}
	if n < 0 || n > len(d.text)-d.at {
		d.fail("a value ends beyond the section")
		return ""
	}
	d.at += n
	return d.text[d.at-n : d.at]
}

// number reads a big-endian number of n bytes, at most 8.
func (d *decoder) number(n int) uint64 {
	x := uint64(0)
	for _, b := range []byte(d.take(n)) {
		x = x<<8 | uint64(b)
	}
	return x
}

// signed reads a number of n bytes in two's complement.
func (d *decoder) signed(n int) uint64 {
	shift := 64 - 8*n
	return uint64(int64(d.number(n)<<shift) >> shift)
}

// size reads a length of n bytes.
func (d *decoder) size(n int) int {
	size := d.number(n)
	if size > math.MaxInt32 {
		d.fail("a value ends beyond the section")
		return 0
	}
	return int(size)
}

// variable reads the bytes of a variable-width value, whose codes differ by the width of the length.
func (d *decoder) variable(code, short byte) string {
	if code == short {
		return d.take(d.size(1))
	}
	return d.take(d.size(4))
}

// Codes of encodings, AMQP 1.0 part 1.6.
const (
	codeDescribed  = 0x00
	codeNull       = 0x40
	codeTrue       = 0x41
	codeFalse      = 0x42
	codeUInt0      = 0x43
	codeULong0     = 0x44
	codeList0      = 0x45
	codeUByte      = 0x50
	codeByte       = 0x51
	codeSmallUInt  = 0x52
	codeSmallULong = 0x53
	codeSmallInt   = 0x54
	codeSmallLong  = 0x55
	codeBoolean    = 0x56
	codeUShort     = 0x60
	codeShort      = 0x61
	codeUInt       = 0x70
	codeInt        = 0x71
	codeFloat      = 0x72
	codeChar       = 0x73
	codeDecimal32  = 0x74
	codeULong      = 0x80
	codeLong       = 0x81
	codeDouble     = 0x82
	codeTimestamp  = 0x83
	codeDecimal64  = 0x84
	codeDecimal128 = 0x94
	codeUUID       = 0x98
	codeBinary8    = 0xa0
	codeString8    = 0xa1
	codeSymbol8    = 0xa3
	codeBinary32   = 0xb0
	codeString32   = 0xb1
	codeSymbol32   = 0xb3
	codeList8      = 0xc0
	codeMap8       = 0xc1
	codeList32     = 0xd0
	codeMap32      = 0xd1
)

// Descriptors of .NET's types.
const (
	descriptorTimeSpan       = "com.microsoft:timespan"
	descriptorURI            = "com.microsoft:uri"
	descriptorDateTimeOffset = "com.microsoft:datetime-offset"
)

// Decode reads a value as Append encodes it.
func Decode(encoded string) (Value, error) {
	d := decoder{text: encoded}
	v := d.value()
	if d.problem == "" && d.at != len(encoded) {
		d.fail("bytes follow it")
	}
	if d.problem != "" {
		return Value{}, errors.New("the value is malformed: " + d.problem)
	}
	return v, nil
}

// value reads a value that is not a list, map or array.
func (d *decoder) value() Value {
	start := d.at
	code := byte(d.number(1))
	if d.problem != "" {
		return Value{}
	}
	if code == codeDescribed {
		return d.described(start)
	}
	return d.primitive(code)
}

// described reads a described value. An unknown descriptor makes it a value of TypeOther.
func (d *decoder) described(start int) Value {
	descriptor := d.primitive(byte(d.number(1)))
	if descriptor.typ != TypeSymbol && descriptor.typ != TypeULong {
		d.fail("a descriptor is neither a symbol nor a ulong")
	}
	v := d.primitive(byte(d.number(1)))
	if d.problem != "" {
		return Value{}
	}
	switch {
	case descriptor.text == descriptorTimeSpan && v.typ == TypeLong:
		return Value{typ: TypeTimeSpan, low: v.low}
	case descriptor.text == descriptorURI && v.typ == TypeString:
		return Value{typ: TypeURI, text: v.text}
	case descriptor.text == descriptorDateTimeOffset && v.typ == TypeLong:
		return Value{typ: TypeDateTimeOffset, low: uint64(min(max(int64(v.low), 0), timeTicksMax))}
	}
	return Value{typ: TypeOther, text: d.text[start:d.at]}
}

// primitive reads the value of an encoding.
func (d *decoder) primitive(code byte) Value {
	if d.problem != "" {
		return Value{}
	}
	start := d.at - 1
	switch code {
	case codeNull:
		return Null
	case codeTrue, codeFalse:
		return Boolean(code == codeTrue)
	case codeBoolean:
		b := d.number(1)
		if b > 1 {
			d.fail("a boolean is neither 0 nor 1")
		}
		return Boolean(b == 1)
	case codeUByte, codeUShort, codeUInt, codeULong, codeUInt0, codeULong0, codeSmallUInt, codeSmallULong,
		codeByte, codeShort, codeInt, codeLong, codeSmallInt, codeSmallLong:
		return d.integer(code)
	case codeFloat:
		return Value{typ: TypeFloat, low: doubleOfFloat(uint32(d.number(4)))}
	case codeDouble:
		return DoubleBits(d.number(8))
	case codeDecimal32, codeDecimal64, codeDecimal128:
		return d.decimal(code, start)
	case codeTimestamp:
		return Time(int64(d.number(8)))
	case codeUUID:
		high := d.number(8)
		return Value{typ: TypeUUID, high: high, low: d.number(8)}
	case codeChar, codeBinary8, codeBinary32, codeString8, codeString32, codeSymbol8, codeSymbol32:
		return d.letters(code)
	case codeList0, codeList8, codeList32, codeMap8, codeMap32, 0xe0, 0xf0:
		d.fail("a value is a list, a map or an array")
	default:
		d.fail("a value has an unknown type")
	}
	return Value{}
}

func (d *decoder) integer(code byte) Value {
	switch code {
	case codeUByte:
		return Value{typ: TypeUByte, low: d.number(1)}
	case codeUShort:
		return Value{typ: TypeUShort, low: d.number(2)}
	case codeUInt:
		return Value{typ: TypeUInt, low: d.number(4)}
	case codeSmallUInt:
		return Value{typ: TypeUInt, low: d.number(1)}
	case codeUInt0:
		return Value{typ: TypeUInt}
	case codeULong:
		return ULong(d.number(8))
	case codeSmallULong:
		return ULong(d.number(1))
	case codeULong0:
		return ULong(0)
	case codeByte:
		return Value{typ: TypeByte, low: d.signed(1)}
	case codeShort:
		return Value{typ: TypeShort, low: d.signed(2)}
	case codeInt:
		return Value{typ: TypeInt, low: d.signed(4)}
	case codeSmallInt:
		return Value{typ: TypeInt, low: d.signed(1)}
	case codeLong:
		return Value{typ: TypeLong, low: d.number(8)}
	}
	return Value{typ: TypeLong, low: d.signed(1)} // codeSmallLong
}

func (d *decoder) letters(code byte) Value {
	switch code {
	case codeChar:
		r := d.number(4)
		if r > utf8.MaxRune || !utf8.ValidRune(rune(r)) {
			d.fail("a char is not a character of Unicode")
		}
		return Value{typ: TypeChar, text: string(rune(r))}
	case codeBinary8, codeBinary32:
		return Binary(d.variable(code, codeBinary8))
	case codeString8, codeString32:
		text := d.variable(code, codeString8)
		if !utf8.ValidString(text) {
			d.fail("a string is not valid UTF-8")
		}
		return String(text)
	}
	text := d.variable(code, codeSymbol8)
	if !isASCII(text) {
		d.fail("a symbol is not ASCII")
	}
	return Value{typ: TypeSymbol, text: text}
}

// decimal reads a decimal whose coefficient is a binary integer, as .NET writes it. Infinities, NaN
// and decimals that .NET cannot hold become values of TypeOther.
func (d *decoder) decimal(code byte, start int) Value {
	// word has the sign, the exponent and the coefficient, or its high half.
	var word, low uint64
	var width, exponentBits, bias int
	switch code {
	case codeDecimal32:
		word, width, exponentBits, bias = d.number(4), 32, 8, 101
	case codeDecimal64:
		word, width, exponentBits, bias = d.number(8), 64, 10, 398
	default:
		word, width, exponentBits, bias = d.number(8), 64, 14, 6176
		low = d.number(8)
	}
	negative := word>>(width-1) == 1
	coefficientBits := width - 1 - exponentBits
	leading := uint64(0)
	if word>>(width-3)&3 == 3 { // the coefficient has a leading bit that is not stored
		if word>>(width-5)&15 == 15 { // infinity or NaN
			return d.other(start)
		}
		leading = 1 << coefficientBits
		coefficientBits -= 2
	}
	exponent := int(word>>coefficientBits) & (1<<exponentBits - 1)
	coefficient := wide{low: word&(1<<coefficientBits-1) | leading}
	if code == codeDecimal128 {
		coefficient = wide{high: coefficient.low, low: low}
	}
	v, ok := decimalOf(negative, coefficient, exponent-bias)
	if !ok {
		return d.other(start)
	}
	return v
}

func (d *decoder) other(start int) Value {
	if d.problem != "" {
		return Value{}
	}
	return Value{typ: TypeOther, text: d.text[start:d.at]}
}
