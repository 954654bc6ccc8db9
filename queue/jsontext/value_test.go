package jsontext

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"
)

// FuzzParse compares values and positions with those of the standard library.
func FuzzParse(f *testing.F) {
	for _, text := range []string{
		`null`, ` [ ] `, `{}`, `[[],{},"a",-0.5e+3,true,false,null]`, `{"a":{"b":[1,{"c":"\u00e9\"\\"}]},"a":2}`,
		`"\ud834\udd1e\ud834"`, `[1 2]`, `[1,]`, `{"a"}`, `{"a":1,}`, `01`, `1.`, `-`, `tru`, `"`, `"\`, `[`, `{"a":`, "\xff", "\ufeff{}",
		``, `1e5 x`,
		strings.Repeat("[", 20) + strings.Repeat("]", 20), `[[[[[[[[]]]]]]]]`,
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		const depth = 50
		v, err := Parse(text, depth)
		if want := json.Valid([]byte(text)) && utf8.ValidString(text) && nesting(text) <= depth; (err == nil) != want {
			t.Fatalf("%q is read: %v, want %v", text, err, want)
		}
		if err != nil {
			if wrong := new(SyntaxError); !errors.As(err, &wrong) || wrong.Offset < 0 || wrong.Offset > len(text) {
				t.Fatalf("%q: %v", text, err)
			}
			return
		}
		if v.Raw() != strings.Trim(text, " \t\r\n") {
			t.Fatalf("%q is %q", text, v.Raw())
		}
		d := json.NewDecoder(strings.NewReader(text))
		d.UseNumber()
		var want any
		if err := d.Decode(&want); err != nil {
			t.Fatal(err)
		}
		if got := read(t, text, v); !reflect.DeepEqual(got, want) {
			t.Fatalf("%q is read as %v, want %v", text, got, want)
		}
	})
}

// nesting returns the nesting depth of a JSON text.
func nesting(text string) int {
	deep, deepest := 0, 0
	d := json.NewDecoder(strings.NewReader(text))
	for {
		token, err := d.Token()
		if err != nil {
			return deepest
		}
		switch token {
		case json.Delim('{'), json.Delim('['):
			deep++
			deepest = max(deepest, deep)
		case json.Delim('}'), json.Delim(']'):
			deep--
		}
	}
}

// read converts a value to the form of the standard library.
func read(t *testing.T, text string, v Value) any {
	if text[v.Start():v.End()] != v.Raw() {
		t.Fatalf("%q is not at %d to %d of %q", v.Raw(), v.Start(), v.End(), text)
	}
	switch v.Kind() {
	case KindObject:
		object := map[string]any{}
		for name, value := range v.Members() {
			if text[name.Start():name.End()] != name.Raw() {
				t.Fatalf("%q is not at %d to %d of %q", name.Raw(), name.Start(), name.End(), text)
			}
			object[name.Text()] = read(t, text, value)
		}
		return object
	case KindArray:
		list := []any{}
		for e := range v.Elements() {
			list = append(list, read(t, text, e))
		}
		return list
	case KindString:
		return v.Text()
	case KindNumber:
		return json.Number(v.Raw())
	case KindTrue:
		return true
	case KindFalse:
		return false
	default:
		return nil
	}
}

func TestParseBoundsNesting(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		text string
		ok   bool
	}{
		{`1`, true},
		{`[{"a":[1]},[[]]]`, true},
		{`[[[[]]]]`, false},
		{`{"a":{"b":{"c":{}}}}`, false},
		{strings.Repeat(`[`, 1_000_000), false},
		{strings.Repeat(`{"a":`, 1_000_000), false},
	} {
		if _, err := Parse(tc.text, 3); (err == nil) != tc.ok {
			t.Errorf("%.30q is read: %v", tc.text, err)
		}
	}
}

func TestSyntaxErrorSaysWhere(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		text string
		want string
	}{
		{``, "not JSON from byte 0 on"},
		{`{invalid}`, "not JSON from byte 1 on"},
		{`{"a":1 "b":2}`, "not JSON from byte 7 on"},
		{`{"a":[1,2}`, "not JSON from byte 9 on"},
		{`{"a":1} x`, "not JSON from byte 8 on"},
		{`{"a":"b`, "not JSON from byte 5 on"},
		{`[[[[]]]]`, "not JSON from byte 3 on"},
		{"{\"\ufffd\":\"\xff\"}", "not JSON from byte 8 on"},
	} {
		if _, err := Parse(tc.text, 3); err == nil || err.Error() != tc.want {
			t.Errorf("%q: %v, want %s", tc.text, err, tc.want)
		}
	}
}

// Methods for other kinds return nothing.
func TestValueOfAnotherKind(t *testing.T) {
	t.Parallel()
	v, _ := Parse(`{"a":[1]}`, 5)
	for range v.Elements() {
		t.Error("an object has elements")
	}
	for _, list := range v.Members() {
		if list.Text() != "" {
			t.Errorf("an array says %q", list.Text())
		}
		for range list.Members() {
			t.Error("an array has members")
		}
	}
}

func BenchmarkParse(b *testing.B) {
	text := `{"detail":{"items":[` + strings.Repeat(`{"name":"value of some length","count":12345,"price":"9.99"},`, 1000) + `{}]}}`
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Parse(text, 1000); err != nil {
			b.Fatal(err)
		}
	}
}
