package failover

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/seriatimq/seriatim/test/kit/harness"
)

// smallSnapshots makes nodes write and install snapshots after a few hundred messages.
var smallSnapshots = []string{"--snapshot-log-size", "128KiB", "--trailing-log-size", "32KiB", "--log-cache-size", "1MiB"}

// remembered is a queue with two accepted messages whose ids it must remember. One of them was
// received and deleted.
type remembered struct {
	queue      string
	kept, gone *sqs.SendMessageOutput
}

func remember(t *testing.T, p *persistent, name string) remembered {
	t.Helper()
	// The window is long enough for a slow machine.
	r := remembered{queue: p.create(t, name, map[string]string{"VisibilityTimeout": "43200", "DeduplicationWindowSeconds": "604800"})}
	r.gone = p.send(t, r.queue, "g", "gone", "gone")
	harness.Must(t, p.remove(t.Context(), r.queue, p.receive(t, r.queue, "first", 10)))
	r.kept = p.send(t, r.queue, "g", "kept", "kept")
	return r
}

// check sends both ids again at every running node. Both must be dropped and answered with the
// first message id and sequence number.
func (r remembered) check(t *testing.T, c *harness.Cluster) {
	t.Helper()
	agree(t, c)
	for _, n := range c.Running() {
		p := newPersistent(c, harness.Only(n))
		for id, first := range map[string]*sqs.SendMessageOutput{"kept": r.kept, "gone": r.gone} {
			again := p.send(t, r.queue, "another-group", id, "another body")
			if aws.ToString(again.MessageId) != aws.ToString(first.MessageId) ||
				aws.ToString(again.SequenceNumber) != aws.ToString(first.SequenceNumber) {
				t.Errorf("%s: %q is message %s number %s, was %s number %s", n.Name, id, aws.ToString(again.MessageId),
					aws.ToString(again.SequenceNumber), aws.ToString(first.MessageId), aws.ToString(first.SequenceNumber))
			}
		}
		if got, want := p.counts(t, r.queue), [3]string{"1", "0", "0"}; got != want {
			t.Errorf("%s: the queue counts %v, want %v", n.Name, got, want)
		}
	}
	agree(t, c)
}

// fillLog sends until every running node has a snapshot after the index.
func fillLog(t *testing.T, c *harness.Cluster, beyond uint64) {
	t.Helper()
	running := c.Part(c.Running()...)
	p := newPersistent(running, running.Rotate())
	queue := p.create(t, "bulk.fifo", nil)
	body := strings.Repeat("x", 8<<10)
	deadline := time.Now().Add(2 * time.Minute)
	for n := 0; ; n++ {
		p.send(t, queue, "g", fmt.Sprintf("%d-%d", time.Now().UnixNano(), n), body)
		if n%16 != 15 {
			continue
		}
		behind := 0
		for _, node := range c.Running() {
			if s, err := node.Status(t.Context()); err != nil || s.LastSnapshotIndex <= beyond {
				behind++
			}
		}
		if behind == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d nodes took no snapshot beyond index %d", behind, beyond)
		}
	}
}

// TestDeduplicationSurvives checks that ids stay known when nodes are killed, are stopped, restore
// their snapshot, or install one.
func TestDeduplicationSurvives(t *testing.T) {
	c := cluster(t, smallSnapshots...)
	p := newPersistent(c, c.Rotate())
	r := remember(t, p, "remembered.fifo")
	first := agree(t, c).AppliedIndex

	t.Run("leader killed", func(t *testing.T) {
		victim := leader(t, c)
		kill(t, victim)
		r.check(t, c.Part(c.Followers(victim)...))
		start(t, victim)
		r.check(t, c)
	})
	t.Run("all stopped and started", func(t *testing.T) {
		for _, n := range c.Nodes {
			harness.Must(t, n.Stop(30*time.Second))
		}
		start(t, c.Nodes...)
		r.check(t, c)
	})
	t.Run("all killed and started", func(t *testing.T) {
		kill(t, c.Nodes...)
		start(t, c.Nodes...)
		r.check(t, c)
	})
	t.Run("restored from a snapshot", func(t *testing.T) {
		fillLog(t, c, first)
		kill(t, c.Nodes...)
		start(t, c.Nodes...)
		for _, n := range c.Nodes {
			if s, err := n.Status(t.Context()); err != nil || s.LastSnapshotIndex <= first {
				t.Errorf("%s did not start from a snapshot: index %d, %v", n.Name, s.LastSnapshotIndex, err)
			}
		}
		r.check(t, c)
	})
	t.Run("snapshot installed by the leader", func(t *testing.T) {
		away := c.Followers(leader(t, c))[0]
		kill(t, away)
		status := agree(t, c)
		for range 2 { // entries that the leader had read for the node before its log was shortened may still be sent
			fillLog(t, c, agree(t, c).AppliedIndex+64)
		}
		start(t, away)
		agree(t, c)
		if s, err := away.Status(t.Context()); err != nil || s.LastSnapshotIndex <= status.AppliedIndex {
			t.Errorf("%s was not sent a snapshot: index %d, %v", away.Name, s.LastSnapshotIndex, err)
		}
		r.check(t, c)
		makeLeader(t, c, away)
		r.check(t, c)
	})
}

// makeLeader kills other leaders until the node leads.
func makeLeader(t *testing.T, c *harness.Cluster, wanted *harness.Node) {
	t.Helper()
	for range 10 {
		now := leader(t, c)
		if now == wanted {
			return
		}
		kill(t, now)
		t.Logf("%s led and was killed, now %s leads", now.Name, leader(t, c).Name)
		start(t, now)
		agree(t, c)
	}
	t.Fatalf("%s was never elected", wanted.Name)
}

// TestStateSurvivesPauses checks that a paused leader is replaced, and has no effect when it
// continues.
func TestStateSurvivesPauses(t *testing.T) {
	c := cluster(t)
	p := newPersistent(c, c.Rotate())
	r := remember(t, p, "remembered.fifo")
	for range 2 {
		paused := leader(t, c)
		harness.Must(t, paused.Pause())
		others := c.Part(c.Followers(paused)...)
		// WaitLeader asks the running nodes. The paused one does not answer, so another one must
		// lead.
		leader(t, others)
		sent := newPersistent(others, others.Rotate()).send(t, r.queue, "g", "paused-"+paused.Name, "m")
		harness.Must(t, paused.Resume())
		harness.Must(t, paused.WaitReady(t.Context(), time.Minute))
		again := newPersistent(c, harness.Only(paused)).send(t, r.queue, "g", "paused-"+paused.Name, "m")
		if aws.ToString(again.MessageId) != aws.ToString(sent.MessageId) {
			t.Errorf("%s took a duplicate for a new message", paused.Name)
		}
		agree(t, c)
	}
}
