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

// Server answers the requests of other nodes. Made by NewServer.
type Server struct {
	requests *requests
	grpc     *grpc.Server
}

// NewServer returns a Server that Serve starts.
func NewServer(options ServerOptions) *Server {
	s := &Server{
		requests: newRequests(options),
		grpc: grpc.NewServer(
			grpc.ForceServerCodecV2(newFrameCodec()),
			grpc.InitialWindowSize(streamWindow),
			grpc.InitialConnWindowSize(streamWindow),
			grpc.MaxRecvMsgSize(frameLimit),
			grpc.MaxSendMsgSize(frameLimit),
			grpc.KeepaliveParams(keepalive.ServerParameters{Time: keepaliveInterval, Timeout: keepaliveTimeout}),
			grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: keepaliveInterval / 2, PermitWithoutStream: true}),
		),
	}
	peerpb.RegisterPeerServer(s.grpc, s.requests)
	return s
}

// Serve answers on the connections of listener until Close.
func (s *Server) Serve(listener net.Listener) error { return s.grpc.Serve(listener) }

// Served counts the requests of other nodes that were taken on.
func (s *Server) Served() uint64 { return s.requests.served.Load() }

// Stop breaks off all streams.
func (s *Server) Stop() { s.grpc.Stop() }

// Close lets the other nodes close their streams, which they do as soon as
// everything they sent is answered. What is left when ctx ends is broken off.
func (s *Server) Close(ctx context.Context) {
	close(s.requests.closing)
	stopped := make(chan struct{})
	go func() { // awaited below
		defer close(stopped)
		s.grpc.GracefulStop()
	}()
	select {
	case <-stopped:
	case <-ctx.Done():
		s.Stop()
		<-stopped
	}
}
