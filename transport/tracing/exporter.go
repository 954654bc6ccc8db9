package tracing

import (
	"context"
	"errors"

	sdk "go.opentelemetry.io/otel/sdk/trace"
)

// errFull is the reason to drop spans.
var errFull = errors.New("more spans wait for the collector than are kept")

// processor bounds the waiting spans, and counts those that it drops.
type processor struct {
	sdk.SpanProcessor
	tracer *Tracer
}

// OnEnd passes on a finished span, or drops it.
func (p *processor) OnEnd(s sdk.ReadOnlySpan) {
	if p.tracer.waiting.Add(1) > waitingMax {
		p.tracer.waiting.Add(-1)
		p.tracer.dropped.Add(1)
		p.tracer.complain(errFull)
		return
	}
	p.SpanProcessor.OnEnd(s)
}

// exporter counts what is exported.
type exporter struct {
	sdk.SpanExporter
	tracer *Tracer
}

// ExportSpans exports spans. It handles failures itself, because the library would print them.
func (e *exporter) ExportSpans(ctx context.Context, spans []sdk.ReadOnlySpan) error {
	n := int64(len(spans))
	err := e.SpanExporter.ExportSpans(ctx, spans)
	e.tracer.waiting.Add(-n)
	if err != nil {
		e.tracer.failed.Add(n)
		e.tracer.complain(err)
		return nil
	}
	e.tracer.exported.Add(n)
	return nil
}
