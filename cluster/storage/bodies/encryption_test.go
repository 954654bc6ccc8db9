package bodies

import (
	"bytes"
	"crypto/rand"
	"errors"
	"os"
	"testing"

	"github.com/seriatimq/seriatim/cluster/storage/encryption"
	"github.com/seriatimq/seriatim/queue/message"
)

// Bodies of runs with and without a key can be read together. Encrypted texts appear in no file.
func TestEncryptedBodies(t *testing.T) {
	n := newNode(t)
	sizes := []int{128, 500, 5 << 10, 60 << 10, directBody, 200 << 10}
	n.options.SegmentBytes = 1 << 20
	var has []message.Body
	for seed, size := range sizes {
		has = append(has, n.send(seed, size))
	}
	n.snapshot()
	key, err := encryption.DrawKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	if n.options.Keys, err = encryption.NewKeyring(rand.Reader, key); err != nil {
		t.Fatal(err)
	}
	if err := n.restart(has...); err != nil {
		t.Fatal(err)
	}
	for seed, size := range sizes {
		has = append(has, n.send(100+seed, size))
	}
	n.snapshot()
	for round := range 2 {
		for i, body := range has {
			seed := i%len(sizes) + i/len(sizes)*100
			read, err := n.store.Read(body)
			if err != nil || read.String() != text(seed, sizes[i%len(sizes)]) {
				t.Errorf("round %d: body %d: %v", round, i, err)
			}
			if another := message.StoredBody(body.Place(), uint32(body.Len()), body.Digest()+1); i >= len(sizes) {
				if _, err := n.store.look(another); err == nil {
					t.Errorf("body %d was read as one with another digest", i)
				}
			}
		}
		if err := n.restart(has...); err != nil {
			t.Fatal(err)
		}
	}
	if damaged := n.store.Check(has); len(damaged) > 0 {
		t.Errorf("%d bodies are damaged", len(damaged))
	}
	segments, err := listSegments(n.options.Dir)
	if err != nil {
		t.Fatal(err)
	}
	for number := range segments {
		file, err := os.ReadFile(n.store.path(number))
		if err != nil {
			t.Fatal(err)
		}
		for seed, size := range sizes {
			if bytes.Contains(file, []byte(text(100+seed, size)[:100])) {
				t.Errorf("segment %d has body %d in clear text", number, seed)
			}
		}
	}
	n.store.Close()
	n.options.Keys = nil
	if _, err := Open(n.options); !errors.Is(err, encryption.ErrKeyMissing) {
		t.Errorf("without the key: %v", err)
	}
}

// A damaged body is rewritten in place, encrypted with another nonce.
func TestEncryptedBodyIsWrittenAnew(t *testing.T) {
	n := newNode(t)
	key, err := encryption.DrawKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	if n.options.Keys, err = encryption.NewKeyring(rand.Reader, key); err != nil {
		t.Fatal(err)
	}
	if err := n.restart(); err != nil {
		t.Fatal(err)
	}
	body := n.send(1, 5000)
	n.snapshot()
	if err := n.restart(body); err != nil {
		t.Fatal(err)
	}
	path := n.store.path(body.Place().Segment)
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	file[int(body.Place().Offset)+2000] ^= 1
	if err := os.WriteFile(path, file, 0o600); err != nil {
		t.Fatal(err)
	}
	n.store.HealWith(func() {})
	if _, err := n.store.Read(body); !errors.As(err, new(*BeingHealed)) {
		t.Fatalf("a damaged body was read: %v", err)
	}
	if err := n.store.Heal(body, text(1, 5000)); err != nil {
		t.Fatal(err)
	}
	if read, err := n.store.Read(body); err != nil || read.String() != text(1, 5000) {
		t.Errorf("the body that was written anew: %v", err)
	}
}
