package server

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/seriatimq/seriatim/transport/service"
	"github.com/seriatimq/seriatim/transport/tracing"
)

// standardEndpointVariable is OpenTelemetry's variable for the collector of all programs.
const standardEndpointVariable = "OTEL_EXPORTER_OTLP_ENDPOINT"

// tracesFlushMax bounds the wait for the collector at a stop.
const tracesFlushMax = 2 * time.Second

// standardEndpoint returns OpenTelemetry's endpoint, empty if the environment turns traces off.
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

// check returns an error for invalid settings.
func (c TracingConfig) check() error {
	if !(c.Ratio >= 0 && c.Ratio <= 1) { // also refuses NaN
		return fmt.Errorf("trace-ratio %v: it must be 0 to 1, such as 0.01", c.Ratio)
	}
	if c.Endpoint == "" {
		return nil
	}
	u, err := url.Parse(c.Endpoint)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.RawQuery != "" || u.User != nil {
		return errors.New("otlp-endpoint, or " + standardEndpointVariable +
			", must be the URL of a collector, such as http://127.0.0.1:4318, without user and parameters")
	}
	return nil
}

// openTraces makes the tracer, nil without an endpoint.
func (p program) openTraces(ctx context.Context, cfg Config) (*tracing.Tracer, error) {
	if cfg.Tracing.Endpoint == "" {
		return nil, nil
	}
	return tracing.New(ctx, tracing.Options{
		Endpoint: cfg.Tracing.Endpoint, Ratio: cfg.Tracing.Ratio, Node: cfg.Node.Name, Version: p.version, Logger: p.log, Now: time.Now,
	})
}

// tracer returns the tracer as an interface. A nil interface means none.
func (r *parts) tracer() service.Tracer {
	if r.traces == nil {
		return nil
	}
	return r.traces
}

// spans counts the exported and dropped spans.
func (r *parts) spans() service.Spans {
	if r.traces == nil {
		return service.Spans{}
	}
	return r.traces.Spans()
}

// endTraces exports the remaining spans.
func (r *parts) endTraces(ctx context.Context) {
	if r.traces == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, tracesFlushMax)
	defer cancel()
	r.traces.Shutdown(ctx)
}
