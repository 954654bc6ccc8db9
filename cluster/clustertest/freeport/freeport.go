package freeport

import (
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"sync"
)

const (
	firstBlock = 10_000
	blockSize  = 100
	blocks     = 220 // up to port 31,999
)

var own struct {
	sync.Mutex
	locks []net.Listener // one a block
	next  int            // in the newest block, 0 without one
	end   int
}

// Take returns the first of n consecutive loopback ports that are free for TCP and
// UDP and that no other caller of Take on this machine got, in this process or in
// another that still runs. n is below 100. An error says that every block has an
// owner. Safe for concurrent use.
func Take(n int) (first int, err error) {
	own.Lock()
	defer own.Unlock()
	if n < 1 || n >= blockSize {
		return 0, fmt.Errorf("ports come in blocks of %d, so %d in a row cannot be had", blockSize-1, n)
	}
	for {
		for first = own.next; own.end-first >= n; first++ {
			if !slices.ContainsFunc(consecutive(first, n), isTaken) {
				own.next = first + n
				return first, nil
			}
		}
		if err := claimBlock(); err != nil {
			return 0, err
		}
	}
}

// claimBlock makes one more block ours. It begins its search anywhere, so that
// processes that start together do not all ask for the same blocks.
func claimBlock() error {
	for i, from := 0, os.Getpid(); i < blocks; i++ {
		base := firstBlock + (from+i)%blocks*blockSize
		lock, err := net.Listen("tcp", loopback(base))
		if err != nil {
			continue
		}
		own.locks = append(own.locks, lock)
		own.next, own.end = base+1, base+blockSize
		return nil
	}
	return errors.New("every block of loopback ports for tests is owned by a test process that runs")
}

func consecutive(first, n int) []int {
	ports := make([]int, n)
	for i := range ports {
		ports[i] = first + i
	}
	return ports
}

// isTaken reports whether somebody who does not ask here, such as a server of the
// machine itself, has a port.
func isTaken(port int) bool {
	stream, err := net.Listen("tcp", loopback(port))
	if err != nil {
		return true
	}
	packets, err := net.ListenPacket("udp", loopback(port))
	if err == nil {
		err = packets.Close()
	}
	return errors.Join(err, stream.Close()) != nil
}

func loopback(port int) string { return fmt.Sprintf("127.0.0.1:%d", port) }
