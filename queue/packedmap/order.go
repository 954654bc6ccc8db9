package packedmap

import "math/bits"

// Min returns the value with the lowest number.
func (m *Map[T, C]) Min() (value *T, some bool) {
	at, p, some := m.pages.Min()
	if !some {
		return nil, false
	}
	return m.value(p, at*pageNumbers+uint64(bits.TrailingZeros64(p.has))), true
}

// Max returns the value with the highest number.
func (m *Map[T, C]) Max() (value *T, some bool) {
	at, p, some := m.pages.Max()
	if !some {
		return nil, false
	}
	return m.value(p, at*pageNumbers+uint64(bits.Len64(p.has))-1), true
}

// Ascend visits the values in order, starting at from, until visit returns false.
func (m *Map[T, C]) Ascend(from uint64, visit func(number uint64, value *T) bool) {
	m.ascend(from, func() *T { return new(T) }, visit)
}

// Scan visits all values in order until visit returns false.
func (m *Map[T, C]) Scan(visit func(number uint64, value *T) bool) { m.Ascend(0, visit) }

// Look is Scan for a visitor that does not keep the value, whose memory is reused.
func (m *Map[T, C]) Look(visit func(number uint64, value *T) bool) {
	value := new(T)
	m.ascend(0, func() *T {
		*value = *new(T)
		return value
	}, visit)
}

func (m *Map[T, C]) ascend(from uint64, room func() *T, visit func(number uint64, value *T) bool) {
	var codec C
	m.pages.Ascend(from/pageNumbers, func(at uint64, p *page[T]) bool {
		first, more := at*pageNumbers, true
		if p.isOpen() {
			values := p.values
			for left := p.has; left != 0 && more; left &= left - 1 {
				if number := first + uint64(bits.TrailingZeros64(left)); number >= from {
					more = visit(number, values[0])
				}
				values = values[1:]
			}
			return more
		}
		p.each(func(slot uint64, record string, whole *T) bool {
			number := first + slot
			if number < from {
				return true
			}
			value := whole
			if value == nil {
				value = room()
				codec.Decode(record, number, p.shared, value)
			}
			more = visit(number, value)
			return more
		})
		return more
	})
}

// Search returns the first value for which found is true. found must be false up to some number and
// true after it.
func (m *Map[T, C]) Search(found func(value *T) bool) (number uint64, value *T, some bool) {
	low, high := 0, m.pages.Len()
	for low < high { // the first page whose last value is found
		middle := (low + high) / 2
		at, p, _ := m.pages.GetAt(middle)
		if found(m.value(p, at*pageNumbers+uint64(bits.Len64(p.has))-1)) {
			high = middle
		} else {
			low = middle + 1
		}
	}
	at, _, some := m.pages.GetAt(low)
	if !some {
		return 0, nil, false
	}
	some = false
	m.Ascend(at*pageNumbers, func(n uint64, v *T) bool {
		if some = found(v); some {
			number, value = n, v
		}
		return !some
	})
	return number, value, some
}

// CountFrom counts the values from a number on. It visits each of their pages.
func (m *Map[T, C]) CountFrom(from uint64) (n int) {
	m.pages.Ascend(from/pageNumbers, func(at uint64, p *page[T]) bool {
		has := p.has
		if at == from/pageNumbers {
			has &^= slot(from) - 1
		}
		n += bits.OnesCount64(has)
		return true
	})
	return n
}
