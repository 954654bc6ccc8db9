// Package check judges the history of a fault run by invariants that clients can observe, and
// counts whether the run did enough to prove something. The caller may name the calls without an
// answer that took effect. test/oracle/logcheck judges the committed log.
package check

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/seriatimq/seriatim/test/oracle/history"
)

// Violation is a breach of an invariant.
type Violation struct {
	Invariant string // I1, I2, ...
	Checker   string // that found it: a name in Check, or "log W1" to "log W7"
	Text      string
	At        int64 // microseconds since the start, for the report
}

// Report is the result of the checkers for a history.
type Report struct {
	Violations []Violation
	Counts     map[string]int
	Short      []string // required minimums that were not reached

	profile string
	resting [2]int          // most descriptors and goroutines of a node without clients; 0: not measured
	must    []string        // counts of a fixed scenario that must not be 0
	waived  map[string]bool // areas whose faults this machine does not support
}

// Verdict is fail, inconclusive or pass.
func (r Report) Verdict() string {
	switch {
	case len(r.Violations) > 0:
		return "fail"
	case len(r.Short) > 0:
		return "inconclusive"
	}
	return "pass"
}

// delivery is a message in an answer.
type delivery struct {
	receive  *history.Event
	message  history.Message
	position int
	replay   bool // the handle was delivered before, so an attempt id was used
}

// message contains everything in a history about one MessageId.
type message struct {
	id, queue, group, dedup, sequence string
	number                            string // from the answer to a send

	acks       []*history.Event // sends answered with this id
	deliveries []*delivery      // in order of their return
	deletes    []*history.Event // that may have deleted it, in order of their call
	created    int64            // a time at which it certainly existed
	earliest   int64            // a time before which it certainly did not exist
}

// checker holds a history, indexed by the objects of its events.
type checker struct {
	rules      history.Rules
	report     Report
	all        []history.Event             // with those of queues that the log alone judges
	events     []history.Event             // without
	sends      map[string][]*history.Event // by body
	byKey      map[string][]*history.Event // sends by queue and deduplication id
	receives   map[string][]*history.Event // by queue, in order of their call
	purges     map[string][]*history.Event // by queue
	messages   map[string]*message
	order      []*message // by queue and sequence number
	handles    map[string]*delivery
	drained    map[string]int64 // queue to the time when it was empty
	visibility map[string][]*history.Event
	changes    []int64                   // times of leader changes
	attempts   map[string]*history.Event // the first receive with an attempt id of a queue
	touches    []*history.Event          // what faults did to nodes
	skewed     [][2]int64                // times with a wrong clock, and the grace after each
	uncertain  [][2]int64                // the same, until log time was again close to true time
	checking   string                    // the checker at work
	effects    map[int64]int64           // log times of operations of unknown outcome that took effect, as far as the log is known
}

// Check judges a history without a log.
func Check(events []history.Event) Report { return CheckWithEffects(events, nil) }

// CheckWithEffects is Check with known effects: for each operation of unknown outcome that took
// effect, its number and the log time of its entry (logcheck.Checker.Effects).
func CheckWithEffects(events []history.Event, effects map[int64]int64) Report {
	events = history.Singles(events)
	c := &checker{
		effects: effects, all: events, events: judged(events),
		sends: map[string][]*history.Event{}, byKey: map[string][]*history.Event{},
		receives: map[string][]*history.Event{},
		purges:   map[string][]*history.Event{}, messages: map[string]*message{}, handles: map[string]*delivery{},
		drained: map[string]int64{}, visibility: map[string][]*history.Event{}, attempts: map[string]*history.Event{},
		report: Report{Counts: map[string]int{}, waived: map[string]bool{}},
	}
	c.index()
	c.indexClocks()
	c.checking = "identity" // I7, I9: of ids, numbers and handles
	c.deliver()
	c.indexDeletes()
	for _, x := range c.checkers() {
		c.checking = x.name
		x.check()
	}
	c.checkMinimums()
	slices.SortStableFunc(c.report.Violations, func(a, b Violation) int { return cmp.Compare(a.At, b.At) })
	return c.report
}

// named is a checker and the name under which a planted bug expects it.
type named struct {
	name  string
	check func()
}

