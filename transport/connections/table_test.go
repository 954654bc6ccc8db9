package connections

import (
	"context"
	"net"
	"strings"
	"testing"
	"time"
)

// pipe is one end of a connection with an address of its own.
type pipe struct {
	net.Conn
	address string
}

func (p pipe) RemoteAddr() net.Addr { return addr(p.address) }

type addr string

func (addr) Network() string  { return "tcp" }
func (a addr) String() string { return string(a) }

func opened(tb testing.TB, t *Table, port, address string) (conn net.Conn, c *Connection) {
	tb.Helper()
	near, far := net.Pipe()
	tb.Cleanup(func() { _ = near.Close(); _ = far.Close() }) // some are closed by the test
	return far, t.Opened(port, pipe{near, address})
}

// wrapped is a connection as a listener returns it.
type wrapped struct {
	net.Conn
	tracked *Connection
}

func (w wrapped) Connection() *Connection { return w.tracked }

func all(*State) bool { return true }

func TestConnectionsShowTheirLastRequest(t *testing.T) {
	t.Parallel()
	now := time.UnixMilli(1000)
	table := New(func() time.Time { return now })
	far, c := opened(t, table, "client", "10.0.0.1:1")
	_, _ = opened(t, table, "admin", "10.0.0.1:1") // the same address at another port
	now = now.Add(time.Second)
	c.Begin(now)
	c.Note(Doing{Protocol: "json", Action: "ReceiveMessage", Queue: "q", AccessKey: "k", UserAgent: strings.Repeat("u", 1000)})
	list, untracked := table.List(10, func(s *State) bool { return s.Port == "client" })
	if len(list) != 1 || untracked != 0 || list[0].Waiting != 1 || list[0].Requests != 1 || list[0].Action != "ReceiveMessage" ||
		list[0].SinceMs != 1000 || list[0].LastRequestMs != 2000 || len(list[0].UserAgent) != textMax {
		t.Fatalf("%+v", list)
	}
	c.End()
	if list, _ = table.List(1, all); len(list) != 1 || list[0].Port != "client" || list[0].Waiting != 0 {
		t.Errorf("%+v", list)
	}
	if table.Close("nonsense") || !table.Close(list[0].ID) {
		t.Error("closing does not find the connection by its id")
	}
	if _, err := far.Read(make([]byte, 1)); err == nil {
		t.Error("the connection is still open")
	}
	c.Closed()
	if list, _ = table.List(2, all); len(list) != 1 || list[0].Port != "admin" {
		t.Errorf("a closed connection is still in the table: %+v", list)
	}
	From(context.Background()).Begin(now) // without effect
}

func TestConnectionsBeyondTheLimitAreCounted(t *testing.T) {
	t.Parallel()
	table := New(time.Now)
	for range openMax {
		table.Opened("admin", pipe{address: "10.0.0.1:1"})
	}
	_, c := opened(t, table, "client", "10.0.0.1:1")
	ofClient := func(s *State) bool { return s.Port == "client" }
	if list, untracked := table.List(10, ofClient); len(list) != 0 || untracked != 1 {
		t.Errorf("%v, %d untracked", list, untracked)
	}
	c.Begin(time.Now())
	c.Closed()
	if _, untracked := table.List(10, ofClient); untracked != 0 {
		t.Errorf("%d untracked", untracked)
	}
}

// BenchmarkRequest measures the cost of the table for one request.
func BenchmarkRequest(b *testing.B) {
	table := New(time.Now)
	_, conn := opened(b, table, "client", "10.0.0.1:1")
	defer conn.Closed()
	ctx := With(context.Background(), wrapped{tracked: conn})
	now := time.Now()
	doings := [2]Doing{
		{Protocol: "json", Action: "SendMessage", Queue: "orders.fifo", AccessKey: "AKIA", UserAgent: "Boto3/1.40"},
		{Protocol: "json", Action: "DeleteMessage", Queue: "orders.fifo", AccessKey: "AKIA", UserAgent: "Boto3/1.40"},
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		c := From(ctx)
		c.Begin(now)
		c.Note(doings[i%2])
		c.End()
	}
}
