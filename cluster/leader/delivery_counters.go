package leader

import (
	"slices"
	"strings"
	"sync"
	"time"
)

// deliverySeriesMax bounds the pairs of topic and queue with counts of their own. Further pairs
// count under empty names.
const deliverySeriesMax = 1000

// DeliveryCounters count deliveries by topic and queue. The zero value is ready. Safe for
// concurrent use.
type DeliveryCounters struct {
	mu     sync.Mutex
	counts map[delivery]deliveryCount
}

type deliveryCount struct {
	count uint64
	last  time.Duration // time of the last addition, on the monotonic clock
}

type delivery struct{ topic, queue string }

func (d *DeliveryCounters) add(topic, queue string, count int, now time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.counts == nil {
		d.counts = make(map[delivery]deliveryCount)
	}
	to := delivery{topic, queue}
	if _, known := d.counts[to]; !known && len(d.counts) >= deliverySeriesMax {
		to = delivery{}
	}
	d.counts[to] = deliveryCount{d.counts[to].count + uint64(count), now}
}

// Read calls each with every count and the time of its last addition, sorted by topic and queue.
func (d *DeliveryCounters) Read(each func(topic, queue string, count uint64, last time.Duration)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	list := make([]delivery, 0, len(d.counts))
	for to := range d.counts { // order does not matter: sorted below
		list = append(list, to)
	}
	slices.SortFunc(list, func(a, b delivery) int {
		if by := strings.Compare(a.topic, b.topic); by != 0 {
			return by
		}
		return strings.Compare(a.queue, b.queue)
	})
	for _, to := range list {
		each(to.topic, to.queue, d.counts[to].count, d.counts[to].last)
	}
}
