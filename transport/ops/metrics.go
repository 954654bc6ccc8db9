package ops

import (
	"runtime"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/seriatimq/seriatim/cluster"
	"github.com/seriatimq/seriatim/transport"
	"github.com/seriatimq/seriatim/transport/auth/sigv4"
	"github.com/seriatimq/seriatim/transport/service"
)

// Requests counts the requests of the client port by action, error code and protocol. Safe for concurrent
// use.
type Requests struct {
	total   *prometheus.CounterVec
	seconds *prometheus.HistogramVec
	refused map[string]prometheus.Counter // authentication failures by error code
	// seen caches the series, because finding one by its labels costs more than counting.
	seen sync.Map // requestLabels to requestSeries
	// history gets the counts for the history of the node; nil: the node keeps none.
	history *cluster.ClientRequests
}

// waiting names the actions whose duration is not that of the server: they wait for messages, or
// last as long as their stream.
var waiting = map[string]bool{
	"ReceiveMessage": true, "Receive": true, "Consume": true, "ConsumeSession": true, "AcceptSession": true, "SendStream": true,
	"PublishStream": true,
}

type requestLabels struct{ action, code, protocol string }

type requestSeries struct {
	total   prometheus.Counter
	seconds prometheus.Observer
}

func newRequests(registry *prometheus.Registry) *Requests {
	r := &Requests{
		total: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "seriatim_api_requests_total",
			Help: "Requests of clients, by action, error code (OK on success) and protocol.",
		}, []string{"action", "code", "protocol"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "seriatim_api_request_seconds",
			Help: "Time from a request to its answer; waiting receives count in full.",
			// From less than a group commit on a fast disk to a full long poll.
			Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 20, 30},
		}, []string{"action"}),
	}
	refused := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "seriatim_auth_failures_total", Help: "Requests of clients without a valid signature or permission, by error code.",
	}, []string{"code"})
	r.refused = make(map[string]prometheus.Counter, len(authFailures))
	for _, code := range authFailures {
		r.refused[code] = refused.WithLabelValues(code)
	}
	registry.MustRegister(r.total, r.seconds, refused)
	return r
}

// authFailures are the codes of refused signatures and missing permissions.
var authFailures = [...]string{
	sigv4.Unsigned, sigv4.UnknownKey, "IncompleteSignature", "SignatureDoesNotMatch", "RequestExpired", "AccessDenied",
}

// Observe counts one finished request. Labels come from fixed tables, never from a client: an unknown action
// has an empty label.
func (r *Requests) Observe(request *service.Request) {
	code := request.Code
	if code == "" {
		code = "OK"
	} else if failures, of := r.refused[code]; of {
		failures.Inc()
	}
	labels := requestLabels{request.Action, code, request.Protocol}
	found, known := r.seen.Load(labels)
	if !known {
		found, _ = r.seen.LoadOrStore(labels, requestSeries{
			r.total.WithLabelValues(request.Action, code, request.Protocol), r.seconds.WithLabelValues(request.Action),
		})
	}
	series := found.(requestSeries)
	series.total.Inc()
	series.seconds.Observe(request.Duration.Seconds())
	if r.history == nil {
		return
	}
	r.history.Total.Add(1)
	if !waiting[request.Action] {
		r.history.Seconds.Observe(request.Duration.Seconds())
	}
}

func registerNode(registry *prometheus.Registry, a *Admin) {
	info := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "seriatim_build_info", Help: "Always 1; the labels are the version and the version of Go.",
		ConstLabels: prometheus.Labels{"version": a.Version, "goversion": runtime.Version()},
	})
	info.Set(1)
	registry.MustRegister(info, collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), nodeCollector{a})
}

// nodeCollector exports the counts of package cluster.
type nodeCollector struct{ admin *Admin }

// Describe describes nothing, because the metrics are known only in Collect.
func (nodeCollector) Describe(chan<- *prometheus.Desc) {}

