package server

import (
	"os/exec"
	"syscall"
)

// detach starts a child in its own process group, so that Ctrl-C reaches only the supervisor,
// which then stops the children.
func detach(c *exec.Cmd) { c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// openFilesLimit returns the limit of open files, 0 if it is unknown. The Go runtime has raised
// it to the hard limit at the start.
func openFilesLimit() uint64 {
	var limit syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit) != nil {
		return 0
	}
	return uint64(limit.Cur)
}
