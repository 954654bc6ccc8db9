package linearizability

import (
	"hash/maphash"
	"slices"
	"strings"

	"github.com/anishathalye/porcupine"
)

// states are those in which the queue may be: calls of unknown outcome leave more
// than one. They are sorted by their keys, so that equal sets look equal.
type states struct {
	list []*state
	hash uint64
}

// newStates sorts out what is there twice.
func newStates(seed maphash.Seed, list []*state) *states {
	slices.SortFunc(list, func(a, b *state) int { return strings.Compare(a.key(), b.key()) })
	list = slices.CompactFunc(list, func(a, b *state) bool { return a.key() == b.key() })
	var h maphash.Hash
	h.SetSeed(seed)
	for _, s := range list {
		// It cannot fail.
		_, _ = h.WriteString(s.key())
	}
	return &states{list, h.Sum64()}
}

func (s *states) equal(other *states) bool {
	return s.hash == other.hash && slices.EqualFunc(s.list, other.list, func(a, b *state) bool { return a.key() == b.key() })
}

func (s *states) String() string {
	var lines []string
	for _, one := range s.list {
		lines = append(lines, one.String())
	}
	return strings.Join(lines, "\n")
}

// model is the queue for Porcupine.
func (o *object) model() porcupine.Model {
	begin, seed := o.begin(), maphash.MakeSeed()
	return porcupine.Model{
		Init: func() any { return newStates(seed, []*state{{now: begin}}) },
		Step: func(before, input, output any) (bool, any) {
			var next []*state
			for _, s := range before.(*states).list {
				next = append(next, s.step(input.(*call), output.(*reply))...)
			}
			return len(next) > 0, newStates(seed, next)
		},
		Equal:             func(a, b any) bool { return a.(*states).equal(b.(*states)) },
		Hash:              func(s any) uint64 { return s.(*states).hash },
		DescribeOperation: func(input, output any) string { return describe(input.(*call), output.(*reply)) },
		DescribeState:     func(s any) string { return s.(*states).String() },
	}
}
