package bodies

import (
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// canPunch says that parts of a file can be given back.
const canPunch = true

// punch makes a hole in a file, and reports whether that gave anything back: there may be
// a hole already, as after a restart, which knows of none. A file system that cannot make
// holes is no failure: the space is given back with the segment.
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

// allocated is how much of the disk a file takes, without its holes.
func allocated(info fs.FileInfo) int64 {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return stat.Blocks * 512
	}
	return info.Size()
}
