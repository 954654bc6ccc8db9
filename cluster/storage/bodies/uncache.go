package bodies

import (
	"os"

	"github.com/seriatimq/seriatim/queue/content"
)

// cachedBytes is the size of the parts of a file that are dropped from memory, and what
// their offsets are multiples of. The system keeps files in blocks of one page up to this
// size and drops none of which it is told to drop a part, so that a small body would stay.
const cachedBytes = 2 << 20

// Uncache drops bodies, and what lies around them, from the memory that the system keeps
// of files, so that Check reads them from the disk. Whoever checks many asks for all of
// them at once: those that lie together are then read from the disk together.
func (s *Store) Uncache(bodies []content.Body) {
	dropped := map[content.Place]bool{}
	for _, body := range bodies {
		at := body.Place()
		for part := int64(at.Offset) / cachedBytes; part*cachedBytes < int64(at.Offset)+recordBytes(body); part++ {
			place := content.Place{Segment: at.Segment, Offset: uint32(part * cachedBytes)}
			if !dropped[place] {
				dropped[place] = true
				s.uncache(place)
			}
		}
	}
}

// uncache drops the part of a segment at a place.
func (s *Store) uncache(part content.Place) {
	file, err := os.Open(s.path(part.Segment))
	if err != nil {
		return // Check says what is wrong with it
	}
	dropCached(file, int64(part.Offset), cachedBytes)
	closeRead(file)
}
