package grpc

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	reflectionpb "google.golang.org/grpc/reflection/grpc_reflection_v1"

	"github.com/seriatimq/seriatim/cluster/clustertest"
	"github.com/seriatimq/seriatim/transport"
	"github.com/seriatimq/seriatim/transport/grpc/seriatimpb"
)

func TestHealth(t *testing.T) {
	f := newFixture(t, nil)
	client := healthpb.NewHealthClient(f.conn)
	for _, service := range []string{"", "seriatim.v1.Queues", "seriatim.v1.Topics"} {
		if out, err := client.Check(t.Context(), &healthpb.HealthCheckRequest{Service: service}); err != nil ||
			out.GetStatus() != healthpb.HealthCheckResponse_SERVING {
			t.Errorf("%q: %v %v", service, out, err)
		}
	}
	_, err := client.Check(t.Context(), &healthpb.HealthCheckRequest{Service: "other"})
	wantStatus(t, err, codes.NotFound, "NotFound")
	watch, err := client.Watch(t.Context(), &healthpb.HealthCheckRequest{})
	clustertest.Must(t, err)
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
	if out, err := client.Check(t.Context(), &healthpb.HealthCheckRequest{}); err != nil ||
		out.GetStatus() != healthpb.HealthCheckResponse_NOT_SERVING {
		t.Errorf("after drain: %v %v", out, err)
	}
	f.server.Undrain(t.Context())
	if out, err := client.Check(t.Context(), &healthpb.HealthCheckRequest{}); err != nil ||
		out.GetStatus() != healthpb.HealthCheckResponse_SERVING {
		t.Errorf("after undrain: %v %v", out, err)
	}
}

func TestReflection(t *testing.T) {
	f := newFixture(t, nil)
	stream, err := reflectionpb.NewServerReflectionClient(f.conn).ServerReflectionInfo(t.Context())
	clustertest.Must(t, err)
	if err := stream.Send(&reflectionpb.ServerReflectionRequest{MessageRequest: &reflectionpb.ServerReflectionRequest_FileContainingSymbol{
		FileContainingSymbol: "seriatim.v1.Queues.SendStream",
	}}); err != nil {
		t.Fatal(err)
	}
	if out, err := stream.Recv(); err != nil || len(out.GetFileDescriptorResponse().GetFileDescriptorProto()) == 0 {
		t.Errorf("%v %v", out, err)
	}
	clustertest.Must(t, stream.CloseSend())
	if _, err := stream.Recv(); !errors.Is(err, io.EOF) {
		t.Errorf("ended with %v", err)
	}
}

// The port still serves other requests over HTTP/2 and HTTP/1.1, and refuses calls of web pages
// from other origins.
func TestSharedPort(t *testing.T) {
	f := newFixture(t, nil)
	var protocols http.Protocols
	protocols.SetUnencryptedHTTP2(true)
	http2 := &http.Transport{Protocols: &protocols}
	defer http2.CloseIdleConnections()
	http1 := &http.Transport{}
	defer http1.CloseIdleConnections()
	for name, through := range map[string]*http.Transport{"HTTP/2.0": http2, "HTTP/1.1": http1} {
		answer, err := (&http.Client{Transport: through}).Post("http://"+f.port.Addr().String()+"/", "application/x-amz-json-1.0",
			strings.NewReader("{}"))
		clustertest.Must(t, err)
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

// Draining a node ends its waiting receives with a status that says so.
func TestDrainEndsWaiting(t *testing.T) {
	f := newFixture(t, nil)
	name := f.create(nil)
	ended := make(chan error, 1)
	go func() {
		_, err := f.client.Receive(t.Context(), &seriatimpb.ReceiveRequest{Queue: name, WaitSeconds: new(int32(20))})
		ended <- err
	}()
	f.server.Drain() // before the receive waits, or while it does
	wantStatus(t, <-ended, codes.Unavailable, "Draining")
}

// The deadlines of ordinary requests do not end a stream.
func TestStreamsOutliveDeadlines(t *testing.T) {
	f := newFixture(t, nil)
	name := f.create(nil)
	server := httptest.NewUnstartedServer(f.server)
	server.Config.ReadTimeout, server.Config.WriteTimeout = 200*time.Millisecond, 200*time.Millisecond
	server.Config.Protocols = new(http.Protocols)
	server.Config.Protocols.SetUnencryptedHTTP2(true)
	server.Start()
	defer server.Close()
	conn, err := grpc.NewClient("passthrough:///"+server.Listener.Addr().String(),
		grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithNoProxy())
	clustertest.Must(t, err)
	defer conn.Close()
	short := *f
	short.client = seriatimpb.NewQueuesClient(conn)
	s := short.sender(name)
	s.send(outgoingMessage("g", "a"))
	s.results(1)
	// Wait for longer than the deadlines, with a receive on another port.
	if _, err := f.client.Receive(t.Context(), &seriatimpb.ReceiveRequest{Queue: f.create(nil), WaitSeconds: new(int32(1))}); err != nil {
		t.Fatal(err)
	}
	s.send(outgoingMessage("g", "b"))
	if r := s.results(1)[0]; r.GetFailure() != nil {
		t.Errorf("%v", r)
	}
	clustertest.Must(t, s.stream.CloseSend())
	if err := s.ended(); !errors.Is(err, io.EOF) {
		t.Errorf("ended with %v", err)
	}
}

// The API is served over TLS, too, chosen by ALPN.
func TestTLS(t *testing.T) {
	f := newFixture(t, nil)
	lender := httptest.NewTLSServer(http.NotFoundHandler()) // which has a certificate
	defer lender.Close()
	ctx := context.WithoutCancel(t.Context())
	port, err := transport.Listen(ctx, transport.Config{
		Addr: "127.0.0.1:0", TLS: &tls.Config{Certificates: lender.TLS.Certificates, MinVersion: tls.VersionTLS12}, Now: time.Now,
		Logger:  slog.New(slog.DiscardHandler),
		Handler: http.NotFoundHandler(), GRPC: f.server,
	})
	clustertest.Must(t, err)
	defer func() {
		clustertest.Check(t, port.Shutdown(ctx))
	}()
	pool := x509.NewCertPool()
	pool.AddCert(lender.Certificate())
	conn, err := grpc.NewClient("passthrough:///"+port.Addr().String(), grpc.WithNoProxy(),
		grpc.WithTransportCredentials(credentials.NewTLS(&tls.Config{RootCAs: pool, ServerName: "example.com",
			MinVersion: tls.VersionTLS12})))
	clustertest.Must(t, err)
	defer conn.Close()
	clustertest.Check(t, clustertest.Err(seriatimpb.NewQueuesClient(conn).ListQueues(t.Context(), &seriatimpb.ListQueuesRequest{})))
}
