package frame

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"pgregory.net/rapid"

	"github.com/seriatimq/seriatim/cluster/clustertest"
)

// encoded returns the bytes of a frame.
func encoded(kind uint8, fields, data []byte) []byte {
	buffer := append(Begin(nil), fields...)
	Finish(buffer, kind, len(fields), data)
	return append(buffer, data...)
}

var wide = Limits{Fields: 1 << 20, Data: 8 << 20}

// read returns the next frame and reads its data in pieces of the given size.
func read(r *Reader, piece int) (kind uint8, fields, data []byte, err error) {
	kind, fields, n, err := r.Next()
	for err == nil && len(data) < n {
		var part []byte
		part, err = r.Data(min(piece, n-len(data)))
		data = append(data, part...)
	}
	return kind, fields, data, err
}

func TestFramesArriveAsTheyWereSent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var network bytes.Buffer
		type sent struct {
			kind         uint8
			fields, data []byte
		}
		content := func(name string) []byte {
			return bytes.Repeat([]byte{rapid.Byte().Draw(t, "byte")}, rapid.IntRange(0, 70_000).Draw(t, name))
		}
		var frames []sent
		for range rapid.IntRange(0, 4).Draw(t, "frames") {
			f := sent{rapid.Uint8().Draw(t, "kind"), content("fields"), content("data")}
			frames = append(frames, f)
			network.Write(encoded(f.kind, f.fields, f.data))
		}
		r := NewReader(&network, 4096, wide)
		for i, want := range frames {
			kind, fields, data, err := read(r, rapid.IntRange(1, 80_000).Draw(t, "piece"))
			if err != nil || kind != want.kind || !bytes.Equal(fields, want.fields) || !bytes.Equal(data, want.data) {
				t.Fatalf("frame %d: kind %d, %d and %d bytes, %v", i, kind, len(fields), len(data), err)
			}
		}
		if _, _, _, err := r.Next(); !errors.Is(err, io.EOF) {
			t.Fatalf("after the last frame: %v", err)
		}
	})
}

// The bytes of a frame are part of the protocol between versions.
func TestFramesStayAsTheyAre(t *testing.T) {
	const want = "\x05\x02\x00\x00\x06\x00\x00\x00fidata"
	got := encoded(5, []byte("fi"), []byte("data"))
	if string(got[:8])+string(got[Head:]) != want {
		t.Errorf("got %x", got)
	}
}

// Every changed bit and every cut is detected.
func TestDamageIsNoticed(t *testing.T) {
	sound := encoded(3, []byte("some fields"), []byte("and data"))
	for bit := range 8 * len(sound) {
		damaged := bytes.Clone(sound)
		damaged[bit/8] ^= 1 << (bit % 8)
		if kind, fields, data, err := read(NewReader(bytes.NewReader(damaged), 64, wide), 3); !errors.Is(err, ErrDamaged) {
			t.Fatalf("bit %d: kind %d, %q, %q, %v", bit, kind, fields, data, err)
		}
	}
	for size := 1; size < len(sound); size++ {
		if _, _, _, err := read(NewReader(bytes.NewReader(sound[:size]), 64, wide), 3); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Fatalf("%d of %d bytes: %v", size, len(sound), err)
		}
	}
}

func TestFramesAreBounded(t *testing.T) {
	narrow := Limits{Fields: 2, Data: 4}
	for _, tc := range []struct {
		fields, data int
		fits         bool
	}{{2, 4, true}, {3, 4, false}, {2, 5, false}, {0, 0, true}} {
		r := NewReader(bytes.NewReader(encoded(1, make([]byte, tc.fields), make([]byte, tc.data))), 64, narrow)
		if _, _, _, err := read(r, 100); (err == nil) != tc.fits {
			t.Errorf("%d and %d bytes: %v", tc.fields, tc.data, err)
		}
	}
	r := NewReader(bytes.NewReader(encoded(1, nil, []byte("data"))), 64, wide)
	if _, _, _, err := r.Next(); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Data(5); !errors.Is(err, ErrDamaged) {
		t.Errorf("more data than there is: %v", err)
	}
}

// The memory for the largest body is allocated once and never copied.
func TestTheLargestBodyIsReadInOnePiece(t *testing.T) {
	r := NewReader(bytes.NewReader(encoded(1, nil, make([]byte, 1<<20+4<<10))), 64, wide)
	_, _, n, err := r.Next()
	clustertest.Must(t, err)
	if data, err := r.Data(n); err != nil || cap(data) != n {
		t.Errorf("memory for %d bytes, with data of %d: %v", cap(data), n, err)
	}
}

func TestWaits(t *testing.T) {
	whole := encoded(1, []byte("fields"), []byte("data"))
	for _, tc := range []struct {
		behind []byte
		waits  bool
	}{{nil, false}, {whole[:Head], false}, {whole[:len(whole)-1], false}, {whole, true}, {make([]byte, 100), false}} {
		r := NewReader(bytes.NewReader(append(encoded(1, nil, nil), tc.behind...)), 256, wide)
		if _, _, _, err := r.Next(); err != nil {
			t.Fatal(err)
		}
		if got := r.Waits(); got != tc.waits {
			t.Errorf("%d bytes behind: %v", len(tc.behind), got)
		}
	}
}

// FuzzFrames reads arbitrary bytes. Each frame in them is encoded to the same bytes.
func FuzzFrames(f *testing.F) {
	f.Add(encoded(1, nil, []byte("requests")))
	f.Add(append(encoded(4, nil, nil), encoded(3, []byte("fields"), nil)...))
	f.Add(encoded(2, make([]byte, 100), []byte("data"))[:50])
	f.Fuzz(func(t *testing.T, input []byte) {
		r := NewReader(bytes.NewReader(input), 64, wide)
		for at := 0; ; {
			kind, fields, data, err := read(r, 1000)
			if err != nil {
				return
			}
			frame := encoded(kind, fields, data)
			if !bytes.HasPrefix(input[at:], frame) {
				t.Fatalf("read %x, which is not at %d of %x", frame, at, input)
			}
			at += len(frame)
		}
	})
}
