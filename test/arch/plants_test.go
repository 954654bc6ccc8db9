package arch

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/seriatimq/seriatim/test/faults/plants"
)

// TestEditsApply checks that the edits of fault builds fit the product. If you change a line that
// an edit looks for, adapt the edit in test/faults/plants/edits.
func TestEditsApply(t *testing.T) {
	files, err := plants.Apply(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	if len(files) < 20 {
		t.Errorf("only %d files are edited", len(files))
	}
}

// TestTheProductHasNoHooks checks that hooks for faults are only in these edits.
func TestTheProductHasNoHooks(t *testing.T) {
	hook := regexp.MustCompile(`(?i)failpoint\.|\bplant(ed)?\b`)
	for _, top := range []string{"queue", "fsm", "cluster", "transport", "cmd"} {
		err := filepath.WalkDir(filepath.Join("..", "..", top), func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			text, err := os.ReadFile(path)
			if found := hook.Find(text); found != nil {
				t.Errorf("%s has %q", path, found)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}
