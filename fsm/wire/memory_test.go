package wire

import (
	"strings"
	"testing"
)

// Names that share a slot of the memory are not confused.
func TestMemoryTellsNamesApart(t *testing.T) {
	var m Memory
	names := []string{"", "a", strings.Repeat("x", nameBytesMax) + "y"}
	for range 2 * namesMax {
		names = append(names, names[len(names)-1]+"z")
	}
	for range 2 {
		for _, name := range names {
			if got := m.name(name); got != name {
				t.Fatalf("%q became %q", name, got)
			}
		}
	}
	const alone = "orders.fifo"
	m.name(alone)
	if n := testing.AllocsPerRun(100, func() { m.name(alone) }); n != 0 {
		t.Errorf("%v allocations for a name read just before", n)
	}
}
