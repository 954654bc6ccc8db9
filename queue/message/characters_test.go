package message

import (
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestBadCharacter(t *testing.T) {
	good := []string{
		"", "\t\n\r", "a", "\x7f", "\u0080", "\u00e9", "\ud7ff", "\ue000", "\ufffd", "\U00010000", "\U0010ffff",
		"\U0001fffe", "12345678", "1234567\n12345678", "1234567é", "123456é8",
	}
	for _, s := range good {
		if BadCharacter(s) {
			t.Errorf("%q is refused", s)
		}
	}
	for _, bad := range []string{"\x00", "\x08", "\x0b", "\x0c", "\x1f", "\ufffe", "\uffff", "\xff", "\xc3", "\xed\xa0\x80", "\xc0\x80",
		"\xf4\x90\x80\x80"} {
		for at := range 20 {
			s := strings.Repeat("a", at) + bad + strings.Repeat("b", 20)
			if !BadCharacter(s) || !BadCharacter(s[:at+len(bad)]) {
				t.Errorf("%q is accepted", s)
			}
		}
	}
}

// badRune implements the documented rule of BadCharacter.
func badRune(s string) bool {
	if !utf8.ValidString(s) {
		return true
	}
	for _, r := range s {
		ok := r == 0x9 || r == 0xA || r == 0xD || r >= 0x20 && r <= 0xD7FF || r >= 0xE000 && r <= 0xFFFD || r >= 0x10000 && r <= 0x10FFFF
		if !ok {
			return true
		}
	}
	return false
}

func FuzzBadCharacter(f *testing.F) {
	f.Add("plain text, longer than eight bytes\r\n")
	f.Add("12345678\uffff")
	f.Add("1234567\xe2\x82")
	f.Fuzz(func(t *testing.T, s string) {
		if got, want := BadCharacter(s), badRune(s); got != want {
			t.Errorf("BadCharacter(%q) = %t, want %t", s, got, want)
		}
	})
}

func TestBadCharacterAgainstTheRule(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	alphabet := []string{"a", " ", "~", "\t", "é", "\ufffd", "\U0001f600", "\x1f", "\x80", "\xef\xbf", "\uffff"}
	for range 20_000 {
		var s strings.Builder
		// Mostly good characters make both results common.
		for range random.IntN(30) {
			n := len(alphabet)
			if random.IntN(8) > 0 {
				n = 7
			}
			s.WriteString(alphabet[random.IntN(n)])
		}
		if got, want := BadCharacter(s.String()), badRune(s.String()); got != want {
			t.Fatalf("BadCharacter(%q) = %t", s.String(), got)
		}
	}
}

func BenchmarkBadCharacter(b *testing.B) {
	for name, s := range map[string]string{"ASCII": strings.Repeat("plain text ", 100), "Cyrillic": strings.Repeat("текст ", 100)} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(s)))
			for b.Loop() {
				if BadCharacter(s) {
					b.Fatal("refused")
				}
			}
		})
	}
}
