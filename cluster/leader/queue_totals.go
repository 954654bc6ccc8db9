package leader

import (
	"strings"
	"sync"
	"sync/atomic"
)

// QueueTotal identifies a count kept for each queue.
type QueueTotal int

// The node that a client calls counts up to Full, the leader counts the others. Sums over all nodes
// are exact.
const (
	Sent QueueTotal = iota
	Received
	Deleted
	EmptyReceives
	Duplicates // dropped sends
	Freed      // deduplication ids that an operator released early
	Full       // sends refused because the queue may remember no more deduplication ids
	ExpiredMessages
	DeadLettered
	Redriven
	QueueTotals int = iota
)

// Totals are the counts of one queue.
type Totals [QueueTotals]uint64

// QueueCounters count by queue, for the first limit queues in use. All other queues, and deleted
// ones, share one set of counts. Made by NewQueueCounters; safe for concurrent use.
type QueueCounters struct {
	limit int

	mu     sync.RWMutex // held for writing while queues come or go
	queues map[string]*[QueueTotals]atomic.Uint64
	others [QueueTotals]atomic.Uint64
}

// NewQueueCounters returns counters for up to limit queues.
func NewQueueCounters(limit int) *QueueCounters {
	return &QueueCounters{limit: limit, queues: make(map[string]*[QueueTotals]atomic.Uint64)}
}

// Add adds to one count of a queue.
func (c *QueueCounters) Add(queue string, total QueueTotal, n uint64) {
	if n == 0 {
		return
	}
	c.mu.RLock()
	counts, known := c.queues[queue]
	if known || len(c.queues) >= c.limit {
		if !known {
			counts = &c.others
		}
		counts[total].Add(n)
		c.mu.RUnlock()
		return
	}
	c.mu.RUnlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	if counts, known = c.queues[queue]; !known {
		counts = &c.others
		if len(c.queues) < c.limit {
			counts = new([QueueTotals]atomic.Uint64)
			c.queues[strings.Clone(queue)] = counts // queue may be part of a large request
		}
	}
	counts[total].Add(n)
}

// Retire adds the counts of deleted queues to the shared ones.
func (c *QueueCounters) Retire(gone func(queue string) bool) {
	var names []string
	c.mu.RLock()
	for name := range c.queues { // order does not matter
		names = append(names, name)
	}
	c.mu.RUnlock()
	for _, name := range names {
		if !gone(name) {
			continue
		}
		c.mu.Lock()
		if counts, known := c.queues[name]; known {
			for i := range counts {
				c.others[i].Add(counts[i].Load())
			}
			delete(c.queues, name)
		}
		c.mu.Unlock()
	}
}

// Read calls each for every queue with counts, then for all others together with an empty name.
func (c *QueueCounters) Read(each func(queue string, totals Totals)) {
	type named struct {
		queue  string
		counts *[QueueTotals]atomic.Uint64
	}
	c.mu.RLock()
	list := make([]named, 0, len(c.queues)+1)
	for queue, counts := range c.queues { // order does not matter: callers sort
		list = append(list, named{queue, counts})
	}
	c.mu.RUnlock()
	for _, q := range append(list, named{"", &c.others}) {
		var totals Totals
		for i := range totals {
			totals[i] = q.counts[i].Load()
		}
		each(q.queue, totals)
	}
}
