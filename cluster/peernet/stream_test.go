package peernet

import (
	"bytes"
	"errors"
	"io"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"

	"github.com/seriatimq/seriatim/cluster/clustertest"
	"github.com/seriatimq/seriatim/cluster/peernet/frame"
)

// wire is one direction of a connection, in memory.
type wire struct{ bytes.Buffer }

func TestCheckedStreamKeepsContent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var w wire
		sender := newCheckedStream(&w)
		var want []byte
		for range rapid.IntRange(0, 5).Draw(t, "writes") {
			part := bytes.Repeat([]byte{rapid.Byte().Draw(t, "byte")}, rapid.IntRange(0, 2*streamPart+2).Draw(t, "length"))
			if n, err := sender.Write(part); err != nil || n != len(part) {
				t.Fatalf("wrote %d of %d, %v", n, len(part), err)
			}
			want = append(want, part...)
		}
		receiver := newCheckedStream(readWriter{iotest.HalfReader(&w), &w})
		got, err := io.ReadAll(receiver)
		if err != nil || !bytes.Equal(got, want) {
			t.Fatalf("%d bytes arrived of %d, %v", len(got), len(want), err)
		}
	})
}

type readWriter struct {
	io.Reader
	io.Writer
}

// Each flipped bit and each cut of a short exchange is detected.
func TestCheckedStreamRefusesAnyChange(t *testing.T) {
	var w wire
	sender := newCheckedStream(&w)
	for _, text := range []string{"one", "and another"} {
		clustertest.Must(t, clustertest.Err(sender.Write([]byte(text))))
	}
	sound := w.Bytes()
	for i := range 8 * len(sound) {
		damaged := bytes.Clone(sound)
		damaged[i/8] ^= 1 << (i % 8)
		got, err := io.ReadAll(newCheckedStream(bytes.NewBuffer(damaged)))
		if err == nil || !bytes.HasPrefix([]byte("oneand another"), got) {
			t.Fatalf("bit %d: read %q, %v", i, got, err)
		}
		if !errors.Is(err, frame.ErrDamaged) && !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Fatalf("bit %d: %v", i, err)
		}
	}
	for cut := range len(sound) {
		_, err := io.ReadAll(newCheckedStream(bytes.NewBuffer(bytes.Clone(sound[:cut]))))
		if atBorder := cut == 0 || cut == frame.Head+len("one"); (err == nil) != atBorder {
			t.Errorf("cut after %d of %d bytes: %v", cut, len(sound), err)
		}
	}
}
