package harness

import (
	"errors"
	"fmt"
	"net"
	"os"
)

// Ports are taken from below the range from which the kernel gives out
// ports for outgoing connections (32768 and up on Linux), since a node that
// is down for a while must find its ports free when it comes back.
const (
	portsFrom = 18_000
	portsTo   = 32_000
)

// portRange hands out free loopback ports. Used by one goroutine.
type portRange struct{ next int }

// newPortRange begins at a place that depends on the process, so that test
// packages running side by side rarely meet.
func newPortRange(seed int) *portRange {
	span := portsTo - portsFrom
	return &portRange{next: portsFrom + ((os.Getpid()*131+seed*977)%span+span)%span}
}

// take returns n ports that were free for TCP and UDP a moment ago.
func (r *portRange) take(n int) ([]int, error) {
	ports := make([]int, 0, n)
	for range portsTo - portsFrom {
		port := r.next
		r.next++
		if r.next >= portsTo {
			r.next = portsFrom
		}
		if !portIsFree(port) {
			continue
		}
		ports = append(ports, port)
		if len(ports) == n {
			return ports, nil
		}
	}
	return nil, errors.New("no free ports on the loopback interface")
}

func portIsFree(port int) bool {
	addr := fmt.Sprintf("127.0.0.1:%d", port)
	tcp, err := net.Listen("tcp", addr)
	if err != nil {
		return false
	}
	defer tcp.Close()
	udp, err := net.ListenPacket("udp", addr)
	if err != nil {
		return false
	}
	udp.Close()
	return true
}
