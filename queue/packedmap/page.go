package packedmap

import (
	"encoding/binary"
	"math/bits"
	"slices"
)

// page holds the values of consecutive numbers. It is packed if packs is not zero. Only its owner
// changes it.
type page[T any] struct {
	owner *owner
	has   uint64 // slots with a value
	// values are those of has in an open page. In a packed page they are the values that could not
	// be packed, which have empty records.
	values []*T
	packs  uint64 // slots with a record in packed; those missing in has were deleted
	packed string // length and record of each slot in packs
	shared Shared
}

// Shared holds strings that many values of a page share.
type Shared []*string

// Index returns the index of a string, adding it if new.
func (s *Shared) Index(text *string) uint64 {
	i := slices.Index(*s, text)
	if i < 0 {
		i = len(*s)
		*s = append(*s, text)
	}
	return uint64(i)
}

func slot(number uint64) uint64 { return 1 << (number % pageNumbers) }

// rank counts the slots before that of a number.
func rank(slots, number uint64) int { return bits.OnesCount64(slots & (slot(number) - 1)) }

func (p *page[T]) isOpen() bool { return p.packs == 0 }

// copyFor returns a copy for another owner.
func (p *page[T]) copyFor(o *owner) *page[T] {
	c := *p
	c.owner = o
	if p.isOpen() {
		c.values = append(make([]*T, 0, cap(p.values)), p.values...)
	}
	return &c
}

// record returns the record of a number in a packed page, or the unpacked value.
func (p *page[T]) record(number uint64) (record string, whole *T) {
	rest, wholes := p.packed, 0
	for left := rank(p.packs, number); ; left-- {
		record, rest = next(rest)
		if left == 0 {
			break
		}
		if record == "" {
			wholes++
		}
	}
	if record == "" {
		return "", p.values[wholes]
	}
	return record, nil
}

// next splits off the first record.
func next(packed string) (record, rest string) {
	length, n := uvarint(packed)
	return packed[n : n+int(length)], packed[n+int(length):]
}

// each visits the slots with a value: its record, or the unpacked value.
func (p *page[T]) each(visit func(slot uint64, record string, whole *T) bool) {
	rest, wholes := p.packed, 0
	for left := p.packs; left != 0; left &= left - 1 {
		var record string
		record, rest = next(rest)
		var whole *T
		if record == "" {
			whole = p.values[wholes]
			wholes++
		}
		if at := uint64(bits.TrailingZeros64(left)); p.has&slot(at) != 0 && !visit(at, record, whole) {
			return
		}
	}
}

// pack packs an open page and returns the buffer for reuse. A new buffer for each page was a fourth
// of the garbage of single sends.
func pack[T any, C Codec[T]](p *page[T], buffer []byte) []byte {
	var wholes []*T
	buffer = buffer[:0]
	for _, value := range p.values {
		var packed bool
		if buffer, packed = appendRecord[T, C](buffer, value, &p.shared); !packed {
			wholes = append(wholes, value)
		}
	}
	p.packs, p.packed, p.values = p.has, string(buffer), wholes
	return reusable(buffer)
}

// appendRecord appends the length and record of a value, or an empty record if it cannot be packed.
func appendRecord[T any, C Codec[T]](buffer []byte, value *T, shared *Shared) (_ []byte, packed bool) {
	var codec C
	buffer = append(buffer, 0)
	record, packed := codec.Append(buffer, value, shared)
	if !packed {
		return buffer, false
	}
	return endRecord(record, len(buffer)), true
}

// endRecord writes the length of a record in front of it, where one byte is reserved.
func endRecord(buffer []byte, start int) []byte {
	var length [binary.MaxVarintLen64]byte
	n := binary.PutUvarint(length[:], uint64(len(buffer)-start))
	if n > 1 {
		buffer = slices.Insert(buffer, start, length[1:n]...)
	}
	buffer[start-1] = length[0]
	return buffer
}

// bufferKeepMax is the largest buffer that is reused.
const bufferKeepMax = 64 << 10

// reusable returns an empty buffer for the next page.
func reusable(buffer []byte) []byte {
	if cap(buffer) > bufferKeepMax {
		return nil
	}
	return buffer[:0]
}

// unpack opens a packed page. first is the number of its first slot.
func unpack[T any, C Codec[T]](p *page[T], first uint64) {
	var codec C
	values := make([]*T, 0, pageNumbers)
	made := make([]T, bits.OnesCount64(p.has))
	p.each(func(slot uint64, record string, whole *T) bool {
		value := whole
		if value == nil {
			value, made = &made[0], made[1:]
			codec.Decode(record, first+slot, p.shared, value)
		}
		values = append(values, value)
		return true
	})
	p.packs, p.packed, p.values, p.shared = 0, "", values, nil
}

// shrink drops the records of deleted values.
func (p *page[T]) shrink() {
	buffer := make([]byte, 0, len(p.packed))
	var values []*T
	p.each(func(_ uint64, record string, whole *T) bool {
		if whole != nil {
			values = append(values, whole)
		}
		buffer = binary.AppendUvarint(buffer, uint64(len(record)))
		buffer = append(buffer, record...)
		return true
	})
	p.packs, p.packed, p.values = p.has, string(buffer), values
}
