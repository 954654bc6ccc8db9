package encryption

import (
	"bytes"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/seriatimq/seriatim/cluster/clustertest"
)

func testKey(t testing.TB) []byte {
	t.Helper()
	key, err := DrawKey(rand.Reader)
	clustertest.Must(t, err)
	return key
}

func testKeyring(t testing.TB, keys ...[]byte) *Keyring {
	t.Helper()
	if len(keys) == 0 {
		keys = [][]byte{testKey(t)}
	}
	r, err := NewKeyring(rand.Reader, keys...)
	clustertest.Must(t, err)
	return r
}

func TestKeyFile(t *testing.T) {
	old, active := testKey(t), testKey(t)
	path := filepath.Join(t.TempDir(), "key")
	clustertest.Must(t, WriteKeyFile(path, "# the newest first\n"+KeyLine(active)+"\n"+KeyLine(old)))
	r, err := ReadKeyFile(path, rand.Reader)
	clustertest.Must(t, err)
	if r.Active() != idOf(active) || !r.Has(idOf(old)) || len(r.IDs()) != 2 {
		t.Errorf("keys %v", r.IDs())
	}
	if err := WriteKeyFile(path, KeyLine(old)); err == nil {
		t.Error("a key file was replaced")
	}
	for _, mode := range []os.FileMode{0o644, 0o660, 0o604} {
		clustertest.Must(t, os.Chmod(path, mode))
		if _, err := ReadKeyFile(path, rand.Reader); err == nil {
			t.Errorf("a key file of mode %v was read", mode)
		}
	}
	line := strings.TrimSpace(KeyLine(old))
	for _, text := range []string{
		"", "# nothing\n", line + "\n" + line, line + " more", line[:len(line)-2], line[17:], "0" + line[1:],
		strings.Replace(line, " ", " A", 1),
		"0000000000000000" + line[16:],
	} {
		_, err := ParseKeyFile(text, rand.Reader)
		if err == nil && text != "0"+line[1:] {
			t.Errorf("%q was read", text)
		}
		if err != nil && len(line) > 17 && strings.Contains(err.Error(), line[17:40]) {
			t.Errorf("the error repeats the key: %v", err)
		}
	}
}

func TestRecords(t *testing.T) {
	old := testKey(t)
	before := testKeyring(t, old).NewSealer("test")
	r := testKeyring(t, testKey(t), old)
	now := r.NewSealer("test")
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.SliceOf(rapid.Byte()).Draw(t, "text")
		tied := rapid.SliceOf(rapid.Byte()).Draw(t, "tied")
		for _, sealer := range []*Sealer{before, now} {
			record := sealer.Seal([]byte("before"), text, tied)[len("before"):]
			if len(record) != len(text)+RecordBytes {
				t.Fatalf("%d bytes for %d", len(record), len(text))
			}
			opened, err := r.Open(nil, record, tied, "test")
			if err != nil || !bytes.Equal(opened, text) {
				t.Fatalf("opened %x, %v", opened, err)
			}
			if _, err := r.Open(nil, record, append(tied, 1), "test"); !errors.Is(err, ErrNotAuthentic) {
				t.Fatalf("tied to something else: %v", err)
			}
			if _, err := r.Open(nil, record, tied, "else"); !errors.Is(err, ErrNotAuthentic) {
				t.Fatalf("for another purpose: %v", err)
			}
			at := rapid.IntRange(keyIDBytes, len(record)-1).Draw(t, "at")
			record[at] ^= 1
			if _, err := r.Open(nil, record, tied, "test"); !errors.Is(err, ErrNotAuthentic) {
				t.Fatalf("byte %d changed: %v", at, err)
			}
		}
	})
	record := now.Seal(nil, []byte("text"), nil)
	if _, err := testKeyring(t, old).Open(nil, record, nil, "test"); !errors.Is(err, ErrKeyMissing) {
		t.Errorf("without the key: %v", err)
	}
	var none *Keyring
	if _, err := none.Open(nil, record, nil, "test"); !errors.Is(err, ErrKeyMissing) {
		t.Errorf("without any key: %v", err)
	}
}

// No nonce repeats under one derived key, even when a Sealer derives another key.
func TestSealerChangesItsKey(t *testing.T) {
	s := testKeyring(t).NewSealer("test")
	seen := map[string]bool{}
	note := func() {
		head := string(s.Seal(nil, []byte("text"), nil)[:HeadBytes])
		if seen[head] {
			t.Fatal("a nonce came twice under one key")
		}
		seen[head] = true
	}
	note()
	note()
	salt := s.salt
	for _, full := range []func(){func() { s.count = sealerRecordsMax }, func() { s.bytes = sealerBytesMax }} {
		full()
		note()
		if s.salt == salt || s.count != 1 {
			t.Error("a full Sealer goes on with its key")
		}
		salt = s.salt
	}
}

func sealStream(t *rapid.T, r *Keyring, text []byte, pieces *rapid.Generator[int]) []byte {
	var stream bytes.Buffer
	w, err := r.NewWriter(&stream, "test")
	clustertest.Must(t, err)
	for rest := text; len(rest) > 0; {
		piece := min(len(rest), pieces.Draw(t, "piece"))
		if n, err := w.Write(rest[:piece]); n != piece || err != nil {
			t.Fatal(n, err)
		}
		rest = rest[piece:]
	}
	clustertest.Must(t, w.Close())
	return stream.Bytes()
}

