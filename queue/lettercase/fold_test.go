package lettercase

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

// fold agrees with Unicode on all letters it changes, and on all letters with a pair in its blocks.
func TestFold(t *testing.T) {
	t.Parallel()
	unpaired := "İıĸŉſͰͱͲͳͶͷΐΰϏϐϑϕϖϗϘϙϚϛϜϝϞϟϠϡϢϣϤϥϦϧϨϩϪϫϬϭϮϯϰϱϲϳϴϵ϶ϷϸϹϺϻϼϽϾϿևͅͺͻͼͽͿµ\u1c80"
	for r := rune(0); r <= 0x587; r++ {
		got := fold(r)
		if got != r && unicode.ToLower(r) != got && got != smallSigma {
			t.Errorf("%c becomes %c", r, got)
		}
		if fold(got) != got {
			t.Errorf("%c becomes %c, that %c", r, got, fold(got))
		}
		covered := r < 0x180 || r >= 0x370
		if covered && !strings.ContainsRune(unpaired, r) && fold(unicode.ToUpper(r)) != fold(unicode.ToLower(r)) {
			t.Errorf("%c (%U) and %c stay apart", unicode.ToUpper(r), r, unicode.ToLower(r))
		}
	}
	for r := rune(0x588); r <= unicode.MaxRune; r++ {
		if fold(r) != r {
			t.Fatalf("%U becomes %U", r, fold(r))
		}
	}
}

func TestCompare(t *testing.T) {
	texts := []string{"", "a", "A", "ab", "aB", "AC", "b", "[", "_", "É", "é", "ée", "ÉE", "z", "ж", "Ж", "\U0001F600"}
	for _, a := range texts {
		for _, b := range texts {
			want := strings.Compare(Folded(a), Folded(b))
			if got := Compare(a, b); (got < 0) != (want < 0) || (got > 0) != (want > 0) {
				t.Errorf("%q against %q: %d, want %d", a, b, got, want)
			}
			if Equal(a, b) != (want == 0) {
				t.Errorf("%q equals %q: %v", a, b, Equal(a, b))
			}
		}
		if len(Folded(a)) != len(a) {
			t.Errorf("%q folded is %q: another length", a, Folded(a))
		}
	}
	if n := testing.AllocsPerRun(100, func() { Equal("Quantity", "quantitY") }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// Every folded letter has the length of the letter, so texts of different lengths differ.
func TestFoldKeepsLength(t *testing.T) {
	t.Parallel()
	for r := rune(0); r <= 0x600; r++ {
		if utf8.RuneLen(fold(r)) != utf8.RuneLen(r) {
			t.Errorf("%U becomes %U", r, fold(r))
		}
	}
}
