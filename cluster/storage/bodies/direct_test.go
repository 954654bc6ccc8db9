package bodies

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/seriatimq/seriatim/cluster/clustertest"
	"github.com/seriatimq/seriatim/queue/message"
)

// Bodies of all lengths can be read from disk, whatever part of a chunk a sync has written, and
// after a restart.
func TestLargeBodiesAmongSmallOnesComeBack(t *testing.T) {
	n := newNode(t)
	n.store.Close()
	n.options.SegmentBytes = 6 << 20
	n.open()
	random := rand.New(rand.NewPCG(1, 2))
	var sent []message.Body
	for i := range 50 {
		size := 128 + random.IntN(2000)
		switch random.IntN(4) {
		case 0:
			size = directBody - recordHeadBytes + random.IntN(3) - 1
		case 1:
			size = directBody + random.IntN(1<<20)
		}
		sent = append(sent, n.send(i, size))
		if random.IntN(5) == 0 {
			n.snapshot()
		}
	}
	n.comeBack(sent)
}

// If direct writes are refused, here because of unaligned memory, all later writes use the page
// cache.
func TestRefusedDirectWrites(t *testing.T) {
	path := filepath.Join(t.TempDir(), "segment")
	file, err := os.Create(path)
	clustertest.Must(t, err)
	f := &directFile{File: file, direct: openDirect(path)}
	var want []byte
	for i := range 3 {
		data := bytes.Repeat([]byte{byte('a' + i)}, 1+1<<20)[1:]
		clustertest.Must(t, f.write(piece{at: message.Place{Offset: uint32(len(want))}, data: data, large: true}))
		want = append(want, data...)
	}
	if f.direct != nil {
		t.Log("this file system refuses nothing")
	}
	clustertest.Must(t, f.Close())
	if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%d bytes of %d, or others: %v", len(got), len(want), err)
	}
}
