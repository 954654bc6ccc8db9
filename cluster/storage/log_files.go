package storage

import (
	"errors"
	"os"
	"path/filepath"

	wal "github.com/hashicorp/raft-wal"
	"github.com/hashicorp/raft-wal/fs"
	"github.com/hashicorp/raft-wal/segment"
	"github.com/hashicorp/raft-wal/types"
)

const (
	// zeroedAhead is how much of a log file is written with zeros at a time.
	zeroedAhead = 256 << 10
	// zeroedFor is the largest write before which zeros pay: a larger one comes to
	// their end at once.
	zeroedFor = zeroedAhead / 8
)

var zeros [zeroedAhead]byte

// logFiles are the library's files, written so that most syncs touch no metadata
// of the file system. The library allocates a file and asks for a full sync of
// it: that writes the journal of the file system each time, for the time of the
// last change, and because allocated blocks that are written first change their
// kind. Here the end of the log runs over zeros that an earlier sync has brought
// to disk, and a sync is one of the data alone; the length of a file is as
// allocated from the start. The first file of a log, and one that is opened again,
// gets its zeros as it is written, the others before that (spareFile).
type logFiles struct {
	*fs.FS
	spare *spareFile
}

// walLog is a log of the library raft-wal with its files.
type walLog struct {
	*wal.WAL
	spare *spareFile
}

// openWAL opens the log in a directory.
func openWAL(dir string, options LogOptions) (*walLog, error) {
	spare, err := newSpareFile(dir, int64(options.SegmentBytes))
	if err != nil {
		return nil, err
	}
	files := segment.NewFiler(dir, logFiles{fs.New(), spare})
	// 0.4.2 at the least: earlier ones cannot read, after a restart, a segment
	// whose end was deleted, and may delete beside a rotation.
	log, err := wal.Open(dir, wal.WithSegmentFiler(files), wal.WithSegmentSize(options.SegmentBytes), wal.WithLogger(options.Logger))
	if err != nil {
		return nil, err
	}
	if err := makePrivate(dir); err != nil {
		return nil, errors.Join(err, log.Close())
	}
	return &walLog{log, spare}, nil
}

// Close closes the log.
func (l *walLog) Close() error { return errors.Join(l.WAL.Close(), l.spare.close()) }

// Create implements types.VFS. A new file's first sync is a full one and makes the
// file's length and name durable.
func (l logFiles) Create(dir, name string, size uint64) (types.WritableFile, error) {
	made, err := l.spare.take(name, int64(size))
	if err != nil {
		return nil, err
	}
	if made != nil {
		full := func() error { return errors.Join(made.Sync(), syncDir(dir)) }
		return &logFile{file: made, full: full, size: int64(size), zeroed: int64(size), spare: l.spare}, nil
	}
	file, err := l.FS.Create(dir, name, size)
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(filepath.Join(dir, name), privateFile); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return &logFile{file: &file.(*fs.File).File, full: file.Sync, size: int64(size), spare: l.spare}, nil
}

// OpenWriter implements types.VFS.
func (l logFiles) OpenWriter(dir, name string) (types.WritableFile, error) {
	file, err := os.OpenFile(filepath.Join(dir, name), os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err != nil {
		_ = file.Close() // the first error says more
		return nil, err
	}
	return &logFile{file: file, full: file.Sync, size: info.Size(), spare: l.spare}, nil
}

// logFile is a file that is written from its start to its end, by one goroutine.
type logFile struct {
	file   *os.File
	full   func() error // until the first sync, which it does
	size   int64        // allocated
	zeroed int64        // where the written zeros end
	spare  *spareFile   // the file after this one

	followed bool  // whether to prepare it is decided
	written  int64 // here, in so many
	writes   int64
}

// WriteAt implements io.WriterAt. Nothing that counts lies behind what is written.
func (f *logFile) WriteAt(p []byte, off int64) (int, error) {
	n, err := f.file.WriteAt(p, off)
	if err != nil {
		return n, err
	}
	end := off + int64(n)
	f.written += int64(n)
	f.writes++
	if !f.followed && end > f.size/spareBegins {
		f.followed = true
		if f.written <= f.writes*spareFor {
			f.spare.prepare()
		}
	}
	ahead := min(end+zeroedAhead-end%zeroedAhead, f.size)
	if n > zeroedFor || end <= f.zeroed || ahead <= end {
		return n, nil
	}
	if _, err := f.file.WriteAt(zeros[:ahead-end], end); err != nil {
		return n, err
	}
	f.zeroed = ahead
	return n, nil
}

// ReadAt implements io.ReaderAt.
func (f *logFile) ReadAt(p []byte, off int64) (int, error) { return f.file.ReadAt(p, off) }

// Close implements io.Closer.
func (f *logFile) Close() error { return f.file.Close() }

// Sync makes all that was written durable.
func (f *logFile) Sync() error {
	if f.full == nil {
		return syncData(f.file)
	}
	if err := f.full(); err != nil {
		return err
	}
	f.full = nil
	return nil
}
