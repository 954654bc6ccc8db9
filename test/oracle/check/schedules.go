package check

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/seriatimq/seriatim/test/oracle/history"
)

// Until it is due, a scheduled message has the number of its answer and can be cancelled. Then it
// joins the queue under a new number. So in these queues the number and sent time of a delivery
// tell when it joined, not when it was sent.

// schedules are the scheduled messages of a history.
type schedules struct {
	queues  map[string]bool
	byKey   map[string][]*history.Event // schedules, by queue and deduplication id
	cancels map[string][]*history.Event // by queue and number
}

func newSchedules() schedules {
	return schedules{queues: map[string]bool{}, byKey: map[string][]*history.Event{}, cancels: map[string][]*history.Event{}}
}

// in reports whether messages are scheduled in a queue.
func (s *schedules) in(queue string) bool { return s.queues[queue] }

func (c *checker) indexSchedule(e *history.Event) {
	switch e.Action {
	case history.Schedule:
		key := e.Queue + "\x00" + e.Dedup
		c.schedules.queues[e.Queue] = true
		c.schedules.byKey[key] = append(c.schedules.byKey[key], e)
		c.sends[e.Body] = append(c.sends[e.Body], e)
		c.byKey[key] = append(c.byKey[key], e)
	case history.Cancel:
		number := e.Queue + "\x00" + e.Sequence
		c.schedules.cancels[number] = append(c.schedules.cancels[number], e)
	}
}

// maker returns the call that made a message of a queue with schedules, if this is certain: the
// first successful call with its key. due is 0 if it was a send, and certain is false if a send and
// a schedule of the key overlapped.
func (c *checker) maker(m *message) (due int64, certain bool) {
	if len(m.deliveries) > 0 {
		for _, s := range c.sends[m.deliveries[0].message.Body] {
			return s.Due, true
		}
		return 0, false
	}
	var first *history.Event // that was answered with the message
	for _, e := range m.acks {
		if first == nil || e.Return < first.Return {
			first = e
		}
	}
	if first == nil {
		return 0, false
	}
	for _, e := range c.byKey[m.queue+"\x00"+m.dedup] {
		if e.Possible() && e.Call < first.Return && e.Due != first.Due {
			return 0, false
		}
	}
	return first.Due, true
}

