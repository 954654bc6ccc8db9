package property

import (
	"encoding/hex"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/seriatimq/seriatim/queue/lettercase"
)

func drawnText(t *rapid.T) string {
	return rapid.OneOf(rapid.SampledFrom([]string{"", "a", "Color", "color", "é"}), rapid.StringN(0, 12, 40), rapid.StringN(200, 300, 600)).
		Filter(utf8.ValidString).Draw(t, "text")
}

// drawnValue draws a value of any type except TypeNone and TypeOther.
func drawnValue(t *rapid.T) Value {
	switch typ := Type(rapid.IntRange(int(TypeNull), int(TypeDateTimeOffset)).Draw(t, "type")); typ {
	case TypeNull:
		return Null
	case TypeBoolean:
		return Boolean(rapid.Bool().Draw(t, "boolean"))
	case TypeUByte, TypeUShort, TypeUInt, TypeByte, TypeShort, TypeInt, TypeLong:
		v := Integer(typ, rapid.Int64Range(0, 127).Draw(t, "integer"))
		if least, most := Integer(typ, -1), Integer(typ, 1<<20); rapid.Bool().Draw(t, "bound") {
			v = slices.MaxFunc([]Value{least, most, v}, func(a, b Value) int { return int(a.typ) - int(b.typ) })
		}
		return v
	case TypeULong:
		return ULong(rapid.Uint64().Draw(t, "ulong"))
	case TypeFloat:
		return Value{typ: typ, low: doubleOfFloat(math.Float32bits(rapid.Float32().Draw(t, "float")))}
	case TypeDouble:
		return DoubleBits(canonicalNaN(math.Float64bits(rapid.Float64().Draw(t, "double"))))
	case TypeDecimal:
		v := drawnDecimal(t)
		if v.low|v.high == 0 {
			v.negative = false
		}
		return v
	case TypeChar:
		return Value{typ: typ, text: string(rapid.Rune().Draw(t, "char"))}
	case TypeTimestamp:
		return Time(rapid.Int64Range(-62_135_596_800_000, 253_402_300_799_999).Draw(t, "millis"))
	case TypeUUID:
		return GUID([16]byte(rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "uuid")))
	case TypeBinary:
		return Binary(string(rapid.SliceOfN(rapid.Byte(), 0, 300).Draw(t, "binary")))
	case TypeSymbol:
		return Value{typ: typ, text: rapid.StringMatching(`[a-z:./-]{0,20}`).Draw(t, "symbol")}
	case TypeTimeSpan:
		return Duration(rapid.Int64().Draw(t, "ticks"))
	case TypeDateTimeOffset:
		return Value{typ: typ, low: uint64(rapid.Int64Range(0, timeTicksMax).Draw(t, "ticks"))}
	default:
		return Value{typ: typ, text: drawnText(t)}
	}
}

// compound returns a section with values that are already encoded.
func compound(descriptor, code byte, count int, values ...byte) string {
	head := []byte{codeDescribed, codeSmallULong, descriptor}
	if len(values) > 200 {
		size := len(values) + 4
		head = append(head, code+0x10, byte(size>>24), byte(size>>16), byte(size>>8), byte(size), 0, 0, byte(count>>8), byte(count))
	} else {
		head = append(head, code, byte(len(values)+1), byte(count))
	}
	return string(append(head, values...))
}

func applicationSection(properties []Named) string {
	var b []byte
	for _, p := range properties {
		b = Append(appendVariable(b, codeString8, p.Name), p.Value)
	}
	return compound(applicationCode, codeMap8, 2*len(properties), b...)
}

func propertiesSection(fields ...Value) string {
	var b []byte
	for _, v := range fields {
		b = Append(b, v)
	}
	return compound(propertiesCode, codeList8, len(fields), b...)
}

