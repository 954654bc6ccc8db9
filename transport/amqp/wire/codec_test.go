package wire

import (
	"bytes"
	"errors"
	"math"
	"slices"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/seriatimq/seriatim/cluster/clustertest"
)

// anyValue draws a value, nested at most so deep.
func anyValue(depth int) *rapid.Generator[Value] {
	return rapid.Custom(func(t *rapid.T) Value {
		most := 24
		if depth == 0 {
			most = 20
		}
		switch rapid.IntRange(0, most).Draw(t, "type") {
		case 0:
			return AppendNull(nil)
		case 1:
			return AppendBool(nil, rapid.Bool().Draw(t, "bool"))
		case 2:
			return AppendUbyte(nil, rapid.Uint8().Draw(t, "ubyte"))
		case 3:
			return AppendUshort(nil, rapid.Uint16().Draw(t, "ushort"))
		case 4:
			return AppendUint(nil, rapid.Uint32().Draw(t, "uint"))
		case 5:
			return AppendUlong(nil, rapid.Uint64().Draw(t, "ulong"))
		case 6:
			return AppendByte(nil, rapid.Int8().Draw(t, "byte"))
		case 7:
			return AppendShort(nil, rapid.Int16().Draw(t, "short"))
		case 8:
			return AppendInt(nil, rapid.Int32().Draw(t, "int"))
		case 9:
			return AppendLong(nil, rapid.Int64().Draw(t, "long"))
		case 10:
			return AppendFloat(nil, rapid.Float32().Draw(t, "float"))
		case 11:
			return AppendDouble(nil, rapid.Float64().Draw(t, "double"))
		case 12:
			return AppendDecimal32(nil, [4]byte(rapid.SliceOfN(rapid.Byte(), 4, 4).Draw(t, "decimal32")))
		case 13:
			return AppendDecimal64(nil, [8]byte(rapid.SliceOfN(rapid.Byte(), 8, 8).Draw(t, "decimal64")))
		case 14:
			return AppendDecimal128(nil, [16]byte(rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "decimal128")))
		case 15:
			return AppendChar(nil, rapid.Rune().Draw(t, "char"))
		case 16:
			return AppendTimestamp(nil, rapid.Int64().Draw(t, "timestamp"))
		case 17:
			return AppendUUID(nil, [16]byte(rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "uuid")))
		case 18:
			return AppendBinary(nil, rapid.SliceOfN(rapid.Byte(), 0, 300).Draw(t, "binary"))
		case 19:
			return AppendString(nil, rapid.StringN(0, 300, -1).Draw(t, "string"))
		case 20:
			return AppendSymbol(nil, rapid.StringMatching("[ -~]{0,300}").Draw(t, "symbol"))
		case 21:
			return anyCompound(t, BeginList, depth, 1)
		case 22:
			return anyCompound(t, BeginMap, depth, 2)
		case 23:
			return anyArray(t)
		}
		b := AppendDescriptor(nil, rapid.Uint64().Draw(t, "descriptor"))
		return append(b, anyValue(depth-1).Draw(t, "described")...)
	})
}

func anyCompound(t *rapid.T, begin func([]byte) ([]byte, Mark), depth, multiple int) Value {
	items := rapid.SliceOfN(anyValue(depth-1), 0, 6).Draw(t, "items")
	b, m := begin([]byte("before"))
	for range multiple {
		for _, item := range items {
			b = append(b, item...)
		}
	}
	return Value(m.End(b)[len("before"):])
}

func anyArray(t *rapid.T) Value {
	longs := rapid.SliceOfN(rapid.Int64(), 0, 300).Draw(t, "longs")
	b, m := BeginArray(nil, Long)
	for _, n := range longs {
		b = AppendLongItem(b, n)
	}
	return m.EndArray(b, len(longs))
}

