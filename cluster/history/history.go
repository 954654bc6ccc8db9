package history

import (
	"math"
	"sync"
	"time"
)

// Step is the time between two samples.
const Step = fineMs * time.Millisecond

// queuesMax bounds the queues with series of their own.
const queuesMax = 1000

// Queue is the state of a queue at a sample.
type Queue struct {
	Name     string
	Gauges   Gauges
	Counters Counters // since the start of the node
}

// Sample has the measurements of a node at one moment.
type Sample struct {
	At     time.Time
	Node   Measured
	Queues []Queue // all; Add keeps no part of the slice
	// Others counts the queues without counters of their own, and deleted ones.
	Others Counters
}

// tracked is a queue with series of its own.
type tracked struct {
	block block
	used  int64 // the last step in which the queue had messages or events
}

// counted has the counters of a queue at the last sample.
type counted struct {
	total, grown Counters
	seen         int64 // step
}

// History keeps series. The zero History is not ready: use New. Safe for concurrent use.
type History struct {
	saving sync.Mutex // held while a sample is added or the series are written

	mu           sync.RWMutex
	last         int64 // step of the newest sample; 0: none
	node, totals block
	queues       map[string]*tracked
	counters     map[string]*counted
	others       counted
	elapsed      time.Duration // between the last two samples; 0: there was one
	at           time.Time
}

// New returns an empty History.
func New() *History {
	return &History{
		node: newBlock(nodeColumns[:]), totals: newBlock(queueColumns[:]), queues: make(map[string]*tracked),
		counters: make(map[string]*counted),
	}
}

// coarseOf returns the step of 5 minutes around a step of 10 seconds.
func coarseOf(step int64) int64 { return step * fineMs / coarseMs }

// Add adds a sample. A second sample for the same step of 10 seconds is dropped.
func (h *History) Add(s *Sample) {
	h.saving.Lock()
	defer h.saving.Unlock()
	h.mu.Lock()
	defer h.mu.Unlock()
	step := s.At.UnixMilli() / fineMs
	if step == h.last {
		return
	}
	h.moveTo(step)
	first := h.at.IsZero()
	h.elapsed = s.At.Sub(h.at)
	if first || h.elapsed <= 0 {
		h.elapsed = 0
	}
	h.at = s.At
	for i, n := range s.Node.list() {
		h.node.put(i, step, coarseOf(step), n)
	}
	var gauges Gauges
	grown := h.grow(&h.others, &s.Others, step, first)
	for i := range s.Queues {
		q := &s.Queues[i]
		gauges.add(&q.Gauges)
		events := h.addQueue(q, step, first)
		for j := range grown {
			grown[j] += events[j]
		}
	}
	put(&h.totals, step, &gauges, &grown)
	for name, c := range h.counters { // order does not matter
		if c.seen != step {
			delete(h.counters, name)
		}
	}
}

// grow returns the events since the last sample. At the first sample they are unknown, and count
// as none.
func (h *History) grow(c *counted, total *Counters, step int64, first bool) Counters {
	c.grown = total.minus(&c.total)
	if first {
		c.grown = Counters{}
	}
	c.total, c.seen = *total, step
	return c.grown
}

// addQueue adds the sample of one queue and returns its events.
func (h *History) addQueue(q *Queue, step int64, first bool) (events Counters) {
	c := h.counters[q.Name]
	switch {
	case c != nil:
		events = h.grow(c, &q.Counters, step, first)
	case q.Counters != Counters{}:
		c = &counted{}
		events = h.grow(c, &q.Counters, step, first)
		h.counters[q.Name] = c
	}
	busy := q.Gauges != Gauges{DeduplicationIDs: q.Gauges.DeduplicationIDs} || events != Counters{}
	t := h.queues[q.Name]
	if t == nil {
		if !busy || len(h.queues) >= queuesMax && !h.makeRoom(step) {
			return events
		}
		t = &tracked{block: newBlock(queueColumns[:])}
		h.queues[q.Name] = t
	}
	if busy {
		t.used = step
	}
	put(&t.block, step, &q.Gauges, &events)
	return events
}

func put(b *block, step int64, gauges *Gauges, events *Counters) {
	for i, n := range gauges.list() {
		b.put(i, step, coarseOf(step), n)
	}
	for i, n := range events {
		b.put(gaugeColumns+i, step, coarseOf(step), int64(min(n, numberMax))) //nolint:gosec // bounded
	}
}

// makeRoom forgets the queue that was idle for the longest time. It reports false if all queues
// are in use.
func (h *History) makeRoom(step int64) bool {
	idle, since := "", step-1
	for name, t := range h.queues { // order does not matter, except between equals
		if t.used < since {
			idle, since = name, t.used
		}
	}
	if idle == "" {
		return false
	}
	delete(h.queues, idle)
	return true
}

// moveTo forgets the values of the steps up to a new one. If the clock was set back, it forgets
// those after the new step.
func (h *History) moveTo(step int64) {
	from := h.last + 1
	if step <= h.last || h.last == 0 {
		from = step
	}
	to := max(step, h.last)
	clearRange := func(r *ring, from, to int64) {
		for s := max(from, to-r.slots+1); s <= to; s++ {
			h.node.clear(r, s)
			h.totals.clear(r, s)
			for _, t := range h.queues { // order does not matter
				t.block.clear(r, s)
			}
		}
	}
	clearRange(&fine, from, to)
	coarseFrom, coarseTo := coarseOf(h.last)+1, coarseOf(to)
	if step < h.last || h.last == 0 {
		coarseFrom = coarseOf(step)
	}
	clearRange(&coarse, coarseFrom, coarseTo)
	h.last = step
}

// Rates are events per second.
type Rates [CounterColumns]float64

// Rates returns the events of all queues with events since the last sample, per second. It reports
// false before the second sample.
func (h *History) Rates() (map[string]Rates, bool) {
	h.mu.RLock()
	defer h.mu.RUnlock()
	if h.elapsed == 0 {
		return nil, false
	}
	all := make(map[string]Rates)
	for name, c := range h.counters { // order does not matter
		if c.grown == (Counters{}) {
			continue
		}
		var r Rates
		for i, n := range c.grown {
			r[i] = math.Round(100*float64(n)/h.elapsed.Seconds()) / 100 // short in JSON
		}
		all[name] = r
	}
	return all, true
}