// TestSetKeepsProperties reads encoded properties and looks up each by its name.
func TestSetKeepsProperties(t *testing.T) {
	t.Parallel()
	var s Set // used again, as a caller does
	rapid.Check(t, func(t *rapid.T) {
		var properties []Named
		for range rapid.IntRange(0, 20).Draw(t, "count") {
			p := Named{drawnText(t), drawnValue(t)}
			if !slices.ContainsFunc(properties, func(n Named) bool { return n.Name == p.Name }) {
				properties = append(properties, p)
			}
		}
		id, label := drawnText(t), drawnText(t)
		if err := s.Read(propertiesSection(String(id), Null, Null, String(label)), applicationSection(properties)); err != nil {
			t.Fatal(err)
		}
		if s.System(MessageID) != String(id) || s.System(Label) != String(label) || s.System(To) != (Value{}) {
			t.Fatalf("the id is %v, the label %v", s.System(MessageID), s.System(Label))
		}
		for _, p := range properties {
			if got := s.Application(p.Name); got != p.Value {
				t.Fatalf("%q is %s %q, want %s %q", p.Name, got.Type(), got.Text(), p.Value.Type(), p.Value.Text())
			}
			least := p
			for _, other := range properties {
				if lettercase.Equal(p.Name, other.Name) && other.Name < least.Name {
					least = other
				}
			}
			// A name that differs in the case of letters from all others.
			if upper := strings.ToUpper(p.Name); lettercase.Equal(upper, p.Name) &&
				!slices.ContainsFunc(properties, func(n Named) bool { return n.Name == upper }) {
				if got := s.Application(upper); got != least.Value {
					t.Fatalf("%q is %q, want %q of %q", upper, got.Text(), least.Value.Text(), least.Name)
				}
			}
		}
		if got := s.Application("no such name"); got != (Value{}) {
			t.Fatalf("an absent property is %v", got)
		}
	})
}

// TestDecode has an example of each encoding, from the AMQP 1.0 standard, part 1.6, and from .NET.
func TestDecode(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ encoded, want string }{
		{"40", "null "},
		{"41", "boolean True"},
		{"42", "boolean False"},
		{"5601", "boolean True"},
		{"5600", "boolean False"},
		{"50ff", "ubyte 255"},
		{"60ffff", "ushort 65535"},
		{"70ffffffff", "uint 4294967295"},
		{"52ff", "uint 255"},
		{"43", "uint 0"},
		{"80ffffffffffffffff", "ulong 18446744073709551615"},
		{"53ff", "ulong 255"},
		{"44", "ulong 0"},
		{"51ff", "byte -1"},
		{"61ffff", "short -1"},
		{"71ffffffff", "int -1"},
		{"54ff", "int -1"},
		{"7100000005", "int 5"},
		{"81ffffffffffffffff", "long -1"},
		{"55ff", "long -1"},
		{"7240200000", "float 2.5"},
		{"824004000000000000", "double 2.5"},
		{"82fff8000000000000", "double NaN"},
		{"7300000041", "char A"},
		{"730001f600", "char \U0001F600"},
		{"830000000000000000", "timestamp 1970-01-01T00:00:00.000Z"},
		{"83ffffffffffffffff", "timestamp 1969-12-31T23:59:59.999Z"},
		{"837fffffffffffffff", "timestamp 9999-12-31T23:59:59.999Z"},
		{"838000000000000000", "timestamp 0001-01-01T00:00:00.000Z"},
		{"9800112233445566778899aabbccddeeff", "uuid 00112233-4455-6677-8899-aabbccddeeff"},
		{"a003010203", "binary 010203"},
		{"b000000003010203", "binary 010203"},
		{"a102c3a9", "string é"},
		{"b100000002c3a9", "string é"},
		{"a30161", "symbol a"},
		{"b30000000161", "symbol a"},
		// 19.99m of .NET: coefficient 1999, exponent -2 + 6176.
		{"94303c00000000000000000000000007cf", "decimal 19.99"},
		{"94b03c00000000000000000000000007cf", "decimal -19.99"},
		{"743180000c", "decimal 0.12"},
		{"7432800001", "decimal 1"},
		{"8431c000000000000c", "decimal 12"},
		{"745f800001", "other 745f800001"},
		{"7478000000", "other 7478000000"},
		{"747c000000", "other 747c000000"},
		{"746cb89680", "decimal 10000000"},
		{"846c70000000000001", "decimal 9007199254740993"},
		{"00a316636f6d2e6d6963726f736f66743a74696d657370616e8100000002540be400", "timespan 00:16:40"},
		{"00a311636f6d2e6d6963726f736f66743a757269a103613a62", "uri a:b"},
		{"00a31d636f6d2e6d6963726f736f66743a6461746574696d652d6f66667365748108b4eb5f9fe90000", "datetime-offset"},
		{"00a3016155ff", "other 00a3016155ff"},
		{"00537755ff", "other 00537755ff"},
	} {
		raw, err := hex.DecodeString(c.encoded)
		if err != nil {
			t.Fatal(err)
		}
		d := decoder{text: string(raw)}
		v := d.value()
		if got := v.Type().String() + " " + v.Text(); !strings.HasPrefix(got, c.want) || d.problem != "" || d.at != len(raw) {
			t.Errorf("%s is %q (%s, %d bytes), want %q", c.encoded, got, d.problem, d.at, c.want)
		}
		// Each value is shorter by any number of bytes is malformed.
		for n := range raw {
			if d := (decoder{text: string(raw[:n])}); d.value() != (Value{}) && d.problem == "" {
				t.Errorf("%s is no problem", c.encoded[:2*n])
			}
		}
	}
}

