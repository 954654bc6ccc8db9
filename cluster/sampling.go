package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seriatimq/seriatim/cluster/histogram"
	"github.com/seriatimq/seriatim/cluster/history"
	"github.com/seriatimq/seriatim/cluster/leader"
	"github.com/seriatimq/seriatim/queue"
)

// ClientRequests counts the requests of clients to this node. The transport adds to it.
type ClientRequests struct {
	Total   atomic.Uint64
	Seconds *histogram.Histogram // of the requests that do not wait for messages
}

func newRequestSeconds() *histogram.Histogram {
	return histogram.New(.0005, .001, .002, .004, .008, .016, .032, .064, .125, .25, .5, 1, 2.5, 5, 10, 20, 30)
}

// ClientRequests returns the counts of the requests of clients.
func (n *Node) ClientRequests() *ClientRequests { return &n.requests }

// sampler takes the samples of the history.
type sampler struct {
	history *history.History

	mu     sync.Mutex      // held while a sample is taken
	queues []history.Queue // reused
	totals map[string]history.Counters
	before sampledCounts
}

// sampledCounts are the counts of a node at its last sample.
type sampledCounts struct {
	commits, syncs, sojourn, requests history.Buckets
	total                             uint64
}

const (
	historySaved = 5 * time.Minute // between two writes of the history
	// statsPerRead bounds the queues in one read, because commands wait for it.
	statsPerRead = 100
)

// subjectHistory and subjectRates are subjects of questions to all nodes.
const (
	subjectHistory = "history"
	subjectRates   = "rates"
)

// openHistory reads the history of the process before, and begins to take samples.
func (n *Node) openHistory() {
	err := n.process.dir.ReadHistory(func(r io.Reader) error { return n.sampler.history.Read(r, n.cfg.Clock.Wall()) })
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		n.log.Info("the history of the time before the start is not used", "error", err)
	}
	n.Provide(subjectHistory, n.ownHistory)
	n.Provide(subjectRates, func(context.Context, json.RawMessage) (any, error) {
		rates, _ := n.sampler.history.Rates()
		return rates, nil
	})
	n.follower.Go(n.takeSamples)
}

// takeSamples takes a sample in the middle of each step, and writes the history at times and when
// the node closes.
func (n *Node) takeSamples() {
	defer n.saveHistory()
	saved := n.cfg.Clock.Monotonic()
	for {
		n.sample()
		if now := n.cfg.Clock.Monotonic(); now-saved >= historySaved {
			n.saveHistory()
			saved = now
		}
		past := time.Duration(n.cfg.Clock.Wall().UnixNano()) % history.Step
		timer := time.NewTimer(history.Step + history.Step/2 - past)
		select {
		case <-n.stages.closing.Done():
			timer.Stop()
			return
		case <-timer.C:
		}
	}
}

// saveHistory writes the history. A failed write loses only the history of this process.
func (n *Node) saveHistory() {
	err := n.process.dir.WriteHistory(func(w io.Writer) error { return n.sampler.history.Write(w, n.cfg.Clock.Wall()) })
	if err != nil {
		n.log.Warn("the history could not be written", "error", err)
	}
}

// sample adds a sample to the history. A node that catches up has counts of an earlier time, and adds
// none.
func (n *Node) sample() {
	if !n.caughtUp.Load() {
		return
	}
	n.sampler.mu.Lock()
	defer n.sampler.mu.Unlock()
	s := history.Sample{At: n.cfg.Clock.Wall(), Node: n.measure()}
	if n.sampler.totals == nil {
		n.sampler.totals = make(map[string]history.Counters)
	}
	clear(n.sampler.totals)
	n.counts.Queues.Read(func(name string, t leader.Totals) {
		counters := history.Counters{
			history.Sent: t[leader.Sent], history.Received: t[leader.Received], history.Deleted: t[leader.Deleted],
			history.Duplicates: t[leader.Duplicates], history.EmptyReceives: t[leader.EmptyReceives],
			history.DeadLettered: t[leader.DeadLettered],
		}
		if name == "" {
			s.Others = counters
			return
		}
		n.sampler.totals[name] = counters
	})
	s.Queues = n.sampleQueues(s.At)
	n.sampler.history.Add(&s)
}

// sampleQueues reads the counts of all queues.
func (n *Node) sampleQueues(at time.Time) []history.Queue {
	queues := n.sampler.queues[:0]
	EachQueue(n.ReadLocal, func(_ queue.View, name string, st *queue.QueueStats) {
		q := history.Queue{Name: name, Counters: n.sampler.totals[name], Gauges: history.Gauges{
			Visible: st.Visible, InFlight: st.NotVisible, Delayed: st.Delayed, Groups: st.Groups, BlockedGroups: st.BlockedGroups,
			DeduplicationIDs: st.DeduplicationEntries,
		}}
		if st.OldestSentAt != 0 {
			q.Gauges.OldestSeconds = max(0, (at.UnixMilli()-int64(st.OldestSentAt))/1000)
		}
		queues = append(queues, q)
	})
	n.sampler.queues = queues
	return queues
}

// EachQueue visits all queues, sorted by name. It calls readLocal for statsPerRead queues at a time,
// because commands wait for a read. visit must be short and must not keep the View.
func EachQueue(readLocal func(read func(queue.View)), visit func(v queue.View, name string, stats *queue.QueueStats)) {
	for last, more := "", true; more; {
		readLocal(func(v queue.View) {
			names := v.ListQueues("", last, statsPerRead)
			for _, name := range names {
				stats, _ := v.Stats(name) // the queue exists in this read
				visit(v, name, &stats)
			}
			if more = len(names) == statsPerRead; more {
				last = names[len(names)-1]
			}
		})
	}
}

