package grpc

import (
	"context"
	"slices"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
)

// healthInterval is the time between two checks of a watch.
const healthInterval = time.Second

// healthPath begins the paths of the methods.
const healthPath = "/grpc.health.v1.Health/"

// health serves grpc.health.v1.Health: whether this node is ready, as on the admin port. The
// empty service is the node.
type health struct {
	healthpb.UnimplementedHealthServer
	server *Server
}

func (h *health) status() healthpb.HealthCheckResponse_ServingStatus {
	if h.server.waits.Context().Err() != nil || h.server.Node.Ready() != nil {
		return healthpb.HealthCheckResponse_NOT_SERVING
	}
	return healthpb.HealthCheckResponse_SERVING
}

func known(service string) bool {
	return service == "" || slices.ContainsFunc(services, func(d *grpc.ServiceDesc) bool { return d.ServiceName == service })
}

// Check returns the status.
func (h *health) Check(_ context.Context, in *healthpb.HealthCheckRequest) (*healthpb.HealthCheckResponse, error) {
	if !known(in.GetService()) {
		return nil, status.Error(codes.NotFound, "unknown service")
	}
	return &healthpb.HealthCheckResponse{Status: h.status()}, nil
}

// List returns the status of all services.
func (h *health) List(context.Context, *healthpb.HealthListRequest) (*healthpb.HealthListResponse, error) {
	now := &healthpb.HealthCheckResponse{Status: h.status()}
	statuses := map[string]*healthpb.HealthCheckResponse{"": now}
	for _, d := range services {
		statuses[d.ServiceName] = now
	}
	return &healthpb.HealthListResponse{Statuses: statuses}, nil
}

// Watch sends the status and each change of it. It ends when the node stops or is drained.
func (h *health) Watch(in *healthpb.HealthCheckRequest, stream grpc.ServerStreamingServer[healthpb.HealthCheckResponse]) error {
	ended := h.server.waits.Context()
	tick := time.NewTicker(healthInterval)
	defer tick.Stop()
	sent := healthpb.HealthCheckResponse_UNKNOWN
	for {
		now := healthpb.HealthCheckResponse_SERVICE_UNKNOWN
		if known(in.GetService()) {
			now = h.status()
		}
		if now != sent {
			if err := stream.Send(&healthpb.HealthCheckResponse{Status: now}); err != nil {
				return err
			}
			sent = now
		}
		if ended.Err() != nil {
			return errDraining
		}
		select {
		case <-tick.C:
		case <-ended.Done():
		case <-stream.Context().Done():
			return status.FromContextError(stream.Context().Err()).Err()
		}
	}
}
