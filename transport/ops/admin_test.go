package ops

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seriatimq/seriatim/cluster"
	"github.com/seriatimq/seriatim/cluster/clustertest"
	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/transport/ops/document"
	"github.com/seriatimq/seriatim/transport/service"
)

var _ Node = (*cluster.Node)(nil)

// node answers from a real Broker.
type node struct {
	mu     sync.Mutex
	broker *queue.Broker
	ready  error
	fail   error
}

const start = queue.Timestamp(1_700_000_000_000)

func newNode(t *testing.T, commands ...queue.Command) *node {
	t.Helper()
	n := &node{broker: queue.New()}
	commands = append([]queue.Command{&queue.SetClusterSetting{Name: queue.SettingReceiptKey, Value: strings.Repeat("0a", 16)}},
		commands...)
	for _, c := range commands {
		clustertest.Must(t, clustertest.Err(n.broker.Apply(start, c)))
	}
	return n
}

func (n *node) Status() cluster.Status {
	return cluster.Status{NodeID: "n1-0000", NodeName: "n1", Role: "leader", CommitIndex: 7, AppliedIndex: 7, LogTimeMs: int64(start)}
}
func (n *node) Ready() error { return n.ready }
func (n *node) Metrics() []cluster.Metric {
	return []cluster.Metric{
		{Name: "seriatim_raft_term", Help: "Term.", Kind: cluster.Gauge, Value: 3},
		{Name: "seriatim_pressure", Help: "Pressure.", Kind: cluster.Gauge, Value: 1,
			Labels: []cluster.MetricLabel{{Name: "reason", Value: "disk"}}},
		{Name: "seriatim_batch_commands", Help: "Batches.", Kind: cluster.Histogram, Sum: 5, Count: 2,
			Buckets: []cluster.MetricBucket{{UpperBound: 1, Count: 1}, {UpperBound: 4, Count: 2}}},
	}
}

func (n *node) ReadLocal(read func(queue.View)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	read(n.broker.View())
}

