package clustertest

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// BothStores runs a test with each kind of log store.
func BothStores(t *testing.T, test func(t *testing.T, store string)) {
	for _, store := range []string{"wal", "boltdb"} {
		t.Run(store, func(t *testing.T) { test(t, store) })
	}
}

// FlipBit changes one bit of a file.
func FlipBit(t *testing.T, path string, offset int64) {
	t.Helper()
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := file.Close(); err != nil {
			t.Error(err)
		}
	}()
	var b [1]byte
	if _, err := file.ReadAt(b[:], offset); err != nil {
		t.Fatal(err)
	}
	b[0] ^= 1
	if _, err := file.WriteAt(b[:], offset); err != nil {
		t.Fatal(err)
	}
}

// RemoveFile removes a file, or a directory with its content.
func RemoveFile(t *testing.T, path string) {
	t.Helper()
	if err := os.RemoveAll(path); err != nil {
		t.Fatal(err)
	}
}

// FlipBitIn flips one bit of every occurrence of text in the log.
func FlipBitIn(t *testing.T, dir, text string) {
	t.Helper()
	found := false
	err := filepath.WalkDir(filepath.Join(dir, "group-0"), func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() || strings.Contains(path, "snapshots") {
			return err
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for offset := bytes.Index(content, []byte(text)); offset >= 0; {
			found = true
			FlipBit(t, path, int64(offset))
			next := bytes.Index(content[offset+1:], []byte(text))
			if next < 0 {
				break
			}
			offset += 1 + next
		}
		return nil
	})
	if err != nil || !found {
		t.Fatalf("%q is not stored: %v", text, err)
	}
}