// checkers returns all of them.
func (c *checker) checkers() []named {
	return []named{
		{"loss", c.checkLoss},             // I1, I7
		{"content", c.checkContent},       // I2, I12
		{"duplicates", c.checkDuplicates}, // I3
		{"numbers", c.checkNumbers},       // I4a, I9
		{"overtaking", c.checkOvertaking}, // I4b, I4c, I4d, I5
		{"attempts", c.checkAttempts},     // I6
		{"deletes", c.checkDeletes},       // I8
		{"visibility", c.checkVisibility}, // I6, I10
		{"time", c.checkTime},             // I16
		{"counters", c.checkCounters},     // I13, I15
		{"usage", c.checkUsage},           // I15
		{"replicas", c.checkReplicas},     // I13b
		{"states", c.checkStates},         // I13b, I17
		{"service", c.checkService},       // I14
		{"ends", c.checkEnds},             // I13, I15, I17
		{"failures", c.checkFailures},     // I17
	}
}

// source returns the queue whose dead-letter queue this is, or an empty text.
func (c *checker) source(queue string) string {
	for source := range c.rules.DeadLetter {
		if history.DeadLetterOf(source) == queue {
			return source
		}
	}
	return ""
}

// moved returns the message in the dead-letter queue with the same id, nil if it was never seen
// there.
func (c *checker) moved(m *message) *message {
	if _, dead := c.rules.DeadLetter[m.queue]; !dead {
		return nil
	}
	return c.messages[history.DeadLetterOf(m.queue)+"\x00"+m.id]
}

func (c *checker) message(d *delivery) *message {
	return c.messages[d.receive.Queue+"\x00"+d.message.ID]
}

func (c *checker) violate(invariant string, at int64, format string, args ...any) {
	c.report.Violations = append(c.report.Violations,
		Violation{Invariant: invariant, Checker: c.checking, At: at, Text: fmt.Sprintf(format, args...)})
	c.report.Counts["violations "+invariant]++
}

// index sorts the events by their objects.
func (c *checker) index() {
	for i := range c.events {
		e := &c.events[i]
		switch e.Kind {
		case history.KindRun:
			if e.Rules != nil {
				c.rules = *e.Rules
			}
		case history.KindObserved:
			if e.Action == "leader change" {
				c.changes = append(c.changes, e.Call)
			}
		case history.KindTouch:
			c.touches = append(c.touches, e)
		case history.KindDrained:
			c.drained[e.Queue] = e.Return
		case history.KindOp:
			switch e.Action {
			case "send":
				c.sends[e.Body] = append(c.sends[e.Body], e)
				key := e.Queue + "\x00" + e.Dedup
				c.byKey[key] = append(c.byKey[key], e)
			case "receive":
				c.receives[e.Queue] = append(c.receives[e.Queue], e)
				key := e.Queue + "\x00" + e.Attempt
				if first := c.attempts[key]; e.Attempt != "" && e.Result != history.Fail && (first == nil || e.Call < first.Call) {
					c.attempts[key] = e
				}
			case history.Purge, history.DeleteQueue:
				c.purges[e.Queue] = append(c.purges[e.Queue], e)
			case "visibility":
				c.visibility[e.Handle] = append(c.visibility[e.Handle], e)
			}
		default: // read by the checkers that need it
		}
	}
}

// deliver collects the events of each message, except its deletion.
func (c *checker) deliver() {
	get := func(queue, id string) *message {
		key := queue + "\x00" + id
		m := c.messages[key]
		if m == nil {
			m = &message{id: id}
			c.messages[key] = m
		}
		return m
	}
	for i := range c.events {
		e := &c.events[i]
		if e.Kind != history.KindOp || e.Result != history.OK || e.Error != "" {
			continue
		}
		switch e.Action {
		case "send":
			m := get(e.Queue, e.Message)
			if m.acks = append(m.acks, e); len(m.acks) == 1 {
				m.queue, m.group, m.dedup, m.number = e.Queue, e.Group, e.Dedup, e.Sequence
			} else if m.dedup != e.Dedup {
				c.violate("I9", e.Return, "send %d of %q: message %s, number %s, was made by send %d of %q", e.ID, e.Dedup, e.Message,
					e.Sequence, m.acks[0].ID, m.dedup)
			} else if m.number != e.Sequence {
				c.violate("I9", e.Return, "send %d: message %s has number %s, another send was told %s", e.ID, e.Message, e.Sequence,
					m.number)
			}
			m.sequence = cmp.Or(m.sequence, e.Sequence)
		case "receive":
			for position, got := range e.Messages {
				m := get(e.Queue, got.ID)
				if m.queue == "" {
					m.queue, m.group, m.dedup = e.Queue, got.Group, got.Dedup
				}
				m.sequence = cmp.Or(m.sequence, got.Sequence)
				d := &delivery{receive: e, message: got, position: position}
				if first := c.handles[got.Handle]; first == nil {
					c.handles[got.Handle] = d
				} else {
					d.replay = true
					if first.message.ID != got.ID || first.message.Count != got.Count || first.receive.Attempt == "" ||
						first.receive.Attempt != e.Attempt {
						c.violate("I7", e.Return, "receive %d: the handle of message %s was issued by receive %d for another delivery",
							e.ID, got.ID, first.receive.ID)
					}
				}
				m.deliveries = append(m.deliveries, d)
			}
		}
	}
}