// rebuilt encodes what the methods of a value say about it.
func rebuilt(v Value) Value {
	switch v.Kind() {
	case Null:
		return AppendNull(nil)
	case Boolean:
		is, _ := v.Bool()
		return AppendBool(nil, is)
	case Ubyte, Ushort, Uint, Ulong:
		n, _ := v.Unsigned()
		return map[Kind]Value{
			Ubyte: AppendUbyte(nil, uint8(n)), Ushort: AppendUshort(nil, uint16(n)),
			Uint: AppendUint(nil, uint32(n)), Ulong: AppendUlong(nil, n),
		}[v.Kind()]
	case Byte, Short, Int, Long:
		n, _ := v.Signed()
		return map[Kind]Value{
			Byte: AppendByte(nil, int8(n)), Short: AppendShort(nil, int16(n)), Int: AppendInt(nil, int32(n)), Long: AppendLong(nil, n),
		}[v.Kind()]
	case Float:
		f, _ := v.Float()
		return AppendFloat(nil, float32(f))
	case Double:
		f, _ := v.Float()
		return AppendDouble(nil, f)
	case Char:
		r, _ := v.Char()
		return AppendChar(nil, r)
	case Timestamp:
		ms, _ := v.Timestamp()
		return AppendTimestamp(nil, ms)
	case UUID:
		id, _ := v.UUID()
		return AppendUUID(nil, id)
	case Binary:
		b, _ := v.Binary()
		return AppendBinary(nil, b)
	case String:
		s, _ := v.Text()
		return AppendString(nil, s)
	case Symbol:
		s, _ := v.Symbol()
		return AppendSymbol(nil, s)
	case List:
		b, m := BeginList(nil)
		for item := range v.List() {
			b = append(b, rebuilt(item)...)
		}
		return m.End(b)
	case Map:
		b, m := BeginMap(nil)
		for key, value := range v.Map() {
			b = append(append(b, rebuilt(key)...), rebuilt(value)...)
		}
		return m.End(b)
	case Array:
		b, m := BeginArray(nil, Long)
		items := v.Array()
		for _, item := range items {
			n, _ := item.Signed()
			b = AppendLongItem(b, n)
		}
		return m.EndArray(b, len(items))
	case Described:
		descriptor, value, _ := v.Described()
		return append(append(Value{codeDescribed}, rebuilt(descriptor)...), rebuilt(value)...)
	}
	return v.Clone() // decimals
}

// Every value is read as it was written, whatever follows it.
func TestValues(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := anyValue(4).Draw(t, "value")
		behind := rapid.SliceOfN(rapid.Byte(), 0, 4).Draw(t, "behind")
		got, rest, err := Scan(slices.Concat(v, behind))
		if err != nil || !bytes.Equal(got, v) || !bytes.Equal(rest, behind) {
			t.Fatalf("read %x and %x: %v", got, rest, err)
		}
		if again := rebuilt(got); !bytes.Equal(again, v) {
			t.Fatalf("written again: %x, not %x", again, v)
		}
	})
}

// A value that lacks its end is an error.
func TestIncompleteValues(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := anyValue(3).Draw(t, "value")
		for n := range v {
			if _, _, err := Scan(v[:n]); !errors.Is(err, ErrMalformed) {
				t.Fatalf("%d of %d bytes: %v", n, len(v), err)
			}
		}
	})
}

