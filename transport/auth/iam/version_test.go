package iam

import (
	"maps"
	"slices"
	"testing"

	"github.com/seriatimq/seriatim/queue/policy"
)

// Every name in a policy must have a format version, so that a policy with a new name is stored
// only once all nodes understand it.
func TestNamesHaveTheirVersion(t *testing.T) {
	names := slices.Concat(documentMembers, statementMembers, versions,
		[]string{effectAllow, effectDeny, kindAWS, kindService, operatorNull},
		slices.Collect(maps.Keys(operators)), slices.Collect(maps.Keys(keys)))
	for _, name := range names {
		if !slices.ContainsFunc(policy.AccessGrammar, func(e policy.Element) bool { return e.Name == name }) {
			t.Errorf("%s needs an element in queue/policy/grammar.go", name)
		}
	}
}
