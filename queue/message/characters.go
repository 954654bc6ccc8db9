package message

import (
	"unicode/utf8"

	"github.com/seriatimq/seriatim/queue/limits"
	"github.com/seriatimq/seriatim/queue/refusal"
)

const validCharacters = "#x9 | #xA | #xD | #x20 to #xD7FF | #xE000 to #xFFFD | #x10000 to #x10FFFF"

// CheckBody checks the characters of a body.
func CheckBody(body string) *refusal.Error {
	if BadCharacter(body) {
		return refusal.New(refusal.InvalidMessageContents, "Invalid characters found. Valid unicode characters are "+validCharacters)
	}
	return nil
}

// ValidID reports whether an id of a message, group, attempt or partition has 1 to 128 printable
// ASCII characters, without blanks.
func ValidID(id string) bool {
	if id == "" || len(id) > limits.IDLengthMax {
		return false
	}
	for i := range len(id) {
		if id[i] <= ' ' || id[i] > '~' {
			return false
		}
	}
	return true
}

// InvalidID returns the error for an invalid id.
func InvalidID(value, name string) *refusal.Error {
	return refusal.InvalidValue(value, name, name+" can only include alphanumeric and punctuation characters. 1 to 128 in length.")
}

// BadCharacter reports whether text is not UTF-8 or has a character that XML cannot carry, which
// SQS refuses in both protocols.
func BadCharacter(text string) bool {
	i := 0
	for i+8 <= len(text) {
		if !plain(text[i : i+8]) {
			next, ok := slowly(text, i, i+8)
			if !ok {
				return true
			}
			i = next
			continue
		}
		i += 8
	}
	_, ok := slowly(text, i, len(text))
	return !ok
}

// plain reports whether eight bytes are ASCII without control characters.
func plain(s string) bool {
	const lows, highs = 0x2020202020202020, 0x8080808080808080
	_ = s[7]
	w := uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
	// Subtracting 32 sets the high bit of a lower byte. Only such a byte causes a borrow, so no bad
	// word passes.
	return (w|(w-lows))&highs == 0
}

// slowly checks the characters that begin in text[i:end] and returns the offset of the next one.
func slowly(text string, i, end int) (int, bool) {
	for i < end {
		c := text[i]
		if c < utf8.RuneSelf {
			if c < ' ' && c != '\t' && c != '\n' && c != '\r' {
				return i, false
			}
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(text[i:])
		// Surrogates do not decode. Of the other code points only these two are invalid.
		if r == utf8.RuneError && n == 1 || r == 0xFFFE || r == 0xFFFF {
			return i, false
		}
		i += n
	}
	return i, true
}
