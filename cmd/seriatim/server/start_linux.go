package server

import (
	"os/exec"
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// timerSlack equals TimerSlackNSec of the systemd unit. With the usual 50 us, the Go runtime wakes so
// often while the log is synced that sends of one client take 30 % more processor time.
const timerSlack = time.Millisecond

// start starts a process with timerSlack. A process has the slack of the thread that makes it.
func start(c *exec.Cmd) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, uintptr(timerSlack), 0, 0, 0) // an error only costs processor time
	return c.Start()
}
