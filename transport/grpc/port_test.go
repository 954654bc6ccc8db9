package grpc

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	reflectionpb "google.golang.org/grpc/reflection/grpc_reflection_v1"

	"github.com/seriatimq/seriatim/transport/grpc/seriatimpb"
)

func TestHealth(t *testing.T) {
	f := newFixture(t, nil)
	client := healthpb.NewHealthClient(f.conn)
	for _, service := range []string{"", "seriatim.v1.Queues"} {
		if out, err := client.Check(t.Context(), &healthpb.HealthCheckRequest{Service: service}); err != nil || out.GetStatus() != healthpb.HealthCheckResponse_SERVING {
			t.Errorf("%q: %v %v", service, out, err)
		}
	}
	_, err := client.Check(t.Context(), &healthpb.HealthCheckRequest{Service: "other"})
	wantStatus(t, err, codes.NotFound, "NotFound")
	watch, err := client.Watch(t.Context(), &healthpb.HealthCheckRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if out, err := watch.Recv(); err != nil || out.GetStatus() != healthpb.HealthCheckResponse_SERVING {
		t.Errorf("%v %v", out, err)
	}
	f.server.Drain()
	for {
		if _, err = watch.Recv(); err != nil {
			break
		}
	}
	wantStatus(t, err, codes.Unavailable, "Draining")
	if out, err := client.Check(t.Context(), &healthpb.HealthCheckRequest{}); err != nil || out.GetStatus() != healthpb.HealthCheckResponse_NOT_SERVING {
		t.Errorf("after drain: %v %v", out, err)
	}
	f.server.Undrain(t.Context())
	if out, err := client.Check(t.Context(), &healthpb.HealthCheckRequest{}); err != nil || out.GetStatus() != healthpb.HealthCheckResponse_SERVING {
		t.Errorf("after undrain: %v %v", out, err)
	}
}

func TestReflection(t *testing.T) {
	f := newFixture(t, nil)
	stream, err := reflectionpb.NewServerReflectionClient(f.conn).ServerReflectionInfo(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.Send(&reflectionpb.ServerReflectionRequest{MessageRequest: &reflectionpb.ServerReflectionRequest_FileContainingSymbol{
		FileContainingSymbol: "seriatim.v1.Queues.SendStream",
	}}); err != nil {
		t.Fatal(err)
	}
	if out, err := stream.Recv(); err != nil || len(out.GetFileDescriptorResponse().GetFileDescriptorProto()) == 0 {
		t.Errorf("%v %v", out, err)
	}
	if err := stream.CloseSend(); err != nil {
		t.Fatal(err)
	}
	if _, err := stream.Recv(); !errors.Is(err, io.EOF) {
		t.Errorf("ended with %v", err)
	}
}

// The port serves other requests over HTTP/2 and HTTP/1.1 as before, and web
// pages of other origins reach this API no more than the others.
func TestSharedPort(t *testing.T) {
	f := newFixture(t, nil)
	var protocols http.Protocols
	protocols.SetUnencryptedHTTP2(true)
	http2 := &http.Transport{Protocols: &protocols}
	defer http2.CloseIdleConnections()
	http1 := &http.Transport{}
	defer http1.CloseIdleConnections()
	for name, transport := range map[string]*http.Transport{"HTTP/2.0": http2, "HTTP/1.1": http1} {
		answer, err := (&http.Client{Transport: transport}).Post("http://"+f.port.Addr().String()+"/", "application/x-amz-json-1.0", strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(answer.Body)
		_ = answer.Body.Close() // it was read
		if err != nil || string(body) != "not gRPC" || answer.Proto != name {
			t.Errorf("%s: %q %v", answer.Proto, body, err)
		}
	}
	ctx := metadata.AppendToOutgoingContext(t.Context(), "origin", "https://evil.example")
	_, err := f.client.ListQueues(ctx, &seriatimpb.ListQueuesRequest{})
	wantStatus(t, err, codes.PermissionDenied, "PermissionDenied")
	err = f.conn.Invoke(t.Context(), "/seriatim.v1.Queues/Nothing", &seriatimpb.ListQueuesRequest{}, &seriatimpb.ListQueuesResponse{})
	wantStatus(t, err, codes.Unimplemented, "Unimplemented")
	err = f.conn.Invoke(t.Context(), "/other.Service/Nothing", &seriatimpb.ListQueuesRequest{}, &seriatimpb.ListQueuesResponse{})
	wantStatus(t, err, codes.Unimplemented, "Unimplemented")
}

// A receive that waits ends when the node is drained, and says so.
func TestDrainEndsWaiting(t *testing.T) {
	f := newFixture(t, nil)
	name := f.create(nil)
	ended := make(chan error, 1)
	go func() {
		_, err := f.client.Receive(t.Context(), &seriatimpb.ReceiveRequest{Queue: name, WaitSeconds: new(int32(20))})
		ended <- err
	}()
	f.server.Drain() // before it waits, or while it does
	wantStatus(t, <-ended, codes.Unavailable, "Draining")
}
