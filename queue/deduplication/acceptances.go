package deduplication

import "slices"

// acceptances are the records of a deduplication window in the order in which
// their ids were accepted, which is the order in which they are forgotten. They
// lie side by side in chunks without pointers: an append writes one cache line,
// and the garbage collector has nothing to follow.
//
// A copy costs the same at any size: what both see is never written again, see
// change.
type acceptances struct {
	full []*[chunkRecords]Record
	tail []Record // the chunk being filled
	// front and end are the places of the oldest record and behind the newest.
	// A place counts from the first record of the window, so that the chunk of
	// a place p begins at p rounded down to chunkRecords.
	front, end uint64
	gone       int // records between front and end that were taken out

	frozen     uint64 // places below it may be seen by a copy
	frozenFull bool   // so may the elements of full
}

const chunkRecords = 256

func (a *acceptances) len() int { return int(a.end-a.front) - a.gone }

// at is the record at a place from front to end. It must not be changed.
func (a *acceptances) at(place uint64) *Record {
	if chunk := place/chunkRecords - a.front/chunkRecords; chunk < uint64(len(a.full)) {
		return &a.full[chunk][place%chunkRecords]
	}
	return &a.tail[place%chunkRecords]
}

// append adds the newest record and returns its place.
func (a *acceptances) append(r Record) uint64 {
	if a.tail == nil && len(a.full) > 0 {
		a.tail = make([]Record, 0, chunkRecords)
	}
	a.tail = append(a.tail, r)
	if len(a.tail) == chunkRecords {
		a.full, a.tail = append(a.full, (*[chunkRecords]Record)(a.tail)), nil
	}
	a.end++
	return a.end - 1
}

// oldest is the record at front.
func (a *acceptances) oldest() (r Record, ok bool) {
	if a.front == a.end {
		return r, false
	}
	return *a.at(a.front), true
}

// newest is the last record that was not taken out.
func (a *acceptances) newest() (r Record, ok bool) {
	for place := a.end; place > a.front; place-- {
		if r := *a.at(place - 1); !r.gone() {
			return r, true
		}
	}
	return r, false
}

// dropOldest takes out the record at front.
func (a *acceptances) dropOldest() {
	a.advance()
	a.skipGone()
}

// takeOut takes out the record at a place. It keeps its time, by which others
// are found.
func (a *acceptances) takeOut(place uint64) {
	*a.change(place) = Record{AcceptedAt: a.at(place).AcceptedAt}
	a.gone++
	a.skipGone()
}

func (r Record) gone() bool { return r.position == 0 }

// skipGone keeps front at a record.
func (a *acceptances) skipGone() {
	for a.front < a.end && a.at(a.front).gone() {
		a.gone--
		a.advance()
	}
	if a.front == a.end {
		*a = acceptances{}
	}
}

// advance moves front by one place.
func (a *acceptances) advance() {
	if a.front++; a.front%chunkRecords == 0 && len(a.full) > 0 {
		a.ownFull()
		a.full[0] = nil // for the garbage collector
		a.full = a.full[1:]
	}
}

// change is the record at a place, no longer shared with a copy.
func (a *acceptances) change(place uint64) *Record {
	if place < a.frozen {
		if chunk := place/chunkRecords - a.front/chunkRecords; chunk < uint64(len(a.full)) {
			a.ownFull()
			own := *a.full[chunk]
			a.full[chunk] = &own
		} else {
			a.tail = slices.Clone(a.tail)
		}
	}
	return a.at(place)
}

func (a *acceptances) ownFull() {
	if a.frozenFull {
		a.full, a.frozenFull = slices.Clone(a.full), false
	}
}

// clone is a copy to go on with; the original stays as it is. It has room
// behind its end, and nobody but the newest copy may write there.
func (a acceptances) clone() acceptances {
	a.frozen, a.frozenFull = a.end, true
	return a
}

// scan visits the records, oldest first, until visit returns false.
func (a *acceptances) scan(visit func(Record) bool) {
	for place := a.front; place < a.end; place++ {
		if r := a.at(place); !r.gone() && !visit(*r) {
			return
		}
	}
}
