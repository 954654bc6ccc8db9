package cluster

import (
	"fmt"
	"math/rand/v2"
	"net"
	"testing"
)

// freeAddress is a loopback address that was free for TCP and UDP a moment ago.
// It is not one of those the system hands out to connections that dial, or one of
// them could take it before the test does.
func freeAddress(t *testing.T) string {
	t.Helper()
	const first, last = 12_000, 31_999
	for range 1000 {
		address := fmt.Sprintf("127.0.0.1:%d", first+rand.IntN(last-first+1))
		socket, err := net.Listen("tcp", address)
		if err != nil {
			continue
		}
		packets, err := net.ListenPacket("udp", address)
		socket.Close()
		if err == nil {
			packets.Close()
			return address
		}
	}
	t.Fatal("no free port")
	return ""
}
