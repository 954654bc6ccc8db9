package iam

import (
	"slices"
	"testing"

	"github.com/seriatimq/seriatim/queue/policy"
)

// Every operator has the format version it came with, so that no policy with a new one is
// stored before all nodes understand it.
func TestOperatorsHaveTheirVersion(t *testing.T) {
	for name := range operators {
		if !slices.ContainsFunc(policy.AccessGrammar, func(e policy.Element) bool { return e.Name == name }) {
			t.Errorf("the operator %s needs an element in queue/policy/grammar.go", name)
		}
	}
}
