package bodies

import (
	"os"

	"github.com/seriatimq/seriatim/queue/message"
)

// cachedBytes is the size and alignment of the parts of a file that are dropped from the page
// cache. Linux caches files in blocks up to this size, and drops no block of which only a part is
// named.
const cachedBytes = 2 << 20

// Uncache drops bodies and the data around them from the page cache, so that Check reads them from
// disk. Pass many bodies at once: neighbours are then dropped and read together.
func (s *Store) Uncache(bodies []message.Body) {
	dropped := map[message.Place]bool{}
	for _, body := range bodies {
		at := body.Place()
		for part := int64(at.Offset) / cachedBytes; part*cachedBytes < int64(at.Offset)+recordBytes(body); part++ {
			place := message.Place{Segment: at.Segment, Offset: uint32(part * cachedBytes)}
			if !dropped[place] {
				dropped[place] = true
				s.uncache(place)
			}
		}
	}
}

// uncache drops the part of a segment at a place.
func (s *Store) uncache(part message.Place) {
	file, err := os.Open(s.path(part.Segment))
	if err != nil {
		return // Check says what is wrong with it
	}
	dropCached(file, int64(part.Offset), cachedBytes)
	closeRead(file)
}
