package fsm

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var rewrite = flag.Bool("rewrite", false, "write the answers into the scenario files")

// TestScenarios runs every file in testdata/scenarios. A file is a list of blocks that end with an
// empty line: command lines, a line of dashes, and the answers. A line with # is a comment. Commit
// rewritten files only if you can explain every line that changed.
func TestScenarios(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "scenarios", "*.txt"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no scenarios: %v", err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".txt")
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := play(t, string(text), false)
			if *rewrite {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(strings.Split(string(text), "\n"), strings.Split(got, "\n")); diff != "" {
				t.Errorf("answers changed (-file +now):\n%s", diff)
			}
			// A replica that is restored from its snapshot after every command must give the same
			// answers.
			if restored := play(t, string(text), true); restored != got {
				t.Errorf("with restored snapshots (-without +with):\n%s", cmp.Diff(got, restored))
			}
		})
	}
}

// play runs a scenario and returns it with the answers.
func play(t *testing.T, text string, restoring bool) string {
	var out strings.Builder
	s := newScenario(t, restoring)
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	for i := 0; i < len(lines); {
		line := lines[i]
		if line == "" || strings.HasPrefix(line, "#") {
			fmt.Fprintln(&out, line)
			i++
			continue
		}
		var answers []string
		for ; i < len(lines) && lines[i] != "" && lines[i] != "----"; i++ {
			fmt.Fprintln(&out, lines[i])
			if strings.HasPrefix(lines[i], "#") {
				continue
			}
			answers = append(answers, s.line(lines[i])...)
		}
		for i < len(lines) && lines[i] != "" { // the old answers
			i++
		}
		fmt.Fprintln(&out, "----")
		for _, a := range answers {
			fmt.Fprintln(&out, a)
		}
	}
	s.replica.sound()
	return out.String()
}
