package deduplication

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestWindowAgainstAMap grows a window to many segments and shrinks it to none, and compares it and
// its copies with a map.
func TestWindowAgainstAMap(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var w Window
	known := map[Key]Record{}
	type copied struct {
		window Window
		want   []Record
	}
	var copies []copied
	records := func(w *Window) (all []Record) {
		w.accepted.scan(func(r Record) bool { all = append(all, r); return true })
		return all
	}
	sequence := uint64(0)
	add := func() {
		sequence++
		// With fingerprints of 12 bits, many keys collide.
		r := NewRecord(Key{random.Uint64(), random.Uint64() & 0xfff0_0000}, int64(sequence), sequence<<1, 0)
		known[r.Key] = r
		w.Add(r)
	}
	check := func() {
		if w.accepted.len() != len(known) || w.byScope[0] != int64(len(known)) {
			t.Fatalf("%d records, want %d", w.accepted.len(), len(known))
		}
		for key, want := range known {
			if place, ok := w.place(key); !ok || *w.accepted.at(place) != want {
				t.Fatalf("record %d is not found", want.position)
			}
		}
		if _, ok := w.place(Key{1, 1}); ok {
			t.Fatal("a key that was never added is found")
		}
	}
	for step, chanceOfAdding := range []float64{0.9, 0.9, 0.5, 0.2, 0.9, 0.05, 0} {
		for range 8000 {
			switch {
			case random.Float64() < chanceOfAdding:
				add()
			case len(known) == 0:
			case random.IntN(8) == 0: // anywhere
				place := w.accepted.front + random.Uint64N(w.accepted.end-w.accepted.front)
				if !w.accepted.at(place).gone() {
					delete(known, w.forget(place).Key)
				}
			default:
				r, _ := w.accepted.oldest()
				w.ForgetOldest()
				delete(known, r.Key)
			}
			if random.IntN(2000) == 0 {
				copies = append(copies, copied{w, records(&w)})
				w = w.Clone()
			}
		}
		check()
		t.Logf("after step %d: %d records in %d segments", step, len(known), len(w.index.directory))
	}
	if len(known) != 0 || w.index.directory != nil || w.accepted.full != nil || w.accepted.tail != nil {
		t.Fatalf("%d records and their memory are left", len(known))
	}
	for i, c := range copies {
		if !slices.Equal(records(&c.window), c.want) {
			t.Fatalf("copy %d has changed", i)
		}
	}
}

// An addition moves at most one segment, however many there are.
func TestIndexMovesOneSegment(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	var x index
	for place := range uint64(200_000) {
		x.add(random.Uint32()|1, place)
	}
	slots, seen := 0, map[*indexSegment]bool{}
	for _, s := range x.directory {
		if len(s.slots) > segmentSlotsMax || s.used > len(s.slots)*3/4 {
			t.Fatalf("a segment has %d entries in %d slots", s.used, len(s.slots))
		}
		if !seen[s] {
			seen[s] = true
			slots += s.used
		}
	}
	if slots != 200_000 {
		t.Fatalf("%d entries", slots)
	}
}
