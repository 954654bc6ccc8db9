package bodies

import "os"

const (
	// directUnit is what offsets, lengths and memory of a direct write are multiples of:
	// at least what any disk and file system asks for.
	directUnit = 4 << 10
	// directBody is the shortest body that is written directly. Copying shorter ones into
	// pages of the system costs little, and whoever reads a backlog of them right behind the
	// senders finds them there.
	directBody = 128 << 10
)

// directFile writes a segment. Pieces with large bodies go to the disk past the memory that
// the system keeps of files: to make pages there and to write them out later took the
// processors a tenth of all that a body of 1 MiB costs on three nodes. Only whole units can
// be written like this; the ends of a piece go the other way, which the system keeps in
// order with it, and so does all where the file system or the disk does not take direct writes.
type directFile struct {
	*os.File
	direct *os.File // the same file; nil: it takes no direct writes
}

// write writes a piece, directly as far as that can be.
func (f *directFile) write(p piece) error {
	at, end := int64(p.at.Offset), int64(p.at.Offset)+int64(len(p.data))
	first, last := roundUp(at), end/directUnit*directUnit
	// What a sync has left of a chunk may be short.
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

// chunkMemory is empty and has room for n bytes that go to a place in a file. Whole units of
// the file are whole units in memory, as far as the allocator begins large pieces with one.
func chunkMemory(n int, at int64) []byte {
	before := int(at % directUnit)
	return make([]byte, before, before+n)[before:]
}
