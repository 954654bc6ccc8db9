// Package tracingtest is a collector of traces for tests, over OTLP/HTTP.
package tracingtest

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	collectorpb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// Collector receives spans. Safe for concurrent use.
type Collector struct {
	URL string

	mu      sync.Mutex
	spans   []*tracepb.Span
	about   map[string]string // the resource of the newest
	changed chan struct{}     // closed when there are more
}

// Start starts a collector that ends with the test.
func Start(t *testing.T) *Collector {
	t.Helper()
	c := &Collector{changed: make(chan struct{})}
	server := httptest.NewServer(http.HandlerFunc(c.serve))
	t.Cleanup(server.Close)
	c.URL = server.URL
	return c
}

func (c *Collector) serve(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	var in collectorpb.ExportTraceServiceRequest
	if err == nil {
		err = proto.Unmarshal(body, &in)
	}
	if err != nil || r.URL.Path != "/v1/traces" || r.Method != http.MethodPost || r.Header.Get("Content-Type") != "application/x-protobuf" {
		http.Error(w, fmt.Sprint("not an export of traces: ", r.Method, r.URL, err), http.StatusBadRequest)
		return
	}
	c.take(&in)
	w.Header().Set("Content-Type", "application/x-protobuf")
}

func (c *Collector) take(in *collectorpb.ExportTraceServiceRequest) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, resource := range in.GetResourceSpans() {
		c.about = Attributes(resource.GetResource().GetAttributes())
		for _, scope := range resource.GetScopeSpans() {
			c.spans = append(c.spans, scope.GetSpans()...)
		}
	}
	close(c.changed)
	c.changed = make(chan struct{})
}

// Spans returns the spans received so far, and the resource attributes of the newest export.
func (c *Collector) Spans() ([]*tracepb.Span, map[string]string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clip(c.spans), c.about
}

// Await waits until a span of each name has arrived, and returns the first of each.
func (c *Collector) Await(t *testing.T, names ...string) []*tracepb.Span {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for {
		c.mu.Lock()
		changed := c.changed
		c.mu.Unlock()
		spans, _ := c.Spans()
		if found := firstOf(spans, names); found != nil {
			return found
		}
		select {
		case <-changed:
		case <-ctx.Done():
			t.Fatalf("the spans %q did not all come, but %v", names, spans)
		}
	}
}

// firstOf returns the first span of each name, nil unless all are present.
func firstOf(spans []*tracepb.Span, names []string) (found []*tracepb.Span) {
	first := make(map[string]*tracepb.Span, len(spans))
	for _, s := range spans {
		if first[s.GetName()] == nil {
			first[s.GetName()] = s
		}
	}
	for _, name := range names {
		if first[name] == nil {
			return nil
		}
		found = append(found, first[name])
	}
	return found
}

// Attributes returns the values of attributes as texts, by name.
func Attributes(list []*commonpb.KeyValue) map[string]string {
	texts := make(map[string]string, len(list))
	for _, a := range list {
		switch v := a.GetValue().GetValue().(type) {
		case *commonpb.AnyValue_StringValue:
			texts[a.GetKey()] = v.StringValue
		case *commonpb.AnyValue_IntValue:
			texts[a.GetKey()] = fmt.Sprint(v.IntValue)
		default:
			texts[a.GetKey()] = fmt.Sprintf("%T", v)
		}
	}
	return texts
}
