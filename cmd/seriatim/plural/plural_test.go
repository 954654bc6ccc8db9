package plural

import "testing"

func TestCount(t *testing.T) {
	for n, want := range map[int]string{-1: "-1 entries are", 0: "0 entries are", 1: "1 entry is", 2: "2 entries are",
		11: "11 entries are"} {
		if got := Count(n, "entry is", "entries are"); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if got := Form(1.0, "day", "days") + " " + Form(1.5, "day", "days") + " " + Form(uint64(1), "day", "days"); got != "day days day" {
		t.Error(got)
	}
}
