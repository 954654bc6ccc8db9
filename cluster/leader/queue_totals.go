package leader

import (
	"strings"
	"sync"
	"sync/atomic"
)

// QueueTotal names one of the numbers that are counted for each queue.
type QueueTotal int

// What is counted for each queue. The first ones are counted by the node that a client
// asks, the others by the leader, so that sums over all nodes are the truth.
const (
	Sent QueueTotal = iota
	Received
	Deleted
	EmptyReceives
	Duplicates // sends dropped
	Freed      // deduplication ids, by an operator before their time
	Full       // sends refused because the queue may remember no more ids
	ExpiredMessages
	DeadLettered
	Redriven
	QueueTotals int = iota
)

// Totals are the counts of one queue.
type Totals [QueueTotals]uint64

// QueueCounters count by queue, for a bounded number of queues: those that were used
// first. What belongs to the others, and to queues that are gone, is counted together.
// Made by NewQueueCounters; safe for concurrent use.
type QueueCounters struct {
	limit int

	mu     sync.RWMutex // held for writing while queues come or go
	queues map[string]*[QueueTotals]atomic.Uint64
	rest   [QueueTotals]atomic.Uint64
}

// NewQueueCounters makes counters with counts of their own for up to limit queues.
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
			counts = &c.rest
		}
		counts[total].Add(n)
		c.mu.RUnlock()
		return
	}
	c.mu.RUnlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	if counts, known = c.queues[queue]; !known {
		counts = &c.rest
		if len(c.queues) < c.limit {
			counts = new([QueueTotals]atomic.Uint64)
			c.queues[strings.Clone(queue)] = counts // a name may be a part of a large request
		}
	}
	counts[total].Add(n)
}

// Retire adds the counts of queues that are gone to the rest.
func (c *QueueCounters) Retire(gone func(queue string) bool) {
	var names []string
	c.mu.RLock()
	for name := range c.queues { // order does not matter: each is looked at alone
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
				c.rest[i].Add(counts[i].Load())
			}
			delete(c.queues, name)
		}
		c.mu.Unlock()
	}
}

// Read calls each for every queue that has counts, and then for all others together,
// whose name is empty.
func (c *QueueCounters) Read(each func(queue string, totals Totals)) {
	type named struct {
		queue  string
		counts *[QueueTotals]atomic.Uint64
	}
	c.mu.RLock()
	list := make([]named, 0, len(c.queues)+1)
	for queue, counts := range c.queues { // order does not matter: whoever shows them sorts
		list = append(list, named{queue, counts})
	}
	c.mu.RUnlock()
	for _, q := range append(list, named{"", &c.rest}) {
		var totals Totals
		for i := range totals {
			totals[i] = q.counts[i].Load()
		}
		each(q.queue, totals)
	}
}
