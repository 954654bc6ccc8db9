package storage

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// syncData makes the content of a file durable, and of its metadata what reading
// the content needs.
func syncData(file *os.File) error {
	conn, err := file.SyscallConn()
	if err != nil {
		return err
	}
	var synced error
	err = conn.Control(func(fd uintptr) {
		for synced = syscall.EINTR; synced == syscall.EINTR; {
			synced = syscall.Fdatasync(int(fd))
		}
	})
	if err == nil {
		err = synced
	}
	if err != nil {
		return &os.PathError{Op: "sync", Path: file.Name(), Err: err}
	}
	return nil
}

// writeOut brings a part of a file to the disk, but not what the file system has to know
// of it: that is left to a later sync.
func writeOut(file *os.File, at, length int64) error {
	const now = unix.SYNC_FILE_RANGE_WAIT_BEFORE | unix.SYNC_FILE_RANGE_WRITE | unix.SYNC_FILE_RANGE_WAIT_AFTER
	err := unix.SyncFileRange(int(file.Fd()), at, length, now)
	if err == unix.ENOSYS || err == unix.EINTR { // the sync does it
		return nil
	}
	return err
}
