package bodies

import (
	"bytes"
	"crypto/rand"
	"errors"
	"os"
	"testing"

	"github.com/seriatimq/seriatim/cluster/clustertest"
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
	clustertest.Must(t, err)
	if n.options.Keys, err = encryption.NewKeyring(rand.Reader, key); err != nil {
		t.Fatal(err)
	}
	clustertest.Must(t, n.restart(has...))
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
		clustertest.Must(t, n.restart(has...))
	}
	if damaged := n.store.Check(has); len(damaged) > 0 {
		t.Errorf("%d bodies are damaged", len(damaged))
	}
	segments, err := listSegments(n.options.Dir)
	clustertest.Must(t, err)
	for number := range segments {
		file, err := os.ReadFile(n.store.path(number))
		clustertest.Must(t, err)
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
	clustertest.Must(t, err)
	if n.options.Keys, err = encryption.NewKeyring(rand.Reader, key); err != nil {
		t.Fatal(err)
	}
	clustertest.Must(t, n.restart())
	body := n.send(1, 5000)
	n.snapshot()
	clustertest.Must(t, n.restart(body))
	path := n.store.path(body.Place().Segment)
	file, err := os.ReadFile(path)
	clustertest.Must(t, err)
	file[int(body.Place().Offset)+2000] ^= 1
	clustertest.Must(t, os.WriteFile(path, file, 0o600))
	n.store.HealWith(func() {})
	if _, err := n.store.Read(body); !errors.As(err, new(*BeingHealed)) {
		t.Fatalf("a damaged body was read: %v", err)
	}
	clustertest.Must(t, n.store.Heal(body, text(1, 5000)))
	if read, err := n.store.Read(body); err != nil || read.String() != text(1, 5000) {
		t.Errorf("the body that was written anew: %v", err)
	}
}
