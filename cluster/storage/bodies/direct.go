package bodies

import "os"

const (
	// directUnit is the alignment of a direct write: offset, length and memory.
	directUnit = 4 << 10
	// directBody is the shortest body that is written directly. Shorter ones are cheap to copy, and
	// a consumer that reads shortly after the senders finds them in the page cache.
	directBody = 128 << 10
)

// directFile writes a segment. Pieces with large bodies bypass the page cache, which would take a
// tenth of the CPU time for bodies of 1 MiB. Only whole units can be written directly. The ends of
// a piece, and everything if file system or disk refuse direct writes, go through the page cache,
// which stays coherent.
type directFile struct {
	*os.File
	direct *os.File // the same file; nil: no direct writes
}

// write writes a piece, directly as far as possible.
func (f *directFile) write(p piece) error {
	at, end := int64(p.at.Offset), int64(p.at.Offset)+int64(len(p.data))
	first, last := roundUp(at), end/directUnit*directUnit
	// A sync may leave only a short part of a chunk.
	if f.direct == nil || !p.large || last-first < directBody/2 {
		_, err := f.WriteAt(p.data, at)
		return err
	}
	if _, err := f.WriteAt(p.data[:first-at], at); err != nil {
		return err
	}
	if _, err := f.direct.WriteAt(p.data[first-at:last-at], first); refusesDirect(err) {
		_ = f.direct.Close() // it wrote nothing
		f.direct, last = nil, first
	} else if err != nil {
		return err
	}
	_, err := f.WriteAt(p.data[last-at:], last)
	return err
}

// Close closes the file.
func (f *directFile) Close() error {
	if f.direct != nil {
		_ = f.direct.Close() // a write that failed said so
	}
	return f.File.Close()
}

func roundUp(at int64) int64 { return (at + directUnit - 1) / directUnit * directUnit }

// chunkMemory returns an empty slice with room for n bytes at a file offset. Units of the file are
// aligned in memory if the allocator aligns large allocations.
func chunkMemory(n int, at int64) []byte {
	before := int(at % directUnit)
	return make([]byte, before, before+n)[before:]
}
