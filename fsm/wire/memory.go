package wire

import (
	"strings"

	"github.com/seriatimq/seriatim/queue"
)

// Memory holds lists and names that are reused for the commands of one entry after another. A nil
// Memory allocates. The zero value is ready; not safe for concurrent use.
type Memory struct {
	sends   Slab[queue.SendEntry]
	handles Slab[string]
	names   [namesMax]string // recent names, by a hash
}

const (
	namesMax     = 512
	nameBytesMax = 256 // no queue, group or sender has a longer name
)

// Reader returns a Reader that uses the memory. Its values are valid until Reset, its texts are
// copies.
func (m *Memory) Reader(data []byte) Reader {
	return Reader{rest: textOf(data), memory: m, copies: true}
}

// SharedReader returns a Reader that uses the memory. Its texts are parts of text.
func (m *Memory) SharedReader(text string) Reader { return Reader{rest: text, memory: m} }

// Reset reuses the memory of all lists.
func (m *Memory) Reset() {
	m.sends.Reset()
	m.handles.Reset()
}

// entries returns an empty list with room for n.
func (m *Memory) entries(n int) []queue.SendEntry {
	if m == nil {
		return make([]queue.SendEntry, 0, n)
	}
	return m.sends.Take(n)[:0]
}

// texts returns an empty list with room for n.
func (m *Memory) texts(n int) []string {
	if m == nil {
		return make([]string, 0, n)
	}
	return m.handles.Take(n)[:0]
}

// name returns a copy of a name, usually one that an earlier command uses, too.
func (m *Memory) name(text string) string {
	if len(text) == 0 || len(text) > nameBytesMax {
		return strings.Clone(text)
	}
	slot := uint32(len(text))
	for i := max(0, len(text)-8); i < len(text); i++ {
		slot = slot*31 + uint32(text[i])
	}
	known := &m.names[slot%namesMax]
	if *known != text {
		*known = strings.Clone(text)
	}
	return *known
}

// Slab allocates zero values that are freed together.
type Slab[T any] struct {
	values []T
	used   int
}

// A slab has room for slabMin values at first and keeps room for at most slabMax. An entry of the
// group committer has at most 1024 commands.
const (
	slabMin = 16
	slabMax = 4096
)

// Take returns n values. It does not move values that it returned before.
func (s *Slab[T]) Take(n int) []T {
	if len(s.values)-s.used < n {
		s.values, s.used = make([]T, max(n, slabMin, min(2*len(s.values), slabMax))), 0
	}
	s.used += n
	return s.values[s.used-n : s.used : s.used]
}

// Reset sets all values to zero and reuses them.
func (s *Slab[T]) Reset() {
	if len(s.values) > slabMax {
		s.values = nil
	}
	clear(s.values[:min(s.used, len(s.values))])
	s.used = 0
}
