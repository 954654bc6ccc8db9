package grpcwire

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"golang.org/x/net/http2/hpack"
)

// plain writes headers as servers do that use no table.
func plain(fields ...string) []byte {
	b := []byte{statusOK}
	for i, text := range fields {
		if i%2 == 0 {
			b = append(b, literalName)
		}
		b = append(append(b, byte(len(text))), text...)
	}
	return b
}

// What is read without a table is what a table would give, and leaves it as it is.
func FuzzEachPlain(f *testing.F) {
	f.Add(plain("grpc-status", "0", "grpc-message", ""))
	f.Add(plain("grpc-status", "")[:5])
	f.Add(append(plain("a", "b"), 0x82))
	f.Fuzz(func(t *testing.T, block []byte) {
		var got []string
		if !eachPlain(block, func(name, value []byte) { got = append(got, string(name), string(value)) }) {
			return
		}
		var want []string
		table := hpack.NewDecoder(tableBytes, func(f hpack.HeaderField) {
			want = append(want, f.Name, f.Value)
		})
		if _, err := table.Write(block); err != nil {
			t.Fatal(err)
		}
		if err := table.Close(); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q, %v, want %q", got, err, want)
		}
		// The first entry of the table would have number 62.
		if _, err := table.Write([]byte{0x80 | 62}); err == nil {
			t.Errorf("%q has changed the table", block)
		}
	})
}

// A block that comes in parts, or needs a table, is read as well.
func TestHeaders(t *testing.T) {
	var compressed bytes.Buffer
	coder := hpack.NewEncoder(&compressed)
	for _, field := range []hpack.HeaderField{{Name: ":status", Value: "200"}, {Name: "grpc-status", Value: "5"}, {Name: "grpc-message", Value: "none"}} {
		if err := coder.WriteField(field); err != nil {
			t.Fatal(err)
		}
	}
	for name, block := range map[string][]byte{"plain": plain("grpc-status", "5", "grpc-message", "none"), "with a table": compressed.Bytes()} {
		for cut := range block {
			c := &call{stream: 1}
			l := &link{calls: map[uint32]*call{1: c}}
			l.table = hpack.NewDecoder(tableBytes, l.field)
			for i, part := range [][]byte{block[:cut], block[cut:]} {
				if err := l.headers(1, part, i == 1); err != nil {
					t.Fatalf("%s, cut at %d: %v", name, cut, err)
				}
			}
			if got := fmt.Sprint(c.status, " ", c.message); got != "NotFound none" {
				t.Errorf("%s, cut at %d: %s", name, cut, got)
			}
		}
	}
	l := &link{}
	for range fieldBytesMax/frameBytesMax + 1 {
		if err := l.headers(1, make([]byte, frameBytesMax), false); err != nil {
			return
		}
	}
	t.Error("endless headers were taken")
}
