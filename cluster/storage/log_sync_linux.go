package storage

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// syncData makes the content of a file durable, with the metadata needed to read it.
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

// writeOut writes a range of a file to disk without file system metadata, which a later sync
// writes.
func writeOut(file *os.File, at, length int64) error {
	const now = unix.SYNC_FILE_RANGE_WAIT_BEFORE | unix.SYNC_FILE_RANGE_WRITE | unix.SYNC_FILE_RANGE_WAIT_AFTER
	err := unix.SyncFileRange(int(file.Fd()), at, length, now)
	if err == unix.ENOSYS || err == unix.EINTR { // a later sync writes it
		return nil
	}
	return err
}