func openStream(r *Keyring, stream []byte) ([]byte, error) {
	reader, err := r.NewReader(bytes.NewReader(stream), "test")
	if err != nil {
		return nil, err
	}
	return io.ReadAll(reader)
}

func TestStreams(t *testing.T) {
	r := testKeyring(t)
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.OneOf(rapid.IntRange(0, 10), rapid.IntRange(chunkBytes-2, chunkBytes+2),
			rapid.IntRange(2*chunkBytes-1, 2*chunkBytes+1), rapid.IntRange(0, 300_000)).Draw(t, "size")
		text := make([]byte, size)
		for i := range size / 4 {
			binary.LittleEndian.PutUint32(text[4*i:], uint32(i))
		}
		stream := sealStream(t, r, text, rapid.IntRange(1, 100_000))
		if got := TextBytes(int64(len(stream))); got != int64(size) {
			t.Fatalf("a stream of %d bytes has %d, not %d", len(stream), got, size)
		}
		if opened, err := openStream(r, stream); err != nil || !bytes.Equal(opened, text) {
			t.Fatalf("%d of %d bytes, %v", len(opened), size, err)
		}
		cut := stream[:rapid.IntRange(0, len(stream)-1).Draw(t, "cut")]
		if _, err := openStream(r, cut); !errors.Is(err, ErrNotAuthentic) {
			t.Fatalf("cut at %d of %d: %v", len(cut), len(stream), err)
		}
		if _, err := openStream(r, append(bytes.Clone(stream), 0)); !errors.Is(err, ErrNotAuthentic) {
			t.Fatalf("with a byte more: %v", err)
		}
		changed := bytes.Clone(stream)
		changed[rapid.IntRange(StreamHeadBytes, len(stream)-1).Draw(t, "at")] ^= 1
		if _, err := openStream(r, changed); !errors.Is(err, ErrNotAuthentic) {
			t.Fatalf("changed: %v", err)
		}
	})
}

// A chunk boundary cannot pass for the end, and chunks cannot be exchanged.
func TestStreamOrder(t *testing.T) {
	r := testKeyring(t)
	text := make([]byte, 3*chunkBytes)
	var stream bytes.Buffer
	w, err := r.NewWriter(&stream, "test")
	clustertest.Must(t, err)
	clustertest.Must(t, clustertest.Err(w.Write(text)))
	clustertest.Must(t, w.Close())
	chunk := func(n int) []byte {
		return stream.Bytes()[StreamHeadBytes+n*(chunkBytes+tagBytes):][:chunkBytes+tagBytes]
	}
	head := stream.Bytes()[:StreamHeadBytes]
	for name, parts := range map[string][][]byte{
		"without its last chunk": {head, chunk(0), chunk(1)},
		"with two exchanged":     {head, chunk(1), chunk(0), chunk(2)},
		"with one left out":      {head, chunk(0), chunk(2)},
		"with one twice":         {head, chunk(0), chunk(1), chunk(1), chunk(2)},
	} {
		if _, err := openStream(r, bytes.Join(parts, nil)); !errors.Is(err, ErrNotAuthentic) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func BenchmarkSeal(b *testing.B) {
	s := testKeyring(b).NewSealer("test")
	for name, size := range map[string]int{"256": 256, "4k": 4 << 10, "256k": 256 << 10} {
		b.Run(name, func(b *testing.B) {
			text, dst := make([]byte, size), make([]byte, 0, size+RecordBytes)
			b.SetBytes(int64(size))
			for b.Loop() {
				s.Seal(dst, text, nil)
			}
		})
	}
}

// Replaced keys encrypt at once. Earlier data remains readable, even if the file no longer has its
// key.
func TestReplacedKeys(t *testing.T) {
	old, next := testKey(t), testKey(t)
	r := testKeyring(t, old)
	sealer := r.NewSealer("test")
	text, tied := []byte("text"), []byte("tied")
	var began bytes.Buffer
	w, err := r.NewWriter(&began, "test")
	clustertest.Must(t, err)
	before := sealer.Seal(nil, text, tied)
	r.Replace(testKeyring(t, next))
	after := sealer.Seal(nil, text, tied)
	if KeyOf(before) != idOf(old) || KeyOf(after) != idOf(next) || r.Active() != idOf(next) || len(r.IDs()) != 1 {
		t.Errorf("keys %s and %s, the file has %v", KeyOf(before), KeyOf(after), r.IDs())
	}
	for _, record := range [][]byte{before, after} {
		if got, err := r.Open(nil, record, tied, "test"); err != nil || !bytes.Equal(got, text) {
			t.Errorf("%q, %v", got, err)
		}
	}
	if _, err := testKeyring(t, next).Open(nil, after, tied, "test"); err != nil {
		t.Errorf("what the next key encrypted needs another: %v", err)
	}
	_, err = w.Write(text)
	if err = errors.Join(err, w.Close()); err != nil || w.Key() != idOf(old) {
		t.Fatal(err, w.Key())
	}
	if got, err := r.NewReader(&began, "test"); err != nil {
		t.Error(err)
	} else if read, err := io.ReadAll(got); err != nil || !bytes.Equal(read, text) {
		t.Errorf("%q, %v", read, err)
	}
}