func (n *node) Read(_ context.Context, read func(queue.View) error) (cluster.Position, error) {
	if n.fail != nil {
		return cluster.Position{}, n.fail
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	return cluster.Position{Index: 7}, read(n.broker.View())
}

func newAdmin(n *node) *Admin {
	return New(Options{
		Node: n, Version: "1.2.3", QueueSeries: 2, Profiles: true,
		Now:    func() time.Time { return time.UnixMilli(int64(start) + 1500) },
		Logger: slog.New(slog.DiscardHandler),
	})
}

func get(a *Admin, path string) (int, string) {
	w := httptest.NewRecorder()
	a.ServeHTTP(w, httptest.NewRequest("GET", path, nil))
	return w.Code, w.Body.String()
}

func TestHealth(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	a := newAdmin(n)
	check := func(path string, status int, part string) {
		t.Helper()
		if code, body := get(a, path); code != status || !strings.Contains(body, part) {
			t.Errorf("%s: got %d %q", path, code, body)
		}
	}
	for _, path := range []string{"/healthz/live", "/livez", "/startupz", "/healthz/ready", "/readyz"} {
		check(path, 200, "ok")
	}
	n.ready = errors.New("no leader is known")
	check("/healthz/ready", 503, "no leader is known")
	check("/healthz/live", 200, "ok")
	n.ready = nil
	a.Stop()
	check("/readyz", 503, "stopping")
	check("/livez", 200, "ok")
	check("/startupz", 200, "ok")
	check("/debug/pprof/cmdline", 200, "")
	check("/none", 404, "")
}

func TestStatus(t *testing.T) {
	t.Parallel()
	_, body := get(newAdmin(newNode(t)), "/v1/status")
	var got map[string]any
	clustertest.Must(t, json.Unmarshal([]byte(body), &got))
	for _, name := range []string{
		"nodeId", "nodeName", "clusterId", "role", "term", "leaderId", "leaderName", "commitIndex", "appliedIndex",
		"lastSnapshotIndex", "logTimeMs", "stateHash", "version", "peers",
	} {
		if _, ok := got[name]; !ok {
			t.Errorf("%s is missing in %s", name, body)
		}
	}
	if got["version"] != "1.2.3" || got["peers"] == nil {
		t.Errorf("got %s", body)
	}
}

func filled(t *testing.T) *node {
	t.Helper()
	entry := func(body, id string) queue.SendEntry {
		return queue.SendEntry{
			Body: body, GroupID: "g" + id, GroupIDGiven: true, DeduplicationID: id, DeduplicationIDGiven: true,
			Attributes: []queue.MessageAttribute{{Name: "a", DataType: "Binary", Value: "\xff"}},
		}
	}
	return newNode(t,
		&queue.CreateQueue{Queue: "a.fifo", Attributes: []queue.Attribute{{Name: "FifoQueue", Value: "true"}}},
		&queue.CreateQueue{Queue: "b"}, &queue.CreateQueue{Queue: "c"},
		&queue.SetQueueAttributes{Queue: "c", Attributes: []queue.Attribute{{
			Name: "RedrivePolicy", Value: `{"deadLetterTargetArn":"arn:aws:sqs:us-east-1:000000000000:b","maxReceiveCount":3}`,
		}}},
		&queue.SendMessages{Queue: "a.fifo", SenderID: "s", Batch: true, Entries: []queue.SendEntry{entry("one", "1"), entry("two", "2")}},
		&queue.ReceiveMessages{Queue: "a.fifo"},
	)
}

func TestMetrics(t *testing.T) {
	t.Parallel()
	a := newAdmin(filled(t))
	a.Requests().Observe(&service.Request{Action: "SendMessage", Protocol: "json", Duration: time.Millisecond})
	a.Requests().Observe(&service.Request{Action: "SendMessage", Protocol: "query", Code: "InvalidParameterValue"})
	code, body := get(a, "/metrics")
	if code != 200 {
		t.Fatalf("%d %s", code, body)
	}
	for _, line := range []string{
		`seriatim_api_requests_total{action="SendMessage",code="OK",protocol="json"} 1`,
		`seriatim_api_requests_total{action="SendMessage",code="InvalidParameterValue",protocol="query"} 1`,
		`seriatim_api_request_seconds_count{action="SendMessage"} 2`,
		`seriatim_queue_messages{queue="a.fifo",state="visible"} 1`,
		`seriatim_queue_messages{queue="a.fifo",state="in_flight"} 1`,
		`seriatim_queue_messages{queue="b",state="visible"} 0`,
		`seriatim_queue_oldest_message_age_seconds{queue="a.fifo"} 1.5`,
		`seriatim_queue_is_dead_letter_queue{queue="a.fifo"} 0`,
		`seriatim_queue_is_dead_letter_queue{queue="b"} 1`,
		`seriatim_queue_groups{queue="a.fifo",state="ready"} 1`,
		`seriatim_queue_groups{queue="a.fifo",state="blocked"} 1`,
		`seriatim_dedup_entries{queue="a.fifo"} 2`,
		`seriatim_queue_series_truncated 1`,
		`seriatim_raft_term 3`,
		`seriatim_pressure{reason="disk"} 1`,
		`seriatim_messages_sent_total{queue="a.fifo"} 2`,
		`seriatim_messages_sent_total{queue=""} 40`,
		`seriatim_messages_expired_total{queue=""} 5`,
		`seriatim_dedup_hits_total{queue="a.fifo"} 3`,
		`seriatim_queue_messages{queue="",state="visible"} 0`,
		`seriatim_inflight_limit_ratio{queue="a.fifo"} 8.333333333333334e-06`,
		`seriatim_batch_commands_bucket{le="4"} 2`,
		`version="1.2.3"`,
	} {
		if !strings.Contains(body, line) {
			t.Errorf("no line %s", line)
		}
	}
	if strings.Contains(body, `queue="c"`) {
		t.Error("more queues than the cap have series")
	}
}

func TestQueues(t *testing.T) {
	t.Parallel()
	n := filled(t)
	a := newAdmin(n)
	read := func(query string) (out document.Queues) {
		t.Helper()
		code, body := get(a, "/v1/queues"+query)
		if code != 200 {
			t.Fatalf("%d %s", code, body)
		}
		clustertest.Must(t, json.Unmarshal([]byte(body), &out))
		return out
	}
	all := read("")
	if len(all.Queues) != 3 || all.Next != "" || all.Queues[0] != (document.QueueCounts{
		Name: "a.fifo", Visible: 1, InFlight: 1, OldestSentAtMs: int64(start), Groups: 2, BlockedGroups: 1, DeduplicationIDs: 2,
	}) || all.Queues[2].DeadLetterQueue != "b" {
		t.Errorf("got %+v", all)
	}
	if page := read("?limit=1&after=a.fifo"); len(page.Queues) != 1 || page.Queues[0].Name != "b" || page.Next != "b" {
		t.Errorf("got %+v", page)
	}
	if some := read("?prefix=c"); len(some.Queues) != 1 || some.Queues[0].Name != "c" {
		t.Errorf("got %+v", some)
	}
	if none := read("?prefix=z"); none.Queues == nil || len(none.Queues) != 0 {
		t.Errorf("got %+v", none)
	}
	for _, bad := range []string{"0", "1001", "x"} {
		if code, body := get(a, "/v1/queues?limit="+bad); code != 400 {
			t.Errorf("limit %s: %d %s", bad, code, body)
		}
	}
	n.fail = cluster.ErrUnavailable
	if code, _ := get(a, "/v1/queues"); code != 503 {
		t.Errorf("got %d", code)
	}
}

func TestPeek(t *testing.T) {
	t.Parallel()
	n := filled(t)
	a := newAdmin(n)
	read := func(path string) (out struct {
		Messages []struct {
			MessageID, SequenceNumber, GroupID, State, Body string
			SentAtMs, ReceiveCount                          int64
			Attributes                                      []struct{ Value []byte }
		}
		Truncated bool
	},
	) {
		t.Helper()
		code, body := get(a, path)
		if code != 200 {
			t.Fatalf("%d %s", code, body)
		}
		clustertest.Must(t, json.Unmarshal([]byte(body), &out))
		return out
	}
	all := read("/v1/queues/a.fifo/messages")
	if len(all.Messages) != 2 || all.Messages[0].State != "in flight" || all.Messages[1].State != "visible" ||
		all.Messages[0].Body != "one" || all.Messages[0].ReceiveCount != 1 || all.Messages[0].SentAtMs != int64(start) ||
		string(all.Messages[0].Attributes[0].Value) != "\xff" {
		t.Errorf("got %+v", all)
	}
	second := read("/v1/queues/a.fifo/messages?limit=1&from=" + all.Messages[1].SequenceNumber)
	if len(second.Messages) != 1 || second.Messages[0].Body != "two" {
		t.Errorf("got %+v", second)
	}
	if group := read("/v1/queues/a.fifo/messages?group=g2"); len(group.Messages) != 1 || group.Messages[0].GroupID != "g2" {
		t.Errorf("got %+v", group)
	}
	if empty := read("/v1/queues/b/messages"); empty.Messages == nil || len(empty.Messages) != 0 {
		t.Errorf("got %+v", empty)
	}
	a.PeekBytesMax = 4
	if cut := read("/v1/queues/a.fifo/messages"); len(cut.Messages) != 1 || !cut.Truncated {
		t.Errorf("got %+v", cut)
	}
	for path, status := range map[string]int{
		"/v1/queues/none/messages": 404, "/v1/queues/b/messages?limit=0": 400, "/v1/queues/b/messages?limit=x": 400,
		"/v1/queues/b/messages?from=9223372036854775808": 400,
		"/v1/queues/b/messages?group=g":                  400, // a standard queue
	} {
		if code, body := get(a, path); code != status || !strings.Contains(body, `"error"`) {
			t.Errorf("%s: got %d %s", path, code, body)
		}
	}
	n.fail = cluster.ErrUnavailable
	if code, _ := get(a, "/v1/queues/b/messages"); code != 503 {
		t.Errorf("got %d", code)
	}
}
