package filter

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/seriatimq/seriatim/queue/jsontext"
)

// refusal is an error with the text of SNS.
type refusal string

func (r refusal) Error() string { return string(r) }

// Errors about a whole policy, without a position. The text of errTooLong is not recorded. The text
// about nesting omits the name of the attribute.
var (
	errTooLong     = refused("Filter policy is too long")
	errTooManyKeys = refused("Filter policy can not have more than " + strconv.Itoa(KeysMax) + " keys")
	errTooComplex  = refused("Filter policy is too complex")
	errNested      = refusal("Filter policy scope MessageAttributes does not support nested filter policy")
)

const (
	// sourceLengthMax bounds the quoted policy in an error, wordLengthMax a quoted word.
	sourceLengthMax = 500
	wordLengthMax   = 256
)

// refused returns an error without a position.
func refused(reason string) error { return refusal("FilterPolicy: " + reason) }

// located returns an error at a position, in the format of SNS's JSON reader, which counts UTF-16
// units.
func located(text string, at int, reason string) error {
	line, row := 1, 0
	for i := range at {
		if text[i] == '\n' || text[i] == '\r' && (i+1 == len(text) || text[i+1] != '\n') {
			line, row = line+1, i+1
		}
	}
	end, rest := len(text), ""
	if length := utf16Length(text); length > sourceLengthMax {
		end = utf16Prefix(text, sourceLengthMax)
		rest = "[truncated " + strconv.Itoa(length-utf16Length(text[:end])) + " chars]"
	}
	return refused(reason + "\n at [Source: (String)\"" + strings.ToValidUTF8(text[:end], "\ufffd") + "\"" + rest +
		"; line: " + strconv.Itoa(line) + ", column: " + strconv.Itoa(utf16Length(text[row:at])+1) + "]")
}

// behindNext returns the reader's position with v as the next token: after one character of a
// string, object or array, and after any other value.
func behindNext(v jsontext.Value) int {
	switch v.Kind() {
	case jsontext.KindObject, jsontext.KindArray, jsontext.KindString:
		return v.Start() + 1
	default:
		return v.End()
	}
}

func utf16Length(text string) int {
	n := 0
	for _, r := range text {
		n += utf16Units(r)
	}
	return n
}

// utf16Prefix returns the length in bytes of the longest prefix of at most so many units.
func utf16Prefix(text string, units int) int {
	for i, r := range text {
		if units -= utf16Units(r); units < 0 {
			return i
		}
	}
	return len(text)
}

func utf16Units(r rune) int {
	if r > 0xFFFF {
		return 2
	}
	return 1
}

// shortened bounds a word that an error quotes.
func shortened(word string) string {
	if len(word) <= wordLengthMax {
		return word
	}
	end := wordLengthMax
	for end > 0 && !utf8.RuneStart(word[end]) {
		end--
	}
	return word[:end]
}
