package server

import (
	"os"
	"runtime"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// timerSlack is how late the kernel may wake a thread of this process that sleeps. The
// runtime has a thread that sleeps 20 us at a time whenever a goroutine was found in a
// long system call, such as the sync of the log, and for some milliseconds after it.
// With the usual 50 us that thread alone took an eighth of a node's processor
// time. Now it wakes a thousand times a second at most. No wait of a node is so short
// that it matters: what is answered soon is woken by an event.
const timerSlack = time.Millisecond

// slackSetIn in the environment is the id of the process that has started itself anew.
const slackSetIn = "TIMER_SLACK_SET_IN_PROCESS"

// SlackenTimers sets the timer slack of the process, all threads alike. A thread has that
// of the one which made it, and the runtime's threads are there before the program begins,
// so the process replaces itself by the same program with the same id. It goes on as it is
// where that is not possible, or not needed.
func SlackenTimers() {
	self := strconv.Itoa(os.Getpid())
	if os.Getenv(slackSetIn) == self {
		return
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	present, err := unix.PrctlRetInt(unix.PR_GET_TIMERSLACK, 0, 0, 0, 0)
	if err != nil || time.Duration(present) >= timerSlack {
		return
	}
	program, err := os.Executable()
	if err != nil || unix.Prctl(unix.PR_SET_TIMERSLACK, uintptr(timerSlack), 0, 0, 0) != nil {
		return
	}
	_ = syscall.Exec(program, os.Args, append(os.Environ(), slackSetIn+"="+self)) // it returns only if it fails
}
