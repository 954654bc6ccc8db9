package cluster

import (
	"bytes"
	"testing"
	"time"

	"github.com/seriatimq/seriatim/cluster/clustertest"
	"github.com/seriatimq/seriatim/cluster/environment"
	"github.com/seriatimq/seriatim/queue"
)

const (
	dayLength = 24 * time.Hour
	topicName = "orders-topic.fifo"
)

// daysLater starts a cluster whose clocks are some days ahead.
func daysLater(t *testing.T, n int, days time.Duration) *nodes {
	t.Helper()
	return startNodes(t, n, func(cfg *Config) {
		quickly(cfg)
		clock := &steppedClock{Clock: environment.SystemClock()}
		clock.step.Store(int64(days * dayLength))
		cfg.Clock = clock
	})
}

// wait lets days pass while all nodes are down: log time follows the wall clocks when a
// leader takes over.
func (c *nodes) wait(days time.Duration) {
	c.t.Helper()
	for i := range c.nodes {
		c.close(i)
		c.configs[i].Clock.(*steppedClock).step.Add(int64(days * dayLength))
	}
	for i := range c.nodes {
		c.open(i)
	}
	for i := range c.nodes {
		c.waitReady(i)
	}
}

// publish publishes a message to the topic under its own text as deduplication id.
func (c *nodes) publish(i int, message string) queue.PublishedEntry {
	c.t.Helper()
	reply := c.submit(i, &queue.Publish{Topic: topicName, SenderID: "000000000000", Entries: []queue.PublishEntry{{
		Message: message, GroupID: "g", GroupIDGiven: true, DeduplicationID: message, DeduplicationIDGiven: true,
	}}})
	return reply.Result.(queue.Published).Entries[0]
}

// weekly makes a queue, and a topic with a subscribed queue, that remember ids for seven
// days. It sends one message to each, at the time at.
func (c *nodes) weekly() (sent queue.SentEntry, published queue.PublishedEntry, at queue.Timestamp) {
	c.t.Helper()
	week := queue.Attribute{Name: "DeduplicationWindowSeconds", Value: "604800"}
	c.create(0, fifo, week)
	c.create(0, "subscribed.fifo", queue.Attribute{Name: "DeduplicationWindowSeconds", Value: "300"})
	const arn = "arn:aws:sns:us-east-1:000000000000:" + topicName
	c.submit(0, &queue.CreateTopic{Topic: topicName, TopicARN: arn,
		Attributes: []queue.Attribute{week, {Name: "FifoTopic", Value: "true"}}})
	c.submit(0, &queue.Subscribe{
		Topic: topicName, Endpoint: "arn:aws:sqs:us-east-1:000000000000:subscribed.fifo", Owner: "000000000000",
		Principal: "arn:aws:iam::000000000000:root",
	})
	sent, published = c.send(0, fifo, "m"), c.publish(0, "m")
	return sent, published, c.submit(0, &queue.AdvanceClock{}).LogTime
}

// TestIDsOfDaysAgoAfterARestore: in a window of seven days an id that was sent six days
// before is a duplicate in a cluster restored from a backup, whether the days passed
// before the backup or before the restore; eight days before, it is new.
func TestIDsOfDaysAgoAfterARestore(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name          string
		before, after time.Duration // days that pass before and after the backup
		remembered    bool
	}{
		{"six days, then a backup", 6, 0, true},
		{"a backup, then six days", 0, 6, true},
		{"eight days", 3, 5, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			source := daysLater(t, 1, 0)
			sent, published, sentAt := source.weekly()
			if test.before > 0 {
				source.wait(test.before)
			}
			_, content := source.backup(0)
			source.close(0)

			c := daysLater(t, 3, test.before+test.after)
			clustertest.Must(t, clustertest.Err(c.nodes[1].Restore(clustertest.Context(t), bytes.NewReader(content), RestoreOptions{})))
			for i := range c.nodes {
				c.waitReady(i)
			}
			passed := time.Duration(c.submit(0, &queue.AdvanceClock{}).LogTime.Sub(sentAt)) * time.Millisecond
			if want := (test.before + test.after) * dayLength; passed < want-time.Hour || passed > want+time.Hour {
				t.Fatalf("%v of log time passed, want %v", passed, want)
			}
			for i := range c.nodes {
				again := c.send(i, fifo, "m")
				if got := again.MessageID == sent.MessageID && again.Sequence == sent.Sequence && again.Duplicate; i == 0 &&
					got != test.remembered {
					t.Errorf("sent again: %+v, was %+v", again, sent)
				}
				known := c.publish(i, "m")
				if got := known.MessageID == published.MessageID && known.Sequence == published.Sequence && known.Duplicate; i == 0 &&
					got != test.remembered {
					t.Errorf("published again: %+v, was %+v", known, published)
				}
			}
			// What was sent first is beyond its retention of four days.
			want := int64(0)
			if !test.remembered {
				want = 1
			}
			c.agree()
			for _, name := range []string{fifo, "subscribed.fifo"} {
				if got := c.stored(name); got != want {
					t.Errorf("%s holds %d messages, want %d", name, got, want)
				}
			}
		})
	}
}

// stored counts the messages of a queue.
func (c *nodes) stored(name string) (count int64) {
	c.t.Helper()
	_, err := c.nodes[0].Read(clustertest.Context(c.t), func(v queue.View) error {
		stats, refusal := v.Stats(name)
		if refusal != nil {
			return refusal
		}
		count = stats.Visible + stats.NotVisible + stats.Delayed
		return nil
	})
	clustertest.Must(c.t, err)
	return count
}
