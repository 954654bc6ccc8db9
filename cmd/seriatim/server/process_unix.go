//go:build unix

package server

import (
	"os/exec"
	"syscall"
)

// detach gives a child a process group of its own, so that Ctrl-C reaches only
// the supervisor, which then ends the children in order.
func detach(c *exec.Cmd) { c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }
