package forward

import (
	"context"
	"net"

	"github.com/seriatimq/seriatim/cluster/peerpb"
)

// Probe tests whether a node answers forwarded calls, on a connection after its handshake, which it
// closes. It sends a request for term 0, which any node refuses at once. sender must differ from
// those of Links and of concurrent probes, because the newest connection of a sender ends the
// earlier ones.
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
