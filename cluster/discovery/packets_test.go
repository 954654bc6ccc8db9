package discovery

import (
	"net"
	"testing"
	"time"

	"github.com/seriatimq/seriatim/cluster/clustertest"
)

func address(n int) net.Addr {
	return &net.UDPAddr{IP: net.IPv4(10, byte(n>>16), byte(n>>8), byte(n)), Port: 1}
}

// A flood from one host, or from many hosts with one packet each, is bounded. Members are not
// affected, and a host can send again after a pause.
func TestPacketLimit(t *testing.T) {
	clock := clustertest.NewHandClock(0)
	l := newPacketLimit(clock.Monotonic)
	passes := func(from, count, each int) (passed int) {
		for i := range count {
			for range each {
				if l.allows(address(from + i)) {
					passed++
				}
			}
		}
		return passed
	}
	const member = 1
	l.knows(net.IPv4(10, 0, 0, member))
	if got := passes(2, 1, 10_000); got != packetsOfHost {
		t.Errorf("of a flood of one host %d packets pass, expected are %d", got, packetsOfHost)
	}
	if got := passes(1000, 100_000, 1); got != packetsOfOthers-packetsOfHost {
		t.Errorf("of a flood of many hosts %d packets pass, expected are %d", got, packetsOfOthers-packetsOfHost)
	}
	if got := passes(member, 1, packetsOfMember); got != packetsOfMember {
		t.Errorf("beside that %d packets of a member pass, expected are %d", got, packetsOfMember)
	}
	if got := passes(member, 1, 10); got != 0 {
		t.Errorf("too many packets of a member pass: %d", got)
	}
	if len(l.hosts) > hostsMax+1 {
		t.Errorf("%d hosts are counted, at most %d are expected", len(l.hosts), hostsMax)
	}
	clock.Pass(time.Second)
	if got := passes(3, 1, 10); got != 10 {
		t.Errorf("a second later %d of 10 packets of another host pass", got)
	}
	if got := passes(member, 1, 10); got != 10 {
		t.Errorf("a second later %d of 10 packets of the member pass", got)
	}
}
