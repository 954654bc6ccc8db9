package snapshot

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/seriatimq/seriatim/fsm/format"
)

// written makes a stream of three sections.
func written(t *testing.T) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := newSectionWriter(&out)
	if err != nil {
		t.Fatal(err)
	}
	for i, text := range []string{"head", "", "a body that is longer"} {
		w.buffer = append(w.buffer, text...)
		if err := w.end([]sectionKind{sectionHeader, sectionRecords, sectionEnd}[i]); err != nil {
			t.Fatal(err)
		}
	}
	return out.Bytes()
}

// read reads a stream of sections up to its end.
func read(r io.Reader) (texts []string, err error) {
	s, err := newSectionReader(r)
	if err != nil {
		return nil, err
	}
	for {
		kind, payload, err := s.next()
		if err != nil {
			return texts, err
		}
		texts = append(texts, kind.String()+" "+string(payload))
		if kind == sectionEnd {
			return texts, s.close()
		}
	}
}

func TestSectionsRoundTrip(t *testing.T) {
	got, err := read(iotest.OneByteReader(bytes.NewReader(written(t))))
	want := []string{"header head", "records ", "end a body that is longer"}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestEveryFlippedBitOfASectionIsFound(t *testing.T) {
	stream := written(t)
	for i := range len(stream) * 8 {
		damaged := slices.Clone(stream)
		damaged[i/8] ^= 1 << (i % 8)
		_, err := read(bytes.NewReader(damaged))
		if !IsDamage(err) || !strings.Contains(err.Error(), "snapshot") {
			t.Fatalf("bit %d: %v", i, err)
		}
	}
}

func TestEveryCutOfASectionIsFound(t *testing.T) {
	stream := written(t)
	for n := range stream {
		if _, err := read(bytes.NewReader(stream[:n])); !errors.Is(err, format.ErrChecksum) {
			t.Fatalf("%d bytes: %v", n, err)
		}
	}
	if _, err := read(bytes.NewReader(append(stream, 0))); !errors.Is(err, format.ErrChecksum) {
		t.Errorf("one byte more: %v", err)
	}
}

func TestSectionsOutOfPlaceAreFound(t *testing.T) {
	stream := written(t)
	preamble := len(magic) + 1
	first := preamble + sectionHeaderBytes + len("head") + 4
	second := first + sectionHeaderBytes + 4
	tests := []struct {
		name   string
		stream []byte
		want   string
	}{
		{"missing", slices.Concat(stream[:first], stream[second:]), "section 1 at byte 26"},
		{"twice", slices.Concat(stream[:second], stream[first:]), "section 2 at byte 39"},
		{"swapped", slices.Concat(stream[:preamble], stream[first:second], stream[preamble:first], stream[second:]), "section 0 at byte 9"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := read(bytes.NewReader(test.stream))
			if !errors.Is(err, format.ErrChecksum) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want damage at %s", err, test.want)
			}
		})
	}
}

func TestReaderErrorsAreNotDamage(t *testing.T) {
	failure := errors.New("the disk is gone")
	stream := written(t)
	for n := range stream {
		_, err := read(io.MultiReader(bytes.NewReader(stream[:n]), iotest.ErrReader(failure)))
		if !errors.Is(err, failure) || IsDamage(err) {
			t.Fatalf("after %d bytes: %v", n, err)
		}
	}
}

func TestLengthIsBoundedBeforeTheChecksum(t *testing.T) {
	stream := append([]byte(magic), streamFormat, byte(sectionHeader), 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff)
	_, err := read(io.MultiReader(bytes.NewReader(stream), neverRead{t}))
	if !errors.Is(err, format.ErrChecksum) {
		t.Errorf("got %v", err)
	}
}

// neverRead fails the test if it is read.
type neverRead struct{ t *testing.T }

func (n neverRead) Read([]byte) (int, error) {
	n.t.Error("read beyond an impossible length")
	return 0, io.EOF
}

func TestSectionOverTheLimitIsNotWritten(t *testing.T) {
	w, err := newSectionWriter(io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	w.buffer = append(w.buffer, make([]byte, sectionBytesMax+1)...)
	if err := w.end(sectionRecords); err == nil {
		t.Error("a section was written that no reader accepts")
	}
}
