package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// benchOutput is the part of a report that the tests read.
type benchOutput struct {
	Workload string
	Messages int64
	Errors   map[string]int64
	Latency  map[string]struct{ Count uint64 }
	Checks   []struct {
		Name      string
		Count     int64
		Violation bool
	}
	Server struct {
		Nodes int
		Local bool
	}
}

func (b benchOutput) check(t *testing.T, name string) int64 {
	t.Helper()
	for _, c := range b.Checks {
		if strings.HasPrefix(c.Name, name) {
			return c.Count
		}
	}
	t.Fatalf("no check %q in %+v", name, b.Checks)
	return 0
}

// TestBench runs each workload against a node. The runs end after a number of messages, so the
// counts are exact.
func TestBench(t *testing.T) {
	url := devNode(t)
	cases := []struct {
		name     string
		args     string
		messages int64
		latency  []string
		checks   map[string]int64
	}{
		{"send one at a time", "send -c 4 -n 40", 40, []string{"send"}, nil},
		{"send batches", "send -c 2 -b 10 -n 100 -g 7", 100, []string{"send"}, nil},
		{
			"lives", "fifo -c 4 -n 40", 40,
			[]string{"delete", "life", "receive", "send"},
			map[string]int64{"messages sent": 40, "lost": 0, "out of order": 0},
		},
		{
			"lives in batches and many groups", "fifo -c 3 -b 10 -g 30 -n 120", 120,
			[]string{"delete", "life", "receive", "send"},
			map[string]int64{"messages sent": 120, "lost": 0, "out of order": 0},
		},
		{"send calls of gRPC", "send -c 2 -b 10 -n 100 --protocol grpc", 100, []string{"send"}, nil},
		{"send calls of gRPC on shared connections", "send -c 7 -n 500 --protocol grpc --connections 2", 500, []string{"send"}, nil},
		{
			"lives with calls of gRPC", "fifo -c 3 -b 10 -g 30 -n 120 --protocol grpc", 120,
			[]string{"delete", "life", "receive", "send"},
			map[string]int64{"messages sent": 120, "lost": 0, "out of order": 0},
		},
		{
			"lives on a shared connection", "fifo -c 10 -n 400 --protocol grpc --connections 1", 400,
			[]string{"delete", "life", "receive", "send"},
			map[string]int64{"messages sent": 400, "lost": 0, "out of order": 0, "received after": 0},
		},
		{"send over streams", "send -c 2 -n 200 --protocol stream", 200, []string{"send"}, nil},
		{
			"what a queue was filled with", "consume -c 3 -b 10 -g 7 -n 501", 501,
			[]string{"delete", "life", "receive"},
			map[string]int64{"messages sent": 501, "lost": 0, "out of order": 0, "received after": 0},
		},
		{
			"the same with calls of gRPC", "consume -c 3 -b 10 -g 7 -n 501 --protocol grpc", 501,
			[]string{"delete", "life", "receive"},
			map[string]int64{"messages sent": 501, "lost": 0, "out of order": 0, "received after": 0},
		},
		{
			"the same over streams", "consume -c 3 -g 7 -n 2501 --protocol stream", 2501,
			[]string{},
			map[string]int64{"messages sent": 2501, "lost": 0, "out of order": 0, "received after": 0, "redelivered": 0},
		},
		{
			"repeats only", "send -c 1 -n 50 --repeat 100", 50,
			[]string{"send"},
			map[string]int64{"ids sent": 1, "ids repeated": 49, "repeats answered": 0},
		},
		{
			"repeats in batches", "send -c 3 -b 10 -n 300 --repeat 50", 300,
			[]string{"send"},
			map[string]int64{"repeats answered": 0, "messages in the queue": 0},
		},
		{
			"waiting consumers", "poll -c 20 -n 5 --idle 0s", 5,
			[]string{"receive"},
			map[string]int64{"messages sent": 5, "lost": 0},
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			args := append([]string{"bench"}, strings.Fields(c.args)...)
			var got benchOutput
			out := must(t, append(args, "--warmup", "0s", "--endpoint", url, "-o", "json")...)
			if err := json.Unmarshal([]byte(out), &got); err != nil {
				t.Fatal(err)
			}
			if got.Messages != c.messages || len(got.Errors) > 0 {
				t.Errorf("%d messages, want %d, errors %v", got.Messages, c.messages, got.Errors)
			}
			if len(got.Latency) != len(c.latency) {
				t.Errorf("latencies %v, want %v", got.Latency, c.latency)
			}
			for _, name := range c.latency {
				if got.Latency[name].Count == 0 {
					t.Errorf("no latency of %s", name)
				}
			}
			for name, want := range c.checks {
				if n := got.check(t, name); n != want {
					t.Errorf("%s: %d, want %d", name, n, want)
				}
			}
			if got.Server.Nodes != 1 || !got.Server.Local {
				t.Errorf("measured on %+v", got.Server)
			}
		})
	}
	if left := must(t, "queue", "list", "--endpoint", url, "-o", "json"); strings.Contains(left, "bench-") {
		t.Errorf("queues left behind: %s", left)
	}
}

// TestBenchKeepsToItsQueue: a run deletes its own queue, and leaves existing ones alone.
func TestBenchKeepsToItsQueue(t *testing.T) {
	url := devNode(t)
	must(t, "bench", "send", "-c", "1", "-n", "30", "-b", "10", "--warmup", "0s", "--queue", "parked.fifo", "--keep", "--endpoint", url)
	var shown map[string]any
	if err := json.Unmarshal([]byte(must(t, "queue", "show", "parked.fifo", "--endpoint", url, "-o", "json")), &shown); err != nil {
		t.Fatal(err)
	}
	if text := fmt.Sprint(shown); !strings.Contains(text, "ApproximateNumberOfMessages:30") {
		t.Errorf("kept queue: %s", text)
	}
	out, code := tool(t, "bench", "send", "-n", "10", "--queue", "parked.fifo", "--endpoint", url)
	if code != 7 || !strings.Contains(out, "parked.fifo exists") {
		t.Errorf("a queue that exists: exit code %d, %s", code, out)
	}
	out = must(t, "bench", "fifo", "-n", "10", "-c", "1", "--warmup", "0s", "--endpoint", url)
	if !strings.Contains(out, "out of order: 0") || !strings.Contains(out, "synced to the disk of the only node") {
		t.Errorf("table: %s", out)
	}
}