func TestIDsAreStrings(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		id   Value
		want string
	}{
		{String("a b"), "a b"},
		{ULong(7), "7"},
		{ULong(math.MaxUint64), "18446744073709551615"},
		{Binary("\x01\xff"), "01ff"},
		{GUID([16]byte{1, 2}), "01020000-0000-0000-0000-000000000000"},
	} {
		var s Set
		if err := s.Read(propertiesSection(c.id, Null, Null, Null, Null, c.id), ""); err != nil {
			t.Fatal(err)
		}
		if s.System(MessageID) != String(c.want) || s.System(CorrelationID) != String(c.want) {
			t.Errorf("%s %q is %q and %q", c.id.Type(), c.want, s.System(MessageID).Text(), s.System(CorrelationID).Text())
		}
	}
}

func TestCheckRefuses(t *testing.T) {
	t.Parallel()
	name := appendVariable(nil, codeString8, "n")
	one := applicationSection([]Named{{"n", Long(1)}})
	for _, c := range []struct{ properties, application, want string }{
		{"x", "", "properties section is malformed at byte 1: it has no descriptor"},
		{one, "", "it has another descriptor"},
		{"", propertiesSection(), "it has another descriptor"},
		{"", compound(applicationCode, codeList8, 0), "it is not a map"},
		{compound(propertiesCode, codeMap8, 0), "", "it is not a list"},
		{compound(propertiesCode, 0x40, 0), "", "it is not a list"},
		{propertiesSection(make([]Value, 14)...), "", "more than 13 fields"},
		{propertiesSection(Long(1)), "", "at byte 15: the field message-id is a long"},
		{propertiesSection(Null, Null, Long(1)), "", "the field to is a long"},
		{propertiesSection(Null) + "x", "", "its size differs"},
		{compound(propertiesCode, codeList8, 1, codeNull, codeNull), "", "bytes follow the last value"},
		{compound(propertiesCode, codeList8, 2, codeNull), "", "ends beyond the section"},
		{"", one + "x", "its size differs"},
		{"", one[:len(one)-1], "its size differs"},
		{"", compound(applicationCode, codeMap8, 1, name...), "a name without a value"},
		{"", compound(applicationCode, codeMap8, 2, name...), "ends beyond the section"},
		{"", compound(applicationCode, codeMap8, 2, append(Append(nil, Long(1)), codeNull)...), "a name is not a string"},
		{"", compound(applicationCode, codeMap8, 2, append(name, codeList0)...), "a value is a list, a map or an array"},
		{"", compound(applicationCode, codeMap8, 2, append(name, codeMap8, 1, 0)...), "a value is a list, a map or an array"},
		{"", compound(applicationCode, codeMap8, 2, append(name, 0x57)...), "unknown type"},
		{"", compound(applicationCode, codeMap8, 2, append(name, codeDescribed, codeNull, codeNull)...), "a descriptor is neither"},
		{"", compound(applicationCode, codeMap8, 2, append(name, codeDescribed, codeDescribed, codeDescribed)...), "unknown type"},
		{"", compound(applicationCode, codeMap8, 2, append(name, codeBoolean, 2)...), "a boolean is neither"},
		{"", compound(applicationCode, codeMap8, 2, append(name, codeString8, 1, 0xff)...), "not valid UTF-8"},
		{"", compound(applicationCode, codeMap8, 2, append(name, codeSymbol8, 1, 0xff)...), "not ASCII"},
		{"", compound(applicationCode, codeMap8, 2, append(name, codeChar, 0, 0, 0xd8, 0)...), "not a character"},
		{"", compound(applicationCode, codeMap8, 2, append(name, codeString32, 0xff, 0xff, 0xff, 0xff)...), "ends beyond the section"},
		{"", applicationSection([]Named{{"n", Long(1)}, {"m", Null}, {"n", Long(2)}}), `has a name twice: "n"`},
		{"", applicationSection([]Named{{"n", Binary(strings.Repeat("x", SectionBytesMax))}}), "more than 64 KiB"},
		{propertiesSection(String(strings.Repeat("x", SectionBytesMax))), "", "more than 64 KiB"},
	} {
		err := Check(c.properties, c.application)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%x %x: %v, want %q", c.properties, c.application, err, c.want)
		}
	}
	for _, c := range []string{
		"", propertiesSection(), "\x00\x53\x73\x45", "\x00\x80\x00\x00\x00\x00\x00\x00\x00\x73\x45",
		"\x00\xa3\x14amqp:properties:list\x45", "\x00\x53\x73\xd0\x00\x00\x00\x05\x00\x00\x00\x01\x40",
	} {
		if err := Check(c, ""); err != nil {
			t.Errorf("%x: %v", c, err)
		}
	}
}

