package rules

import (
	"slices"

	"github.com/seriatimq/seriatim/queue/lettercase"
	"github.com/seriatimq/seriatim/queue/logtime"
	"github.com/seriatimq/seriatim/queue/statehash"
)

// Rule is a rule of a subscription. It never changes.
type Rule struct {
	Definition
	CreatedAt logtime.Timestamp
	Filter    Filter
	Change    *Action // nil: none
	sum       statehash.Sum
}

// NewRule compiles a definition in canonical form.
func NewRule(k statehash.Key, d Definition, created logtime.Timestamp) (*Rule, error) {
	r := &Rule{Definition: d, CreatedAt: created}
	var err error
	if r.Filter, r.Change, err = d.Compile(); err != nil {
		return nil, err
	}
	r.sum = r.computeSum(k)
	return r, nil
}

func (r *Rule) computeSum(k statehash.Key) statehash.Sum {
	h := append(statehash.Record(nil), statehash.KindRule, byte(r.Kind)).Text(r.Name).Time(r.CreatedAt)
	for _, e := range [...]*Expression{r.SQL, r.Action} {
		if h = h.Flag(e != nil); e != nil {
			h = appendParameters(h.Text(e.Text).Text(e.Canonical), e.Parameters)
		}
	}
	return k.Sum(appendParameters(appendParameters(h, r.System), r.Application))
}

func appendParameters(h statehash.Record, list []Parameter) statehash.Record {
	h = h.Num(uint64(len(list)))
	for i := range list {
		h = h.Text(list[i].Name).Text(list[i].Value)
	}
	return h
}

// isDefault reports whether the rule is that with which a subscription begins.
func (r *Rule) isDefault() bool {
	return r.Name == DefaultName && r.Kind == KindTrue && r.Action == nil
}

var defaultRule = &Rule{Definition: Definition{Name: DefaultName, Kind: KindTrue}, Filter: TrueFilter{}}

// Set is the rules of a subscription. It never changes. Nil has the default rule alone, as a
// subscription begins. An empty set selects no message.
type Set struct {
	rules []*Rule // sorted by folded name
	sum   statehash.Sum
	bytes int64
}

// All returns the rules, sorted by name without letter case. The caller must not change the list.
func (s *Set) All() []*Rule {
	if s == nil {
		return []*Rule{defaultRule}
	}
	return s.rules
}

// Len returns the number of rules, 0 for nil.
func (s *Set) Len() int {
	if s == nil {
		return 0
	}
	return len(s.rules)
}

// Get finds a rule by its name in any letter case.
func (s *Set) Get(name string) (*Rule, bool) { return Find(s.All(), name) }

// Find finds a rule in a list that is sorted like that of a set.
func Find(sorted []*Rule, name string) (*Rule, bool) {
	i, found := Position(sorted, name)
	if !found {
		return nil, false
	}
	return sorted[i], true
}

// Position returns the place of a name in a list that is sorted like that of a set.
func Position(sorted []*Rule, name string) (at int, found bool) {
	return slices.BinarySearchFunc(sorted, name, func(r *Rule, name string) int { return lettercase.Compare(r.Name, name) })
}

// Has reports whether the set has exactly some rules in canonical form, or, for none, any rules.
func (s *Set) Has(definitions []Definition) bool {
	if len(definitions) == 0 {
		return true
	}
	if len(s.All()) != len(definitions) {
		return false
	}
	for i := range definitions {
		r, ok := s.Get(definitions[i].Name)
		if !ok || !r.equal(&definitions[i]) {
			return false
		}
	}
	return true
}

// With returns the set with a rule, which replaces that of its name.
func (s *Set) With(k statehash.Key, r *Rule) *Set {
	changed := slices.Clone(s.All())
	if i, found := Position(changed, r.Name); found {
		changed[i] = r
	} else {
		changed = slices.Insert(changed, i, r)
	}
	return newSet(k, changed)
}

// Without returns the set without the rule of a name.
func (s *Set) Without(k statehash.Key, name string) *Set {
	changed := slices.Clone(s.All())
	if i, found := Position(changed, name); found {
		changed = slices.Delete(changed, i, i+1)
	}
	return newSet(k, changed)
}

// Restored returns the set with a rule from a snapshot, which has all rules of a set that is not nil. So even the
// default rule alone stays in the set until the others follow.
func (s *Set) Restored(r *Rule) *Set {
	added := *s
	i, _ := Position(s.rules, r.Name)
	added.rules = slices.Insert(slices.Clone(s.rules), i, r)
	added.count(r, r.sum)
	return &added
}

// NewSet returns the set of some rules with different names.
func NewSet(k statehash.Key, rules []*Rule) *Set {
	sorted := slices.Clone(rules)
	slices.SortFunc(sorted, func(a, b *Rule) int { return lettercase.Compare(a.Name, b.Name) })
	return newSet(k, sorted)
}

// newSet makes a set of sorted rules. It has one form for each set of rules.
func newSet(k statehash.Key, rules []*Rule) *Set {
	if len(rules) == 1 && rules[0].isDefault() {
		return nil
	}
	s := &Set{rules: rules}
	for _, r := range rules {
		sum := r.sum
		if r == defaultRule {
			sum = r.computeSum(k)
		}
		s.count(r, sum)
	}
	return s
}

func (s *Set) count(r *Rule, sum statehash.Sum) {
	s.sum.Add(sum)
	s.bytes += ruleOverhead + treeFactor*int64(r.Bytes())
}

// Estimated memory of a rule. Its tree is larger than its text.
const (
	ruleOverhead = 512
	treeFactor   = 24
)

// Sum returns the hash of the rules, zero for nil.
func (s *Set) Sum() statehash.Sum {
	if s == nil {
		return statehash.Sum{}
	}
	return s.sum
}

// ComputeSum computes Sum from scratch.
func (s *Set) ComputeSum(k statehash.Key) (sum statehash.Sum) {
	if s == nil {
		return sum
	}
	for _, r := range s.rules {
		sum.Add(r.computeSum(k))
	}
	return sum
}

// Bytes estimates the memory of the rules.
func (s *Set) Bytes() int64 {
	if s == nil {
		return 0
	}
	return s.bytes
}
