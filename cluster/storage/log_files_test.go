package storage

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/seriatimq/seriatim/cluster/clustertest"
)

// A log file returns the written bytes and keeps its length, when new and when reopened, with any
// remains of a crash after its end.
func TestLogFilesWriteZerosBeforeTheyAreNeeded(t *testing.T) {
	const size = 3*zeroBytes + 1000
	dir, random := t.TempDir(), rand.New(rand.NewPCG(1, 2))
	l := spareLogFiles(t, dir)
	file, err := l.Create(dir, "a", size)
	clustertest.Must(t, err)
	var want []byte
	for len(want) < size-zeroBytes {
		if len(want) > zeroBytes && random.IntN(20) == 0 {
			clustertest.Must(t, file.Close())
			// A crash may leave parts of an unacknowledged write.
			damage(t, filepath.Join(dir, "a"), int64(len(want))+100)
			if file, err = l.OpenWriter(dir, "a"); err != nil {
				t.Fatal(err)
			}
		}
		p := make([]byte, 1+random.IntN(2*zeroedFor))
		for i := range p {
			p[i] = byte(random.Uint32() | 1)
		}
		clustertest.Must(t, clustertest.Err(file.WriteAt(p, int64(len(want)))))
		clustertest.Must(t, file.Sync())
		want = append(want, p...)
	}
	clustertest.Must(t, file.Close())
	got, err := os.ReadFile(filepath.Join(dir, "a"))
	clustertest.Must(t, err)
	if len(got) != size || !bytes.Equal(got[:len(want)], want) {
		t.Fatalf("%d bytes, which begin as written: %v", len(got), bytes.Equal(got[:len(want)], want))
	}
}

func damage(t *testing.T, path string, at int64) {
	t.Helper()
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	clustertest.Must(t, err)
	clustertest.Must(t, clustertest.Err(file.WriteAt([]byte{255}, at)))
	clustertest.Must(t, file.Close())
}
