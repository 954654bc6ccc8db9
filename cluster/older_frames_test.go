package cluster

import (
	"context"
	"net"
	"sync/atomic"
	"testing"

	"github.com/seriatimq/seriatim/cluster/environment"
	"github.com/seriatimq/seriatim/cluster/peernet"
)

// olderNetwork is how a cluster looks to a node when the programs of all others are too
// old for peernet.KindForward: what asks for it is refused as an unknown kind.
type olderNetwork struct {
	environment.Network
	asked, grpc *atomic.Int64 // connections of KindForward and KindGRPC
}

func (n olderNetwork) Dial(ctx context.Context, address string) (net.Conn, error) {
	conn, err := n.Network.Dial(ctx, address)
	return &olderPeer{Conn: conn, network: n}, err
}

type olderPeer struct {
	net.Conn
	network olderNetwork
	greeted bool
}

// kindAt is where a hello has its kind.
const kindAt = 5

func (p *olderPeer) Write(content []byte) (int, error) {
	if !p.greeted {
		p.greeted = true
		kind := peernet.Kind(content[kindAt])
		if kind == peernet.KindForward {
			p.network.asked.Add(1)
			content = append([]byte(nil), content...)
			content[kindAt] = 200
		}
		if kind == peernet.KindGRPC {
			p.network.grpc.Add(1)
		}
	}
	return p.Conn.Write(content)
}

// During an upgrade, one node at a time: a leader of an older version is asked over gRPC.
func TestLeadersWithoutOurFramesAreAskedOverGRPC(t *testing.T) {
	t.Parallel()
	var asked, grpc atomic.Int64
	c := startNodes(t, 3, func(cfg *Config) {
		cfg.Network = olderNetwork{environment.NewMachineNetwork(cfg.PeerAddr, 0), &asked, &grpc}
	})
	c.create(c.leader(), standard)
	c.agree()
	for _, i := range c.followers() {
		c.send(i, standard, "hello")
	}
	if asked.Load() == 0 || grpc.Load() == 0 {
		t.Errorf("%d connections with our frames were asked for, %d of gRPC opened", asked.Load(), grpc.Load())
	}
}
