package tracing

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/seriatimq/seriatim/transport/service"
)

const (
	// waitingMax bounds the spans that wait for the collector: some megabytes.
	waitingMax = 8192
	// complaintInterval is the minimum time between two log lines about exports.
	complaintInterval = time.Minute
	// retryMax bounds the time in which an export is retried.
	retryMax = 15 * time.Second
	// tracesPath is the path for spans below the endpoint of a collector (OTLP/HTTP).
	tracesPath = "/v1/traces"
)

// Options configure a Tracer.
type Options struct {
	Endpoint string  // URL of the collector, without the path for traces
	Ratio    float64 // part of the requests without a parent that are traced
	Node     string
	Version  string
	Logger   *slog.Logger
	Now      func() time.Time
}

// Tracer makes spans and exports them. Safe for concurrent use.
type Tracer struct {
	provider *sdk.TracerProvider
	tracer   trace.Tracer
	logger   *slog.Logger
	now      func() time.Time

	waiting, exported, failed, dropped atomic.Int64

	mu         sync.Mutex
	complained time.Time
}

// New returns a Tracer. It does not wait for the collector, because a node must start without one. The
// exporter of OpenTelemetry also reads its environment variables, such as those for headers and
// certificates.
func New(ctx context.Context, o Options) (*Tracer, error) {
	client, err := otlptracehttp.New(ctx,
		otlptracehttp.WithEndpointURL(strings.TrimRight(o.Endpoint, "/")+tracesPath),
		otlptracehttp.WithRetry(otlptracehttp.RetryConfig{Enabled: true, InitialInterval: time.Second, MaxInterval: retryMax / 3,
			MaxElapsedTime: retryMax}))
	if err != nil {
		return nil, fmt.Errorf("preparing the export of traces: %w", err)
	}
	about, err := resource.New(ctx, resource.WithTelemetrySDK(),
		resource.WithAttributes(semconv.ServiceName("seriatim"), semconv.ServiceVersion(o.Version), semconv.ServiceInstanceID(o.Node)),
		resource.WithFromEnv())
	if err != nil {
		return nil, fmt.Errorf("describing this node to the collector of traces: %w", err)
	}
	t := &Tracer{logger: o.Logger, now: o.Now}
	// One more than our processor lets in, so that the library never drops spans uncounted.
	batches := sdk.NewBatchSpanProcessor(&exporter{client, t}, sdk.WithMaxQueueSize(waitingMax+1))
	t.provider = sdk.NewTracerProvider(sdk.WithResource(about),
		sdk.WithSampler(sdk.ParentBased(sdk.TraceIDRatioBased(o.Ratio))), sdk.WithSpanProcessor(&processor{batches, t}))
	t.tracer = t.provider.Tracer("github.com/seriatimq/seriatim", trace.WithInstrumentationVersion(o.Version))
	otel.SetErrorHandler(otel.ErrorHandlerFunc(t.complain)) // for exports that a collector accepted in part
	return t, nil
}

// Trace makes the span of a request that is over.
func (t *Tracer) Trace(ctx context.Context, r *service.Request) {
	if r.Trace == nil {
		return
	}
	end := t.now()
	_, span := t.tracer.Start(parentOf(ctx, r.Trace.Header), spanName(r),
		trace.WithSpanKind(trace.SpanKindServer), trace.WithTimestamp(end.Add(-r.Duration)))
	if span.IsRecording() {
		describe(ctx, span, r)
	}
	span.End(trace.WithTimestamp(end))
}

// Spans counts the spans by outcome.
func (t *Tracer) Spans() service.Spans {
	return service.Spans{Exported: uint64(t.exported.Load()), Failed: uint64(t.failed.Load()), Dropped: uint64(t.dropped.Load())}
}

// Shutdown exports the waiting spans, until ctx ends.
func (t *Tracer) Shutdown(ctx context.Context) {
	if err := t.provider.Shutdown(ctx); err != nil {
		t.logger.Warn("the last traces were not exported before the node stopped", "error", err, "spans", t.waiting.Load())
	}
}

// complain logs that spans were lost, but not too often.
func (t *Tracer) complain(err error) {
	now := t.now()
	t.mu.Lock()
	quiet := !t.complained.IsZero() && now.Sub(t.complained) < complaintInterval
	if !quiet {
		t.complained = now
	}
	t.mu.Unlock()
	if !quiet {
		t.logger.Warn("traces cannot be exported and are lost: check otlp-endpoint and the collector there",
			"error", err, "failed", t.failed.Load(), "dropped", t.dropped.Load())
	}
}
