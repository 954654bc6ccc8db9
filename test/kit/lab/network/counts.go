package network

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
)

// Counts contains numbers of frames. Passed frames were delivered, perhaps late, twice, or altered;
// Delayed, Duplicated, Corrupted and Garbled count these.
type Counts struct {
	Passed, Delayed, Duplicated, Corrupted, Garbled uint64

	Cut, Lost, Overflowed, Hidden, Reset uint64 // Hidden: FIN and RST that were dropped
}

func (c Counts) plus(o Counts) Counts {
	c.Passed += o.Passed
	c.Delayed += o.Delayed
	c.Duplicated += o.Duplicated
	c.Corrupted += o.Corrupted
	c.Garbled += o.Garbled
	c.Cut += o.Cut
	c.Lost += o.Lost
	c.Overflowed += o.Overflowed
	c.Hidden += o.Hidden
	c.Reset += o.Reset
	return c
}

// Since returns the difference to an earlier count.
func (c Counts) Since(before Counts) Counts {
	return Counts{
		Passed: c.Passed - before.Passed, Delayed: c.Delayed - before.Delayed, Duplicated: c.Duplicated - before.Duplicated,
		Corrupted: c.Corrupted - before.Corrupted, Garbled: c.Garbled - before.Garbled,
		Cut: c.Cut - before.Cut, Lost: c.Lost - before.Lost, Overflowed: c.Overflowed - before.Overflowed,
		Hidden: c.Hidden - before.Hidden, Reset: c.Reset - before.Reset,
	}
}

// Dropped returns the number of frames that were not delivered.
func (c Counts) Dropped() uint64 { return c.Cut + c.Lost + c.Overflowed + c.Hidden + c.Reset }

// String names the numbers that are not zero.
func (c Counts) String() string {
	parts := []string{fmt.Sprintf("%d passed", c.Passed)}
	for _, p := range []struct {
		name  string
		count uint64
	}{
		{"delayed", c.Delayed},
		{"duplicated", c.Duplicated},
		{"corrupted", c.Corrupted},
		{"garbled", c.Garbled},
		{"cut", c.Cut},
		{"lost", c.Lost},
		{"overflowed", c.Overflowed},
		{"hidden", c.Hidden},
		{"reset", c.Reset},
	} {
		if p.count > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", p.count, p.name))
		}
	}
	return strings.Join(parts, ", ")
}

// decision is an index of a number in Counts.
type decision int

const (
	passed decision = iota
	delayed
	duplicated
	corrupted
	garbled
	wasCut
	lost
	overflowed
	hidden
	wasReset
	decisions
)

// tally is the counts of one class in one direction.
type tally [decisions]atomic.Uint64

func (t *tally) counts() Counts {
	at := func(d decision) uint64 { return t[d].Load() }
	return Counts{
		Passed: at(passed), Delayed: at(delayed), Duplicated: at(duplicated), Corrupted: at(corrupted), Garbled: at(garbled),
		Cut: at(wasCut), Lost: at(lost), Overflowed: at(overflowed), Hidden: at(hidden), Reset: at(wasReset),
	}
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
				total = total.plus(c)
			}
		}
	}
	return total
}
