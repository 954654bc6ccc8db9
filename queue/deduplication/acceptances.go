package deduplication

import "slices"

// acceptances holds the records of a window in order of acceptance, in which they also expire.
// Chunks without pointers make an append write one cache line and give the garbage collector
// nothing to scan.
//
// A copy takes constant time: shared records are copied on write, see change.
type acceptances struct {
	full []*[chunkRecords]Record
	tail []Record // the chunk being filled
	// front is the place of the oldest record, end that after the newest. A place counts from the
	// first record of the window. The chunk of place p begins at p rounded down to chunkRecords.
	front, end uint64
	gone       int // removed records between front and end

	frozen     uint64 // a copy may share places below it
	frozenFull bool   // a copy may share the elements of full
}

const chunkRecords = 256

func (a *acceptances) len() int { return int(a.end-a.front) - a.gone }

// at returns the record at a place between front and end. Do not change it.
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

// oldest returns the record at front.
func (a *acceptances) oldest() (r Record, ok bool) {
	if a.front == a.end {
		return r, false
	}
	return *a.at(a.front), true
}

// newest returns the last record that was not removed.
func (a *acceptances) newest() (r Record, ok bool) {
	for place := a.end; place > a.front; place-- {
		if r := *a.at(place - 1); !r.gone() {
			return r, true
		}
	}
	return r, false
}

// dropOldest removes the record at front.
func (a *acceptances) dropOldest() {
	a.advance()
	a.skipGone()
}

// takeOut removes the record at a place. Its time stays, for binary search.
func (a *acceptances) takeOut(place uint64) {
	*a.change(place) = Record{AcceptedAt: a.at(place).AcceptedAt}
	a.gone++
	a.skipGone()
}

func (r Record) gone() bool { return r.position == 0 }

// skipGone moves front to the next record.
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

// change returns the record at a place for writing, after copying a shared chunk.
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

// clone returns a writable copy. Stop changing the original: only the newest copy may append to the
// shared tail.
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
