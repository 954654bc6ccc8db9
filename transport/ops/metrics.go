package ops

import (
	"runtime"
	"slices"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/seriatimq/seriatim/cluster"
	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/transport"
)

// Requests counts the requests of the client port by action, error code and
// protocol. Safe for concurrent use.
type Requests struct {
	total   *prometheus.CounterVec
	seconds *prometheus.HistogramVec
	// seen are the series that exist: finding them by their labels again for
	// each request costs more than counting.
	seen sync.Map // requestLabels to requestSeries
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
			// From well under a group commit on a fast disk to a full long poll.
			Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 20, 30},
		}, []string{"action"}),
	}
	registry.MustRegister(r.total, r.seconds)
	return r
}

// Observe counts one finished request. Labels come from fixed tables, never
// from what a client sent: an unknown action has an empty label.
func (r *Requests) Observe(request *transport.Request) {
	code := request.Code
	if code == "" {
		code = "OK"
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
}

func registerNode(registry *prometheus.Registry, a *Admin) {
	info := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "seriatim_build_info", Help: "Always 1; the labels tell the version.",
		ConstLabels: prometheus.Labels{"version": a.Version, "goversion": runtime.Version()},
	})
	info.Set(1)
	registry.MustRegister(info, collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), nodeCollector{a}, newQueueCollector(a))
}

// nodeCollector exports what package cluster counts.
type nodeCollector struct{ admin *Admin }

// Describe describes nothing: the numbers are known only when asked for.
func (nodeCollector) Describe(chan<- *prometheus.Desc) {}

// Collect hands out the numbers of the node.
func (c nodeCollector) Collect(out chan<- prometheus.Metric) {
	for _, m := range c.admin.Node.Metrics() {
		out <- exported(m)
	}
	if c.admin.CertificatesEnd != nil {
		for port, end := range c.admin.CertificatesEnd() {
			out <- exported(cluster.Metric{
				Name: "seriatim_tls_cert_expiry_timestamp_seconds", Help: "When the certificate that a port shows ends, by port.", Kind: cluster.Gauge,
				Labels: []cluster.MetricLabel{{Name: "port", Value: port}}, Value: float64(end.Unix()),
			})
		}
	}
	if c.admin.Connections == nil {
		return
	}
	now := c.admin.Connections()
	for _, m := range []cluster.Metric{
		{Name: "seriatim_client_connections", Help: "Open connections of the client port.", Kind: cluster.Gauge, Value: float64(now.Open)},
		{Name: "seriatim_client_connections_max", Help: "Connections the client port accepts at once.", Kind: cluster.Gauge, Value: float64(now.Limit)},
		{Name: "seriatim_client_connections_held_total", Help: "Times a connection had to wait until another ended.", Kind: cluster.Counter, Value: float64(now.Held)},
		{Name: "seriatim_client_panics_total", Help: "Connections that a mistake of the server ended; see the log.", Kind: cluster.Counter, Value: float64(now.Panics)},
		{Name: "seriatim_client_memory_bytes", Help: "Memory of requests being read and answers being written.", Kind: cluster.Gauge, Value: float64(now.Memory.Used)},
		{Name: "seriatim_client_memory_bytes_max", Help: "What that memory may be.", Kind: cluster.Gauge, Value: float64(now.Memory.Limit)},
		{Name: "seriatim_client_memory_refused_total", Help: "Requests and answers that found no room in that memory.", Kind: cluster.Counter, Value: float64(now.Memory.Refused)},
	} {
		out <- exported(m)
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

// queueCollector exports the numbers of queues, read from the local state at
// the time of the scrape.
type queueCollector struct {
	admin                                              *Admin
	messages, oldest, groups, deduplication, truncated *prometheus.Desc
}

func newQueueCollector(a *Admin) *queueCollector {
	perQueue := []string{"queue"}
	return &queueCollector{
		admin: a,
		messages: prometheus.NewDesc("seriatim_queue_messages",
			"Messages by state: visible (also those behind a blocked head of their group), in_flight, delayed.", []string{"queue", "state"}, nil),
		oldest: prometheus.NewDesc("seriatim_queue_oldest_message_age_seconds",
			"Age of the oldest message, 0 if there is none.", perQueue, nil),
		groups: prometheus.NewDesc("seriatim_queue_groups", "Message groups with messages.", perQueue, nil),
		deduplication: prometheus.NewDesc("seriatim_dedup_entries",
			"Deduplication ids remembered.", perQueue, nil),
		truncated: prometheus.NewDesc("seriatim_queue_series_truncated",
			"1 if there are more queues than may have series of their own.", nil, nil),
	}
}

// Describe names all series.
func (c *queueCollector) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{c.messages, c.oldest, c.groups, c.deduplication, c.truncated} {
		out <- d
	}
}

// statsPerRead bounds the queues looked at in one read: commands wait for it.
const statsPerRead = 100

// Collect reads the numbers of the first queues by name.
func (c *queueCollector) Collect(out chan<- prometheus.Metric) {
	limit := c.admin.QueueSeries
	if limit <= 0 {
		return
	}
	var names []string
	c.admin.Node.ReadLocal(func(v queue.View) { names = v.ListQueues("", "", limit+1) })
	truncated := 0.0
	if len(names) > limit {
		names, truncated = names[:limit], 1
	}
	out <- prometheus.MustNewConstMetric(c.truncated, prometheus.GaugeValue, truncated)
	stats := make([]queue.QueueStats, 0, statsPerRead)
	for chunk := range slices.Chunk(names, statsPerRead) {
		found := chunk[:0:0]
		stats = stats[:0]
		c.admin.Node.ReadLocal(func(v queue.View) {
			for _, name := range chunk {
				// A queue deleted since the listing has no series.
				if st, refusal := v.Stats(name); refusal == nil {
					found, stats = append(found, name), append(stats, st)
				}
			}
		})
		for i, name := range found {
			c.export(out, name, stats[i])
		}
	}
}

func (c *queueCollector) export(out chan<- prometheus.Metric, name string, st queue.QueueStats) {
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	gauge(c.messages, float64(st.Visible), name, "visible")
	gauge(c.messages, float64(st.NotVisible), name, "in_flight")
	gauge(c.messages, float64(st.Delayed), name, "delayed")
	gauge(c.groups, float64(st.Groups), name)
	gauge(c.deduplication, float64(st.DeduplicationEntries), name)
	age := 0.0
	if st.OldestSentAt != 0 {
		age = max(0, float64(c.admin.Now().UnixMilli()-int64(st.OldestSentAt))/1000)
	}
	gauge(c.oldest, age, name)
}
