package identifier

import (
	"math"
	"strconv"
	"testing"
)

func TestSequenceNumbers(t *testing.T) {
	for n, want := range map[SequenceNumber]string{
		1: "10000000000000000001", 17: "10000000000000000017", math.MaxUint64 - sequenceBase: "18446744073709551615",
	} {
		if n.String() != want || string(n.Append(nil)) != want || strconv.FormatUint(n.Number(), 10) != want {
			t.Errorf("%d is %s, %s and %d", uint64(n), n, n.Append(nil), n.Number())
		}
		for _, text := range []string{want, strconv.FormatUint(uint64(n), 10)} {
			if got, ok := ParseSequenceNumber(text); !ok || got != n {
				t.Errorf("%s reads as %d, %v", text, uint64(got), ok)
			}
		}
	}
	if SequenceNumber(0).Number() != 0 {
		t.Error("none has a number")
	}
	for _, text := range []string{"", "x", "-1", "+1", " 1", "0x1", "9223372036854775808", "9999999999999999999", "18446744073709551616"} {
		if got, ok := ParseSequenceNumber(text); ok {
			t.Errorf("%q reads as %d", text, uint64(got))
		}
	}
}
