package packedmap

import (
	"maps"
	"math/rand/v2"
	"strings"
	"testing"
)

type entryLoader = Loader[entry, entryCodec]

// TestLoad compares maps filled by a Loader with plain ones, also after changes, and with their
// copies.
func TestLoad(t *testing.T) {
	owners := []*string{new(string), new(string), new(string)}
	var l entryLoader
	for seed := range uint64(50) {
		random := rand.New(rand.NewPCG(seed, 3))
		m, want := new(entryMap), model{}
		next := random.Uint64N(3 * pageNumbers)
		reused := new(entry)
		for range random.IntN(20 * pageNumbers) {
			next += 1 + uint64(random.IntN(8)/7*random.IntN(3*pageNumbers))
			*reused = entry{number: next, owner: owners[random.IntN(len(owners))],
				text: strings.Repeat("x", random.IntN(200)*random.IntN(100)/50), whole: random.IntN(8) == 0}
			want[next] = *reused
			l.Add(m, next, reused)
		}
		l.End(m)
		check(t, m, want)
		for range 20 {
			checkAround(t, m, want, random.Uint64N(next+2))
		}
		if first, p, some := m.pages.Min(); some && !p.isOpen() {
			t.Fatalf("the first page, %d, is packed", first)
		}
		frozen := m
		m = m.Copy()
		before := maps.Clone(want)
		for range 200 {
			n := random.Uint64N(next + 10)
			if random.IntN(2) == 0 {
				want[n] = entry{number: n, owner: owners[0], text: "changed"}
				e := want[n]
				m.Set(n, &e)
			} else {
				delete(want, n)
				m.Delete(n)
			}
		}
		check(t, m, want)
		check(t, frozen, before)
	}
}

// Loaded values are packed at once, in reused memory.
func TestLoadingAllocatesWhatStays(t *testing.T) {
	owner := new(string)
	e := &entry{owner: owner, text: strings.Repeat("x", 300)}
	var l entryLoader
	load := func(pages uint64) {
		m := new(entryMap)
		for n := range pages * pageNumbers {
			e.number = n
			l.Add(m, n, e)
		}
		l.End(m)
	}
	load(1)
	few := testing.AllocsPerRun(20, func() { load(100) })
	many := testing.AllocsPerRun(20, func() { load(300) })
	// A page, its string, its list of one owner, and sometimes a node of the tree.
	if n := (many - few) / 200; n > 3.5 {
		t.Errorf("%v allocations for a page", n)
	}
}
