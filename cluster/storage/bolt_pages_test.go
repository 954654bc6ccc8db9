package storage

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"go.etcd.io/bbolt"

	"github.com/seriatimq/seriatim/cluster/clustertest"
)

// writeBolt writes a file with branches, leaves, overflow pages, and nested buckets, some of them
// inline.
func writeBolt(t *testing.T, path string) {
	t.Helper()
	db, err := bbolt.Open(path, 0o600, boltOptions(0))
	clustertest.Must(t, err)
	for round := range 3 {
		err = errors.Join(err, db.Update(func(tx *bbolt.Tx) error {
			bucket, err := tx.CreateBucketIfNotExists([]byte("large"))
			if err != nil {
				return err
			}
			for i := range 80 {
				if err := bucket.Put(fmt.Appendf(nil, "key %03d", i), make([]byte, 100+round)); err != nil {
					return err
				}
			}
			small, err := bucket.CreateBucketIfNotExists([]byte("small"))
			if err != nil {
				return err
			}
			return errors.Join(small.Put([]byte("a"), []byte("b")), bucket.Put([]byte("long"), make([]byte, 9_000)))
		}))
	}
	clustertest.Must(t, errors.Join(err, db.Close()))
}

// A flipped bit anywhere in a file is found before the library opens it, or the library opens the
// file or fails in a way that can be recovered. Any other failure ends this test.
func TestEveryBitOfABoltFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, write := range map[string]func(t *testing.T, path string){
		"pages of all kinds": writeBolt,
		"term and vote": func(t *testing.T, path string) {
			backend, err := openStableBackend(path)
			if err == nil {
				err = errors.Join(backend.Set(stablePair{[]byte(keyCurrentTerm), []byte("5")},
					stablePair{[]byte(keyLastVoteCand), []byte("a")}), backend.Close())
			}
			clustertest.Must(t, err)
		},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(dir, "written")
			defer os.Remove(path)
			write(t, path)
			if err := checkBolt(path); err != nil {
				t.Fatalf("a sound file: %v", err)
			}
			content, err := os.ReadFile(path)
			clustertest.Must(t, err)
			t.Logf("%d bytes", len(content))
			found, refused, opened := 0, 0, 0
			page := os.Getpagesize()
			for at := range content {
				if inPage := at % page; inPage >= 64 && at%61 != 0 {
					continue // most keys and values
				}
				for bit := range 8 {
					content[at] ^= 1 << bit
					damaged := filepath.Join(dir, "damaged")
					// A new file each time: a file that the library gave up on stays locked.
					clustertest.Must(t, errors.Join(os.RemoveAll(damaged), os.WriteFile(damaged, content, 0o600)))
					content[at] ^= 1 << bit
					if checkBolt(damaged) != nil {
						found++
						continue
					}
					backend, err := openStableBackend(damaged)
					if err != nil {
						refused++
						continue
					}
					opened++
					clustertest.Must(t, backend.Close())
				}
			}
			t.Logf("found %d, refused by the library %d, opened %d", found, refused, opened)
			if found == 0 || opened == 0 {
				t.Error("nothing was tried")
			}
		})
	}
}
