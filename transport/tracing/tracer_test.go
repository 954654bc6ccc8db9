package tracing_test

import (
	"context"
	"encoding/hex"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/seriatimq/seriatim/cluster/clustertest"
	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/transport/service"
	"github.com/seriatimq/seriatim/transport/tracing"
	"github.com/seriatimq/seriatim/transport/tracing/tracingtest"
)

const (
	traceID  = "4bf92f3577b34da6a3ce929d0e0e4736"
	parentID = "00f067aa0ba902b7"
	parent   = "00-" + traceID + "-" + parentID + "-01"
	unsaid   = "00-" + traceID + "-" + parentID + "-00" // not sampled by the client
	xray     = "Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled=1"
)

// lines collects a log. Safe for concurrent use.
type lines struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func newTracer(t *testing.T, endpoint string, ratio float64) (*tracing.Tracer, *lines) {
	t.Helper()
	log := &lines{}
	tracer, err := tracing.New(t.Context(), tracing.Options{
		Endpoint: endpoint, Ratio: ratio, Node: "n1", Version: "1.2.3", Logger: slog.New(slog.NewTextHandler(log, nil)), Now: time.Now,
	})
	clustertest.Must(t, err)
	return tracer, log
}

// request returns a request with the trace headers of a client.
func request(action string, header http.Header) *service.Request {
	return &service.Request{
		ID: "0d1e7c5a-4f0e-4a58-9d53-1a2b3c4d5e6f", Action: action, Queue: "orders.fifo", Status: http.StatusOK,
		Duration: 30 * time.Millisecond, Trace: &service.Trace{Header: header},
	}
}

func with(name, value string) http.Header { return http.Header{name: {value}} }

// exported shuts the tracer down and returns the spans that the collector got.
func exported(t *testing.T, tracer *tracing.Tracer, collector *tracingtest.Collector) []*tracepb.Span {
	t.Helper()
	tracer.Shutdown(t.Context())
	spans, _ := collector.Spans()
	return spans
}

func TestSpanOfARequest(t *testing.T) {
	collector := tracingtest.Start(t)
	tracer, log := newTracer(t, collector.URL+"/", 0)
	r := request("ReceiveMessage", with("Traceparent", parent))
	r.Trace.Received([]queue.ReceivedMessage{
		{TraceHeader: xray},
		{Attributes: []queue.MessageAttribute{{Name: "traceparent", DataType: "String", Value: parent}}, TraceHeader: xray},
		{TraceHeader: "Root=1-5759e988-bd862e3fe1be46a994272793"}, // without a span
		{},
	})
	tracer.Trace(t.Context(), r)
	spans := exported(t, tracer, collector)
	if len(spans) != 1 {
		t.Fatalf("%d spans: %v", len(spans), spans)
	}
	s := spans[0]
	if s.GetName() != "receive orders.fifo" || hex.EncodeToString(s.GetTraceId()) != traceID ||
		hex.EncodeToString(s.GetParentSpanId()) != parentID ||
		s.GetKind() != tracepb.Span_SPAN_KIND_SERVER || s.GetStatus().GetCode() != tracepb.Status_STATUS_CODE_UNSET {
		t.Errorf("the span is %v", s)
	}
	if took := time.Duration(s.GetEndTimeUnixNano() - s.GetStartTimeUnixNano()); took != r.Duration {
		t.Errorf("the span took %s, the request %s", took, r.Duration)
	}
	want := map[string]string{
		"messaging.system": "aws_sqs", "messaging.destination.name": "orders.fifo", "messaging.operation.name": "receive",
		"messaging.operation.type": "receive", "messaging.batch.message_count": "4", "rpc.method": "ReceiveMessage",
		"aws.request_id": r.ID, "http.response.status_code": "200",
	}
	if got := tracingtest.Attributes(s.GetAttributes()); !maps.Equal(got, want) {
		t.Errorf("attributes are %v, want %v", got, want)
	}
	var links []string
	for _, l := range s.GetLinks() {
		links = append(links, hex.EncodeToString(l.GetTraceId())+" "+hex.EncodeToString(l.GetSpanId()))
	}
	if got := strings.Join(links, ","); got != "5759e988bd862e3fe1be46a994272793 53995c3f42cd8ad8,"+traceID+" "+parentID {
		t.Errorf("links are %s", got)
	}
	_, about := collector.Spans()
	if about["service.name"] != "seriatim" || about["service.version"] != "1.2.3" || about["service.instance.id"] != "n1" {
		t.Errorf("the resource is %v", about)
	}
	if counts := tracer.Spans(); counts != (service.Spans{Exported: 1}) {
		t.Errorf("counted %+v", counts)
	}
	if log.String() != "" {
		t.Errorf("the log has\n%s", log)
	}
}

