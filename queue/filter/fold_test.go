package filter

import (
	"strings"
	"testing"
	"unicode"
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
