package cluster

import (
	"time"

	"github.com/seriatimq/seriatim/cluster/histogram"
	"github.com/seriatimq/seriatim/cluster/leader"
	"github.com/seriatimq/seriatim/queue"
)

// MetricKind is the kind of a Metric.
type MetricKind uint8

// Kinds of metrics, as Prometheus knows them.
const (
	Counter MetricKind = iota + 1
	Gauge
	Histogram
)

// Metric is one number, or one histogram, of this node.
type Metric struct {
	Name   string // as exported, with unit suffix
	Help   string
	Kind   MetricKind
	Labels []MetricLabel
	Value  float64 // of a Counter or a Gauge
	// Buckets, Sum and Count belong to a Histogram. Buckets are cumulative
	// and sorted by UpperBound; the infinite one is left out.
	Buckets []MetricBucket
	Sum     float64
	Count   uint64
}

// MetricLabel is one label of a Metric.
type MetricLabel struct{ Name, Value string }

// MetricBucket counts the observations that were at most UpperBound.
type MetricBucket struct {
	UpperBound float64
	Count      uint64
}

// Metrics returns the current metrics of this node.
func (n *Node) Metrics() []Metric {
	c, calls := n.counts, &n.Counts
	metrics := make([]Metric, 0, 64)
	calls.Results(func(result string, count uint64) {
		metrics = append(metrics, Metric{
			Name: "seriatim_cluster_calls_total",
			Help: "Commands, receives and reads of this node's clients by how they ended.", Kind: Counter,
			Labels: []MetricLabel{{"result", result}}, Value: float64(count),
		})
	})
	counter := func(name, help string, value uint64) {
		metrics = append(metrics, Metric{Name: name, Help: help, Kind: Counter, Value: float64(value)})
	}
	counter("seriatim_cluster_forwarded_total", "Attempts sent to the leader by this node.", calls.Forwarded.Load())
	counter("seriatim_cluster_served_total", "Requests of other nodes taken on by this node.", n.server.Served())
	counter("seriatim_cluster_retries_total", "Further attempts of calls whose first one met no leader or an unknown outcome.",
		calls.Retries.Load())
	counter("seriatim_cluster_read_rounds_total", "Rounds in which this node proved its leadership for reads.", c.ReadIndexes.Load())
	counter("seriatim_cluster_ticks_total", "Clock commands proposed because a deadline was due and nothing else happened.",
		c.ClockCommands.Load())
	counter("seriatim_cluster_tenures_total", "Times this node became leader.", n.terms.Load())
	counter("seriatim_raft_proposals_total", "Log entries proposed by this node.", c.Entries.Load())
	metrics = append(metrics,
		histogramMetric(c.BatchCommands, "seriatim_raft_batch_commands", "Commands per proposed log entry."),
		histogramMetric(c.BatchBytes, "seriatim_raft_batch_bytes", "Bytes of commands per proposed log entry."),
		histogramMetric(c.Commits, "seriatim_raft_commit_seconds", "Time from the proposal of a log entry by this node, the leader, to "+
			"its application."),
		histogramMetric(c.Sojourn, "seriatim_message_sojourn_seconds",
			"Time from a message's arrival in its queue to its deletion, of those deleted while this node led."))
	n.process.network.Refusals(func(why string, count uint64) {
		metrics = append(metrics, Metric{
			Name: "seriatim_peer_connections_refused_total",
			Help: "Connections to the peer port that were refused, by reason.", Kind: Counter,
			Labels: []MetricLabel{{"reason", why}}, Value: float64(count),
		})
	})
	n.process.gossip.Refusals(func(why string, count uint64) {
		metrics = append(metrics, Metric{
			Name: "seriatim_gossip_refused_total",
			Help: "Packets and connections to the gossip port that were refused, by reason.", Kind: Counter,
			Labels: []MetricLabel{{"reason", why}}, Value: float64(count),
		})
	})
	counter("seriatim_topic_messages_published_total", "Messages accepted by topics through this node.", calls.Published.Load())
	counter("seriatim_topic_dedup_hits_total", "Publishes through this node that topics dropped as duplicates.", calls.Duplicates.Load())
	counter("seriatim_topic_posts_total", "Attempts to deliver to a subscriber over HTTP, while this node led.", c.Posts.Load())
	counter("seriatim_topic_posts_failed_total", "Attempts to deliver to a subscriber over HTTP that were not answered with 2xx in "+
		"time, while this node led.", c.PostsFailed.Load())
	waiting := 0
	n.replica.Read(func(v queue.View) { waiting = v.WaitingDeliveries() })
	metrics = append(metrics, Metric{
		Name: "seriatim_topic_posts_waiting",
		Help: "Messages of all topics that are not yet delivered over HTTP.", Kind: Gauge, Value: float64(waiting),
	})
	for _, d := range [...]struct {
		name, help string
		counts     *leader.DeliveryCounters
	}{
		{"seriatim_topic_deliveries_deduplicated_by_queue_total",
			"Messages of a topic that a subscribed queue dropped as duplicates by its own rules, while this node led.",
			&c.Deduplicated},
		{"seriatim_topic_deliveries_dead_lettered_total", "Messages of a topic that could not be delivered to a queue and went to the " +
			"dead-letter queue of its subscription, while this node led.", &c.Undeliverable},
		{"seriatim_topic_deliveries_lost_total", "Messages of a topic that could not be delivered to a queue, nor to a dead-letter " +
			"queue, while this node led.", &c.Lost},
	} {
		d.counts.Read(func(topic, queue string, count uint64, _ time.Duration) {
			metrics = append(metrics, Metric{
				Name: d.name, Help: d.help, Kind: Counter, Labels: []MetricLabel{{"topic", topic}, {"queue", queue}}, Value: float64(count),
			})
		})
	}
	return n.groupMetrics(metrics)
}

