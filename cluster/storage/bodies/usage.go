package bodies

import (
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/seriatimq/seriatim/queue/message"
)

// blockBytes is the unit in which a file system frees space.
const blockBytes = 4096

// run is a range of blocks in a segment. A run without blocks is the whole segment.
type run struct {
	segment uint32
	first   uint32
	blocks  uint32
}

// segmentUsage counts the bodies per block of a segment, at most 256. A body that spans blocks
// counts in each of them.
type segmentUsage struct {
	blocks []uint16
	bodies int
}

// usage counts the bodies of one state, and records freed space. Safe for concurrent use.
type usage struct {
	mu       sync.Mutex
	segments map[uint32]*segmentUsage
	last     *segmentUsage // of the last call, which most calls repeat
	number   uint32        // of last
	bodies   int64
	bytes    int64
	freed    []run // blocks and segments freed since the last collect
}

func newUsage() usage { return usage{segments: map[uint32]*segmentUsage{}} }

// blocksOf returns the first and the last block of a body.
func blocksOf(body message.Body) (first, last uint32) {
	at := body.Place().Offset
	return at / blockBytes, uint32((int64(at) + recordBytes(body) - 1) / blockBytes)
}

// hold counts a body.
func (u *usage) hold(body message.Body) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.add(body)
}

// add counts a body. The caller holds mu, or u is not yet shared.
func (u *usage) add(body message.Body) {
	segment := u.segment(body.Place().Segment)
	first, last := blocksOf(body)
	if missing := int(last) + 1 - len(segment.blocks); missing > 0 {
		segment.blocks = append(segment.blocks, make([]uint16, missing)...)
	}
	for block := first; block <= last; block++ {
		segment.blocks[block]++
	}
	segment.bodies++
	u.bodies++
	u.bytes += recordBytes(body)
}

// segment returns the counts of a segment, and adds them if there are none.
func (u *usage) segment(number uint32) *segmentUsage {
	if u.last == nil || u.number != number {
		if u.last = u.segments[number]; u.last == nil {
			u.last = &segmentUsage{}
			u.segments[number] = u.last
		}
		u.number = number
	}
	return u.last
}

// free reverses hold.
func (u *usage) free(body message.Body) {
	u.mu.Lock()
	defer u.mu.Unlock()
	number := body.Place().Segment
	segment := u.segments[number]
	first, last := blocksOf(body)
	if segment == nil || segment.bodies == 0 || int(last) >= len(segment.blocks) {
		panic(fmt.Sprintf("a body at %d of segment %d was freed more often than it was held", body.Place().Offset, number))
	}
	for block := first; block <= last; block++ {
		if segment.blocks[block]--; segment.blocks[block] == 0 {
			u.freed = appendBlock(u.freed, number, block) // usually in order
		}
	}
	u.bodies--
	u.bytes -= recordBytes(body)
	if segment.bodies--; segment.bodies == 0 {
		delete(u.segments, number)
		u.last = nil
		u.freed = append(u.freed, run{segment: number})
	}
}

// collect returns the space freed since the last call that cannot be used again: it is still empty
// and lies before end, where bodies are appended. Empty space after end is kept for the next call.
// It is called between commands: within a command that moves a body, no queue holds the body for a
// moment.
func (u *usage) collect(end message.Place) []run {
	u.mu.Lock()
	defer u.mu.Unlock()
	var final, open []run
	for _, r := range u.freed {
		segment := u.segments[r.segment]
		if r.blocks == 0 {
			switch {
			case segment != nil:
			case r.segment < end.Segment:
				final = append(final, r)
			default:
				open = append(open, r)
			}
			continue
		}
		for block := r.first; block < r.first+r.blocks; block++ {
			switch {
			case !segment.empty(block):
			case r.segment < end.Segment || r.segment == end.Segment && (block+1)*blockBytes <= end.Offset:
				final = appendBlock(final, r.segment, block)
			default:
				open = appendBlock(open, r.segment, block)
			}
		}
	}
	u.freed = open
	return final
}

// empty reports whether a block has no body. s may be nil.
func (s *segmentUsage) empty(block uint32) bool {
	return s == nil || int(block) >= len(s.blocks) || s.blocks[block] == 0
}

// appendBlock appends a block, and extends the last run if possible.
func appendBlock(runs []run, segment, block uint32) []run {
	if n := len(runs); n > 0 {
		if last := &runs[n-1]; last.segment == segment && last.blocks > 0 && last.first+last.blocks == block {
			last.blocks++
			return runs
		}
	}
	return append(runs, run{segment: segment, first: block, blocks: 1})
}

// covers reports whether every block of a body is in use. A block that is not may be reclaimed.
func (u *usage) covers(body message.Body) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	segment := u.segments[body.Place().Segment]
	first, last := blocksOf(body)
	if segment == nil || int(last) >= len(segment.blocks) {
		return false
	}
	return !slices.Contains(segment.blocks[first:last+1], 0)
}

// unused returns the space without bodies in the given segments, with their sizes.
func (u *usage) unused(sizes map[uint32]int64) []run {
	u.mu.Lock()
	defer u.mu.Unlock()
	var runs []run
	for _, number := range slices.Sorted(maps.Keys(sizes)) {
		segment := u.segments[number]
		if segment == nil {
			runs = append(runs, run{segment: number})
			continue
		}
		for block := range uint32(sizes[number] / blockBytes) {
			if segment.empty(block) {
				runs = appendBlock(runs, number, block)
			}
		}
	}
	return runs
}

// beyond returns an error if a body lies in a missing segment, or beyond the end of one.
func (u *usage) beyond(sizes map[uint32]int64, ofThisRun uint32) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, number := range slices.Sorted(maps.Keys(u.segments)) {
		size, found := sizes[number]
		blocks := int64(len(u.segments[number].blocks))
		switch {
		case number >= ofThisRun:
		case !found:
			return fmt.Errorf("the segment %d with %d bodies is missing", number, u.segments[number].bodies)
		case (blocks-1)*blockBytes >= size:
			return fmt.Errorf("the segment %d ends at byte %d, before bodies that belong to it", number, size)
		}
	}
	return nil
}