// indexDeletes finds the deletes of each message, and the bounds of its creation.
func (c *checker) indexDeletes() {
	for i := range c.events {
		e := &c.events[i]
		if e.Kind == history.KindOp && e.Action == "delete" && e.Possible() {
			if d := c.handles[e.Handle]; d != nil && d.receive.Queue == e.Queue {
				m := c.message(d)
				m.deletes = append(m.deletes, e)
			}
		}
	}
	for _, m := range c.messages {
		m.sequence = cmp.Or(m.sequence, m.number)
		slices.SortFunc(m.deliveries, func(a, b *delivery) int { return cmp.Compare(a.receive.Return, b.receive.Return) })
		slices.SortFunc(m.deletes, func(a, b *history.Event) int { return cmp.Compare(a.Call, b.Call) })
		c.order = append(c.order, m)
		m.created = never
		for _, ack := range m.acks {
			m.created = min(m.created, ack.Return)
		}
		// The calls that may have made it: the sends of its body, if the body was seen, otherwise
		// any send of its key.
		makers := c.byKey[m.queue+"\x00"+m.dedup]
		if len(m.deliveries) > 0 {
			m.created = min(m.created, m.deliveries[0].receive.Return)
			makers = c.sends[m.deliveries[0].message.Body]
		}
		m.earliest = never
		if len(m.deliveries) == 0 && len(makers) == 0 {
			makers = m.acks
		}
		for _, s := range makers {
			if s.Result != history.Fail {
				m.earliest = min(m.earliest, s.Call)
			}
		}
	}
	slices.SortFunc(c.order, func(a, b *message) int {
		return cmp.Or(cmp.Compare(a.queue, b.queue), compareSequence(a.sequence, b.sequence), cmp.Compare(a.id, b.id))
	})
}

// never is later than every time in a history.
const never = int64(1) << 62

// compareSequence compares decimal numbers without leading zeros.
func compareSequence(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) }

// stale reports whether a newer delivery had certainly replaced the handle of a delivery when the
// delete was called.
func (m *message) stale(handle string, call int64) bool {
	own := 0
	for _, d := range m.deliveries {
		if d.message.Handle == handle {
			own = d.message.Count
		}
	}
	for _, d := range m.deliveries {
		if d.message.Count > own && d.receive.Return < call {
			return true
		}
	}
	return false
}

// hidden reports whether the last change of visibility may have hidden the message for longer than
// the drain waits.
func (c *checker) hidden(m *message) bool {
	for _, d := range m.deliveries {
		changes := c.visibility[d.message.Handle]
		if n := len(changes); n > 0 && changes[n-1].Possible() && *changes[n-1].Timeout > 60_000_000 {
			return true
		}
	}
	return false
}

// removable returns the earliest time at which a delete with the message's newest handle may have
// deleted it.
func (m *message) removable() int64 {
	for _, d := range m.deletes {
		if !m.stale(d.Handle, d.Call) {
			return d.Call
		}
	}
	return never
}

// removed returns the time from which the message is certainly deleted: the return of a successful
// delete whose delivery was certainly still in flight.
func (c *checker) removed(m *message) int64 {
	at := never
	for _, e := range m.deletes {
		d := c.handles[e.Handle]
		held := c.sooner(d.receive, e, c.span(d)) && len(c.visibility[e.Handle]) == 0
		if e.Result == history.OK && e.Error == "" && held {
			at = min(at, e.Return)
		}
	}
	return at
}
