package server

import (
	"testing"

	"github.com/seriatimq/seriatim/cluster"
)

func TestFreeSpace(t *testing.T) {
	good := map[string]FreeSpace{
		"15%,1GiB": {Percent: 15, Bytes: 1 << 30},
		"5%":       {Percent: 5},
		"350MiB":   {Bytes: 350 << 20},
		"off":      FreeSpace(cluster.DiskMarkOff),
	}
	for text, want := range good {
		got, err := parseFreeSpace(text)
		if err != nil || got != want {
			t.Errorf("%q: got %+v, %v", text, got, err)
		}
		if again := got.String(); again != text {
			t.Errorf("%q is written %q", text, again)
		}
	}
	if got, err := parseFreeSpace("1GiB, 15%"); err != nil || got != good["15%,1GiB"] {
		t.Errorf("in the other order: %+v, %v", got, err)
	}
	for _, bad := range []string{"", "15", "0%", "100%", "-1%", "x%", "1GiB,2GiB", "5%,6%", "0B", "1GiB,", "never"} {
		if got, err := parseFreeSpace(bad); err == nil {
			t.Errorf("%q was read as %+v", bad, got)
		}
	}
}