// measure returns the numbers of this node since the last sample.
func (n *Node) measure() history.Measured {
	stats, before := n.group.Stats(), &n.sampler.before
	now := sampledCounts{
		commits: buckets(n.counts.Commits), syncs: buckets(stats.LogWriteSeconds), sojourn: buckets(n.counts.Sojourn),
		requests: buckets(n.requests.Seconds), total: n.requests.Total.Load(),
	}
	commits := now.commits.Quantiles(&before.commits, .5, .99)
	sojourn := now.sojourn.Quantiles(&before.sojourn, .5, .99)
	m := history.Measured{
		CommitP50: commits[0], CommitP99: commits[1], SyncP99: now.syncs.Quantiles(&before.syncs, .99)[0],
		SojournP50: sojourn[0], SojournP99: sojourn[1], RequestP99: now.requests.Quantiles(&before.requests, .99)[0],
		ApplyLag:   int64(max(stats.CommitIndex, stats.AppliedIndex) - stats.AppliedIndex), //nolint:gosec // a short difference
		DiskFreeKB: -1, Requests: int64(now.total - before.total),                          //nolint:gosec // a count of seconds
	}
	if n.pressure.total.Load() > 0 {
		m.DiskFreeKB = int64(n.pressure.free.Load() >> 10) //nolint:gosec // shifted
	}
	*before = now
	return m
}

func buckets(h *histogram.Histogram) (b history.Buckets) {
	count, _ := h.Read(func(bound float64, upTo uint64) {
		b.Bounds, b.UpTo = append(b.Bounds, bound), append(b.UpTo, upTo)
	})
	b.UpTo = append(b.UpTo, count)
	return b
}

// historyQuery asks for the history of a queue, or of a node.
type historyQuery struct {
	Queue string        `json:"queue"`
	Since time.Duration `json:"since"`
}

func (n *Node) ownHistory(_ context.Context, text json.RawMessage) (any, error) {
	var q historyQuery
	if err := json.Unmarshal(text, &q); err != nil {
		return nil, err
	}
	return n.sampler.history.Since(q.Queue, q.Since, n.cfg.Clock.Wall()), nil
}

// NodeSeries has the series of one node.
type NodeSeries struct {
	NodeID, Node string
	Series       history.Series
}

// History has the recent past of a queue or the cluster, over all nodes.
type History struct {
	StepMs, FromMs int64
	Series         history.Series // of the queue, or the sum of all; nil: no node has any
	Nodes          []NodeSeries   // without a queue
	Missing        []string       // nodes without an answer
}

// History returns the recent past of a queue, or with an empty name that of all nodes and the sum
// of all queues.
func (n *Node) History(ctx context.Context, queue string, since time.Duration) (h History, err error) {
	answers, missing, err := n.AskAll(ctx, subjectHistory, historyQuery{queue, since})
	if err != nil {
		return h, err
	}
	h.Missing = missing
	var series []history.Answer
	var from []NodeAnswer
	for _, answer := range answers {
		var a history.Answer
		if json.Unmarshal(answer.Content, &a) != nil {
			h.Missing = append(h.Missing, answer.Node)
			continue
		}
		series, from = append(series, a), append(from, answer)
	}
	if len(series) == 0 {
		return h, nil
	}
	h.StepMs, h.FromMs, h.Series = series[0].StepMs, series[0].FromMs, history.Merge(series)
	for i := range series {
		if queue != "" {
			break
		}
		node := NodeSeries{from[i].NodeID, from[i].Node, make(history.Series)}
		for name, list := range series[i].Node { // order does not matter
			node.Series[name] = history.Aligned(&series[i], list, &series[0], len(list))
		}
		h.Nodes = append(h.Nodes, node)
	}
	return h, nil
}

// Depths returns the messages of a queue in the last steps of 10 seconds, as this node saw them; nil:
// the queue has no history. A number below zero is unknown.
func (n *Node) Depths(queue string, steps int) []int64 { return n.sampler.history.Depths(queue, steps) }

// QueueRates counts the events of a queue per second.
type QueueRates struct{ Sent, Received, Deleted, Duplicates, EmptyReceives float64 }

// QueueRates returns the rates of all queues with events, over all nodes, since their last samples.
// known is false before this node has two samples.
func (n *Node) QueueRates(ctx context.Context) (rates map[string]QueueRates, known bool) {
	own, known := n.sampler.history.Rates()
	if !known {
		return nil, false
	}
	rates = make(map[string]QueueRates)
	add := func(of map[string]history.Rates) {
		for name, r := range of { // order does not matter
			sum := rates[name]
			sum.Sent += r[history.Sent]
			sum.Received += r[history.Received]
			sum.Deleted += r[history.Deleted]
			sum.Duplicates += r[history.Duplicates]
			sum.EmptyReceives += r[history.EmptyReceives]
			rates[name] = sum
		}
	}
	answers, _, err := n.AskAll(ctx, subjectRates, nil)
	if err != nil {
		add(own)
		return rates, true
	}
	for _, a := range answers {
		var of map[string]history.Rates
		if json.Unmarshal(a.Content, &of) == nil {
			add(of)
		}
	}
	return rates, true
}