func TestSpanNamesAndErrors(t *testing.T) {
	collector := tracingtest.Start(t)
	tracer, _ := newTracer(t, collector.URL, 1)
	for _, action := range []string{"SendMessageBatch", "Send", "DeleteMessage", "CreateQueue"} {
		tracer.Trace(t.Context(), request(action, nil))
	}
	topic := request("Publish", nil)
	topic.Queue, topic.Topic = "", "news"
	tracer.Trace(t.Context(), topic)
	refused := request("SendMessage", nil)
	refused.Code, refused.Status = "AccessDenied", http.StatusForbidden
	tracer.Trace(t.Context(), refused)
	tracer.Trace(t.Context(), &service.Request{Code: "InvalidAction", Trace: &service.Trace{}})
	var names []string
	spans := exported(t, tracer, collector)
	for _, s := range spans {
		names = append(names, s.GetName())
	}
	want := "send orders.fifo|send orders.fifo|settle orders.fifo|CreateQueue orders.fifo|send news|send orders.fifo|unknown action"
	if got := strings.Join(names, "|"); got != want {
		t.Fatalf("names are %s, want %s", got, want)
	}
	if system := tracingtest.Attributes(spans[4].GetAttributes())["messaging.system"]; system != "aws.sns" {
		t.Errorf("the system of a topic is %s", system)
	}
	if s := spans[5]; s.GetStatus().GetCode() != tracepb.Status_STATUS_CODE_ERROR || s.GetStatus().GetMessage() != "AccessDenied" ||
		tracingtest.Attributes(s.GetAttributes())["error.type"] != "AccessDenied" {
		t.Errorf("a refused request has %v", s)
	}
}

// A decision of the client takes precedence. The ratio applies to requests without one.
func TestSampling(t *testing.T) {
	for _, c := range []struct {
		name   string
		ratio  float64
		header http.Header
		spans  int
	}{
		{"nothing said, all", 1, nil, 1},
		{"nothing said, none", 0, nil, 0},
		{"the client traces", 0, with("Traceparent", parent), 1},
		{"the client does not", 1, with("Traceparent", unsaid), 0},
		{"X-Ray traces", 0, with("X-Amzn-Trace-Id", xray), 1},
		{"X-Ray does not", 1, with("X-Amzn-Trace-Id", strings.Replace(xray, "Sampled=1", "Sampled=0", 1)), 0},
		{"a header that says nothing", 0, with("Traceparent", "00-0-0-01"), 0},
		{"an X-Ray header that says nothing", 1, with("X-Amzn-Trace-Id", "Root=1-zz;Parent=53995c3f42cd8ad8"), 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			collector := tracingtest.Start(t)
			tracer, _ := newTracer(t, collector.URL, c.ratio)
			tracer.Trace(t.Context(), request("SendMessage", c.header))
			if spans := exported(t, tracer, collector); len(spans) != c.spans {
				t.Errorf("%d spans, want %d", len(spans), c.spans)
			}
		})
	}
}

// If a collector refuses spans, they are lost and the log has one line, however many exports fail.
func TestRefusingCollector(t *testing.T) {
	collector := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "no traces here", http.StatusForbidden)
	}))
	t.Cleanup(collector.Close)
	tracer, log := newTracer(t, collector.URL, 1)
	const n = 2000 // several exports
	for range n {
		tracer.Trace(t.Context(), request("SendMessage", nil))
	}
	tracer.Shutdown(t.Context())
	if counts := tracer.Spans(); counts != (service.Spans{Failed: n}) {
		t.Errorf("counted %+v", counts)
	}
	if got := log.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, "otlp-endpoint") || !strings.Contains(got, "403") {
		t.Errorf("the log has\n%s", got)
	}
}

// A collector that does not answer delays neither requests nor, beyond a limit, the end of the
// node.
func TestSilentCollector(t *testing.T) {
	release := make(chan struct{})
	collector := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release }))
	t.Cleanup(collector.Close)
	t.Cleanup(func() { close(release) })
	tracer, log := newTracer(t, collector.URL, 1)
	const n = 20000
	for range n {
		tracer.Trace(t.Context(), request("SendMessage", nil)) // would block if it waited for the collector
	}
	counts := tracer.Spans()
	if counts.Exported != 0 || counts.Failed != 0 || counts.Dropped != n-8192 {
		t.Errorf("counted %+v", counts)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	tracer.Shutdown(ended)
	if got := log.String(); strings.Count(got, "more spans wait") != 1 || strings.Count(got, "before the node stopped") != 1 {
		t.Errorf("the log has\n%s", got)
	}
}
