package main

import (
	"os"
	"syscall"
)

// syncData syncs what a file holds, without its times.
func syncData(file *os.File) error { return syscall.Fdatasync(int(file.Fd())) }
