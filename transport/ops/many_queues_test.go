package ops

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seriatimq/seriatim/cluster"
	"github.com/seriatimq/seriatim/cluster/clustertest"
	"github.com/seriatimq/seriatim/queue"
)

const (
	manyQueues = 10_000
	usedQueues = 100 // queues with a message
)

// countedNode returns totals for all the queues.
type countedNode struct{ *node }

func (n countedNode) QueueTotals(each func(queue string, totals cluster.QueueTotals)) {
	for i := range manyQueues {
		each(manyName(i), cluster.QueueTotals{Sent: 1})
	}
	each("", cluster.QueueTotals{})
}

func manyName(i int) string { return fmt.Sprintf("queue-%05d.fifo", i) }

func nodeWithManyQueues(tb testing.TB) countedNode {
	tb.Helper()
	n := &node{broker: queue.New()}
	n.apply(tb, &queue.SetClusterSetting{Name: queue.SettingReceiptKey, Value: strings.Repeat("0a", 16)})
	for i := range manyQueues {
		n.apply(tb, &queue.CreateQueue{Queue: manyName(i), Attributes: []queue.Attribute{{Name: "FifoQueue", Value: "true"}}})
	}
	for i := range usedQueues {
		n.send(tb, i, "first")
	}
	return countedNode{n}
}

func (n *node) apply(tb testing.TB, cmd queue.Command) {
	tb.Helper()
	n.mu.Lock()
	defer n.mu.Unlock()
	clustertest.Must(tb, clustertest.Err(n.broker.Apply(start, cmd)))
	n.broker.TakeEvents(nil)
}

func (n *node) send(tb testing.TB, to int, id string) {
	tb.Helper()
	n.apply(tb, &queue.SendMessages{Queue: manyName(to), SenderID: "s", Entries: []queue.SendEntry{{
		Body: "m", GroupID: "g", GroupIDGiven: true, DeduplicationID: id, DeduplicationIDGiven: true,
	}}})
}

// With ten thousand queues a scrape contains the series of each queue. Sends continue during
// scrapes, because a scrape holds the state's lock only for a few queues at a time.
func TestMetricsOfManyQueues(t *testing.T) {
	n := nodeWithManyQueues(t)
	a := New(Options{Node: n, QueueSeries: manyQueues, Now: func() time.Time { return time.UnixMilli(int64(start)) },
		Logger: newAdmin(n.node).Logger})
	began := time.Now()
	_, text := get(a, "/metrics")
	t.Logf("a scrape of %d queues: %v, %d bytes", manyQueues, time.Since(began).Round(time.Millisecond), len(text))
	for series, want := range map[string]int{ // order does not matter: each is counted
		"\nseriatim_queue_messages{": 4 * manyQueues, "\nseriatim_queue_groups{": 2 * manyQueues, "\nseriatim_dedup_entries{": manyQueues,
		"\nseriatim_messages_sent_total{": manyQueues + 1, "\nseriatim_queue_series_truncated 0": 1, "state=\"visible\"} 1\n": usedQueues,
	} {
		if got := strings.Count(text, series); got != want {
			t.Errorf("%d of %q, want %d", got, series, want)
		}
	}
	sends := 0
	perSend := func(enough func(sends int) bool) time.Duration {
		first, began := sends, time.Now()
		for !enough(sends - first) {
			sends++
			n.send(t, sends%manyQueues, fmt.Sprint(sends))
		}
		return time.Since(began) / time.Duration(sends-first)
	}
	alone := perSend(func(sends int) bool { return sends == 500 })
	ctx, cancel := context.WithCancel(t.Context())
	var scraping sync.WaitGroup
	var scrapes atomic.Int64
	scraping.Go(func() {
		for ctx.Err() == nil {
			get(a, "/metrics")
			scrapes.Add(1)
		}
	})
	beside := perSend(func(sends int) bool { return sends >= 500 && scrapes.Load() >= 3 })
	cancel()
	scraping.Wait()
	t.Logf("a send: %v alone, %v beside %d scrapes", alone, beside, scrapes.Load())
	// The scraper takes its share of a busy machine. If it held the lock for a whole scrape, a send
	// would take some ten thousand times as long.
	if beside > 100*alone {
		t.Errorf("a send takes %.1f times as long while metrics are scraped", float64(beside)/float64(alone))
	}
}

func BenchmarkScrapeManyQueues(b *testing.B) {
	n := nodeWithManyQueues(b)
	a := New(Options{Node: n, QueueSeries: manyQueues, Now: time.Now, Logger: newAdmin(n.node).Logger})
	for b.Loop() {
		get(a, "/metrics")
	}
}
