package grpc

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/seriatimq/seriatim/transport/service"
)

// headerTracer reads a header of a request after its call.
type headerTracer struct{}

func (headerTracer) Trace(_ context.Context, r *service.Request) { _ = r.Trace.Header.Get("name") }

// Methods may run on after a client has given up, and still read its headers. The race detector
// fails the test if the connection reuses these headers for its next request.
func TestMethodsOutliveRequests(t *testing.T) {
	f := newFixture(t, func(o *Options) { o.Calls.Tracer = headerTracer{} })
	var callers sync.WaitGroup
	for range 4 {
		callers.Go(func() {
			for range 200 {
				ctx, cancel := context.WithCancel(t.Context())
				_, err := f.client.Consume(ctx)
				if err == nil {
					time.Sleep(time.Duration(rand.IntN(200)) * time.Microsecond)
				}
				cancel()
			}
		})
	}
	callers.Wait()
}
