package window

import (
	"time"

	"golang.org/x/sys/unix"
)

// threadTime returns the processor time of this thread, which other work on the machine does not
// affect.
func threadTime() time.Duration {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &now); err != nil {
		return 0
	}
	return time.Duration(now.Nano())
}
