package model

import (
	"fmt"
	"strings"
)

// shrinkRunsMax limits the work to make a failing history short.
const shrinkRunsMax = 1500

// shrink removes steps from a failing history as long as the rest still fails, in smaller and
// smaller pieces. fresh makes the world of a run.
func shrink(fresh func() *world, steps []step, found *difference) failure {
	runs := 0
	for size := (len(steps) + 1) / 2; size >= 1 && runs < shrinkRunsMax; {
		removed := false
		for from := len(steps) - size; from > -size && runs < shrinkRunsMax; from -= size {
			rest := append([]step(nil), steps[:max(from, 0)]...)
			rest = append(rest, steps[from+size:]...)
			runs++
			if d := fresh().run(rest); d != nil {
				steps, found = upTo(rest, d), d
				from = min(from, len(steps))
				removed = true
			}
		}
		if size == 1 && !removed {
			break
		}
		if !removed || size > 1 {
			size = max(size/2, 1)
		}
	}
	return failure{steps, found}
}

// upTo removes the steps after the failing one.
func upTo(steps []step, d *difference) []step {
	for i, s := range steps {
		if s.id == d.step.id {
			return steps[:i+1]
		}
	}
	return steps
}

// failure is a history and the difference that ended it.
type failure struct {
	steps []step
	found *difference
}

func report(test string, seed uint64, f failure) string {
	var text strings.Builder
	fmt.Fprintf(&text, "seed %d: product and model differ. The shortest history found (step, log time, command):\n", seed)
	for _, s := range f.steps {
		fmt.Fprintf(&text, "%s\n", s)
	}
	fmt.Fprintf(&text, "%s\nrepeat with: go test ./test/rules/model -run %s -seed %d", f.found.text, test, seed)
	return text.String()
}
