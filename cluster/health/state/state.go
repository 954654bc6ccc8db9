// Package state measures the replicated state: queues, topics and accounts at a limit, and messages
// that wait for an operator.
package state

import (
	"net/url"
	"time"

	"github.com/seriatimq/seriatim/cluster/health"
	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/access"
	"github.com/seriatimq/seriatim/queue/limits"
)

const (
	// queuesPerRead bounds the queues of one read, because commands wait for a read.
	queuesPerRead = 100
	// shownMax bounds the findings of one check; it lists the worst.
	shownMax = 10
	// messagesLooked bounds the oldest messages of a queue in which to look for blocked groups.
	messagesLooked = 500
)

// Findings measures the replicated state. read reads this node's copy. now is a clock's time,
// because log time stands still while nothing is written.
func Findings(read func(func(queue.View)), now time.Time) []health.Finding {
	s := scan{read: read, now: queue.Timestamp(now.UnixMilli())}
	s.queues()
	s.accounts()
	s.posts()
	found := s.deadLetters()
	for _, list := range [][]health.Finding{s.groups, s.inFlight, s.dedup, s.quota, s.waiting} {
		found = append(found, health.Worst(list, shownMax)...)
	}
	return found
}

// scan collects findings by check.
type scan struct {
	read                                    func(func(queue.View))
	now                                     queue.Timestamp
	groups, inFlight, dedup, quota, waiting []health.Finding
}

// queues looks at every queue. Only queues with blocked groups and old messages cost more than
// reading counters.
func (s *scan) queues() {
	last := ""
	for {
		var names []string
		s.read(func(v queue.View) {
			names = v.ListQueues("", last, queuesPerRead)
			for _, name := range names {
				s.queue(v, name)
			}
		})
		if len(names) < queuesPerRead {
			return
		}
		last = names[len(names)-1]
	}
}

func (s *scan) queue(v queue.View, name string) {
	stats, _ := v.Stats(name) // it exists: this is one read
	if stats.NotVisible > 0 {
		s.inFlight = append(s.inFlight, health.Found(health.InFlight, name, 100*float64(stats.NotVisible)/limits.InFlightMax,
			"the queue %s has %d messages in flight, of %d that it may have", name, stats.NotVisible, limits.InFlightMax))
	}
	if ids, _ := v.DeduplicationStats(name); ids.EntriesMax > 0 {
		s.dedup = append(s.dedup, health.Found(health.Dedup, name, 100*float64(ids.Live)/float64(ids.EntriesMax),
			"the queue %s remembers %d deduplication ids, of %d that it may (MaxDeduplicationEntries)", name, ids.Live, ids.EntriesMax))
	}
	blocked, _ := health.Named(health.Groups)
	if stats.BlockedGroups > 0 && stats.OldestSentAt != 0 && s.minutesSince(stats.OldestSentAt) > blocked.Warn {
		s.blocked(v, name)
	}
}

// blocked finds the group whose first message has been in flight longest, among the oldest messages
// of a FIFO queue.
func (s *scan) blocked(v queue.View, name string) {
	attributes, _ := v.Typed(name)
	if !attributes.FIFO {
		return
	}
	oldest, _ := v.Peek(name, 0, "", messagesLooked)
	var worst queue.PeekedMessage
	for _, m := range oldest {
		if m.State == "in flight" && m.FirstReceivedAt != 0 && (worst.FirstReceivedAt == 0 || m.FirstReceivedAt < worst.FirstReceivedAt) {
			worst = m
		}
	}
	if worst.FirstReceivedAt == 0 {
		return
	}
	since := s.minutesSince(worst.FirstReceivedAt)
	s.groups = append(s.groups, health.Found(health.Groups, name, since,
		"the group %.100q of the queue %s is blocked by a message that was first received %s ago and is not deleted",
		worst.GroupID, name, (time.Duration(since)*time.Minute).String()))
}

func (s *scan) minutesSince(at queue.Timestamp) float64 { return max(0, float64(s.now-at)/60_000) }

// accounts compares the usage of accounts with their quotas.
func (s *scan) accounts() {
	s.read(func(v queue.View) {
		v.Access().Accounts(func(a access.Account) bool {
			name, has := "of the cluster", v.Usage(a.ID)
			if a.ID != "" {
				name = a.ID
			}
			for _, of := range []struct {
				what      string
				has, most int64
			}{
				{"queues", has.Queues, a.Quota.Queues},
				{"topics", has.Topics, a.Quota.Topics},
				{"messages", has.Messages, a.Quota.Messages},
				{"bytes", has.Bytes, a.Quota.Bytes},
			} {
				if of.most > 0 {
					s.quota = append(s.quota, health.Found(health.Quota, name, 100*float64(of.has)/float64(of.most),
						"the account %s has %d %s, and its quota is %d", name, of.has, of.what, of.most))
				}
			}
			return true
		})
	})
}

// posts finds HTTP subscribers that do not accept deliveries.
func (s *scan) posts() {
	s.read(func(v queue.View) {
		for _, w := range v.WaitingPosts() {
			if w.Attempts == 0 {
				continue
			}
			s.waiting = append(s.waiting, health.Found(health.Posts, w.Topic, float64(w.Waiting),
				"the topic %s waits with %d deliveries for the subscriber at %s, which %d attempts did not reach", w.Topic, w.Waiting,
				hostOf(w.Endpoint), w.Attempts))
		}
	})
}

// hostOf returns the host of a URL, whose other parts may be secret.
func hostOf(endpoint string) string {
	u, err := url.Parse(endpoint)
	if err != nil || u.Host == "" {
		return "its URL"
	}
	return u.Host
}

// deadLetters counts the messages in all dead-letter queues, as one finding.
func (s *scan) deadLetters() []health.Finding {
	var total, most int64
	var fullest string
	queues := 0
	s.read(func(v queue.View) {
		for _, name := range v.DeadLetterQueues() {
			stats, refused := v.Stats(name)
			if refused != nil {
				continue
			}
			queues++
			stored := stats.Visible + stats.NotVisible + stats.Delayed + stats.Deferred
			if total += stored; stored > most {
				most, fullest = stored, name
			}
		}
	})
	switch {
	case queues == 0:
		return nil
	case total == 0:
		return []health.Finding{health.Found(health.DeadLetter, "", 0, "no dead-letter queue has messages")}
	}
	return []health.Finding{health.Found(health.DeadLetter, fullest, float64(total),
		"dead-letter queues have %d messages, %d of them in %s", total, most, fullest)}
}
