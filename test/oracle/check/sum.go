package check

import (
	"maps"
	"strings"
)

// Sum is the report of a run that was judged in parts: all violations, all
// counts, and what no part reached but the whole may have.
func Sum(parts []Report) Report {
	total := Report{Counts: map[string]int{}, waived: map[string]bool{}}
	for _, p := range parts {
		total.Violations = append(total.Violations, p.Violations...)
		total.Short = append(total.Short, p.Short...)
		for name, n := range p.Counts {
			if strings.HasPrefix(name, "log") || strings.HasPrefix(name, "largest") || strings.HasPrefix(name, "backlog") {
				// Of the log or the backlog so far, or a largest value.
				total.Counts[name] = max(total.Counts[name], n)
				continue
			}
			total.Counts[name] += n
		}
		total.profile = p.profile
		maps.Copy(total.waived, p.waived)
	}
	total.Violations = append(total.Violations, leaks(parts)...)
	if total.profile == profileSoak {
		total.fall() // the parts of others did
	}
	return total
}
