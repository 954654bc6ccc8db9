package packedmap

import "testing"

// Values are never reused and always zero.
func TestBlocksMakeNewValues(t *testing.T) {
	var b Blocks[int]
	seen := map[*int]bool{}
	for round := range 3 * blockValues {
		for _, n := range []int{1, round % (blockValues + 3), 0} {
			values := b.Take(n)
			if len(values) != n || cap(values) != n {
				t.Fatalf("%d values with room for %d, asked for %d", len(values), cap(values), n)
			}
			for i := range values {
				if values[i] != 0 || seen[&values[i]] {
					t.Fatalf("value %d of %d was used before", i, n)
				}
				values[i], seen[&values[i]] = 1, true
			}
		}
	}
}

// Few values take little memory, and many need few allocations.
func TestBlocksGrow(t *testing.T) {
	var b Blocks[[8]byte]
	allocations := 0
	for made, room := 1, 0; made <= 10*blockValues; made++ {
		b.New()
		if room == 0 {
			allocations++
			if room = b.made; room > made {
				t.Fatalf("a block of %d for value %d", room, made)
			}
		}
		room--
	}
	if allocations > 15 {
		t.Errorf("%d allocations for %d values", allocations, 10*blockValues)
	}
}
