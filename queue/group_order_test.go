package queue

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
)

// The order of a group is that of its sequence numbers, wherever they are added and removed.
func TestMessageGroupOrder(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	groups, want := newMessageGroups(), map[string][]uint64{}
	names := []string{"a", "b", "c"}
	const numbers = 60
	for step := range 20000 {
		m := &Message{group: names[random.IntN(len(names))], sequence: 1 + random.Uint64N(numbers)}
		have := want[m.group]
		if at, known := slices.BinarySearch(have, m.sequence); known {
			groups.remove(m)
			want[m.group] = slices.Delete(have, at, at+1)
		} else {
			groups.add(m)
			want[m.group] = slices.Insert(have, at, m.sequence)
		}
		for _, name := range names {
			from := random.Uint64N(numbers + 2)
			var all, behind []uint64
			groups.walk(name, func(sequence uint64) bool { all = append(all, sequence); return true })
			groups.walkFrom(name, from, func(sequence uint64) bool { behind = append(behind, sequence); return true })
			start, _ := slices.BinarySearch(want[name], from)
			if !slices.Equal(all, want[name]) || !slices.Equal(behind, want[name][start:]) {
				t.Fatalf("step %d: group %s has %v, and %v from %d on; want %v", step, name, all, behind, from, want[name])
			}
			if head := groups.head(name); len(all) > 0 && head != all[0] || len(all) == 0 && head != 0 {
				t.Fatalf("step %d: the head of group %s is %d of %v", step, name, head, all)
			}
		}
		present := 0
		for _, sequences := range want {
			present += min(len(sequences), 1)
		}
		if n, named := len(groups.byName), groups.names.Len(); n != present || named != present {
			t.Fatalf("step %d: %d groups and %d names, want %d", step, n, named, present)
		}
	}
}

// A queue without groups frees the memory of many former ones.
func TestMessageGroupsGiveMemoryBack(t *testing.T) {
	before := heap()
	groups := newMessageGroups()
	const many = 200_000
	for sequence := range uint64(many) {
		groups.add(&Message{group: strconv.FormatUint(sequence, 10), sequence: sequence + 1})
	}
	for sequence := range uint64(many) {
		groups.remove(&Message{group: strconv.FormatUint(sequence, 10), sequence: sequence + 1})
	}
	if grown := int64(heap()) - int64(before); grown > 2<<20 {
		t.Errorf("%d KiB stay in memory without groups", grown>>10)
	}
	groups.add(&Message{group: "a", sequence: many + 1})
	if head := groups.head("a"); head != many+1 {
		t.Errorf("the head of a new group is %d", head)
	}
}

// A walk ends when the visitor returns false, at the head or later.
func TestMessageGroupWalkEnds(t *testing.T) {
	groups := newMessageGroups()
	for sequence := range uint64(5) {
		groups.add(&Message{group: "a", sequence: sequence + 1})
	}
	for wanted := 1; wanted <= 5; wanted++ {
		visited := 0
		groups.walk("a", func(uint64) bool { visited++; return visited < wanted })
		if visited != wanted {
			t.Errorf("%d messages were visited, want %d", visited, wanted)
		}
	}
}
