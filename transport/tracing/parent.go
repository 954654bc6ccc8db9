package tracing

import (
	"context"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/propagation"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/seriatimq/seriatim/transport/service"
)

// carrier lets the library read a header.
type carrier struct{ service.Header }

// Set does nothing: headers are read only.
func (carrier) Set(string, string) {}

// Keys returns nothing: the library asks for names.
func (carrier) Keys() []string { return nil }

// parentOf adds the span of the client to ctx: from the header traceparent, or else from the trace
// header of AWS.
func parentOf(ctx context.Context, header service.Header) context.Context {
	if header == nil {
		return ctx
	}
	ctx = propagation.TraceContext{}.Extract(ctx, carrier{header})
	if trace.SpanContextFromContext(ctx).IsValid() {
		return ctx
	}
	if parent, ok := parseXRay(header.Get("X-Amzn-Trace-Id")); ok {
		return trace.ContextWithRemoteSpanContext(ctx, parent)
	}
	return ctx
}

// linkTo returns a link to the span of a sent message.
func linkTo(ctx context.Context, l service.Link) (trace.Link, bool) {
	var link trace.Link
	if l.MessageID != "" {
		link.Attributes = []attribute.KeyValue{semconv.MessagingMessageID(l.MessageID)}
	}
	if l.Traceparent != "" {
		carrier := propagation.MapCarrier{"traceparent": l.Traceparent}
		link.SpanContext = trace.SpanContextFromContext(propagation.TraceContext{}.Extract(ctx, carrier))
	}
	if link.SpanContext.IsValid() {
		return link, true
	}
	var ok bool
	link.SpanContext, ok = parseXRay(l.XRay)
	return link, ok
}

// parseXRay reads the trace header of AWS: Root=1-5759e988-bd862e3fe1be46a994272793;
// Parent=53995c3f42cd8ad8;Sampled=1. Without a parent it names no span.
func parseXRay(text string) (trace.SpanContext, bool) {
	var c trace.SpanContextConfig
	for part := range strings.SplitSeq(text, ";") {
		key, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		var err error
		switch key {
		case "Root":
			root, _ := strings.CutPrefix(value, "1-")
			c.TraceID, err = trace.TraceIDFromHex(strings.Replace(root, "-", "", 1))
		case "Parent":
			c.SpanID, err = trace.SpanIDFromHex(value)
		case "Sampled":
			c.TraceFlags = c.TraceFlags.WithSampled(value == "1")
		}
		if err != nil {
			return trace.SpanContext{}, false
		}
	}
	c.Remote = true
	span := trace.NewSpanContext(c)
	return span, span.IsValid()
}