// QueueTotals are the counts of messages of one queue since the start of this node.
type QueueTotals struct {
	Sent, Received, Deleted uint64 // through this node
	EmptyReceives           uint64
	Duplicates              uint64 // sends dropped
	IDsFreed                uint64 // deduplication ids that were freed before the end of their window
	IDsRefused              uint64 // sends refused because the queue may remember no more ids
	// While this node led:
	Expired, DeadLettered, Redriven uint64
}

// QueueTotals calls each for every queue with counts of its own, and then, with an empty name, for
// all others together: those beyond the limit, and deleted ones.
func (n *Node) QueueTotals(each func(queue string, totals QueueTotals)) {
	queues := n.counts.Queues
	queues.Retire(func(name string) (gone bool) {
		n.replica.Read(func(v queue.View) { gone = !v.QueueExists(name) })
		return gone
	})
	queues.Read(func(name string, t leader.Totals) {
		each(name, QueueTotals{
			Sent: t[leader.Sent], Received: t[leader.Received], Deleted: t[leader.Deleted],
			EmptyReceives: t[leader.EmptyReceives], Duplicates: t[leader.Duplicates], IDsFreed: t[leader.Freed], IDsRefused: t[leader.Full],
			Expired: t[leader.ExpiredMessages], DeadLettered: t[leader.DeadLettered], Redriven: t[leader.Redriven],
		})
	})
}

func histogramMetric(h *histogram.Histogram, name, help string) Metric {
	m := Metric{Name: name, Help: help, Kind: Histogram}
	m.Count, m.Sum = h.Read(func(bound float64, upTo uint64) {
		m.Buckets = append(m.Buckets, MetricBucket{UpperBound: bound, Count: upTo})
	})
	return m
}

// groupMetrics appends the metrics of the replicated log.
func (n *Node) groupMetrics(metrics []Metric) []Metric {
	gauge := func(name, help string, value float64, labels ...MetricLabel) {
		metrics = append(metrics, Metric{Name: name, Help: help, Kind: Gauge, Value: value, Labels: labels})
	}
	stats := n.group.Stats()
	waiting := 0
	if t := n.term.Load(); t != nil {
		waiting = t.WaitingReceives()
	}
	leads := 0.0
	if n.leads() {
		leads = 1
	}
	gauge("seriatim_longpoll_waiters", "Receives that wait at this node, the leader, for a message.", float64(waiting))
	gauge("seriatim_raft_is_leader", "1 if this node serves as the leader.", leads)
	gauge("seriatim_node_ready", "1 if this node can answer clients.", number(n.Ready() == nil))
	gauge("seriatim_raft_term", "The current term.", float64(stats.Term))
	gauge("seriatim_raft_commit_index", "Highest log index known to be committed.", float64(stats.CommitIndex))
	gauge("seriatim_raft_applied_index", "Highest log index applied here.", float64(stats.AppliedIndex))
	gauge("seriatim_raft_apply_lag_entries", "Committed entries not yet applied here.",
		float64(max(stats.CommitIndex, stats.AppliedIndex)-stats.AppliedIndex))
	gauge("seriatim_raft_snapshot_pause_seconds", "Longest time since the start that applying entries waited while the state was "+
		"captured for a snapshot.",
		stats.SnapshotPause.Seconds())
	gauge("seriatim_raft_apply_longest_seconds", "Longest time since the start that one batch of committed entries took to be applied.",
		stats.ApplyLongest.Seconds())
	gauge("seriatim_raft_last_snapshot_index", "Log index of the newest snapshot.", float64(stats.LastSnapshotIndex))
	voters := 0
	for _, m := range stats.Members {
		if m.Voter {
			voters++
		}
		if m.NodeID != n.process.nodeID && m.LagEntries >= 0 {
			gauge("seriatim_raft_peer_lag_entries", "Log entries a member is behind this node, the leader.",
				float64(m.LagEntries), peerLabel(m, stats.Members))
		}
	}
	gauge("seriatim_cluster_voters", "Members with a vote, as far as this node knows.", float64(voters))
	metrics = append(metrics,
		histogramMetric(stats.SnapshotSeconds, "seriatim_raft_snapshot_seconds", "Time that writing a snapshot took."),
		histogramMetric(stats.LogWriteSeconds, "seriatim_wal_fsync_seconds",
			"Time of one write of entries to the log on disk, with its sync."))
	counter := func(name, help string, value uint64) {
		metrics = append(metrics, Metric{Name: name, Help: help, Kind: Counter, Value: float64(value)})
	}
	counter("seriatim_raft_leader_changes_total", "Changes of the leader seen by this node.", stats.LeaderChanges)
	counter("seriatim_raft_snapshots_taken_total", "Snapshots written by this node.", stats.SnapshotsTaken)
	counter("seriatim_raft_snapshot_bytes_sent_total", "Bytes of snapshots sent to other nodes; bodies that they have are not sent.",
		uint64(stats.SnapshotBytesSent))
	counter("seriatim_raft_snapshots_restored_total", "Snapshots restored by this node, at start or from the leader.",
		stats.SnapshotsRestored)
	skew := n.replica.Read(func(queue.View) {}).At
	gauge("seriatim_log_time_ahead_seconds", "Log time minus this node's clock; log time stands still while nothing is written.",
		float64(int64(skew)-n.cfg.Clock.Wall().UnixMilli())/1000)
	return n.watchMetrics(append(metrics, n.bodyMetrics()...))
}
