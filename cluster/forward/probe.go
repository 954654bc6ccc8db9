package forward

import (
	"context"
	"net"

	"github.com/seriatimq/seriatim/cluster/peerpb"
)

// Probe tests on a connection after its handshake whether a node answers the calls of other nodes,
// and closes the connection. It sends a request for term 0, which any node refuses at once. The
// sender must be different from that of a Link and of other probes under way: the newest
// connection of a sender ends those before.
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
