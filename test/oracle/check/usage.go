package check

import (
	"fmt"
	"slices"

	"github.com/seriatimq/seriatim/test/oracle/history"
)

// The usage of a process varies with its clients. There is a leak if, after all repairs, the later
// measurements are all far above the earlier ones.
const (
	growthMost  = 100 // of descriptors or goroutines: a leak grows by more than this, and by more than the first number
	growthLooks = 6   // fewer measurements prove nothing
)

// grows reports whether all numbers in the later half are above those in the earlier half, and the
// growth is large.
func grows(numbers []int) bool {
	if len(numbers) < growthLooks {
		return false
	}
	half, first := len(numbers)/2, slices.Min(numbers)
	rises := slices.Min(numbers[half:]) > slices.Max(numbers[:half])
	return rises && slices.Max(numbers)-first > max(growthMost, first)
}

// checkUsage checks the part of I15 about descriptors and goroutines, which a process must release
// after faults. Memory depends on the garbage collector and the state, and is only drawn.
func (c *checker) checkUsage() {
	type process struct {
		node string
		pid  int
	}
	descriptors, goroutines, at := map[process][]int{}, map[process][]int{}, map[process]int64{}
	resting := [2]int{}
	for _, e := range c.events {
		if e.Kind != history.KindUsage || e.Usage == nil {
			continue
		}
		c.most("largest memory of a node, MiB", int(e.Usage.Memory>>20))
		c.most("largest number of descriptors of a node", e.Usage.Descriptors)
		c.most("largest number of goroutines of a node", e.Usage.Goroutines)
		if e.Action == history.Healed || e.Action == history.AtRest {
			c.report.Counts["looks at what processes use"]++
			p := process{e.Node, e.Usage.Pid}
			descriptors[p], goroutines[p], at[p] = append(descriptors[p], e.Usage.Descriptors), append(goroutines[p], e.Usage.Goroutines),
				e.Return
		}
		if e.Action == history.AtRest {
			resting = [2]int{max(resting[0], e.Usage.Descriptors), max(resting[1], e.Usage.Goroutines)}
		}
	}
	for p := range at {
		if grows(descriptors[p]) {
			c.violate("I15", at[p], "%s holds ever more descriptors after healing: %v", p.node, descriptors[p])
		}
		if grows(goroutines[p]) {
			c.violate("I15", at[p], "%s has ever more goroutines after healing: %v", p.node, goroutines[p])
		}
	}
	c.report.resting = resting
}

// leaks is checkUsage across the parts of a run, at the end of which no client works.
func leaks(parts []Report) []Violation {
	var found []Violation
	for i, what := range []string{"descriptors", "goroutines"} {
		var numbers []int
		for _, p := range parts {
			if p.resting[i] > 0 {
				numbers = append(numbers, p.resting[i])
			}
		}
		if grows(numbers) {
			found = append(found, Violation{Invariant: "I15",
				Text: fmt.Sprintf("at rest after each part there are ever more %s: %v", what, numbers)})
		}
	}
	return found
}
