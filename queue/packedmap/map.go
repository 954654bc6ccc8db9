package packedmap

import (
	"math/bits"
	"slices"

	"github.com/tidwall/btree"
)

// Codec packs values of type T. Map uses its zero value.
type Codec[T any] interface {
	// Append appends a value. ok is false if the value cannot be packed; dst is then ignored. Put
	// strings that many values share into shared.
	Append(dst []byte, value *T, shared *Shared) ([]byte, bool)
	// Decode fills value, which is zero, from a record of Append. It may keep parts of the record.
	Decode(record string, number uint64, shared Shared, value *T)
}

// Map is a map from numbers to values, which must not change once stored. The zero value is empty.
// One goroutine changes it; others may read a copy.
type Map[T any, C Codec[T]] struct {
	pages btree.Map[uint64, *page[T]]
	count int
	owner *owner   // of the pages that this map may change
	open  []uint64 // numbers of opened pages, oldest first
	spare *page[T] // emptied page for reuse
	// buffer is a scratch buffer for packing.
	buffer []byte
}

// owner is an identity; its address matters.
type owner struct{ _ byte }

// Copy returns a map with the same values in constant time. Change only one of the two afterwards.
func (m *Map[T, C]) Copy() *Map[T, C] {
	return &Map[T, C]{pages: *m.pages.Copy(), count: m.count, owner: new(owner), open: slices.Clone(m.open)}
}

// Len counts the values.
func (m *Map[T, C]) Len() int { return m.count }

// OpenMost returns an upper bound of the unpacked values.
func (m *Map[T, C]) OpenMost() int { return min(m.count, (openMax+1)*pageNumbers) }

// Get finds a value.
func (m *Map[T, C]) Get(number uint64) (value *T, found bool) {
	p, found := m.pages.Get(number / pageNumbers)
	if !found || p.has&slot(number) == 0 {
		return nil, false
	}
	return m.value(p, number), true
}

// value returns a value that the page contains.
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

// Set adds or replaces a value.
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

// Delete removes a value, if it exists.
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

// openPage returns an open page of this map, new if necessary.
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

// keep keeps an emptied page for reuse: a nearly empty queue needs one for every message.
func (m *Map[T, C]) keep(p *page[T]) {
	if p.owner != m.owner || !p.isOpen() {
		return
	}
	clear(p.values)
	p.has, p.values = 0, p.values[:0]
	m.spare = p
}

// own returns a page that this map may change: p or a copy.
func (m *Map[T, C]) own(at uint64, p *page[T]) *page[T] {
	if p.owner == m.owner {
		return p
	}
	p = p.copyFor(m.owner)
	m.pages.Set(at, p)
	return p
}

// opened records an opened page and packs the oldest one if there are too many.
func (m *Map[T, C]) opened(at uint64) {
	if i := slices.Index(m.open, at); i >= 0 { // deleted since, or packed by another map
		m.open = slices.Delete(m.open, i, i+1)
	}
	m.open = append(m.open, at)
	first, _, _ := m.pages.Min()
	for range 2 { // the first page may be the oldest
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
