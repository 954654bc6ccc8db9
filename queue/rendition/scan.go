package rendition

import "strings"

// Descriptors of the sections of a message, AMQP 1.0 part 3.2.
const (
	sectionHeader      = 0x70
	sectionDelivery    = 0x71
	sectionMessage     = 0x72
	sectionProperties  = 0x73
	sectionApplication = 0x74
	sectionData        = 0x75
	sectionSequence    = 0x76
	sectionValue       = 0x77
	sectionFooter      = 0x78
)

// Codes of encodings, AMQP 1.0 part 1.6.
const (
	codeDescribed  = 0x00
	codeSmallULong = 0x53
	codeULong      = 0x80
	codeBinary8    = 0xa0
	codeString8    = 0xa1
	codeSymbol8    = 0xa3
	codeBinary32   = 0xb0
	codeString32   = 0xb1
	codeList8      = 0xc0
	codeMap8       = 0xc1
	codeList32     = 0xd0
	codeMap32      = 0xd1
)

// Values of which the code is all.
const (
	encodedNull  = "\x40"
	encodedList0 = "\x45"
)

// valueLength returns the length of the encoded value at the beginning of text, 0 if it is malformed.
// It does not look into lists, maps and arrays.
func valueLength(text string) int {
	at := 0
	for values := 1; values > 0; {
		if at >= len(text) {
			return 0
		}
		code := text[at]
		if at++; code == codeDescribed {
			values++ // the descriptor and the value
			continue
		}
		size, ok := contentLength(code, text[at:])
		if !ok || size > len(text)-at {
			return 0
		}
		at += size
		values--
	}
	return at
}

// contentLength returns the length of a value after its code.
func contentLength(code byte, rest string) (size int, ok bool) {
	switch code >> 4 {
	case 0x4:
		return 0, true
	case 0x5:
		return 1, true
	case 0x6:
		return 2, true
	case 0x7:
		return 4, true
	case 0x8:
		return 8, true
	case 0x9:
		return 16, true
	case 0xa, 0xc, 0xe:
		if rest == "" {
			return 0, false
		}
		return 1 + int(rest[0]), true
	case 0xb, 0xd, 0xf:
		if len(rest) < 4 {
			return 0, false
		}
		n := uint32(rest[0])<<24 | uint32(rest[1])<<16 | uint32(rest[2])<<8 | uint32(rest[3])
		return 4 + int(n), n < 1<<31
	}
	return 0, false
}

// section is one section of a message.
type section struct {
	kind  byte   // descriptor
	whole string // with the descriptor
	value string // without it
}

// symbols are the descriptors as symbols, which are rare.
var symbols = map[string]byte{
	"amqp:header:list": sectionHeader, "amqp:delivery-annotations:map": sectionDelivery,
	"amqp:message-annotations:map": sectionMessage, "amqp:properties:list": sectionProperties,
	"amqp:application-properties:map": sectionApplication, "amqp:data:binary": sectionData,
	"amqp:amqp-sequence:list": sectionSequence, "amqp:amqp-value:*": sectionValue, "amqp:footer:map": sectionFooter,
}

// nextSection splits off the first section.
func nextSection(text string) (s section, rest string, ok bool) {
	if len(text) < 2 || text[0] != codeDescribed {
		return s, text, false
	}
	length := valueLength(text)
	named := valueLength(text[1:])
	if length == 0 || named == 0 || 1+named >= length {
		return s, text, false
	}
	descriptor := text[1 : 1+named]
	switch {
	case descriptor[0] == codeSmallULong:
		s.kind = descriptor[1]
	case descriptor[0] == codeULong && strings.HasPrefix(descriptor[1:], "\x00\x00\x00\x00\x00\x00\x00"):
		s.kind = descriptor[8]
	case descriptor[0] == codeSymbol8:
		s.kind = symbols[descriptor[2:]]
	}
	s.whole, s.value = text[:length], text[1+named:length]
	return s, text[length:], s.kind >= sectionHeader && s.kind <= sectionFooter
}

// compound splits a list or a map, without a check of its elements.
func compound(value string, short byte) (elements string, count int, ok bool) {
	switch {
	case value == encodedList0 && short == codeList8:
		return "", 0, true
	case len(value) >= 3 && value[0] == short:
		return value[3:], int(value[2]), true
	case len(value) >= 9 && value[0] == short+0x10:
		n := uint32(value[5])<<24 | uint32(value[6])<<16 | uint32(value[7])<<8 | uint32(value[8])
		return value[9:], int(n), n < 1<<31
	}
	return "", 0, false
}

// binaryOf returns the bytes of a binary, or the text of a string.
func binaryOf(value string, short byte) (bytes string, ok bool) {
	switch {
	case len(value) >= 2 && value[0] == short:
		return value[2:], true
	case len(value) >= 5 && value[0] == short+0x10:
		return value[5:], true
	}
	return "", false
}
