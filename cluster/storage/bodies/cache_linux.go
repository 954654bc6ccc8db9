package bodies

import (
	"os"

	"golang.org/x/sys/unix"
)

// dropCached has a part of a file read from the disk again, not from memory of the
// system, which says nothing about the disk.
func dropCached(file *os.File, offset, length int64) {
	_ = unix.Fadvise(int(file.Fd()), offset, length, unix.FADV_DONTNEED) // without it less is checked
}
