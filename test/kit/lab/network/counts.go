package network

import (
	"slices"
	"sync/atomic"
)

// Effect is the fate of a frame in the switch.
type Effect int

// The effects. Passed frames were delivered, perhaps late, twice, or altered; Late, Duplicated,
// Corrupted and Garbled count these. Hidden frames are FIN and RST that were dropped.
const (
	Passed Effect = iota
	Late
	Duplicated
	Corrupted
	Garbled
	Cut
	Lost
	Overflowed
	Hidden
	Reset
	effects
)

// String names the effect.
func (e Effect) String() string {
	return [effects]string{"frames passed", "frames delayed", "frames duplicated", "frames corrupted", "frames garbled", "frames cut",
		"frames lost", "frames overflowed", "ends of connections hidden", "connections reset"}[e]
}

// Counts contains numbers of frames by effect.
type Counts [effects]uint64

// tally is the counts of one class in one direction.
type tally [effects]atomic.Uint64

func (t *tally) counts() (c Counts) {
	for e := range t {
		c[e] = t[e].Load()
	}
	return c
}

// Direction is traffic from one host to another.
type Direction struct{ From, To string }

// Traffic contains all counts of a switch.
type Traffic map[Direction][classes]Counts

// Of returns the sum for the given classes in one direction, or for all classes if none is given.
// An empty name stands for every host.
func (t Traffic) Of(from, to string, only ...Class) Counts {
	var total Counts
	for d, counts := range t {
		if from != "" && d.From != from || to != "" && d.To != to {
			continue
		}
		for class, c := range counts {
			if len(only) == 0 || slices.Contains(only, Class(class)) {
				for d, n := range c {
					total[d] += n
				}
			}
		}
	}
	return total
}
