package reference

import (
	"encoding/json"
	"slices"
	"time"
)

const dayMilliseconds = 24 * 60 * 60 * 1000

// archived is a message that a topic keeps for replays.
type archived struct {
	Publication
	sender, group, id string
}

// archivePolicy returns for how many days a topic archives publications: 1 to 365, as a number or a
// string. It returns 0 for {} (sns.md 9).
func archivePolicy(text string) (days int64, ok bool) {
	var policy map[string]any
	if json.Unmarshal([]byte(text), &policy) != nil || policy == nil {
		return 0, false
	}
	if len(policy) == 0 {
		return 0, true
	}
	switch value := policy["MessageRetentionPeriod"].(type) {
	case float64:
		days = int64(value)
		ok = float64(days) == value
	case string:
		days, ok = wholeNumber(value)
	}
	return days, ok && days >= 1 && days <= 365
}

// changeArchive applies a change of the ArchivePolicy. Turning it off deletes the archive and fails
// its replays. A longer retention restores nothing.
func (b *Broker) changeArchive(t *Topic, days int64) {
	switch before := t.settings.archiveDays; {
	case before == days:
	case before == 0:
		t.archivedSince = b.now
	case days == 0:
		t.archive = nil
		for _, s := range t.Subscriptions {
			if s.settings.replay.Running() {
				s.settings.replay.Status = "Failed"
			}
		}
	default:
		t.archivedSince = b.archiveBegin(t)
	}
	t.settings.archiveDays = days
}

// archiveBegin returns the earliest time that may be replayed: the start of the archive, or the
// limit of its retention if that is later.
func (b *Broker) archiveBegin(t *Topic) int64 {
	return max(t.archivedSince, b.now-t.settings.archiveDays*dayMilliseconds)
}

// ArchiveBegin returns BeginningArchiveTime, if the topic has an archive.
func (b *Broker) ArchiveBegin(t *Topic) (at int64, ok bool) {
	return b.archiveBegin(t), t.settings.archiveDays > 0
}

// keep archives a message, if the topic has an archive.
func (t *Topic) keep(a archived) {
	if t.settings.archiveDays > 0 {
		t.archive = append(t.archive, a)
	}
}

// dropArchived deletes messages older than the retention.
func (b *Broker) dropArchived(t *Topic) {
	t.archive = slices.DeleteFunc(t.archive, func(a archived) bool {
		return a.At+t.settings.archiveDays*dayMilliseconds < b.now
	})
}

// Replay is a replay of the archive of a topic to a subscription.
type Replay struct {
	Status     string // empty without a ReplayPolicy
	start, end int64
	ends       bool
	next       int // number of the message with which the next step begins, 0 at first
}

// Running reports whether a replay still has messages to deliver.
func (r *Replay) Running() bool { return r.Status == "Pending" || r.Status == "In progress" }

// replayPolicy parses a ReplayPolicy. An empty text and {} are none.
func replayPolicy(text string) (r Replay, ok bool) {
	if text == "" || text == "{}" {
		return Replay{}, true
	}
	var policy struct {
		PointType, StartingPoint string
		EndingPoint              *string
	}
	if json.Unmarshal([]byte(text), &policy) != nil || policy.PointType != "Timestamp" {
		return Replay{}, false
	}
	start, err := time.Parse(time.RFC3339, policy.StartingPoint)
	if err != nil {
		return Replay{}, false
	}
	r = Replay{Status: "Pending", start: start.UnixMilli()}
	if policy.EndingPoint != nil {
		end, err := time.Parse(time.RFC3339, *policy.EndingPoint)
		if err != nil || end.Before(start) {
			return Replay{}, false
		}
		r.end, r.ends = end.UnixMilli(), true
	}
	return r, true
}

// replaysMax limits the running replays of a topic (sns.md 10).
const replaysMax = 10

// mayReplay refuses a replay that is not possible. running tells that the subscription has a replay
// already, which the new one replaces.
func (t *Topic) mayReplay(given map[string]string, running bool) *Error {
	if r, _ := replayPolicy(given["ReplayPolicy"]); !r.Running() {
		return nil
	}
	if t.settings.archiveDays == 0 {
		return invalidTopic("")
	}
	now := 0
	for _, s := range t.Subscriptions {
		if s.settings.replay.Running() {
			now++
		}
	}
	if !running && now >= replaysMax {
		return &Error{Code: "ReplayLimitExceeded"}
	}
	return nil
}

// takes reports whether a publication is delivered to a subscription at once. This is not the case
// while a replay runs, which will reach it, and after the end of a replay that has an end.
func (b *Broker) takes(s *Subscription) bool {
	if s.settings.replay.Running() {
		return false
	}
	return s.settings.replay.Status != "Completed" || !s.settings.replay.ends || b.now <= s.settings.replay.end
}

// Replayed is the result of one step of a replay.
type Replayed struct {
	Looked  int64 // archived messages that were delivered or filtered
	Running bool  // there are more
}

// ReplayStep delivers the next messages of the archive, at most most. After the last one the replay
// is over.
func (b *Broker) ReplayStep(subscription, most int) (r Replayed) {
	t, s := b.subscription(subscription)
	if t == nil || !s.settings.replay.Running() {
		return r
	}
	t.usedAt = b.now
	if b.queues[s.Queue] == nil {
		s.settings.replay.Status = "Failed"
		return r
	}
	for _, a := range t.archive {
		if !s.settings.replay.reaches(a) {
			continue
		}
		if r.Looked == int64(most) {
			r.Running, s.settings.replay.Status, s.settings.replay.next = true, "In progress", a.Number
			return r
		}
		r.Looked++
		if a.At >= b.archiveBegin(t) {
			again := a.Publication
			again.Replayed = true
			b.publishTo(t, s, again, a.sender, a.group, a.id, &b.deliveries)
		}
	}
	s.settings.replay.Status, s.settings.replay.next = "Completed", 0
	return r
}

// reaches reports whether a replay still has to deliver a message. Its end time is included.
func (r *Replay) reaches(a archived) bool {
	if r.next > 0 && a.Number < r.next || r.next == 0 && a.At < r.start {
		return false
	}
	return !r.ends || a.At <= r.end
}

// Replay returns the replay of a subscription.
func (s *Subscription) Replay() Replay { return s.settings.replay }

// ArchivedAt returns the times of the archived publications.
func (t *Topic) ArchivedAt() (times []int64) {
	for _, a := range t.archive {
		times = append(times, a.At)
	}
	return times
}
