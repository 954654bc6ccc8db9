package identifier

import (
	"strings"
	"testing"

	"github.com/seriatimq/seriatim/queue/statehash"
)

// A parsed token prints the same text, and only an issued one opens.
func FuzzParseSessionToken(f *testing.F) {
	key := statehash.NewKey([16]byte{1})
	issued := NewSessionToken(key, 2, 3, 4)
	f.Add(issued.String())
	f.Add(strings.ToUpper(issued.String()))
	f.Add(strings.Repeat("0", 48))
	f.Add("")
	f.Fuzz(func(t *testing.T, text string) {
		token, ok := ParseSessionToken(text)
		if !ok {
			return
		}
		if token.String() != text {
			t.Fatalf("%q is written %q", text, token.String())
		}
		if lock, ok := token.Open(key, 2, 3); ok && NewSessionToken(key, 2, 3, lock) != token {
			t.Fatalf("%q opens", text)
		}
	})
}

func TestSessionTokenOpens(t *testing.T) {
	key := statehash.NewKey([16]byte{1})
	token := NewSessionToken(key, 2, 3, 4)
	if lock, ok := token.Open(key, 2, 3); !ok || lock != 4 {
		t.Errorf("lock %d, %v", lock, ok)
	}
	for name, open := range map[string]func() (uint64, bool){
		"another epoch": func() (uint64, bool) { return token.Open(key, 1, 3) },
		"another queue": func() (uint64, bool) { return token.Open(key, 2, 4) },
		"another key":   func() (uint64, bool) { return token.Open(statehash.NewKey([16]byte{2}), 2, 3) },
	} {
		if _, ok := open(); ok {
			t.Errorf("it opens with %s", name)
		}
	}
	handle := NewReceiptHandle(key, 2, 3, 4, 0)
	if _, ok := ParseSessionToken(handle.String()); ok {
		t.Error("a receipt handle is read as a token")
	}
}
