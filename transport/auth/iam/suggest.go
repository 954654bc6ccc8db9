package iam

import (
	"slices"
	"strings"
)

func contains(names []string, name string) bool { return slices.Contains(names, name) }

// suggest returns the known name nearest to an unknown one, as the end of a sentence; empty if none is
// near.
func suggest(name string, known []string) string {
	const lengthMax = 64 // longer texts are no names
	if len(name) > lengthMax {
		return ""
	}
	best, least := "", max(2, len(name)/3)+1
	for _, candidate := range known {
		if d := distance(strings.ToLower(name), strings.ToLower(candidate)); d < least {
			best, least = candidate, d
		}
	}
	if best == "" {
		return ""
	}
	return ", did you mean " + best + "?"
}

// distance returns the number of bytes to insert, remove or replace to turn a into b.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
