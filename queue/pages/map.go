package pages

import (
	"math/bits"
	"slices"

	"github.com/tidwall/btree"
)

// Codec packs values of type T. Its zero value is used.
type Codec[T any] interface {
	// Append appends a value. It returns false for one that cannot be packed; what else
	// it returns is not used then. Strings that many values have belong into shared.
	Append(dst []byte, value *T, shared *Shared) ([]byte, bool)
	// Decode fills value, which is zero, from what Append appended. It may keep parts of
	// the record.
	Decode(record string, number uint64, shared Shared, value *T)
}

// Map has values by number, which must not be changed once they are in it. The zero value
// is empty. Used by one goroutine, except that one which is not changed may be read by
// many, and so may one that was copied while the copy is changed.
type Map[T any, C Codec[T]] struct {
	pages btree.Map[uint64, *page[T]]
	count int
	owner *owner   // of the pages that this map may change
	open  []uint64 // numbers of pages that were opened, oldest first
	spare *page[T] // that lost its last value, to be used again
	// buffer is what pages are packed in before they are copied to where they stay.
	buffer []byte
}

// owner is an identity.
type owner struct{ _ byte }

// Copy is a map with the same values, made in no time. One of both may be changed from
// then on.
func (m *Map[T, C]) Copy() *Map[T, C] {
	return &Map[T, C]{pages: *m.pages.Copy(), count: m.count, owner: new(owner), open: slices.Clone(m.open)}
}

// Len counts the values.
func (m *Map[T, C]) Len() int { return m.count }

// OpenMost is how many of the values are not packed, at most.
func (m *Map[T, C]) OpenMost() int { return min(m.count, (openMax+1)*pageNumbers) }

// Get finds a value.
func (m *Map[T, C]) Get(number uint64) (value *T, found bool) {
	p, found := m.pages.Get(number / pageNumbers)
	if !found || p.has&slot(number) == 0 {
		return nil, false
	}
	return m.value(p, number), true
}

// value is one that is in a page.
func (m *Map[T, C]) value(p *page[T], number uint64) *T {
	if p.isOpen() {
		return p.values[rank(p.has, number)]
	}
	record, whole := p.record(number)
	if whole != nil {
		return whole
	}
	value := new(T)
	var codec C
	codec.Decode(record, number, p.shared, value)
	return value
}

// Set adds a value, or puts it in the place of the one that has the number.
func (m *Map[T, C]) Set(number uint64, value *T) {
	p := m.openPage(number / pageNumbers)
	at := rank(p.has, number)
	if p.has&slot(number) != 0 {
		p.values[at] = value
		return
	}
	p.values = slices.Insert(p.values, at, value)
	p.has |= slot(number)
	m.count++
}

// Delete takes a value out, if there is one.
func (m *Map[T, C]) Delete(number uint64) {
	at := number / pageNumbers
	p, found := m.pages.Get(at)
	if !found || p.has&slot(number) == 0 {
		return
	}
	m.count--
	if p.has == slot(number) {
		m.pages.Delete(at)
		m.keep(p)
		m.openFirst()
		return
	}
	p = m.own(at, p)
	if p.isOpen() {
		i := rank(p.has, number)
		p.values = slices.Delete(p.values, i, i+1)
		p.has &^= slot(number)
		return
	}
	p.has &^= slot(number)
	if bits.OnesCount64(p.has) <= bits.OnesCount64(p.packs)/2 {
		p.shrink()
	}
}

// openPage returns an open page of this map, made if there is none.
func (m *Map[T, C]) openPage(at uint64) *page[T] {
	if m.owner == nil {
		m.owner = new(owner)
	}
	p, found := m.pages.Get(at)
	switch {
	case !found:
		if p = m.spare; p == nil {
			p = &page[T]{owner: m.owner}
		}
		m.spare = nil
	case !p.isOpen():
		p = m.own(at, p)
		unpack[T, C](p, at*pageNumbers)
		m.opened(at)
		return p
	case p.owner != m.owner:
		return m.own(at, p)
	default:
		return p
	}
	m.pages.Set(at, p)
	m.opened(at)
	return p
}

// keep keeps a page that is in the map no more. A queue that is nearly empty needs one
// with every message.
func (m *Map[T, C]) keep(p *page[T]) {
	if p.owner != m.owner || !p.isOpen() {
		return
	}
	clear(p.values)
	p.has, p.values = 0, p.values[:0]
	m.spare = p
}

// own returns a page that this map may change. It is the same one if it may already:
// a tree keeps pointers to what was replaced.
func (m *Map[T, C]) own(at uint64, p *page[T]) *page[T] {
	if p.owner == m.owner {
		return p
	}
	p = p.copyFor(m.owner)
	m.pages.Set(at, p)
	return p
}

// opened packs the page that was opened first if there are too many.
func (m *Map[T, C]) opened(at uint64) {
	if i := slices.Index(m.open, at); i >= 0 { // it was deleted, or packed by another map
		m.open = slices.Delete(m.open, i, i+1)
	}
	m.open = append(m.open, at)
	first, _, _ := m.pages.Min()
	for range 2 { // the first page can be the one that was opened first
		if len(m.open) <= openMax {
			return
		}
		oldest := m.open[0]
		m.open = m.open[1:]
		if first == oldest {
			m.open = append(m.open, oldest)
		} else if p, found := m.pages.Get(oldest); found && p.isOpen() {
			m.buffer = pack[T, C](m.own(oldest, p), m.buffer)
		}
	}
}

// openFirst keeps the first page open.
func (m *Map[T, C]) openFirst() {
	if first, p, some := m.pages.Min(); some && !p.isOpen() {
		m.openPage(first)
	}
}
