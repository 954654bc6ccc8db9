package plants

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestTheEditedProductBuilds: edits that apply may still be no program.
func TestTheEditedProductBuilds(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the product")
	}
	root := filepath.Join("..", "..", "..")
	overlay, err := Write(root, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	// With the flags of make build most packages are those of bin/seriatim.
	build := exec.Command("go", "build", "-trimpath", "-overlay", overlay, "-tags", "hashicorpmetrics grpcnotrace nethttpomithttp2 faults", "-o", filepath.Join(t.TempDir(), "server"), "./cmd/seriatim")
	build.Dir, build.Env = root, append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestParse(t *testing.T) {
	list, added, err := parse("x", "About it.\n\n-- in queue\n-- find\n\ta\n\n\tb\n-- put\n\tc\n-- in fsm\n-- find\nd\n-- put\n-- add y.go\nvar e int\n")
	if err != nil {
		t.Fatal(err)
	}
	if len(list) != 2 || list[0] != (edit{"x", "queue", "\ta\n\n\tb", "\tc"}) || list[1] != (edit{"x", "fsm", "d", ""}) {
		t.Errorf("edits: %q", list)
	}
	if len(added) != 1 || added[0] != (addition{"x", "fsm", "y.go", "var e int"}) {
		t.Errorf("additions: %q", added)
	}
	for _, text := range []string{"", "-- in queue", "-- find\na\n-- put\nb", "-- in queue\n-- find\na", "-- in queue\n-- put\na", "-- in queue\n-- find\na\n-- find\nb\n-- put\nc", "-- what\n"} {
		if _, _, err := parse("x", text); err == nil {
			t.Errorf("%q was taken", text)
		}
	}
}

// TestAnEditFindsItsTextOnce: not nowhere, and not at two places of one or two files.
func TestAnEditFindsItsTextOnce(t *testing.T) {
	root := t.TempDir()
	for path, text := range map[string]string{"queue/a.go": "package queue\n\nvar one, two, two2 int\n", "queue/b/b.go": "package b\n\nvar three, one1 int\n", "queue/b/b_test.go": "package b\n\nvar three3 int\n"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(root, path)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, path), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	before := map[string]string{}
	if err := product(root, "queue", before); err != nil {
		t.Fatal(err)
	}
	for find, want := range map[string]string{"one": "", "two": "", "three": "queue/b/b.go", "four": ""} {
		got, err := locate(edit{in: "queue", find: find}, before, nil)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%q: in %q, %v", find, got, err)
		}
	}
	if got := imported("package queue\n\nvar x = plant.Is(3)\n"); !strings.Contains(got, "package queue\n\nimport \""+own+"plant\"\n") || strings.Contains(got, "failpoint") {
		t.Errorf("imports: %s", got)
	}
}
