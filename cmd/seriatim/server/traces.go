package server

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/seriatimq/seriatim/transport/service"
	"github.com/seriatimq/seriatim/transport/tracing"
)

// standardEndpointVariable is where OpenTelemetry has the endpoint, for all programs of a machine.
const standardEndpointVariable = "OTEL_EXPORTER_OTLP_ENDPOINT"

// tracesFlushMax is how long a stop waits for a collector to take the last spans.
const tracesFlushMax = 2 * time.Second

// standardEndpoint is what the environment says to all programs, unless it turns all of them off.
func standardEndpoint(environ []string) (endpoint string) {
	for _, pair := range environ {
		switch key, value, _ := strings.Cut(pair, "="); {
		case key == standardEndpointVariable:
			endpoint = value
		case key == "OTEL_SDK_DISABLED" && strings.EqualFold(value, "true"):
			return ""
		}
	}
	return endpoint
}

// check reports what is wrong with the settings.
func (c TracingConfig) check() error {
	if !(c.Ratio >= 0 && c.Ratio <= 1) { // which no comparison with NaN is
		return fmt.Errorf("trace-ratio %v: 0 to 1 is wanted, as in 0.01", c.Ratio)
	}
	if c.Endpoint == "" {
		return nil
	}
	u, err := url.Parse(c.Endpoint)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.RawQuery != "" || u.User != nil {
		return fmt.Errorf("otlp-endpoint, or %s, is no URL of a collector: one as http://127.0.0.1:4318 is wanted, without user and parameters", standardEndpointVariable)
	}
	return nil
}

// openTraces makes the tracer; nil if nothing is to be traced.
func (p program) openTraces(ctx context.Context, cfg Config) (*tracing.Tracer, error) {
	if cfg.Tracing.Endpoint == "" {
		return nil, nil
	}
	return tracing.New(ctx, tracing.Options{
		Endpoint: cfg.Tracing.Endpoint, Ratio: cfg.Tracing.Ratio, Node: cfg.Node.Name, Version: p.version, Logger: p.log, Now: time.Now,
	})
}

// tracer is the tracer of the middleware, nil if there is none.
func (r *parts) tracer() service.Tracer {
	if r.traces == nil {
		return nil
	}
	return r.traces
}

// spans are what became of spans so far.
func (r *parts) spans() service.Spans {
	if r.traces == nil {
		return service.Spans{}
	}
	return r.traces.Spans()
}

// endTraces exports what waits.
func (r *parts) endTraces(ctx context.Context) {
	if r.traces == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, tracesFlushMax)
	defer cancel()
	r.traces.Shutdown(ctx)
}
