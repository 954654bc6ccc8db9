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
	locks []net.Listener // one per block
	next  int            // the next port to try in the newest block; 0 without a block
	end   int
}

// Take returns the first of n consecutive loopback ports, n below 100. They are free for TCP and
// UDP and reserved by no other caller on this machine, in this process or another running one. An
// error means that all blocks are reserved. Safe for concurrent use.
func Take(n int) (first int, err error) {
	own.Lock()
	defer own.Unlock()
	if n < 1 || n >= blockSize {
		return 0, fmt.Errorf("blocks have %d ports: %d in a row are not possible", blockSize-1, n)
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

// claimBlock reserves another block. Its search begins at a different block in each process.
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
	return errors.New("other test processes have reserved all blocks of loopback ports")
}

func consecutive(first, n int) []int {
	ports := make([]int, n)
	for i := range ports {
		ports[i] = first + i
	}
	return ports
}

// isTaken reports whether another program uses a port.
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
