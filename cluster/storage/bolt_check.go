package storage

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"io/fs"
	"os"

	"go.etcd.io/bbolt"
)

// Layout of a bbolt file: the first two pages are heads. The head with the higher transaction
// number is valid.
const (
	boltPageHead   = 16 // bytes before the head in its page
	boltHeadBytes  = 64
	boltMagic      = 0xED0CDAED
	boltPageMin    = 512
	boltPageMax    = 64 << 10
	boltOffsetPage = 8  // u32, page size
	boltOffsetEnd  = 40 // u64, first page after the last in use
	boltOffsetSum  = 56 // u64, FNV-1a of what is before
)

// checkBolt checks a bbolt file before the library maps it. A missing file is no damage. It detects
// three cases that the library does not report:
//
//   - A file that was cut short: the library's own goroutine would fault, which no recover can catch.
//   - Damaged pages: that goroutine panics (bolt_pages.go).
//   - A damaged newest head: the library falls back to the transaction before it. In the stable store that
//     loses a vote.
//
// exploit_bolt_test.go tests this against files that the library writes.
func checkBolt(path string) error {
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }() // it was only read
	info, err := file.Stat()
	if err != nil {
		return err
	}
	head, err := readBoltHead(file, 0)
	if err != nil {
		return fmt.Errorf("%s: the first head: %w", path, err)
	}
	pageBytes := int64(binary.NativeEndian.Uint32(head[boltOffsetPage:]))
	if pageBytes < boltPageMin || pageBytes > boltPageMax {
		return fmt.Errorf("%s: the page size is %d bytes: %w", path, pageBytes, ErrDamaged)
	}
	other, err := readBoltHead(file, pageBytes)
	if err != nil {
		return fmt.Errorf("%s: the second head: %w", path, err)
	}
	pages := max(binary.NativeEndian.Uint64(head[boltOffsetEnd:]), binary.NativeEndian.Uint64(other[boltOffsetEnd:]))
	if pages > uint64(info.Size())/uint64(pageBytes) {
		return fmt.Errorf("%s was cut short: it has %d bytes, but %d pages of %d bytes are in use: %w",
			path, info.Size(), pages, pageBytes, ErrDamaged)
	}
	if err := checkBoltPages(file, pageBytes, head, other); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

func readBoltHead(file io.ReaderAt, page int64) ([]byte, error) {
	head := make([]byte, boltHeadBytes)
	if _, err := file.ReadAt(head, page+boltPageHead); err != nil {
		return nil, asDamage(err)
	}
	sum := fnv.New64a()
	sum.Write(head[:boltOffsetSum])
	if binary.NativeEndian.Uint32(head) != boltMagic || sum.Sum64() != binary.NativeEndian.Uint64(head[boltOffsetSum:]) {
		return nil, ErrDamaged
	}
	return head, nil
}

// boltOptions returns options without a stored free list: rewriting the list with every commit
// makes a store that was truncated once four times slower from then on.
func boltOptions(mmapBytes int) *bbolt.Options {
	return &bbolt.Options{
		Timeout:         boltLockTimeout,
		NoFreelistSync:  true,
		FreelistType:    bbolt.FreelistMapType,
		InitialMmapSize: mmapBytes,
	}
}
