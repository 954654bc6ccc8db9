package forward

import (
	"context"
	"net"

	"github.com/seriatimq/seriatim/cluster/peerpb"
)

// probeSuffix makes the sender of a probe another one than the node that probes: the
// stream of that node goes on.
const probeSuffix = "/probe"

// Probe asks on a connection after its handshake whether a node answers the calls of other
// nodes, and returns when it has. It closes the connection. What it asks for is meant for
// a term that never was, so that any node refuses it at once, whoever leads.
func Probe(ctx context.Context, conn net.Conn, self, nodeID string, group uint32) error {
	stream := NewFramedStream(ctx, conn)
	defer stream.Close()
	if err := stream.Send(&peerpb.RequestFrame{
		GroupId: group, LeaderId: nodeID, SenderId: self + probeSuffix,
		Requests: []*peerpb.Request{{Id: 1, Kind: ReadIndex}},
	}); err != nil {
		return err
	}
	_, err := stream.Recv()
	return err
}
