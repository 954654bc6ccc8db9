package wire

// Optional is a field that may be absent.
type Optional[T any] struct {
	Value T
	Set   bool
}

// Some returns a field that is set.
func Some[T any](value T) Optional[T] { return Optional[T]{Value: value, Set: true} }

// Or returns the value, or a default for an absent field.
func (o Optional[T]) Or(absent T) T {
	if o.Set {
		return o.Value
	}
	return absent
}

// fields reads the fields of a composite value in their order. The first error stays. Fields behind
// the last one are null.
type fields struct {
	name string // of the composite, for errors
	rest []byte
	left int
	read int // fields so far
	err  error
}

func fieldsOf(name string, list Value) fields {
	f := fields{name: name}
	if list.Kind() != List {
		f.err = malformed("%s is not a list", name)
		return f
	}
	f.left, f.rest = list.items()
	return f
}

// value returns the next field, nil if it is null.
func (f *fields) value() Value {
	f.read++
	if f.left == 0 || f.err != nil {
		return nil
	}
	f.left--
	n := length(f.rest)
	v := Value(f.rest[:n:n])
	f.rest = f.rest[n:]
	if v.IsNull() {
		return nil
	}
	return v
}

// done returns the first error. It is a method, so that a return statement calls it after the fields
// before it.
func (f *fields) done() error { return f.err }

// wrong notes that the last field has a wrong type, or is missing.
func (f *fields) wrong() {
	if f.err == nil {
		f.err = malformed("field %d of %s", f.read, f.name)
	}
}

// kind returns the next field, which must have a type.
func (f *fields) kind(k Kind) Value {
	v := f.value()
	if v != nil && v.Kind() != k {
		f.wrong()
		return nil
	}
	return v
}

func (f *fields) number(k Kind) (n uint64, set bool) {
	v := f.kind(k)
	if v == nil {
		return 0, false
	}
	return v.number(), true
}

func (f *fields) uint32() Optional[uint32] {
	n, set := f.number(Uint)
	return Optional[uint32]{Value: uint32(n), Set: set} //nolint:gosec // four bytes
}

func (f *fields) ushort() Optional[uint16] {
	n, set := f.number(Ushort)
	return Optional[uint16]{Value: uint16(n), Set: set} //nolint:gosec // two bytes
}

func (f *fields) ubyte() Optional[uint8] {
	n, set := f.number(Ubyte)
	return Optional[uint8]{Value: uint8(n), Set: set} //nolint:gosec // one byte
}

func (f *fields) ulong() Optional[uint64] {
	n, set := f.number(Ulong)
	return Optional[uint64]{Value: n, Set: set}
}

func (f *fields) timestamp() Optional[int64] {
	n, set := f.number(Timestamp)
	return Optional[int64]{Value: int64(n), Set: set} //nolint:gosec // two's complement
}

// required reads a uint that must be set.
func (f *fields) required() uint32 {
	n := f.uint32()
	if !n.Set {
		f.wrong()
	}
	return n.Value
}

func (f *fields) bool() bool {
	is, _ := f.kind(Boolean).Bool()
	return is
}

func (f *fields) text() Optional[string] {
	s, set := f.kind(String).Text()
	return Optional[string]{Value: s, Set: set}
}

func (f *fields) symbol() string {
	s, _ := f.kind(Symbol).Symbol()
	return s
}

func (f *fields) binary() []byte {
	b, _ := f.kind(Binary).Binary()
	return b
}

// composite appends a described list. It leaves out null fields at the end.
type composite struct {
	b     []byte
	m     Mark
	n     int // fields, without the nulls that may be left out
	nulls int
}

func compose(b []byte, code uint64) composite {
	b, m := begin(AppendDescriptor(b, code), codeList8)
	return composite{b: b, m: m}
}

// pad appends the nulls that could be left out.
func (c *composite) pad() {
	for ; c.nulls > 0; c.nulls-- {
		c.b = AppendNull(c.b)
		c.n++
	}
}

// field makes room for a field that is not null.
func (c *composite) field() {
	c.pad()
	c.n++
}

func (c *composite) null() { c.nulls++ }

func (c *composite) value(v Value) {
	if v.IsNull() {
		c.null()
		return
	}
	c.field()
	c.b = append(c.b, v...)
}

func (c *composite) uint32(n uint32) {
	c.field()
	c.b = AppendUint(c.b, n)
}

func (c *composite) optionalUint32(n Optional[uint32]) {
	if !n.Set {
		c.null()
		return
	}
	c.uint32(n.Value)
}

func (c *composite) ushort(n Optional[uint16]) {
	if !n.Set {
		c.null()
		return
	}
	c.field()
	c.b = AppendUshort(c.b, n.Value)
}

func (c *composite) ubyte(n Optional[uint8]) {
	if !n.Set {
		c.null()
		return
	}
	c.field()
	c.b = AppendUbyte(c.b, n.Value)
}

func (c *composite) ulong(n Optional[uint64]) {
	if !n.Set {
		c.null()
		return
	}
	c.field()
	c.b = AppendUlong(c.b, n.Value)
}

func (c *composite) timestamp(ms Optional[int64]) {
	if !ms.Set {
		c.null()
		return
	}
	c.field()
	c.b = AppendTimestamp(c.b, ms.Value)
}

// bool appends a boolean whose default is false.
func (c *composite) bool(is bool) {
	if !is {
		c.null()
		return
	}
	c.field()
	c.b = AppendBool(c.b, true)
}

// role appends a boolean that must be there.
func (c *composite) role(r Role) {
	c.field()
	c.b = AppendBool(c.b, bool(r))
}

func (c *composite) string(s string) {
	c.field()
	c.b = AppendString(c.b, s)
}

func (c *composite) text(s Optional[string]) {
	if !s.Set {
		c.null()
		return
	}
	c.string(s.Value)
}

// symbol appends a symbol, null for an empty one.
func (c *composite) symbol(s string) {
	if s == "" {
		c.null()
		return
	}
	c.field()
	c.b = AppendSymbol(c.b, s)
}

// binary appends a binary value, null for nil.
func (c *composite) binary(data []byte) {
	if data == nil {
		c.null()
		return
	}
	c.field()
	c.b = AppendBinary(c.b, data)
}

func (c *composite) end() []byte { return c.m.end(c.b, c.n) }
