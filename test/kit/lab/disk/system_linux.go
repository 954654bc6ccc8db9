package disk

import (
	"bufio"
	"errors"
	"os"
	"slices"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

var (
	errBusy error = unix.EBUSY
	errFull error = unix.ENOSPC
)

// Requests of linux/fs.h that no package names.
const (
	requestFreeze   = 0xC0045877 // FIFREEZE
	requestThaw     = 0xC0045878 // FITHAW
	requestShutdown = 0x8004587D // FS_IOC_SHUTDOWN
	noLogFlush      = 2          // also discards the journal's buffer in memory
)

func unmount(path string) error { return unix.Unmount(path, 0) }

// shutdown stops the file system like a power cut: nothing more is written to the disk, and
// unsynced data is discarded. Every later operation fails.
func shutdown(root *os.File) error {
	return unix.IoctlSetPointerInt(int(root.Fd()), requestShutdown, noLogFlush)
}

func freeze(root *os.File) error { return unix.IoctlSetInt(int(root.Fd()), requestFreeze, 0) }

func thaw(root *os.File) error { return unix.IoctlSetInt(int(root.Fd()), requestThaw, 0) }

// allocate takes space for a part of a file.
func allocate(file *os.File, offset, size int64) error {
	for {
		if err := unix.Fallocate(int(file.Fd()), 0, offset, size); err != unix.EINTR {
			return err
		}
	}
}

// Allocated returns the bytes that a file uses on disk, without its holes.
func Allocated(path string) (int64, error) {
	var info unix.Stat_t
	if err := unix.Stat(path, &info); err != nil {
		return 0, err
	}
	return info.Blocks * 512, nil
}

// cacheRange and cacheState are the arguments of cachestat(2), Linux 6.5.
type cacheRange struct{ offset, length uint64 }

type cacheState struct{ cached, dirty, writeback, evicted, recentlyEvicted uint64 }

// dirtyBytes returns how many bytes of a file are not yet on disk, or 0 if the kernel cannot report
// this.
func dirtyBytes(file *os.File) int64 {
	var whole cacheRange // length 0: to the end
	var state cacheState
	_, _, errno := unix.Syscall6(unix.SYS_CACHESTAT, file.Fd(), uintptr(unsafe.Pointer(&whole)), uintptr(unsafe.Pointer(&state)), 0, 0, 0)
	if errno != 0 {
		return 0
	}
	return int64(state.dirty+state.writeback) * int64(os.Getpagesize())
}

// mountsBelow lists what is mounted at or below dir, the innermost first.
func mountsBelow(dir string) (found []string, err error) {
	file, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		const mountPoint = 4
		if len(fields) > mountPoint && (fields[mountPoint] == dir || strings.HasPrefix(fields[mountPoint], dir+"/")) {
			found = append(found, fields[mountPoint])
		}
	}
	slices.Reverse(found)
	return found, lines.Err()
}