// Collect sends the metrics of the node.
func (c nodeCollector) Collect(out chan<- prometheus.Metric) {
	for _, m := range c.admin.Node.Metrics() {
		out <- exported(m)
	}
	if c.admin.CertificatesEnd != nil {
		for port, end := range c.admin.CertificatesEnd() {
			out <- exported(cluster.Metric{
				Name: "seriatim_tls_cert_expiry_timestamp_seconds", Help: "End of the certificate of a port, by port.",
				Kind:   cluster.Gauge,
				Labels: []cluster.MetricLabel{{Name: "port", Value: port}}, Value: float64(end.Unix()),
			})
		}
	}
	out <- exported(cluster.Metric{
		Name: "seriatim_backup_last_success_timestamp_seconds",
		Help: "When the newest backup was read from this node to its end; 0: never.", Kind: cluster.Gauge,
		Value: float64(c.admin.backedUp.Load()),
	})
	c.spans(out)
	c.accounts(out)
	if c.admin.Connections == nil {
		return
	}
	now, operators := c.admin.Connections()
	for _, m := range []cluster.Metric{
		{Name: "seriatim_client_connections", Help: "Open connections of the client port.", Kind: cluster.Gauge, Value: float64(now.Open)},
		{Name: "seriatim_client_connections_max", Help: "Connections the client port accepts at once.", Kind: cluster.Gauge,
			Value: float64(now.Limit)},
		{Name: "seriatim_client_connections_held_total", Help: "Times a connection had to wait until another ended.",
			Kind: cluster.Counter, Value: float64(now.Held)},
		{Name: "seriatim_client_panics_total", Help: "Connections ended by a panic of the server; see the log.",
			Kind: cluster.Counter, Value: float64(now.Panics)},
		{Name: "seriatim_client_memory_bytes", Help: "Memory of requests being read and answers being written.", Kind: cluster.Gauge,
			Value: float64(now.Memory.Used)},
		{Name: "seriatim_client_memory_bytes_max", Help: "Limit of the memory of requests being read and answers being written.",
			Kind: cluster.Gauge, Value: float64(now.Memory.Limit)},
		{Name: "seriatim_client_memory_refused_total", Help: "Requests and answers refused because of seriatim_client_memory_bytes_max.",
			Kind: cluster.Counter, Value: float64(now.Memory.Refused)},
	} {
		out <- exported(m)
	}
	for _, m := range append(refusedConnections("seriatim_client_connections_refused_total", "client", now),
		refusedConnections("seriatim_admin_connections_refused_total", "admin", operators)...) {
		out <- exported(m)
	}
	out <- exported(cluster.Metric{Name: "seriatim_admin_connections", Help: "Open connections of the admin port.", Kind: cluster.Gauge,
		Value: float64(operators.Open)})
	out <- exported(cluster.Metric{
		Name: "seriatim_admin_connections_max", Help: "Connections the admin port accepts at once.", Kind: cluster.Gauge,
		Value: float64(operators.Limit),
	})
}

// refusedConnections counts the refusals of a port by reason.
func refusedConnections(name, port string, of transport.Connections) (metrics []cluster.Metric) {
	for _, refused := range of.Refused {
		metrics = append(metrics, cluster.Metric{
			Name: name, Kind: cluster.Counter, Value: float64(refused.Count),
			Help: "Connections to the " + port + " port that were refused or ended, and requests over HTTP/2 that were refused, by " +
				"reason.",
			Labels: []cluster.MetricLabel{{Name: "reason", Value: refused.Why}},
		})
	}
	return metrics
}

// spans sends the counts of spans.
func (c nodeCollector) spans(out chan<- prometheus.Metric) {
	if c.admin.Spans == nil {
		return
	}
	spans := c.admin.Spans()
	for _, of := range []struct {
		outcome string
		n       uint64
	}{{"exported", spans.Exported}, {"failed", spans.Failed}, {"dropped", spans.Dropped}} {
		out <- exported(cluster.Metric{
			Name: "seriatim_trace_spans_total", Help: "Spans of requests by outcome: exported, failed (the collector did not take them) " +
				"or dropped (too many waited for it).",
			Kind: cluster.Counter, Labels: []cluster.MetricLabel{{Name: "outcome", Value: of.outcome}}, Value: float64(of.n),
		})
	}
}

func exported(m cluster.Metric) prometheus.Metric {
	names, values := make([]string, len(m.Labels)), make([]string, len(m.Labels))
	for i, l := range m.Labels {
		names[i], values[i] = l.Name, l.Value
	}
	desc := prometheus.NewDesc(m.Name, m.Help, names, nil)
	var metric prometheus.Metric
	var err error
	switch m.Kind {
	case cluster.Counter:
		metric, err = prometheus.NewConstMetric(desc, prometheus.CounterValue, m.Value, values...)
	case cluster.Gauge:
		metric, err = prometheus.NewConstMetric(desc, prometheus.GaugeValue, m.Value, values...)
	case cluster.Histogram:
		buckets := make(map[float64]uint64, len(m.Buckets))
		for _, b := range m.Buckets {
			buckets[b.UpperBound] = b.Count
		}
		metric, err = prometheus.NewConstHistogram(desc, m.Count, m.Sum, buckets, values...)
	default:
		metric, err = prometheus.NewConstMetric(desc, prometheus.UntypedValue, m.Value, values...)
	}
	if err != nil {
		return prometheus.NewInvalidMetric(desc, err)
	}
	return metric
}
