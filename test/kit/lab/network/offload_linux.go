package network

import (
	"errors"
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Commands of ethtool (linux/ethtool.h) that turn off the merging of segments in both directions.
const (
	setTCPSegmentation = 0x1f
	setSegmentation    = 0x24
	setReceiveJoining  = 0x2c
)

// plainFrames makes an interface of the calling thread's network send only frames that fit its
// line. So each lost frame is one segment, and a slow line delays each.
func plainFrames(name string) error {
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("switch off offloads of %s: %w", name, err)
	}
	defer unix.Close(socket)
	for _, command := range []uint32{setTCPSegmentation, setSegmentation, setReceiveJoining} {
		value := [2]uint32{command, 0}
		// A struct ifreq whose union holds a pointer.
		var r struct {
			name [unix.IFNAMSIZ]byte
			data unsafe.Pointer
			rest [16]byte
		}
		copy(r.name[:unix.IFNAMSIZ-1], name)
		r.data = unsafe.Pointer(&value)
		_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(socket), unix.SIOCETHTOOL, uintptr(unsafe.Pointer(&r)))
		runtime.KeepAlive(&value)
		if errno != 0 && !errors.Is(errno, unix.EOPNOTSUPP) {
			return fmt.Errorf("switch off offloads of %s: %w", name, errno)
		}
	}
	return nil
}
