//go:build unix

package server

import (
	"os/exec"
	"syscall"
)

// detach gives a child a process group of its own, so that Ctrl-C reaches only
// the supervisor, which then ends the children in order.
func detach(c *exec.Cmd) { c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// openFilesLimit is how many files the process may have open, 0 if it cannot be
// found out. The Go runtime has raised it to the hard limit at the start.
func openFilesLimit() uint64 {
	var limit syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit) != nil {
		return 0
	}
	return uint64(limit.Cur)
}
