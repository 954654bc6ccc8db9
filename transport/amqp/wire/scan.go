package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"unicode/utf8"
)

const (
	// depthMax bounds how deep values may be nested.
	depthMax = 32
	// emptyItemsMax bounds the items of an array whose items take no bytes.
	emptyItemsMax = 255
	// itemConstructorMax bounds the bytes of the constructor of an array.
	itemConstructorMax = 64
)

// ErrMalformed is the error of all inputs that are not AMQP 1.0.
var ErrMalformed = errors.New("malformed AMQP")

func malformed(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrMalformed, fmt.Sprintf(format, args...))
}

// The errors of scanning have no arguments, so that hostile input costs no formatting.
var (
	errShort       = malformed("the input ends within a value")
	errConstructor = malformed("unknown constructor")
	errDepth       = malformed("values are nested too deep")
	errSize        = malformed("the size of a list, a map or an array is not that of its items")
	errOddMap      = malformed("a map has a key without a value")
	errEmptyItems  = malformed("an array has too many items without bytes")
	errItem        = malformed("an array has items of a type that is not supported")
	errText        = malformed("a string is not valid UTF-8")
	errSymbol      = malformed("a symbol is not ASCII")
)

// Scan checks the value at the beginning of b, and returns it and the bytes behind it.
func Scan(b []byte) (Value, []byte, error) {
	n, err := scan(b, depthMax)
	if err != nil {
		return nil, nil, err
	}
	return Value(b[:n:n]), b[n:], nil
}

// scan returns the length of the value at the beginning of b.
func scan(b []byte, depth int) (int, error) {
	if len(b) == 0 {
		return 0, errShort
	}
	if b[0] != codeDescribed {
		n, err := scanData(b[0], b[1:], depth)
		return 1 + n, err
	}
	if depth == 0 {
		return 0, errDepth
	}
	descriptor, err := scan(b[1:], depth-1)
	if err != nil {
		return 0, err
	}
	n, err := scan(b[1+descriptor:], depth-1)
	return 1 + descriptor + n, err
}

// scanData returns the length of the data that follows a constructor.
func scanData(code byte, b []byte, depth int) (int, error) {
	if kinds[code] == Invalid || code == codeDescribed {
		return 0, errConstructor
	}
	n, content := dataLength(code, b)
	if n < 0 || n > len(b) {
		return 0, errShort
	}
	var err error
	switch kinds[code] {
	case String:
		if !utf8.Valid(b[content:n]) {
			err = errText
		}
	case Symbol:
		for _, c := range b[content:n] {
			if c >= utf8.RuneSelf {
				err = errSymbol
			}
		}
	case List, Map:
		if code != codeList0 {
			err = scanItems(code, b[:n], depth)
		}
	case Array:
		err = scanArray(code, b[:n], depth)
	case Boolean:
		if code == codeBoolean && b[0] > 1 {
			err = errConstructor
		}
	}
	return n, err
}

// dataLength returns the length of the data that follows a constructor, and where its content
// begins, behind a size. The length is negative if b is too short for the size.
func dataLength(code byte, b []byte) (length, content int) {
	switch code >> 4 {
	case 0x4:
		return 0, 0
	case 0x5:
		return 1, 0
	case 0x6:
		return 2, 0
	case 0x7:
		return 4, 0
	case 0x8:
		return 8, 0
	case 0x9:
		return 16, 0
	case 0xa, 0xc, 0xe:
		if len(b) < 1 {
			return -1, 0
		}
		return 1 + int(b[0]), 1
	}
	if len(b) < 4 {
		return -1, 0
	}
	return 4 + int(binary.BigEndian.Uint32(b)), 4
}

// count splits the data of a list, a map or an array into the number of items and their bytes.
func count(code byte, data []byte) (items int, rest []byte, err error) {
	if code >= codeList32 && code != codeArray8 {
		if len(data) < 8 {
			return 0, nil, errSize
		}
		return int(binary.BigEndian.Uint32(data[4:])), data[8:], nil
	}
	if len(data) < 2 {
		return 0, nil, errSize
	}
	return int(data[1]), data[2:], nil
}

// scanItems checks the items of a list or a map.
func scanItems(code byte, data []byte, depth int) error {
	if depth == 0 {
		return errDepth
	}
	items, rest, err := count(code, data)
	if err != nil {
		return err
	}
	if items > len(rest) {
		return errSize
	}
	if kinds[code] == Map && items%2 != 0 {
		return errOddMap
	}
	for range items {
		n, err := scan(rest, depth-1)
		if err != nil {
			return err
		}
		rest = rest[n:]
	}
	if len(rest) > 0 {
		return errSize
	}
	return nil
}

// scanArray checks the items of an array.
func scanArray(code byte, data []byte, depth int) error {
	if depth == 0 {
		return errDepth
	}
	items, rest, err := count(code, data)
	if err != nil {
		return err
	}
	constructor, err := scanConstructor(rest, depth-1)
	if err != nil {
		return err
	}
	item := rest[constructor-1]
	rest = rest[constructor:]
	if kinds[item] == Invalid || item == codeDescribed {
		return errItem
	}
	if item>>4 == 0x4 && items > emptyItemsMax || item>>4 != 0x4 && items > len(rest) {
		return errEmptyItems
	}
	for range items {
		n, err := scanData(item, rest, depth-1)
		if err != nil {
			return err
		}
		rest = rest[n:]
	}
	if len(rest) > 0 {
		return errSize
	}
	return nil
}

// scanConstructor returns the length of the constructor of an array, which may have a descriptor.
func scanConstructor(b []byte, depth int) (int, error) {
	if len(b) == 0 {
		return 0, errShort
	}
	if b[0] != codeDescribed {
		return 1, nil
	}
	n, err := scan(b[1:], depth)
	if err != nil {
		return 0, err
	}
	if n += 1; n >= len(b) {
		return 0, errShort
	}
	if n >= itemConstructorMax {
		return 0, errItem
	}
	return n + 1, nil
}

// length returns the length of the value at the beginning of b, which Scan has checked.
func length(b []byte) int {
	n := 0
	for b[n] == codeDescribed {
		n++
		n += length(b[n:])
	}
	data, _ := dataLength(b[n], b[n+1:])
	return n + 1 + data
}
