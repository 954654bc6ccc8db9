package cluster

import (
	"testing"
	"time"

	"github.com/seriatimq/seriatim/cluster/clustertest"
	"github.com/seriatimq/seriatim/queue"
)

func TestRetrySafety(t *testing.T) {
	n := &Node{}
	cases := []struct {
		name string
		cmd  queue.Command
		want bool
	}{
		{"a receive with an attempt id", &queue.ReceiveMessages{Queue: fifo, AttemptID: "a", AttemptIDGiven: true}, true},
		{"a receive without", &queue.ReceiveMessages{Queue: fifo}, false},
		{"a receive on a standard queue", &queue.ReceiveMessages{Queue: standard, AttemptID: "a", AttemptIDGiven: true}, false},
		{"a receive in a session with an attempt id",
			&queue.ReceiveMessages{Queue: fifo, AttemptID: "a", AttemptIDGiven: true,
				Options: &queue.ReceiveOptions{Session: queue.SessionRef{SessionID: "s"}}}, true},
		{"an acceptance with an attempt id", &queue.AcceptSession{Queue: fifo, AttemptID: "a", AttemptIDGiven: true}, true},
		{"an acceptance without", &queue.AcceptSession{Queue: fifo}, false},
		{"a delete", &queue.DeleteMessages{Queue: fifo}, true},
		{"a visibility change", &queue.ChangeMessageVisibility{Queue: fifo}, true},
		{"a queue deletion", &queue.DeleteQueue{Queue: fifo}, false},
		{"a purge", &queue.PurgeQueue{Queue: fifo}, false},
		{"a move task", &queue.StartMoveTask{Source: standard}, false},
	}
	for _, test := range cases {
		t.Run(test.name, func(t *testing.T) {
			if got := n.retrySafe(t.Context(), &request{cmd: test.cmd}); got != test.want {
				t.Fatalf("got %v", got)
			}
		})
	}
}

func TestResendSafety(t *testing.T) {
	t.Parallel()
	c := startNodes(t, 1, func(cfg *Config) { cfg.Settings.MinimumWindowSeconds = 1 })
	n := c.nodes[0]
	c.create(0, fifo)
	c.create(0, standard)
	c.create(0, "content.fifo", queue.Attribute{Name: "ContentBasedDeduplication", Value: "true"})
	c.create(0, "off.fifo", queue.Attribute{Name: "DeduplicationEnabled", Value: "false"})
	entry := func(id string) queue.SendEntry {
		return queue.SendEntry{Body: "m", GroupID: "g", GroupIDGiven: true, DeduplicationID: id, DeduplicationIDGiven: id != ""}
	}
	cases := []struct {
		name    string
		queue   string
		entries []queue.SendEntry
		ago     time.Duration
		want    bool
	}{
		{"explicit ids", fifo, []queue.SendEntry{entry("a"), entry("b")}, 0, true},
		{"one without an id", fifo, []queue.SendEntry{entry("a"), entry("")}, 0, false},
		{"content-based", "content.fifo", []queue.SendEntry{entry("a"), entry("")}, 0, true},
		{"deduplication turned off", "off.fifo", []queue.SendEntry{entry("a")}, 0, false},
		{"a standard queue", standard, []queue.SendEntry{entry("a")}, 0, false},
		{"an unknown queue", "unknown.fifo", []queue.SendEntry{entry("a")}, 0, false},
		{"the window could be over", fifo, []queue.SendEntry{entry("a")}, time.Hour, false},
	}
	for _, test := range cases {
		t.Run(test.name, func(t *testing.T) {
			r := &request{cmd: &queue.SendMessages{Queue: test.queue, Entries: test.entries}, started: n.cfg.Clock.Monotonic() - test.ago}
			if got := n.retrySafe(clustertest.Context(t), r); got != test.want {
				t.Fatalf("got %v", got)
			}
		})
	}
}

func TestRepublishSafety(t *testing.T) {
	t.Parallel()
	c := startNodes(t, 1, nil)
	n := c.nodes[0]
	c.createTopic(0, "t.fifo")
	c.createTopic(0, "t")
	c.createTopic(0, "content.fifo", queue.Attribute{Name: "ContentBasedDeduplication", Value: "true"})
	entry := func(id string) queue.PublishEntry {
		return queue.PublishEntry{Message: "m", GroupID: "g", GroupIDGiven: true, DeduplicationID: id, DeduplicationIDGiven: id != ""}
	}
	cases := []struct {
		name    string
		topic   string
		entries []queue.PublishEntry
		ago     time.Duration
		want    bool
	}{
		{"explicit ids", "t.fifo", []queue.PublishEntry{entry("a"), entry("b")}, 0, true},
		{"one without an id", "t.fifo", []queue.PublishEntry{entry("a"), entry("")}, 0, false},
		{"content-based", "content.fifo", []queue.PublishEntry{entry("a"), entry("")}, 0, true},
		{"a standard topic", "t", []queue.PublishEntry{{Message: "m"}}, 0, false},
		{"an unknown topic", "unknown.fifo", []queue.PublishEntry{entry("a")}, 0, false},
		{"the window could be over", "t.fifo", []queue.PublishEntry{entry("a")}, time.Hour, false},
	}
	for _, test := range cases {
		t.Run(test.name, func(t *testing.T) {
			r := &request{cmd: &queue.Publish{Topic: test.topic, Entries: test.entries}, started: n.cfg.Clock.Monotonic() - test.ago}
			if got := n.retrySafe(clustertest.Context(t), r); got != test.want {
				t.Fatalf("got %v", got)
			}
		})
	}
}
