package window

import (
	"time"

	"golang.org/x/sys/unix"
)

// threadTime is the processor time of this thread: what others do to the machine does
// not show in it.
func threadTime() time.Duration {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &now); err != nil {
		return 0
	}
	return time.Duration(now.Nano())
}
