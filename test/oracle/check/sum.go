package check

import (
	"maps"
	"strings"
)

// Sum returns the report of a run that was judged in parts: all violations, all counts, and the
// minimums that the whole run did not reach.
func Sum(parts []Report) Report {
	total := Report{Counts: map[string]int{}, waived: map[string]bool{}}
	for _, p := range parts {
		total.Violations = append(total.Violations, p.Violations...)
		total.Short = append(total.Short, p.Short...)
		for name, n := range p.Counts {
			if strings.HasPrefix(name, "log") || strings.HasPrefix(name, "largest") || strings.HasPrefix(name, "backlog") {
				// Such a count is cumulative or a largest value.
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
		total.fall() // one part may make up for another
	}
	return total
}
