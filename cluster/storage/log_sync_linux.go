package storage

import (
	"os"
	"syscall"
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