// A Set is empty after an error, so that no property of the last message remains.
func TestReadReplaces(t *testing.T) {
	t.Parallel()
	var s Set
	good := applicationSection([]Named{{"n", Long(1)}})
	if err := s.Read(propertiesSection(String("id")), good); err != nil || s.Application("n") != Long(1) {
		t.Fatal(err, s)
	}
	if err := s.Read(propertiesSection(String("id")), good+"x"); err == nil {
		t.Fatal("no error")
	}
	if s.System(MessageID) != (Value{}) || len(s.All()) != 0 || s.Application("n") != (Value{}) {
		t.Errorf("left: %v", s)
	}
}

// TestReadCopiesNothing pins the cost of reading a message again and again.
func TestReadCopiesNothing(t *testing.T) {
	var s Set
	properties := propertiesSection(String("id"), Null, String("to"), String("label"))
	application := applicationSection([]Named{{"color", String("red")}, {"Quantity", Long(5)}, {"price", DoubleBits(1)}})
	if n := testing.AllocsPerRun(100, func() {
		if s.Read(properties, application) != nil || s.Application("quantity").Long() != 5 {
			t.Fatal("not read")
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkRead(b *testing.B) {
	properties := propertiesSection(String("id"), Null, String("to"), String("label"))
	for _, n := range []int{3, 20, 2000} {
		var named []Named
		for i := range n {
			named = append(named, Named{fmt.Sprintf("property %d", i*7919%n), Long(int64(i))})
		}
		application := applicationSection(named)
		b.Run(fmt.Sprint(n, " properties"), func(b *testing.B) {
			var s Set
			b.ReportAllocs()
			for b.Loop() {
				if err := s.Read(properties, application); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func FuzzRead(f *testing.F) {
	f.Add(propertiesSection(String("id"), Null, String("to")), applicationSection([]Named{{"n", Long(1)}, {"N", Duration(5)}, {"é", Null}}))
	f.Add("\x00\x53\x73\x45", "\x00\x53\x74\xc1\x01\x00")
	f.Add("", "\x00\xa3\x1eamqp:application-properties:map\xd1\x00\x00\x00\x08\x00\x00\x00\x02\xa1\x01n\x40")
	f.Fuzz(func(t *testing.T, properties, application string) {
		var s Set
		if err := s.Read(properties, application); err != nil {
			if !utf8.ValidString(err.Error()) || len(err.Error()) > 1000 {
				t.Fatalf("the error is %q", err)
			}
			return
		}
		var again Set
		if err := again.Read(properties, applicationSection(s.All())); err != nil {
			if len(applicationSection(s.All())) <= SectionBytesMax {
				t.Fatalf("the same properties: %v", err)
			}
			return
		}
		if !slices.Equal(s.All(), again.All()) || s.system != again.system {
			t.Fatalf("%+v becomes %+v", s, again)
		}
		for _, p := range s.All() {
			if s.Application(p.Name) != p.Value {
				t.Fatalf("%q is not found", p.Name)
			}
			p.Value.Text()
			for typ := TypeNull; typ < typeCount; typ++ {
				Convert(p.Value, typ)
			}
		}
	})
}
