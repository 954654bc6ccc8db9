package ops

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/seriatimq/seriatim/cluster"
	"github.com/seriatimq/seriatim/cluster/clustertest"
	"github.com/seriatimq/seriatim/cluster/holders"
	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/transport/connections"
	"github.com/seriatimq/seriatim/transport/ops/document"
	"github.com/seriatimq/seriatim/transport/ops/records"
)

// remoteConn is a connection with the address of a client.
type remoteConn struct{ net.Conn }

func (remoteConn) RemoteAddr() net.Addr { return &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 1234} }

type testCaller holders.Holder

func (c testCaller) Caller() holders.Holder { return holders.Holder(c) }

// readJSON reads an answer of the admin port.
func readJSON[T any](t *testing.T, a *Admin, path string) (out T) {
	t.Helper()
	code, body := get(a, path)
	if code != 200 {
		t.Fatalf("%s: %d %s", path, code, body)
	}
	clustertest.Must(t, json.Unmarshal([]byte(body), &out))
	return out
}

// TestLiveAnswers asks a real node for its holders, connections and records.
func TestLiveAnswers(t *testing.T) {
	t.Parallel()
	n, _ := openNode(t, "n1")
	logs, audit, open := records.NewRing(1<<16, time.Now()), records.NewRing(1<<16, time.Now()), connections.New(time.Now)
	discard := slog.NewTextHandler(io.Discard, nil)
	a := New(Options{
		Node: n, Now: time.Now, Logger: slog.New(logs.Handler(discard)), Audit: slog.New(audit.Handler(discard)), Open: open,
		LogRecords: logs, AuditRecords: audit, LogLevel: new(slog.LevelVar),
	})
	holdMessages(t, n)
	for name, want := range map[string]document.Holding{"jobs": {}, "orders.fifo": {Group: "g"}} {
		h := readJSON[document.HolderList](t, a, "/v1/holders?queue="+name)
		if len(h.Holders) != 1 || h.Holders[0].Group != want.Group || h.Holders[0].Address != "192.0.2.1:1" ||
			h.Holders[0].UserAgent != "agent" || h.Holders[0].Protocol != "json" || h.Holders[0].MessageID == "" ||
			h.Holders[0].UntilMs <= h.Holders[0].SinceMs || len(h.Missing) > 0 {
			t.Errorf("holders of %s: %+v", name, h)
		}
	}
	near, far := net.Pipe()
	c := open.Opened("client", remoteConn{near})
	defer c.Closed()
	c.Note(connections.Doing{Queue: "jobs", UserAgent: "<script>"})
	list := readJSON[document.Connections](t, a, "/v1/connections?queue=jobs")
	if len(list.Connections) != 1 || list.Connections[0].UserAgent != "<script>" || list.Connections[0].Node != "n1" {
		t.Fatalf("connections: %+v", list)
	}
	closing, err := json.Marshal(document.CloseConnection{Node: "n1", ID: list.Connections[0].ID})
	clustertest.Must(t, err)
	request := httptest.NewRequestWithContext(t.Context(), "POST", "/v1/connections/close", bytes.NewReader(closing))
	request.Header.Set("Content-Type", "application/json")
	answer := httptest.NewRecorder()
	a.ServeHTTP(answer, request)
	if _, err := far.Read(make([]byte, 1)); answer.Code != 200 || err == nil {
		t.Errorf("closing: %d %s", answer.Code, answer.Body)
	}
	first := readJSON[document.Records](t, a, "/v1/audit")
	if len(first.Records) != 1 || first.Records[0].Message != "admin call" || first.Records[0].Node != "n1" {
		t.Errorf("audit: %+v", first)
	}
	if next := readJSON[document.Records](t, a, "/v1/audit?after="+first.After); len(next.Records) != 0 || next.After != first.After {
		t.Errorf("after the end: %+v", next)
	}
	a.Logger.Warn("look here", "secret", "none")
	if some := readJSON[document.Records](t, a, "/v1/logs?level=warn&find=none&since=1h"); len(some.Records) != 1 {
		t.Errorf("logs: %+v", some)
	}
	setLevels(t, a)
	for _, path := range []string{"/v1/logs?level=x", "/v1/logs?after=x", "/v1/audit?limit=0", "/v1/audit?since=x", "/v1/history?since=x",
		"/v1/holders"} {
		if code, body := get(a, path); code != 400 || !strings.Contains(body, "must") && !strings.Contains(body, "missing") {
			t.Errorf("%s: %d %s", path, code, body)
		}
	}
}

// setLevels changes the log level of one node, of all, and of a missing one.
func setLevels(t *testing.T, a *Admin) {
	t.Helper()
	set := func(body string, want int) {
		t.Helper()
		r := httptest.NewRequestWithContext(t.Context(), "POST", "/v1/logs/level", strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		if a.ServeHTTP(w, r); w.Code != want {
			t.Errorf("%s: %d %s, want %d", body, w.Code, w.Body, want)
		}
	}
	set(`{"level":"debug"}`, 200)
	set(`{"level":"error","node":"n9"}`, 404)
	set(`{"level":"INFO+4"}`, 400)
	set(`{"level":""}`, 400)
	set(`{"level":"warn","nodes":"n1"}`, 400)
	if found := readJSON[document.LogLevels](t, a, "/v1/logs/level"); len(found.Nodes) != 1 || found.Nodes[0].Level != "debug" {
		t.Errorf("levels: %+v", found)
	}
	set(`{"level":"warn","node":"n1"}`, 200)
	if a.LogLevel.Level() != slog.LevelWarn {
		t.Errorf("the level is %s", a.LogLevel)
	}
}

// holdMessages receives a message of a standard and of a FIFO queue.
func holdMessages(t *testing.T, n *cluster.Node) {
	t.Helper()
	by := holders.NewHolder("192.0.2.1:1", "", "json", "agent")
	ctx := context.WithValue(t.Context(), holders.CallerKey{}, testCaller(by))
	for name, entry := range map[string]queue.SendEntry{
		"jobs": {Body: "x"},
		"orders.fifo": {
			Body: "x", GroupID: "g", GroupIDGiven: true, DeduplicationID: "d", DeduplicationIDGiven: true,
		},
	} {
		create := &queue.CreateQueue{Queue: name}
		if entry.GroupIDGiven {
			create.Attributes = []queue.Attribute{{Name: "FifoQueue", Value: "true"}}
		}
		clustertest.Must(t, clustertest.Err(n.Submit(ctx, create)))
		clustertest.Must(t, clustertest.Err(n.Submit(ctx, &queue.SendMessages{Queue: name, Entries: []queue.SendEntry{entry}})))
		clustertest.Must(t, clustertest.Err(n.Receive(ctx, &queue.ReceiveMessages{Queue: name, VisibilityTimeout: queue.Some(600)}, 0)))
	}
}
