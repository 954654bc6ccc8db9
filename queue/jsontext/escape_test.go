package jsontext

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

// Every control character, and characters that other writers escape.
func TestWriteEscaped(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ text, want string }{
		{"", ""},
		{"plain", "plain"},
		{`"\/`, `\"\\/`},
		{"\b\f\n\r\t", `\b\f\n\r\t`},
		{"\x00\x01\x0b\x1a\x1f\x7f", `\u0000\u0001\u000B\u001A\u001F` + "\x7f"},
		{"<&>'\u2028\u2029\u0085é🙂", "<&>'\u2028\u2029\u0085é🙂"},
		{"a\"b\"", `a\"b\"`},
		{"\xff\"\xed\xa0\x80", "\xff\\\"\xed\xa0\x80"},
	} {
		var got strings.Builder
		WriteEscaped(&got, tc.text)
		if got.String() != tc.want {
			t.Errorf("%q is written %q, want %q", tc.text, got.String(), tc.want)
		}
	}
}

// The output has the computed length, and decodes to the input with this reader and that of the
// standard library.
func FuzzWriteEscaped(f *testing.F) {
	for _, text := range []string{"", "a", "\x00\x1f\x7f\"\\/\b\f\n\r\t", "<&>\u2028\u2029", "é🙂\ufffd", "\xff\xc0"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var written strings.Builder
		WriteEscaped(&written, text)
		if written.Len() != EscapedLength(text) {
			t.Fatalf("%q has %d bytes, %d were said", text, written.Len(), EscapedLength(text))
		}
		quoted := `"` + written.String() + `"`
		read, err := Parse(quoted, 1)
		if !utf8.ValidString(text) {
			return
		}
		if err != nil || read.Text() != text {
			t.Fatalf("%q is read as %q (%v)", text, read.Text(), err)
		}
		var byLibrary string
		if err := json.Unmarshal([]byte(quoted), &byLibrary); err != nil || byLibrary != text {
			t.Fatalf("%q is read by the library as %q (%v)", text, byLibrary, err)
		}
	})
}
