package logcheck

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// usualLines have the form that nodes write.
var usualLines = []string{
	`{"index":17,"n":0,"term":3,"atMs":1764038400123,"op":"712.1","command":"AQID","answer":"BAU=","crc":4294967295,"hash":"00ff"}`,
	`{"index":17,"n":1,"term":3,"atMs":1764038400123,"op":"","command":"AQID","answer":"BAU=","crc":0}`,
	`{"index":18,"n":0,"term":3,"atMs":0,"op":"","crc":0,"kind":"noop"}`,
	`{"index":9223372036854775807,"n":0,"term":3,"atMs":5,"op":"","crc":0,"hash":"aa","kind":"restore"}` + "\n",
}

// FuzzTapLine compares the fast parser with the parser of JSON.
func FuzzTapLine(f *testing.F) {
	for _, text := range usualLines {
		f.Add([]byte(text))
	}
	for _, text := range []string{
		``, `{}`, `{"index":01}`, `{"index":17,"n":0,"term":3,"atMs":1,"op":"\u003c","crc":1}`,
		`{"index":17,"n":0,"term":3,"atMs":1,"op":"","crc":4294967296}`,
		`{"index":17,"n":0,"term":3,"atMs":1,"op":"","command":"A=","crc":1}`, `{"index":17,"n":0,"term":3,"atMs":1,"op":"","crc":1} `,
		`{"index":17,"n":0,"term":3,"at`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		got, ok := parseUsual(text)
		if !ok {
			return
		}
		var want line
		if err := json.Unmarshal(text, &want); err != nil {
			t.Fatalf("%q was taken for a line: %v", text, err)
		}
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Error(diff)
		}
	})
}

func TestUsualLinesAreReadFast(t *testing.T) {
	for _, text := range usualLines {
		if _, ok := parseUsual([]byte(text)); !ok {
			t.Errorf("read as any JSON: %s", text)
		}
	}
	l, err := parseLine([]byte(`{"index":17,"n":0,"term":3,"atMs":1,"op":"\u003c","crc":1}`))
	if err != nil || l.Op != "<" {
		t.Errorf("%+v, %v", l, err)
	}
}

func BenchmarkParseLine(b *testing.B) {
	text, err := json.Marshal(line{Index: 17, Term: 3, Command: make([]byte, 10<<10), Answer: make([]byte, 400), Hash: "00ff"})
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if _, err := parseLine(text); err != nil {
			b.Fatal(err)
		}
	}
}
