package jsontext

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// FuzzObject compares the reader with that of the standard library.
func FuzzObject(f *testing.F) {
	for _, text := range []string{
		`{}`, ` { "a" : [ 1 , -0.5e+3 , true , null ] , "b" : { "c" : "\u00e9\n" } } `, `{"a":1,"a":2}`, `{"a":01}`, `{"a":1.}`,
		`{"a":"\ud834\udd1e","\ud834":"\udd1e\ud834x"}`, `{"a":"\u12g4"}`, `{"a":"\u+123"}`, "{\"a\":\"\x01\"}", `{"a":tru}`,
		`{"a":[]}`, `{"a":[,]}`, `{"a":{},}`, `[]`, `{"a":1} x`, "{\"\u2028<&>\\b\\f\x7f\":\"\u2028\"}", `{"Sid":"\/"}`, `{"a":-}`, `{`,
		`{"a"`, `{"a":"\`,
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		o, ok := ParseObject(text)
		var members map[string]json.RawMessage
		err := json.Unmarshal([]byte(text), &members)
		if !ok {
			if err == nil && members != nil && utf8.ValidString(text) && !repeats(text) {
				t.Fatalf("refused %q", text)
			}
			return
		}
		if err != nil || len(members) != len(o) {
			t.Fatalf("accepted %q: %v", text, err)
		}
		for _, m := range o {
			var want bytes.Buffer
			if err := json.Compact(&want, members[m.Name]); err != nil || want.String() != m.Raw {
				t.Fatalf("%q: member %q is %q, want %q (%v)", text, m.Name, m.Raw, want.String(), err)
			}
			if got, isString := StringOf(m.Raw); isString {
				var want string
				if err := json.Unmarshal([]byte(m.Raw), &want); err != nil || got != want {
					t.Fatalf("%q is %q, want %q (%v)", m.Raw, got, want, err)
				}
			}
			if got, want := Quote(m.Name), libraryQuote(m.Name); got != want {
				t.Fatalf("%q is written %q, want %q", m.Name, got, want)
			}
			elements, isList := ParseList(m.Raw)
			var list []json.RawMessage
			if err := json.Unmarshal([]byte(m.Raw), &list); isList != (err == nil && m.Raw != "null") || len(list) != len(elements) {
				t.Fatalf("%q has the elements %q", m.Raw, elements)
			}
			for i, e := range elements {
				if e != string(list[i]) {
					t.Fatalf("element %d of %q is %q, want %q", i, m.Raw, e, list[i])
				}
			}
		}
	})
}

// repeats reports whether an object has a repeated name.
func repeats(text string) bool {
	d := json.NewDecoder(strings.NewReader(text))
	if _, err := d.Token(); err != nil {
		return false
	}
	seen := map[string]bool{}
	for d.More() {
		name, err := d.Token()
		var raw json.RawMessage
		if err != nil || d.Decode(&raw) != nil || seen[name.(string)] {
			return true
		}
		seen[name.(string)] = true
	}
	return false
}

func libraryQuote(s string) string {
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	if err := e.Encode(s); err != nil {
		panic(err)
	}
	return strings.TrimSuffix(text.String(), "\n")
}

// Reading keeps the spelling of values.
func TestObjectKeepsWhatItReads(t *testing.T) {
	o, ok := ParseObject(` { "b" : "\u0041", "a" : [ 1, {"x" : 1e5} ] } `)
	if !ok {
		t.Fatal("refused")
	}
	if diff := cmp.Diff(`{"b":"\u0041","a":[1,{"x":1e5}]}`, o.String()); diff != "" {
		t.Error(diff)
	}
}
