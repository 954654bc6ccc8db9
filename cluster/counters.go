package cluster

import (
	"math"
	"sync/atomic"

	"github.com/seriatimq/seriatim/queue"
)

// counters are the numbers a Node counts itself. Safe for concurrent use.
type counters struct {
	results       [resultKinds]atomic.Uint64 // calls of Submit, Receive and Read
	forwarded     atomic.Uint64              // attempts sent to another node
	served        atomic.Uint64              // requests of other nodes
	retries       atomic.Uint64              // attempts after the first of a call
	entries       atomic.Uint64              // log entries proposed
	batchCommands histogram
	batchBytes    histogram
	ticks         atomic.Uint64 // AdvanceClock commands
	readRounds    atomic.Uint64
	tenures       atomic.Uint64
	overloads     atomic.Uint64 // commands of this node for which there was no room
	messages      messageCounters
}

// messageCounters count messages: sent, duplicate, received and deleted by the
// calls of this node, expired and dead-lettered while this node leads, so that
// the sum over all nodes is the truth.
type messageCounters struct {
	sent, duplicate, received, deleted, expired, deadLettered atomic.Uint64
	emptyReceives                                             atomic.Uint64
}

// callResult classifies how a call of the Node ended.
type callResult int

const (
	resultOK callResult = iota
	resultRefused
	resultUnavailable
	resultOverloaded
	resultUnknown
	resultCancelled
	resultKinds int = iota
)

var resultNames = [resultKinds]string{"ok", "refused", "unavailable", "overloaded", "unknown", "cancelled"}

func newCounters() *counters {
	return &counters{
		batchCommands: newHistogram(1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024),
		batchBytes:    newHistogram(1<<8, 1<<10, 1<<12, 1<<14, 1<<16, 1<<18, 1<<20),
	}
}

// result counts what an answered command did.
func (m *messageCounters) result(r queue.Result) {
	switch r := r.(type) {
	case queue.MessagesSent:
		for i := range r.Entries {
			switch entry := &r.Entries[i]; {
			case entry.Err != nil:
			case entry.Duplicate:
				m.duplicate.Add(1)
			default:
				m.sent.Add(1)
			}
		}
	case queue.MessagesReceived:
		m.received.Add(uint64(len(r.Messages)))
		if len(r.Messages) == 0 {
			m.emptyReceives.Add(1)
		}
	}
}

// deletions counts the entries of a DeleteMessages that were not refused.
func (m *messageCounters) deletions(r queue.EntriesDone) {
	for _, err := range r.Errs {
		if err == nil {
			m.deleted.Add(1)
		}
	}
}

// histogram counts observations in fixed buckets. Safe for concurrent use.
type histogram struct {
	bounds []float64
	counts []atomic.Uint64 // one more than bounds
	sum    atomic.Uint64   // bits of a float64
}

func newHistogram(bounds ...float64) histogram {
	return histogram{bounds: bounds, counts: make([]atomic.Uint64, len(bounds)+1)}
}

func (h *histogram) observe(v float64) {
	i := 0
	for i < len(h.bounds) && v > h.bounds[i] {
		i++
	}
	h.counts[i].Add(1)
	for {
		old := h.sum.Load()
		if h.sum.CompareAndSwap(old, math.Float64bits(math.Float64frombits(old)+v)) {
			return
		}
	}
}

// metric is the histogram under a name.
func (h *histogram) metric(name, help string) Metric {
	m := Metric{Name: name, Help: help, Kind: Histogram, Sum: math.Float64frombits(h.sum.Load())}
	for i := range h.counts {
		m.Count += h.counts[i].Load()
		if i < len(h.bounds) {
			m.Buckets = append(m.Buckets, MetricBucket{UpperBound: h.bounds[i], Count: m.Count})
		}
	}
	return m
}
