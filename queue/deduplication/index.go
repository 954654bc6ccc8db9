package deduplication

// index is a hash table from the fingerprint of a key to the place of its record, with eight bytes
// per slot. A lookup of a new id, the usual case, touches one cache line.
//
// The top bits of a fingerprint select a segment (extendible hashing), so that growing moves one
// segment at a time. Frozen copies do not look up keys, so they share the index of the newest copy.
type index struct {
	directory []*indexSegment // by the top depth bits of a fingerprint
	depth     uint
}

// indexSegment holds the entries that share its top depth bits. It uses linear probing; the low
// bits select the home slot.
type indexSegment struct {
	slots []uint64 // fingerprint, then the low 32 bits of the place; 0: free
	used  int
	depth uint
}

const (
	segmentSlotsMin = 8
	segmentSlotsMax = 1024
	// indexDepthMax leaves the lower bits for the home slot. It permits four million segments,
	// about two billion ids.
	indexDepthMax = 22
)

// fingerprint returns the part of a key that the index stores; never 0.
func (k Key) fingerprint() uint32 { return max(uint32(k.Low), 1) }

func indexSlot(fingerprint uint32, place uint64) uint64 {
	return uint64(fingerprint)<<32 | uint64(uint32(place))
}

// segment returns nil in an empty index.
func (x *index) segment(fingerprint uint32) *indexSegment {
	if len(x.directory) == 0 {
		return nil
	}
	return x.directory[fingerprint>>(32-x.depth)]
}

// home returns the first slot of a search, 0 if it is free.
func (x *index) home(fingerprint uint32) uint64 {
	s := x.segment(fingerprint)
	if s == nil {
		return 0
	}
	return s.slots[int(fingerprint)&(len(s.slots)-1)]
}

// add adds the place of a key.
func (x *index) add(fingerprint uint32, place uint64) {
	if len(x.directory) == 0 {
		x.directory = []*indexSegment{{slots: make([]uint64, segmentSlotsMin)}}
	}
	s := x.segment(fingerprint)
	for s.used >= len(s.slots)/4*3 {
		x.grow(s, fingerprint)
		s = x.segment(fingerprint)
	}
	s.put(indexSlot(fingerprint, place))
}

// remove removes the place of a key.
func (x *index) remove(fingerprint uint32, place uint64) {
	s := x.segment(fingerprint)
	if s == nil || !s.take(indexSlot(fingerprint, place)) || s.used > len(s.slots)/8 {
		return
	}
	x.shrink(s, fingerprint)
}

// grow doubles a full segment or splits it.
func (x *index) grow(s *indexSegment, fingerprint uint32) {
	if len(s.slots) < segmentSlotsMax || s.depth == indexDepthMax {
		s.resize(2 * len(s.slots))
		return
	}
	if s.depth == x.depth {
		double := make([]*indexSegment, 0, 2*len(x.directory))
		for _, each := range x.directory {
			double = append(double, each, each)
		}
		x.directory = double
		x.depth++
	}
	var halves [2]*indexSegment
	for i := range halves {
		halves[i] = &indexSegment{slots: make([]uint64, len(s.slots)), depth: s.depth + 1}
	}
	for _, slot := range s.slots {
		if slot != 0 {
			halves[slot>>(63-s.depth)&1].put(slot)
		}
	}
	entries := x.entries(s, fingerprint)
	for i := range entries {
		entries[i] = halves[2*i/len(entries)]
	}
}

// shrink halves a nearly empty segment or merges it with its sibling.
func (x *index) shrink(s *indexSegment, fingerprint uint32) {
	if s.depth == 0 {
		if len(s.slots) > segmentSlotsMin {
			s.resize(len(s.slots) / 2)
		}
		return
	}
	other := x.segment(fingerprint ^ 1<<(32-s.depth))
	if other.depth != s.depth || other.used > len(other.slots)/8 {
		return
	}
	for _, slot := range other.slots {
		if slot != 0 {
			s.put(slot)
		}
	}
	s.depth--
	entries := x.entries(s, fingerprint)
	for i := range entries {
		entries[i] = s
	}
}

// entries returns the part of the directory that leads to s at its present depth.
func (x *index) entries(s *indexSegment, fingerprint uint32) []*indexSegment {
	below := x.depth - s.depth
	first := fingerprint >> (32 - s.depth) << below
	return x.directory[first : first+1<<below]
}

// put adds a slot; there must be a free one.
func (s *indexSegment) put(slot uint64) {
	at := s.home(slot)
	for s.slots[at] != 0 {
		at = s.next(at)
	}
	s.slots[at] = slot
	s.used++
}

// take removes a slot and closes the gap in its run.
func (s *indexSegment) take(slot uint64) bool {
	gap := s.home(slot)
	for ; s.slots[gap] != slot; gap = s.next(gap) {
		if s.slots[gap] == 0 {
			return false
		}
	}
	mask := len(s.slots) - 1
	for at := s.next(gap); s.slots[at] != 0; at = s.next(at) {
		if (at-s.home(s.slots[at]))&mask >= (at-gap)&mask {
			s.slots[gap], gap = s.slots[at], at
		}
	}
	s.slots[gap] = 0
	s.used--
	return true
}

func (s *indexSegment) resize(slots int) {
	old := s.slots
	s.slots, s.used = make([]uint64, slots), 0
	for _, slot := range old {
		if slot != 0 {
			s.put(slot)
		}
	}
}

func (s *indexSegment) home(slot uint64) int { return int(slot>>32) & (len(s.slots) - 1) }

func (s *indexSegment) next(at int) int { return (at + 1) & (len(s.slots) - 1) }
