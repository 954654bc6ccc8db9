package wire

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func section(code uint64, v Value) []byte { return append(AppendDescriptor(nil, code), v...) }

// The parts of a message are found, and together they are the message.
func TestMessages(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		maybe := func(code uint64, v func() Value) []byte {
			if rapid.Bool().Draw(t, "there") {
				return section(code, v())
			}
			return nil
		}
		amap := func() Value { return anyCompound(t, BeginMap, 1, 2) }
		list := func() Value { return anyCompound(t, BeginList, 1, 1) }
		data := func() Value { return AppendBinary(nil, rapid.SliceOf(rapid.Byte()).Draw(t, "data")) }
		before := slices.Concat(maybe(CodeHeader, list), maybe(CodeDeliveryAnnotations, amap), maybe(CodeMessageAnnotations, amap))
		properties := slices.Concat(maybe(CodeProperties, list), maybe(CodeApplicationProperties, amap))
		var values []Value
		var body []byte
		code := rapid.SampledFrom([]uint64{CodeData, CodeSequence, CodeValue}).Draw(t, "code")
		for range rapid.IntRange(1, 3).Draw(t, "sections") {
			v := map[uint64]func() Value{
				CodeData: data, CodeSequence: list, CodeValue: func() Value { return anyValue(2).Draw(t, "value") },
			}[code]()
			values, body = append(values, v), append(body, section(code, v)...)
			if code == CodeValue {
				break
			}
		}
		footer := maybe(CodeFooter, amap)
		b := slices.Concat(before, properties, body, footer)
		m, err := ReadMessage(b)
		if err != nil || m.BodyCode != code {
			t.Fatalf("code 0x%x: %v", m.BodyCode, err)
		}
		if !bytes.Equal(m.Body, body) || !bytes.Equal(m.Bare, append(properties, body...)) {
			t.Fatalf("body %x and bare message %x of %x", m.Body, m.Bare, b)
		}
		var got []Value
		for v := range m.BodySections() {
			got = append(got, v)
		}
		if !slices.EqualFunc(got, values, func(a, b Value) bool { return bytes.Equal(a, b) }) {
			t.Fatalf("sections %x, not %x", got, values)
		}
		if (m.Footer != nil) != (footer != nil) || m.Footer != nil && !bytes.Equal(section(CodeFooter, m.Footer), footer) {
			t.Fatalf("footer %x, not %x", m.Footer, footer)
		}
	})
}

func TestWrongMessages(t *testing.T) {
	empty, m := BeginMap(nil)
	none := m.End(empty)
	list, data := Value{codeList0}, Value(AppendBinary(nil, []byte("x")))
	for name, b := range map[string][]byte{
		"no section":            AppendString(nil, "x"),
		"unknown section":       section(0x79, list),
		"two headers":           slices.Concat(section(CodeHeader, list), section(CodeHeader, list)),
		"a header behind":       slices.Concat(section(CodeProperties, list), section(CodeHeader, list)),
		"two kinds of bodies":   slices.Concat(section(CodeData, data), section(CodeSequence, list)),
		"two values":            slices.Concat(section(CodeValue, data), section(CodeValue, data)),
		"a body behind footer":  slices.Concat(section(CodeFooter, none), section(CodeData, data)),
		"data that is a list":   section(CodeData, list),
		"annotations of a list": section(CodeMessageAnnotations, list),
		"a piece of a section":  section(CodeData, data)[:4],
	} {
		if _, err := ReadMessage(b); !errors.Is(err, ErrMalformed) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if m, err := ReadMessage(nil); err != nil || m.BodyCode != 0 || len(m.Bare) > 0 {
		t.Errorf("nothing is %+v: %v", m, err)
	}
}

// FuzzMessage checks that the sections of an accepted message cover it, and can be read.
func FuzzMessage(f *testing.F) {
	for _, frame := range frames(f) {
		if code, _, payload, err := ReadPerformative(frame[HeaderBytes:]); err == nil && code == CodeTransfer {
			f.Add(payload)
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := ReadMessage(b)
		if err != nil {
			return
		}
		if !bytes.Contains(b, m.Bare) || !bytes.HasSuffix(m.Bare, m.Body) {
			t.Fatalf("body %x and bare message %x of %x", m.Body, m.Bare, b)
		}
		sections := 0
		for range m.BodySections() {
			sections++
		}
		if (sections > 0) != (m.BodyCode != 0) {
			t.Fatalf("%d sections of code 0x%x", sections, m.BodyCode)
		}
		if p, err := ReadProperties(m.Properties); err == nil {
			_, list, _, err := ReadPerformative(p.Append(nil))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := ReadProperties(list); err != nil {
				t.Fatalf("%+v: %v", p, err)
			}
		}
		_, _ = ReadHeader(m.Header)
	})
}