// checkSchedules checks I20.
func (c *checker) checkSchedules() {
	if len(c.schedules.queues) == 0 {
		return
	}
	clock := c.knownTimes()
	ids := map[string][]*message{}
	for _, m := range c.order {
		if !c.schedules.in(m.queue) {
			continue
		}
		ids[m.queue+"\x00"+m.dedup] = append(ids[m.queue+"\x00"+m.dedup], m)
		due, certain := c.maker(m)
		if due > 0 {
			c.report.Counts["messages scheduled"]++
		}
		c.checkEarly(m, due)
		c.checkCancelled(m, due, certain)
		end, drained := c.drained[m.queue]
		if drained && len(m.acks) > 0 && len(m.deliveries) == 0 && !c.mayBeCancelled(m) && clock.at(end) > due {
			c.violate("I20", m.acks[0].Return, "message %s of %s, number %s, due at %d, never came, and no call cancelled it",
				m.id, m.queue, m.number, due)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(ids)) {
		c.checkOneOfKey(key, ids[key], clock)
	}
}

// checkEarly checks that no scheduled message is delivered before its time.
func (c *checker) checkEarly(m *message, due int64) {
	for _, d := range m.deliveries {
		if e := d.receive; d.message.Sent < due || e.LogTime > 0 && e.LogTime < due {
			c.violate("I20", e.Return, "receive %d at log time %d: message %s was to come at %d, and says it was sent at %d", e.ID,
				e.LogTime, m.id, due, d.message.Sent)
			return
		}
	}
}

// checkCancelled checks that a message is either delivered or cancelled, is cancelled only before
// it is due, and is known until then.
func (c *checker) checkCancelled(m *message, due int64, certain bool) {
	var done *history.Event
	cancels := c.schedules.cancels[m.queue+"\x00"+m.number]
	for _, e := range cancels {
		if e.Result != history.OK {
			continue
		}
		if e.Error != "" {
			c.checkRefused(m, e, due, certain)
			continue
		}
		c.report.Counts["scheduled messages cancelled"]++
		switch {
		case done != nil:
			c.violate("I20", e.Return, "cancel %d of message %s was done, as cancel %d was", e.ID, m.id, done.ID)
		case len(m.deliveries) > 0:
			c.violate("I20", e.Return, "message %s was cancelled by call %d, and receive %d delivered it", m.id, e.ID,
				m.deliveries[0].receive.ID)
		case certain && due == 0:
			c.violate("I20", e.Return, "cancel %d took message %s away, which was sent and not scheduled", e.ID, m.id)
		case certain && e.LogTime >= due:
			c.violate("I20", e.Return, "cancel %d at log time %d took message %s away, whose time had come at %d", e.ID, e.LogTime, m.id,
				due)
		}
		done = e
	}
}

// checkRefused judges a cancel that found nothing.
func (c *checker) checkRefused(m *message, e *history.Event, due int64, certain bool) {
	if !strings.HasSuffix(e.Error, "NotFound") {
		return
	}
	c.report.Counts["cancels that came too late"]++
	acked := slices.ContainsFunc(m.acks, func(a *history.Event) bool { return a.Return < e.Call })
	taken := slices.ContainsFunc(c.schedules.cancels[m.queue+"\x00"+m.number],
		func(o *history.Event) bool { return o != e && o.Possible() && o.Call < e.Return })
	if certain && acked && !taken && e.LogTime > 0 && e.LogTime < due {
		c.violate("I20", e.Return, "cancel %d at log time %d was told that message %s does not wait, whose time is %d", e.ID, e.LogTime,
			m.id, due)
	}
}

func (c *checker) mayBeCancelled(m *message) bool {
	return slices.ContainsFunc(c.schedules.cancels[m.queue+"\x00"+m.number], func(e *history.Event) bool { return e.Possible() })
}

// checkOneOfKey checks that two messages of one key were accepted at least a window apart. Each was
// accepted after the first call of the key and before the first event that shows it.
func (c *checker) checkOneOfKey(key string, messages []*message, clock knownTimes) {
	if len(messages) < 2 {
		return
	}
	first := never
	for _, e := range c.byKey[key] {
		first = min(first, e.Call)
	}
	least, most := clock.at(first), int64(0)
	for _, m := range messages {
		shown := never
		for _, a := range m.acks {
			if a.LogTime > 0 {
				shown = min(shown, a.LogTime)
			}
		}
		for _, d := range m.deliveries {
			if d.receive.LogTime > 0 {
				shown = min(shown, d.receive.LogTime)
			}
		}
		most = max(most, shown)
	}
	if least > 0 && (most-least)*1000 < c.rules.WindowOf(messages[0].queue) {
		c.violate("I20", messages[1].earliest, "messages %s and %s have the key %q, and both were accepted within %d ms", messages[0].id,
			messages[1].id, messages[0].dedup, most-least)
	}
}

// knownTimes returns log times of answers, in order of their return.
type knownTimes []knownTime

type knownTime struct{ when, logTime int64 }

func (c *checker) knownTimes() (known knownTimes) {
	for i := range c.events {
		if e := &c.events[i]; e.Kind == history.KindOp && e.Result == history.OK && e.LogTime > 0 {
			known = append(known, knownTime{e.Return, e.LogTime})
		}
	}
	slices.SortFunc(known, func(a, b knownTime) int { return cmp.Compare(a.when, b.when) })
	for i := 1; i < len(known); i++ {
		known[i].logTime = max(known[i].logTime, known[i-1].logTime)
	}
	return known
}

// at returns a log time that was certainly reached at a time, 0 if none is known.
func (k knownTimes) at(when int64) int64 {
	i, _ := slices.BinarySearchFunc(k, when, func(t knownTime, when int64) int { return cmp.Compare(t.when, when) })
	if i == 0 {
		return 0
	}
	return k[i-1].logTime
}
