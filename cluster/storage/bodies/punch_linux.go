package bodies

import (
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// canPunch: files can have holes.
const canPunch = true

// punch makes a hole in a file, and reports whether that freed space: after a restart, a hole may
// already exist. A file system without holes is no error; the segment is removed later.
func punch(file *os.File, offset, length int64) (given bool, err error) {
	if data, err := unix.Seek(int(file.Fd()), offset, unix.SEEK_DATA); err == unix.ENXIO || err == nil && data >= offset+length {
		return false, nil
	}
	err = unix.Fallocate(int(file.Fd()), unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, offset, length)
	if err == unix.EOPNOTSUPP || err == unix.ENOSYS {
		return false, nil
	}
	return err == nil, err
}

// allocated returns the disk space of a file, without its holes.
func allocated(info fs.FileInfo) int64 {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return stat.Blocks * 512
	}
	return info.Size()
}