func TestHostileValues(t *testing.T) {
	deep := bytes.Repeat([]byte{codeDescribed}, 1<<20)
	list := []byte{codeNull}
	for range depthMax + 1 {
		b, m := BeginList(nil)
		list = m.End(append(b, list...))
	}
	array := append([]byte{codeArray8, 0, 1}, codeDescribed, codeBinary8, itemConstructorMax)
	array = append(append(array, make([]byte, itemConstructorMax)...), codeUbyte, 1)
	array[1] = byte(len(array) - 2)
	for name, b := range map[string][]byte{
		"nothing":                    {},
		"unknown constructor":        {0x46},
		"endless descriptors":        deep,
		"lists in lists":             list,
		"a huge list":                {codeList32, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff},
		"more items than bytes":      {codeList8, 2, 9, codeNull},
		"fewer items than bytes":     {codeList8, 3, 1, codeNull, codeNull},
		"a list without count":       {codeList8, 0},
		"a key without a value":      {codeMap8, 2, 1, codeNull},
		"many items without bytes":   {codeArray32, 0, 0, 0, 5, 0xff, 0xff, 0xff, 0xff, codeTrue},
		"an array without type":      {codeArray8, 1, 0},
		"an array of unknown type":   {codeArray8, 2, 0, 0x01},
		"an array of described twos": {codeArray8, 6, 1, codeDescribed, codeUlong0, codeDescribed, codeUlong0, codeNull},
		"a long constructor":         array,
		"a boolean of two":           {codeBoolean, 2},
		"bytes in a string":          {codeString8, 1, 0xff},
		"a symbol beyond ASCII":      {codeSymbol8, 1, 0xc3},
	} {
		if _, _, err := Scan(b); !errors.Is(err, ErrMalformed) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Encodings that this package does not write are read, too.
func TestOtherEncodings(t *testing.T) {
	read := func(b ...byte) Value {
		t.Helper()
		v, rest, err := Scan(b)
		clustertest.Must(t, err)
		if len(rest) > 0 {
			t.Fatalf("%x remains of %x", rest, b)
		}
		return v
	}
	for _, n := range []Value{read(codeInt, 0xff, 0xff, 0xff, 0xfe), read(codeSmallLong, 0xfe), read(codeShort, 0xff, 0xfe)} {
		if got, ok := n.Integer(); got != -2 || !ok {
			t.Errorf("%x is %d", []byte(n), got)
		}
	}
	if is, ok := read(codeBoolean, 1).Bool(); !is || !ok {
		t.Error("not true")
	}
	if _, ok := Value(AppendUlong(nil, math.MaxUint64)).Integer(); ok {
		t.Error("the largest ulong is no long")
	}
	trues := read(codeArray8, 2, 200, codeTrue).Array()
	if len(trues) != 200 || !bytes.Equal(trues[199], []byte{codeTrue}) {
		t.Errorf("%d items", len(trues))
	}
	described := read(codeArray8, 8, 2, codeDescribed, codeSmallUlong, 7, codeString8, 0, 1, 'a').Array()
	if code, v, ok := described[1].Descriptor(); len(described) != 2 || code != 7 || !v.Is("a") || !ok {
		t.Errorf("described items: %x", described)
	}
	symbolic := read(append([]byte{codeDescribed, codeSymbol8, 14}, "amqp:open:list\x45"...)...)
	if code, _, ok := symbolic.Descriptor(); code != CodeOpen || !ok {
		t.Errorf("the symbol is code 0x%x", code)
	}
	if v := read(codeMap8, 9, 2, codeSymbol8, 1, 'k', codeString8, 3, 'a', 'b', 'c'); !v.Lookup("k").Is("abc") || v.Lookup("x") != nil {
		t.Errorf("%x", []byte(v))
	}
	if many := Value(AppendSymbol(nil, "one")).Multiple(); len(many) != 1 || Value(nil).Multiple() != nil {
		t.Errorf("one value is %d", len(many))
	}
}

// FuzzScan checks that each part of an accepted value can be read, and that the items of arrays take
// memory in proportion to the input.
func FuzzScan(f *testing.F) {
	for _, seed := range frames(f) {
		f.Add(seed[HeaderBytes:])
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		v, rest, err := Scan(b)
		if err != nil {
			if !errors.Is(err, ErrMalformed) {
				t.Fatal(err)
			}
			return
		}
		if len(v)+len(rest) != len(b) || length(b) != len(v) {
			t.Fatalf("%d and %d of %d bytes", len(v), len(rest), len(b))
		}
		walk(t, v, depthMax+2)
	})
}

// walk reads every part of a value.
func walk(t *testing.T, v Value, depth int) (parts int) {
	if depth == 0 {
		t.Fatal("too deep")
	}
	v.Bool()
	v.Integer()
	v.Float()
	v.Timestamp()
	v.Char()
	v.UUID()
	v.Binary()
	v.Symbol()
	if s, ok := v.Text(); ok && !utf8.ValidString(s) {
		t.Fatalf("%q", s)
	}
	parts = 1
	for item := range v.List() {
		parts += walk(t, item, depth-1)
	}
	for key, value := range v.Map() {
		parts += walk(t, key, depth-1) + walk(t, value, depth-1)
	}
	items, bytes := v.Array(), 0
	for _, item := range items {
		parts += walk(t, item, depth-1)
		bytes += len(item)
	}
	if bytes > (itemConstructorMax+1)*(emptyItemsMax+len(v)) || len(items) != v.Len() && v.Kind() == Array {
		t.Fatalf("%d items of %d bytes from %d bytes", len(items), bytes, len(v))
	}
	if _, value, ok := v.Described(); ok {
		parts += walk(t, value, depth-1)
	}
	return parts
}

// Reading allocates nothing, however the value is nested.
func TestScanAllocatesNothing(t *testing.T) {
	b := bytes.Repeat([]byte{codeNull}, 1<<10)
	for range depthMax - 1 {
		l, m := BeginList(nil)
		b = m.End(append(l, b...))
	}
	if n := testing.AllocsPerRun(100, func() {
		_, _, err := Scan(b)
		clustertest.Must(t, err)
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
