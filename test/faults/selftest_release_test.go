package faults

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/seriatimq/seriatim/test/kit/harness"
)

// failpointCalls finds the places of failpoints in the sources.
var failpointCalls = regexp.MustCompile(`(?:failpoint\.Hit|\bpass)\("([a-z-]+)"\)`)

// placesInSources are the names of all failpoints that the product hits.
func placesInSources(t *testing.T) []string {
	t.Helper()
	return namesInSources(t, failpointCalls)
}

// namesInSources are the first groups of all matches in the product's sources.
func namesInSources(t *testing.T, form *regexp.Regexp) []string {
	t.Helper()
	var names []string
	for _, top := range []string{"cmd", "cluster", "fsm", "queue", "transport"} {
		err := filepath.WalkDir(filepath.Join("..", "..", top), func(path string, entry fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			text, err := os.ReadFile(path)
			for _, call := range form.FindAllStringSubmatch(string(text), -1) {
				names = append(names, call[1])
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// TestReleaseHasNoHooks looks into a release binary for what only a fault build
// may have. Names of one word are left out: other text may have them.
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
	for _, place := range placesInSources(t) {
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

// TestEveryBugIsPlanted wants a place in the sources for each number of the table
// of planted bugs: a change of the product may carry one away.
func TestEveryBugIsPlanted(t *testing.T) {
	planted := map[string]bool{}
	for _, number := range namesInSources(t, regexp.MustCompile(`(?:planted(?:Follower)?|plant\.Is)\((\d+)\)`)) {
		planted[number] = true
	}
	for number := 1; number <= 25; number++ {
		if !planted[strconv.Itoa(number)] {
			t.Errorf("bug %d is nowhere in the sources", number)
		}
	}
}
