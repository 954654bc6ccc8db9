package forward

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"

	"github.com/seriatimq/seriatim/cluster/peerpb"
)

// Intervals of the checks that a connection between nodes is alive although
// nothing is said on it, and of the answer to such a check.
const (
	keepaliveInterval = 10 * time.Second
	keepaliveTimeout  = 5 * time.Second
)

// Connect opens a stream to another node, over a connection of dial, whose handshake
// proves which node it is. Its only stream is the connection's life: a broken
// one is replaced as a whole, so that no hidden back-off delays a failover.
func Connect(ctx context.Context, nodeID string, dial func(context.Context) (net.Conn, error), timeout time.Duration) (Stream, func() error, error) {
	conn, err := grpc.NewClient("passthrough:///"+nodeID,
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return dial(ctx) }),
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(frameLimit), grpc.MaxCallSendMsgSize(frameLimit),
			grpc.ForceCodecV2(newFrameCodec())),
		grpc.WithInitialWindowSize(streamWindow),
		grpc.WithInitialConnWindowSize(streamWindow),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: keepaliveInterval, Timeout: keepaliveTimeout}),
		grpc.WithConnectParams(grpc.ConnectParams{Backoff: backoff.DefaultConfig, MinConnectTimeout: timeout}),
		grpc.WithDisableServiceConfig(),
	)
	if err != nil {
		return nil, nil, fmt.Errorf("connecting to %s: %w", nodeID, err)
	}
	stream, err := peerpb.NewPeerClient(conn).Forward(ctx)
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("opening a stream to %s: %w", nodeID, err), conn.Close())
	}
	return stream, conn.Close, nil
}
