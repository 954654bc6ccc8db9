package forward

import (
	"context"
	"net"

	"github.com/seriatimq/seriatim/cluster/peerpb"
)

// Probe asks on a connection after its handshake whether a node answers the calls of other
// nodes, and returns when it has. It closes the connection. What it asks for is meant for
// a term that never was, so that any node refuses it at once, whoever leads. The sender must
// be none of a stream or of a probe under way: the newest connection of a sender ends those
// before.
func Probe(ctx context.Context, conn net.Conn, sender, nodeID string, group uint32) error {
	stream := NewFramedStream(ctx, conn)
	defer stream.Close()
	if err := stream.Send(&peerpb.RequestFrame{
		GroupId: group, LeaderId: nodeID, SenderId: sender,
		Requests: []*peerpb.Request{{Id: 1, Kind: ReadIndex}},
	}); err != nil {
		return err
	}
	_, err := stream.Recv()
	return err
}
