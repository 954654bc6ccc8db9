package aws

import (
	"slices"
	"strings"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/transport/awswire"
)

// Attributes converts the member Attributes of a request, sorted by name. If a name is sent twice, the
// last value counts, as in a JSON object.
func Attributes(pairs []awswire.Pair) []queue.Attribute {
	out := make([]queue.Attribute, len(pairs))
	for i, p := range pairs {
		out[i] = queue.Attribute{Name: p.Key, Value: p.Value}
	}
	slices.SortStableFunc(out, func(a, b queue.Attribute) int { return strings.Compare(a.Name, b.Name) })
	return LastOfEach(out, func(a, b queue.Attribute) bool { return a.Name == b.Name })
}

// LastOfEach keeps the last of each run of equal elements.
func LastOfEach[E any](sorted []E, equal func(a, b E) bool) []E {
	kept := sorted[:0]
	for i, e := range sorted {
		if i+1 == len(sorted) || !equal(e, sorted[i+1]) {
			kept = append(kept, e)
		}
	}
	return kept
}
