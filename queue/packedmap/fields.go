package packedmap

import "encoding/binary"

// AppendText appends the length of a text and the text.
func AppendText(dst []byte, text string) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(text))), text...)
}

// Fields decodes a record. It does not check bounds: records never leave memory.
type Fields struct{ rest string }

// FieldsOf returns the Fields of a record.
func FieldsOf(record string) Fields { return Fields{record} }

// Uvarint reads what binary.AppendUvarint wrote.
func (f *Fields) Uvarint() uint64 {
	v, n := uvarint(f.rest)
	f.rest = f.rest[n:]
	return v
}

// Varint reads what binary.AppendVarint wrote.
func (f *Fields) Varint() int64 {
	v := f.Uvarint()
	return int64(v>>1) ^ -int64(v&1)
}

// Fixed64 reads what binary.LittleEndian.AppendUint64 wrote.
func (f *Fields) Fixed64() uint64 {
	s := f.rest[:8]
	f.rest = f.rest[8:]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}

// Byte reads a byte.
func (f *Fields) Byte() byte {
	b := f.rest[0]
	f.rest = f.rest[1:]
	return b
}

// Text reads what AppendText wrote. It shares the bytes of the record.
func (f *Fields) Text() string { return f.Bytes(int(f.Uvarint())) }

// Bytes reads n bytes. They share the bytes of the record.
func (f *Fields) Bytes(n int) string {
	s := f.rest[:n]
	f.rest = f.rest[n:]
	return s
}

// uvarint is binary.Uvarint for a string.
func uvarint(s string) (v uint64, n int) {
	for shift := 0; ; shift += 7 {
		b := s[n]
		n++
		v |= uint64(b&0x7f) << shift
		if b < 0x80 {
			return v, n
		}
	}
}
