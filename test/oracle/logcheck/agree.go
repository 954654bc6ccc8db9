package logcheck

import (
	"bytes"
	"fmt"
	"strings"
)

// stretch is a part of a tap without gaps: from its start or from a snapshot to the next one.
type stretch struct {
	from, to uint64   // indexes
	skipped  []uint64 // indexes without a line between the two
}

// restored is a snapshot with which a node replaced its state.
type restored struct {
	node, hash string
	index      uint64
}

// leapMax bounds the distance of an index from those read before: a log has no larger gaps, and
// memory is needed for everything in between.
const leapMax = 10_000_000

// read reads the new lines of the taps and compares each entry with the first tap that has it (W1,
// I13a, I13b).
func (w *Checker) read() error {
	if err := w.log.open(); err != nil {
		return err
	}
	for number, t := range w.log.taps {
		if err := t.each(func(e *entry) { w.readEntry(number, e) }); err != nil {
			return err
		}
	}
	return nil
}

func (w *Checker) readEntry(number int, e *entry) {
	t, index := w.log.taps[number], e.first().Index
	if len(w.log.all) > 0 && (index > w.log.end+leapMax || index+leapMax < w.log.begin) {
		w.violate("W1", "I13", index, nil, "tap of %s: the index leaps", t.node)
		return
	}
	if e.first().Kind == kindRestore {
		w.count("snapshots restored", 1)
		w.restored = append(w.restored, restored{t.node, e.first().Hash, index})
		t.begin(index + 1)
		return
	}
	if t.now == nil || index <= t.now.to {
		t.begin(index)
	}
	for missing := t.now.to + 1; missing < index; missing++ {
		t.now.skipped = append(t.now.skipped, missing)
	}
	t.now.to = index
	w.compareEntry(number, e)
}

// begin ends the current stretch and begins another one at index.
func (t *tap) begin(index uint64) {
	if t.now != nil {
		t.done = append(t.done, *t.now)
	}
	t.now = &stretch{from: index, to: index - 1}
}

// compareEntry checks W1 for one entry of one tap.
func (w *Checker) compareEntry(number int, e *entry) {
	node, index := w.log.taps[number].node, e.first().Index
	for i := range e.lines {
		if !e.lines[i].intact() {
			w.violate("W1", "I13", index, nil, "tap of %s: the checksum of command %d is wrong", node, i)
			return
		}
	}
	p := w.log.placeOf(number, e)
	known := w.log.at(index)
	if known == nil {
		w.log.put(index, p)
		w.count("entries", 1)
		return
	}
	w.count("entries compared", 1)
	if known.print == p.print {
		return
	}
	other, err := w.log.load(index)
	if err != nil {
		w.violate("W1", "I13", index, nil, "two nodes applied it differently; %v", err)
		return
	}
	w.violate("W1", "I13", index, nil, "%s and %s applied it differently: %s", w.log.taps[known.tap-1].node, node, differ(&other, e))
}

// differ returns what differs between two entries of one index.
func differ(a, b *entry) string {
	if a.first().Term != b.first().Term {
		return fmt.Sprintf("terms %d and %d (I13a)", a.first().Term, b.first().Term)
	}
	if a.first().Kind != b.first().Kind || len(a.lines) != len(b.lines) {
		return fmt.Sprintf("%d commands %s and %d %s (I13a)", len(a.lines), a.first().Kind, len(b.lines), b.first().Kind)
	}
	for i := range a.lines {
		x, y := &a.lines[i], &b.lines[i]
		switch {
		case !bytes.Equal(x.Command, y.Command) || x.Op != y.Op:
			return fmt.Sprintf("command %d: %s and %s (I13a)", i, describeCommand(x), describeCommand(y))
		case x.AtMs != y.AtMs:
			return fmt.Sprintf("log times %d and %d (I13a)", x.AtMs, y.AtMs)
		case !bytes.Equal(x.Answer, y.Answer):
			return fmt.Sprintf("command %d: %s\nanswers %s\nand %s (I13b)", i, describeCommand(x), describeAnswer(x), describeAnswer(y))
		}
	}
	return fmt.Sprintf("state hashes %s and %s (I13b)", a.last().Hash, b.last().Hash)
}

// checkRestored checks I13(b) for snapshots. A snapshot before the first entry cannot be compared.
func (w *Checker) checkRestored(end uint64) {
	var later []restored
	for _, r := range w.restored {
		if r.index > end {
			later = append(later, r)
			continue
		}
		p := w.log.stateAt(r.index)
		if p == nil {
			w.count("snapshots from before the log", 1)
			continue
		}
		w.count("snapshots compared", 1)
		if p.state != w.log.hash([]byte(r.hash)) {
			w.violate("W1", "I13", r.index, nil, "%s restored a snapshot with state hash %s, the log gave another state there (I13b)",
				r.node, r.hash)
		}
	}
	w.restored = later
}

// checkGaps checks the rest of W1 and I13(d): no node applied an entry that another one skipped.
// Entries of the consensus itself never reach the state machine and may have no line at all. If an
// entry with commands were missing in all taps, the replay would not arrive at the same state.
func (w *Checker) checkGaps() {
	for _, t := range w.log.taps {
		if t.now != nil {
			t.begin(t.now.to + 1)
		}
		w.count("lines not written to their end", t.torn)
		for _, s := range t.done {
			var missing []string
			for _, index := range s.skipped {
				if p := w.log.at(index); p != nil && !p.empty {
					missing = append(missing, fmt.Sprint(index))
				}
			}
			if len(missing) > 0 {
				w.violate("W1", "I13", 0, nil, "%s applied %d to %d without %d entries that others applied (I13d): %s",
					t.node, s.from, s.to, len(missing), strings.Join(missing[:min(len(missing), 5)], " "))
			}
		}
		t.done = nil
	}
}
