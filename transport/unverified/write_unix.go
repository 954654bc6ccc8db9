//go:build unix

package unverified

import (
	"errors"
	"syscall"
)

// writeNow writes as much as possible without waiting.
func (c *Conn) writeNow(b []byte) (n int, err error) {
	if c.socket == nil {
		if c.socket = SocketOf(c.Conn); c.socket == nil {
			return 0, nil
		}
	}
	var failed error
	err = c.socket.Write(func(fd uintptr) bool {
		n, failed = syscall.Write(int(fd), b) //nolint:gosec // a file descriptor
		return true
	})
	n = max(n, 0)
	if errors.Is(failed, syscall.EAGAIN) || errors.Is(failed, syscall.EINTR) {
		failed = nil // Write waits for the rest
	}
	return n, errors.Join(err, failed)
}
