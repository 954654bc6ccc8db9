package environment

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// unacknowledgedMillis bounds how long sent bytes may stay unacknowledged before the connection
// breaks. The system's default is 15 minutes, during which a node behind a cut cable looks merely
// slow.
const unacknowledgedMillis = 10_000

func limitUnacknowledged(_, _ string, conn syscall.RawConn) error {
	var optionErr error
	err := conn.Control(func(fd uintptr) {
		optionErr = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, unacknowledgedMillis)
	})
	if err != nil {
		return err
	}
	return optionErr
}
