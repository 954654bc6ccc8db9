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
	// zeroBytes of zeros are written to a log file at a time.
	zeroBytes = 256 << 10
	// zeroedFor is the largest write that is followed by zeros: a larger one would use them up at
	// once.
	zeroedFor = zeroBytes / 8
)

var zeros [zeroBytes]byte

// logFiles opens files for the library so that most syncs touch no metadata of the file system. The
// library allocates a file and syncs it fully, which writes the file system journal each time: for
// the modification time, and because allocated blocks change their state when first written. Here
// the log is written over zeros that an earlier sync brought to disk, in a file of fixed length, so
// that syncing the data is enough. The first file of a log and a reopened one get their zeros while
// they are written, all others before that (spareFile).
type logFiles struct {
	*fs.FS
	spare *spareFile
}

// walLog is a raft-wal log with its spare file.
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
	// Requires raft-wal 0.4.2: earlier versions cannot read a segment whose end was deleted after a
	// restart, and may delete entries during a rotation.
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

// Create implements types.VFS. The first sync of a new file makes its length and name durable.
func (l logFiles) Create(dir, name string, size uint64) (types.WritableFile, error) {
	made, err := l.spare.claim(name, int64(size))
	if err != nil {
		return nil, err
	}
	if made != nil {
		full := func() error { return errors.Join(made.Sync(), SyncDir(dir)) }
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

// logFile is a log file that one goroutine writes from start to end.
type logFile struct {
	file   *os.File
	full   func() error // performs the first sync; nil after it
	size   int64        // allocated
	zeroed int64        // end of the written zeros
	spare  *spareFile   // the file after this one

	followed bool  // decided whether to prepare the next file
	written  int64 // bytes written
	writes   int64
}

// WriteAt implements io.WriterAt. Data after the written range has no meaning.
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
	zeroEnd := min(end+zeroBytes-end%zeroBytes, f.size)
	if n > zeroedFor || end <= f.zeroed || zeroEnd <= end {
		return n, nil
	}
	if _, err := f.file.WriteAt(zeros[:zeroEnd-end], end); err != nil {
		return n, err
	}
	f.zeroed = zeroEnd
	return n, nil
}

// ReadAt implements io.ReaderAt.
func (f *logFile) ReadAt(p []byte, off int64) (int, error) { return f.file.ReadAt(p, off) }

// Close implements io.Closer.
func (f *logFile) Close() error { return f.file.Close() }

// Sync makes all written data durable.
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
