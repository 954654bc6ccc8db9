package faults

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/seriatimq/seriatim/test/faults/plants"
	"github.com/seriatimq/seriatim/test/kit/harness"
)

// failpointCalls finds the places of failpoints in the edited files of a fault build.
var failpointCalls = regexp.MustCompile(`failpoint\.(?:Hit|Must|After)\((?:.*, )?"([a-z-]+)"\)`)

// placesInEdits returns the names of all failpoints in a fault build.
func placesInEdits(t *testing.T) []string {
	t.Helper()
	return namesInEdits(t, failpointCalls)
}

// namesInEdits returns the first groups of all matches in the edited files.
func namesInEdits(t *testing.T, form *regexp.Regexp) []string {
	t.Helper()
	files, err := plants.Apply(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, text := range files {
		for _, call := range form.FindAllStringSubmatch(text, -1) {
			names = append(names, call[1])
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// TestReleaseHasNoHooks looks in a release binary for names that only a fault build may contain. It
// ignores single words, which other texts may contain.
func TestReleaseHasNoHooks(t *testing.T) {
	path, err := harness.Build(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	binary, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	traces := []string{"SERIATIM_TAP", "SERIATIM_FAILPOINTS", "SERIATIM_PLANT", "Seriatim-Op-Id", "/v1/failpoints", "/v1/clock"}
	for _, place := range placesInEdits(t) {
		if strings.Contains(place, "-") {
			traces = append(traces, place)
		}
	}
	if len(traces) < 20 {
		t.Errorf("only %d traces to look for: %v", len(traces), traces)
	}
	if !bytes.Contains(binary, []byte("SERIATIM_DATA_DIR")) {
		t.Fatalf("%s is no server", path)
	}
	for _, trace := range traces {
		if bytes.Contains(binary, []byte(trace)) {
			t.Errorf("the release binary contains %q", trace)
		}
	}
}

// TestEveryBugIsPlanted checks that there is an edit for each number in the table of planted bugs.
func TestEveryBugIsPlanted(t *testing.T) {
	planted := map[string]bool{}
	for _, number := range namesInEdits(t, regexp.MustCompile(`plant\.(?:Is|Follower)\((\d+)\)`)) {
		planted[number] = true
	}
	for number := 1; number <= 34; number++ {
		if !planted[strconv.Itoa(number)] {
			t.Errorf("no edit plants bug %d", number)
		}
	}
}
