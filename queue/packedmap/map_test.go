package packedmap

import (
	"encoding/binary"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

type entry struct {
	number uint64
	text   string
	owner  *string
	whole  bool // cannot be packed
}

type entryCodec struct{}

func (entryCodec) Append(dst []byte, e *entry, shared *Shared) ([]byte, bool) {
	if e.whole && len(e.text)%2 == 0 {
		return nil, false
	}
	dst = binary.AppendUvarint(AppendText(dst, e.text), shared.Index(e.owner))
	return dst, !e.whole
}

func (entryCodec) Decode(record string, number uint64, shared Shared, e *entry) {
	f := FieldsOf(record)
	e.number, e.text = number, f.Text()
	e.owner = shared[f.Uvarint()]
}

type entryMap = Map[entry, entryCodec]

// model is the plain form of a Map.
type model map[uint64]entry

func (m model) sorted() []uint64 {
	var numbers []uint64
	for n := range m {
		numbers = append(numbers, n)
	}
	slices.Sort(numbers)
	return numbers
}

func check(t *testing.T, m *entryMap, want model) {
	t.Helper()
	numbers := want.sorted()
	if m.Len() != len(numbers) {
		t.Fatalf("%d values, want %d", m.Len(), len(numbers))
	}
	first, some := m.Min()
	last, _ := m.Max()
	if some != (len(numbers) > 0) || some && (*first != want[numbers[0]] || *last != want[numbers[len(numbers)-1]]) {
		t.Fatalf("from %v to %v", first, last)
	}
	for _, walk := range []func(func(uint64, *entry) bool){m.Scan, m.Look} {
		seen := 0
		walk(func(number uint64, e *entry) bool {
			if number != numbers[seen] || *e != want[number] {
				t.Fatalf("value %d is %v under %d, want %v", seen, *e, number, want[numbers[seen]])
			}
			seen++
			return true
		})
		if seen != len(numbers) {
			t.Fatalf("walked over %d of %d values", seen, len(numbers))
		}
	}
}

// checkAround compares the methods for one number.
func checkAround(t *testing.T, m *entryMap, want model, number uint64) {
	t.Helper()
	e, found := m.Get(number)
	if wanted, there := want[number]; found != there || found && *e != wanted {
		t.Fatalf("%d is %v, want %v", number, e, wanted)
	}
	numbers := want.sorted()
	from, _ := slices.BinarySearch(numbers, number)
	if n := m.CountFrom(number); n != len(numbers)-from {
		t.Fatalf("%d values from %d on, want %d", n, number, len(numbers)-from)
	}
	at, e, found := m.Search(func(e *entry) bool { return e.number >= number })
	if found != (from < len(numbers)) || found && (at != numbers[from] || *e != want[at]) {
		t.Fatalf("found %d, want number %d of %v", at, from, numbers)
	}
	next := from
	m.Ascend(number, func(got uint64, _ *entry) bool {
		if got != numbers[next] {
			t.Fatalf("%d comes after %d, want %d", got, number, numbers[next])
		}
		next++
		return next < from+5
	})
	if next != min(from+5, len(numbers)) {
		t.Fatalf("walked from %d to %d of %d", from, next, len(numbers))
	}
}

// TestMap compares a Map and its copies with plain maps. Values are added at the end, removed at
// the front, and changed anywhere.
func TestMap(t *testing.T) {
	owners := []*string{new(string), new(string), new(string)}
	for seed := range uint64(10) {
		random := rand.New(rand.NewPCG(seed, 1))
		m, want := new(entryMap), model{}
		copies := map[*entryMap]model{}
		next := uint64(1)
		number := func() uint64 { return next - min(next, random.Uint64N(1+random.Uint64N(40*pageNumbers))) }
		set := func(n uint64) {
			e := entry{number: n, owner: owners[random.IntN(len(owners))], whole: random.IntN(8) == 0}
			e.text = string(binary.AppendUvarint(nil, random.Uint64()))
			if length := random.IntN(9); length < 3 { // lengths of one, two or three bytes
				e.text += strings.Repeat("x", []int{100, 100 + random.IntN(60), 16_300 + random.IntN(100)}[length]*random.IntN(4)/3)
			}
			want[n] = e
			m.Set(n, &e)
		}
		for range 4000 {
			switch n := random.IntN(20); {
			case n < 8:
				set(next)
				next += 1 + uint64(random.IntN(8)/7*random.IntN(3*pageNumbers))
			case n < 12:
				set(number())
			case n < 18:
				number := number()
				if first, some := m.Min(); some && n < 15 {
					number = first.number
				}
				delete(want, number)
				m.Delete(number)
			case n == 18 && len(copies) < 20:
				frozen := m
				m = m.Copy()
				copies[frozen] = maps.Clone(want)
			}
			if random.IntN(8) == 0 {
				checkAround(t, m, want, number())
			}
		}
		check(t, m, want)
		for frozen, want := range copies {
			check(t, frozen, want)
		}
		for _, number := range want.sorted() {
			m.Delete(number)
		}
		check(t, m, model{})
	}
}

// The packing buffer is reused.
func TestPackingAllocatesWhatStays(t *testing.T) {
	owner := new(string)
	var first page[entry]
	for n := range uint64(pageNumbers) {
		first.values = append(first.values, &entry{number: n, owner: owner, text: strings.Repeat("x", 300)})
		first.has |= slot(n)
	}
	var packed page[entry]
	var buffer []byte
	again := func() {
		packed = first
		buffer = pack[entry, entryCodec](&packed, buffer)
	}
	again()
	before := packed.packed
	// The string, and the list of the one owner.
	if n := testing.AllocsPerRun(100, again); n > 3 {
		t.Errorf("%v allocations to pack a page", n)
	}
	if packed.packed != before {
		t.Error("packed differently")
	}
}

// TestPacks counts the open pages: the last changed ones, and the first.
func TestPacks(t *testing.T) {
	m := new(entryMap)
	owner := new(string)
	const pages = 4 * openMax
	for n := range uint64(pages * pageNumbers) {
		m.Set(n, &entry{number: n, owner: owner})
	}
	open := func() (list []uint64) {
		m.pages.Scan(func(at uint64, p *page[entry]) bool {
			if p.isOpen() {
				list = append(list, at)
			}
			return true
		})
		return list
	}
	if got := open(); len(got) > openMax+1 || got[0] != 0 || got[len(got)-1] != pages-1 {
		t.Errorf("open are %v", got)
	}
	for n := range uint64(pageNumbers) {
		m.Delete(n)
	}
	if got := open(); got[0] != 1 {
		t.Errorf("with another first page, open are %v", got)
	}
	// Deleting a value leaves its page packed, changing one opens it.
	m.Delete(2 * pageNumbers)
	if got := open(); slices.Contains(got, 2) {
		t.Errorf("after a deletion, open are %v", got)
	}
	m.Set(2*pageNumbers, &entry{number: 2 * pageNumbers, owner: owner})
	if got := open(); !slices.Contains(got, 2) {
		t.Errorf("after a change, open are %v", got)
	}
}
