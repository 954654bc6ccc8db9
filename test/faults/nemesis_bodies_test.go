package faults

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/seriatimq/seriatim/test/kit/harness"
	"github.com/seriatimq/seriatim/test/kit/lab/disk"
	"github.com/seriatimq/seriatim/test/oracle/history"
)

// TestDamageMustBeHealed flips a bit of a body in a file and looks whether healBodies
// sees that it is right again, or else says so.
func TestDamageMustBeHealed(t *testing.T) {
	for name, c := range map[string]struct {
		heal func(t *testing.T, d damage) error
		want int // lines about bodies that were not healed
	}{
		"never":        {func(*testing.T, damage) error { return nil }, 1},
		"written anew": {func(_ *testing.T, d damage) error { return writeAt(d.file, d.offset, d.text) }, 0},
		"given back": {func(_ *testing.T, d damage) error {
			return writeAt(d.file, d.offset, string(make([]byte, len(d.text))))
		}, 0},
		"file is gone": {func(_ *testing.T, d damage) error { return os.Remove(d.file) }, 0},
		"in a new file": {func(_ *testing.T, d damage) error {
			return os.WriteFile(filepath.Join(filepath.Dir(d.file), "0000000002.bodies"), []byte("head"+d.text), 0o600)
		}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			n := &harness.Node{Name: "n1", DataDir: t.TempDir()}
			file := filepath.Join(n.DataDir, "0000000001.bodies")
			if err := os.WriteFile(file, []byte("head, a body, another"), 0o600); err != nil {
				t.Fatal(err)
			}
			found, err := awaitStored(t.Context(), n, []string{"a body"})
			if err != nil || len(found) != 1 || found[0].offset != 6 {
				t.Fatalf("found %v, %v", found, err)
			}
			if err := disk.FlipBitAt(file, found[0].offset+3, 2); err != nil {
				t.Fatal(err)
			}
			if found[0].healed() {
				t.Fatal("a damaged body passes for a sound one")
			}
			if err := c.heal(t, found[0]); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(t.TempDir(), "history.jsonl")
			recorder, err := history.NewRecorder(path)
			if err != nil {
				t.Fatal(err)
			}
			s := &stage{recorder: recorder, cluster: &harness.Cluster{Nodes: []*harness.Node{n}}, reading: time.Second - recovery}
			s.damaged = found
			s.healBodies()
			events, err := recorder.Close()
			if err != nil || len(events) != c.want || c.want == 1 && events[0].Result != history.Fail {
				t.Errorf("%v, %v", events, err)
			}
		})
	}
}

func writeAt(path string, offset int64, text string) error {
	file, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer file.Close()
	_, err = file.WriteAt([]byte(text), offset)
	return err
}

func TestParseBytes(t *testing.T) {
	for text, want := range map[string]int64{"": 0, "2GB": 2e9, "300MB": 3e8, "17": 17, "x": -1, "GB": 0} {
		if got, err := parseBytes(text); got != want && (want >= 0 || err == nil) {
			t.Errorf("%q: %d, %v", text, got, err)
		}
	}
}
