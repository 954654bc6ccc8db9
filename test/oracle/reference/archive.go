package reference

import (
	"encoding/json"
	"slices"
	"time"
)

const dayMilliseconds = 24 * 60 * 60 * 1000

// archived is one message that a topic keeps for replays, with what a delivery of it
// needs beside the publication.
type archived struct {
	Publication
	sender, group, id string
}

// archivePolicy reads how many days a topic keeps what was published: 1 to 365, as a
// number or a string. {} is none (sns.md 9).
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

// changeArchive follows a change of the ArchivePolicy. Turning it off deletes what was
// archived and fails the replays of it; a longer retention brings nothing back.
func (b *Broker) changeArchive(t *Topic, days int64) {
	switch before := t.settings.archiveDays; {
	case before == days:
	case before == 0:
		t.archivedSince = b.now
	case days == 0:
		t.archive = nil
		for _, s := range t.Subscriptions {
			if s.replay.Running() {
				s.replay.Status = "Failed"
			}
		}
	default:
		t.archivedSince = b.archiveBegin(t)
	}
	t.settings.archiveDays = days
}

// archiveBegin is the earliest moment that may be replayed: the later of when the archive
// was turned on, and of what the retention reaches back to.
func (b *Broker) archiveBegin(t *Topic) int64 {
	return max(t.archivedSince, b.now-t.settings.archiveDays*dayMilliseconds)
}

// ArchiveBegin is BeginningArchiveTime, if the topic has an archive.
func (b *Broker) ArchiveBegin(t *Topic) (at int64, ok bool) {
	return b.archiveBegin(t), t.settings.archiveDays > 0
}

// keep archives a message, if the topic has an archive.
func (t *Topic) keep(a archived) {
	if t.settings.archiveDays > 0 {
		t.archive = append(t.archive, a)
	}
}

// dropArchived drops what is older than the retention.
func (b *Broker) dropArchived(t *Topic) {
	t.archive = slices.DeleteFunc(t.archive, func(a archived) bool {
		return a.At+t.settings.archiveDays*dayMilliseconds < b.now
	})
}

// Replay is a replay of the archive of a topic to a subscription.
type Replay struct {
	Status     string // "" without a ReplayPolicy
	start, end int64
	ends       bool
	next       int // number of the message that the next step begins with, 0 at first
}

// Running reports whether a replay has still to deliver.
func (r *Replay) Running() bool { return r.Status == "Pending" || r.Status == "In progress" }

// replayPolicy reads a ReplayPolicy; empty text and {} are none.
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

// replaysMax bounds the running replays of a topic (sns.md 10).
const replaysMax = 10

// mayReplay refuses a replay that attributes ask for if there cannot be one. running says
// whether the subscription has one already, which the new one replaces.
func (t *Topic) mayReplay(given map[string]string, running bool) *Error {
	if r, _ := replayPolicy(given["ReplayPolicy"]); !r.Running() {
		return nil
	}
	if t.settings.archiveDays == 0 {
		return invalidTopic("")
	}
	now := 0
	for _, s := range t.Subscriptions {
		if s.replay.Running() {
			now++
		}
	}
	if !running && now >= replaysMax {
		return &Error{Code: "ReplayLimitExceeded"}
	}
	return nil
}

// takes reports whether what is published now reaches a subscription at once. It does not
// while a replay runs, which comes to it in its turn, nor behind the end of a replay that
// has one.
func (b *Broker) takes(s *Subscription) bool {
	if s.replay.Running() {
		return false
	}
	return s.replay.Status != "Completed" || !s.replay.ends || b.now <= s.replay.end
}

// Replayed is the result of one step of a replay.
type Replayed struct {
	Looked  int64 // archived messages that were delivered or filtered out
	Running bool  // there is more
}

// ReplayStep delivers the next messages of the archive, up to most of them. When there is
// no further one the replay is over.
func (b *Broker) ReplayStep(subscription, most int) (r Replayed, d Deliveries) {
	d = noDeliveries()
	t, s := b.subscription(subscription)
	if t == nil || !s.replay.Running() {
		return r, d
	}
	if b.queues[s.Queue] == nil {
		s.replay.Status = "Failed"
		return r, d
	}
	for _, a := range t.archive {
		if !s.replay.reaches(a, b.bugs) {
			continue
		}
		if r.Looked == int64(most) {
			r.Running, s.replay.Status, s.replay.next = true, "In progress", a.Number
			return r, d
		}
		r.Looked++
		if a.At >= b.archiveBegin(t) {
			again := a.Publication
			again.Replayed = true
			b.publishTo(t, s, again, a.sender, a.group, a.id, &d)
		}
	}
	s.replay.Status, s.replay.next = "Completed", 0
	return r, d
}

// reaches reports whether a message is among those that the replay has still to deliver. The
// end is among them.
func (r *Replay) reaches(a archived, bugs map[Bug]bool) bool {
	switch {
	case r.next > 0 && a.Number < r.next, r.next == 0 && a.At < r.start:
		return false
	case bugs[ReplayStartExcluded] && a.At == r.start:
		return false
	}
	return !r.ends || a.At <= r.end
}

// Replay is the replay of a subscription.
func (s *Subscription) Replay() Replay { return s.replay }

// ArchivedAt are the moments at which what is archived was published.
func (t *Topic) ArchivedAt() (times []int64) {
	for _, a := range t.archive {
		times = append(times, a.At)
	}
	return times
}
