package packedmap

import "math/bits"

// Loader fills an empty map with values in ascending order and packs them at once. Do not use the
// map before End. The zero value is ready.
type Loader[T any, C Codec[T]] struct {
	at     uint64 // the current page
	page   page[T]
	buffer []byte // its records
}

// Add adds a value to a map, the same one until End. It copies a value that cannot be packed.
func (l *Loader[T, C]) Add(m *Map[T, C], number uint64, value *T) {
	if at := number / pageNumbers; at != l.at {
		l.endPage(m)
		l.at = at
	}
	l.page.packs |= slot(number)
	var packed bool
	if l.buffer, packed = appendRecord[T, C](l.buffer, value, &l.page.shared); !packed {
		whole := *value
		l.page.values = append(l.page.values, &whole)
	}
}

// End completes the map.
func (l *Loader[T, C]) End(m *Map[T, C]) {
	l.endPage(m)
	l.at = 0
	m.openFirst()
}

func (l *Loader[T, C]) endPage(m *Map[T, C]) {
	if l.page.packs == 0 {
		return
	}
	if m.owner == nil {
		m.owner = new(owner)
	}
	made := l.page
	made.owner, made.has, made.packed = m.owner, made.packs, string(l.buffer)
	m.pages.Load(l.at, &made)
	m.count += bits.OnesCount64(made.has)
	l.page, l.buffer = page[T]{}, reusable(l.buffer)
}
