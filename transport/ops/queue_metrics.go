package ops

import (
	"cmp"
	"slices"

	"github.com/seriatimq/seriatim/cluster"
	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/limits"
	"github.com/seriatimq/seriatim/transport/ops/exposition"
)

// counted counts by queue; *cluster.Node is one.
type counted interface {
	QueueTotals(each func(queue string, totals cluster.QueueTotals))
}

var _ counted = (*cluster.Node)(nil)

// queueSeries holds the metrics of one queue, or the sum of all queues above the bound under an empty name.
type queueSeries struct {
	labels string // queue="..."
	stats  queue.QueueStats
	oldest float64 // seconds
	memory float64 // age of the oldest deduplication id, seconds
	full   float64 // used part of the limit for messages in flight
}

// queueStats reads the metrics of all queues: those of the first ones by name, and the sum of the others. It
// reads only the counters of each queue.
func (a *Admin) queueStats() (series []queueSeries, truncated bool) {
	limit := max(a.QueueSeries, 0)
	var rest queueSeries
	others := 0
	cluster.EachQueue(a.Node.ReadLocal, func(_ queue.View, name string, stats *queue.QueueStats) {
		s := a.seriesOf(*stats)
		if len(series) < limit {
			s.labels = exposition.Labels("queue", name)
			series = append(series, s)
			return
		}
		others++
		rest.add(s)
	})
	if others > 0 || limit == 0 {
		rest.labels = exposition.Labels("queue", "")
		series = append(series, rest)
	}
	return series, others > 0 && limit > 0
}

func (a *Admin) seriesOf(st queue.QueueStats) queueSeries {
	age := func(at queue.Timestamp) float64 {
		if at == 0 {
			return 0
		}
		return max(0, float64(a.Now().UnixMilli()-int64(at))/1000)
	}
	return queueSeries{
		stats: st, oldest: age(st.OldestSentAt), memory: age(st.OldestAcceptedAt),
		full: float64(st.NotVisible) / limits.InFlightMax,
	}
}

// add adds counts, and keeps the maximum of the others.
func (s *queueSeries) add(other queueSeries) {
	s.stats.Visible += other.stats.Visible
	s.stats.NotVisible += other.stats.NotVisible
	s.stats.Delayed += other.stats.Delayed
	s.stats.Deferred += other.stats.Deferred
	s.stats.Groups += other.stats.Groups
	s.stats.BlockedGroups += other.stats.BlockedGroups
	s.stats.DeduplicationEntries += other.stats.DeduplicationEntries
	s.oldest, s.memory, s.full = max(s.oldest, other.oldest), max(s.memory, other.memory), max(s.full, other.full)
}

// queueGauges writes the metrics from the state.
func (a *Admin) queueGauges(text *exposition.Text) {
	series, truncated := a.queueStats()
	family := func(name, help string, values func(s *queueSeries, labels string)) {
		text.Family(name, exposition.Gauge, help)
		for i := range series {
			values(&series[i], series[i].labels)
		}
	}
	family("seriatim_queue_messages", "Messages by state: visible (also those behind a blocked head of their group), in_flight, "+
		"delayed, deferred.",
		func(s *queueSeries, labels string) {
			text.Series(labels+`,state="visible"`, float64(s.stats.Visible))
			text.Series(labels+`,state="in_flight"`, float64(s.stats.NotVisible))
			text.Series(labels+`,state="delayed"`, float64(s.stats.Delayed))
			text.Series(labels+`,state="deferred"`, float64(s.stats.Deferred))
		})
	family("seriatim_queue_oldest_message_age_seconds", "Age of the oldest message, 0 if there is none.",
		func(s *queueSeries, labels string) { text.Series(labels, s.oldest) })
	family("seriatim_queue_groups", "Message groups with messages by state: blocked (the first message is with a receiver, or a "+
		"receiver has locked the group as a session), ready.",
		func(s *queueSeries, labels string) {
			text.Series(labels+`,state="ready"`, float64(s.stats.Groups-s.stats.BlockedGroups))
			text.Series(labels+`,state="blocked"`, float64(s.stats.BlockedGroups))
		})
	family("seriatim_dedup_entries", "Deduplication ids remembered.",
		func(s *queueSeries, labels string) { text.Series(labels, float64(s.stats.DeduplicationEntries)) })
	family("seriatim_dedup_oldest_entry_seconds", "Age of the oldest deduplication id in memory, 0 if there is none.",
		func(s *queueSeries, labels string) { text.Series(labels, s.memory) })
	family("seriatim_inflight_limit_ratio", "Share of the limit of messages in flight that is used.",
		func(s *queueSeries, labels string) { text.Series(labels, s.full) })
	family("seriatim_queue_is_dead_letter_queue", "1 if a RedrivePolicy of another queue names this one as its dead-letter queue.",
		func(s *queueSeries, labels string) { text.Series(labels, number(s.stats.DeadLetterTarget)) })
	text.Family("seriatim_queue_series_truncated", exposition.Gauge,
		"1 if there are more queues than may have series of their own; the others are counted together under an empty name.")
	text.Series("", number(truncated))
}

func number(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

// queueCounters writes the counts since the start.
func (a *Admin) queueCounters(text *exposition.Text) {
	node, ok := a.Node.(counted)
	if !ok {
		return
	}
	type named struct {
		labels string
		totals cluster.QueueTotals
	}
	var list []named
	node.QueueTotals(func(queue string, totals cluster.QueueTotals) {
		list = append(list, named{exposition.Labels("queue", queue), totals})
	})
	slices.SortFunc(list, func(a, b named) int { return cmp.Compare(a.labels, b.labels) })
	for _, total := range [...]struct {
		name, help string
		of         func(*cluster.QueueTotals) uint64
	}{
		{"seriatim_messages_sent_total", "Messages accepted through this node.", func(t *cluster.QueueTotals) uint64 { return t.Sent }},
		{"seriatim_messages_received_total", "Messages returned by receives through this node.",
			func(t *cluster.QueueTotals) uint64 { return t.Received }},
		{"seriatim_messages_deleted_total", "Messages deleted through this node.",
			func(t *cluster.QueueTotals) uint64 { return t.Deleted }},
		{"seriatim_messages_expired_total", "Messages that passed their retention while this node led.",
			func(t *cluster.QueueTotals) uint64 { return t.Expired }},
		{"seriatim_messages_dead_lettered_total", "Messages moved to a dead-letter queue while this node led, by the queue they left.",
			func(t *cluster.QueueTotals) uint64 { return t.DeadLettered }},
		{"seriatim_messages_redriven_total", "Messages moved on by move tasks while this node led, by the queue they left.",
			func(t *cluster.QueueTotals) uint64 { return t.Redriven }},
		{"seriatim_receive_empty_total", "Receives through this node that found nothing.",
			func(t *cluster.QueueTotals) uint64 { return t.EmptyReceives }},
		{"seriatim_dedup_hits_total", "Sends through this node that were dropped as duplicates.",
			func(t *cluster.QueueTotals) uint64 { return t.Duplicates }},
		{"seriatim_dedup_evictions_total", "Deduplication ids that a command through this node freed before the end of their " +
			"window.", func(t *cluster.QueueTotals) uint64 { return t.IDsFreed }},
		{"seriatim_dedup_refused_total", "Sends through this node refused because the queue may remember no more deduplication ids.",
			func(t *cluster.QueueTotals) uint64 { return t.IDsRefused }},
	} {
		text.Family(total.name, exposition.Counter, total.help)
		for i := range list {
			text.Series(list[i].labels, float64(total.of(&list[i].totals)))
		}
	}
}
