package servicebus

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Event is a line of a client. A call that failed, or whose outcome is unknown, has none.
type Event struct {
	Event    string `json:"event"`    // one of the constants
	At       int64  `json:"at"`       // when the client had the answer, in nanoseconds of the monotonic clock
	Since    int64  `json:"since"`    // when the call began; of a message, when the receiver was opened
	ID       string `json:"id"`       // of the message
	Session  string `json:"session"`  // of the message, or that is held
	Number   int    `json:"number"`   // of the message in its session, from 1
	Sequence int64  `json:"sequence"` // number that the queue has given to the message
	Holder   string `json:"holder"`   // of the session, unique for each time that it is held
	Until    int64  `json:"until"`    // end of the lock of the session
	Text     string `json:"text"`     // of a failure
	client   string
}

// Values of Event.Event.
const (
	Accepted  = "accepted"  // a send
	Received  = "received"  // a message
	Settling  = "settling"  // a message: from now on it may be completed or given back
	Completed = "completed" // a message
	Abandoned = "abandoned" // a message
	Held      = "held"      // a session
	Renewed   = "renewed"   // the lock of a session
	Closing   = "closing"   // a session that was not lost before, as far as the client knows
	Lost      = "lost"      // a session: a call failed
	Failed    = "failed"    // a call, for a reader of the report
)

// Checkers, by what they find.
const (
	Loss      = "loss"
	Duplicate = "duplicate"
	Order     = "order"
	Holders   = "two holders"
	Return    = "return after completion"
	Left      = "messages left"
)

// Violation is a broken guarantee.
type Violation struct{ Checker, Text string }

// lockLost is the condition of AMQP by which a server says that a session is no longer locked.
const lockLost = "com.microsoft:session-lock-lost"

// recovery is the time after a kill in which a call may fail.
const recovery = 5 * time.Second

// Check judges the events of one queue that is empty at the end. kills are the times of the kills.
func Check(events []Event, kills []int64) []Violation {
	slices.SortStableFunc(events, func(a, b Event) int { return cmp.Compare(a.At, b.At) })
	return slices.Concat(checkMessages(events), checkOrder(events), checkHolders(events, kills))
}

// checkMessages finds lost messages, those that are stored twice, and those that return.
func checkMessages(events []Event) (found []Violation) {
	type state struct {
		accepted, done bool // done: perhaps
		sequence       int64
		settling       int64 // time of the last settlement that began
		completed      int64 // time, 0: never
	}
	messages := map[string]*state{}
	for _, e := range events {
		m := messages[e.ID]
		if m == nil {
			m = &state{}
			messages[e.ID] = m
		}
		switch e.Event {
		case Accepted:
			m.accepted = true
		case Received:
			if m.sequence != 0 && m.sequence != e.Sequence {
				found = append(found, Violation{Duplicate, fmt.Sprintf("%s is stored as %d and as %d", e.ID, m.sequence, e.Sequence)})
			}
			m.sequence = e.Sequence
			if m.completed != 0 && m.completed < e.Since {
				found = append(found, Violation{Return, fmt.Sprintf("%s came to %s after its completion", e.ID, e.client)})
			}
		case Settling:
			m.done, m.settling = true, e.At
		case Abandoned:
			m.done = m.settling > e.Since // another client may have had it before the answer came
		case Completed:
			m.completed = e.At
		}
	}
	for _, id := range slices.Sorted(maps.Keys(messages)) {
		switch m := messages[id]; {
		case m.accepted && m.sequence == 0:
			found = append(found, Violation{Loss, id + " was accepted and never came"})
		case m.sequence != 0 && !m.done:
			found = append(found, Violation{Loss, id + " came, was not completed, and did not come again"})
		}
	}
	return found
}

// checkOrder finds messages that came to the holder of a session before an earlier one, which came for
// the first time later, or had to come again.
func checkOrder(events []Event) (found []Violation) {
	sessions := map[string]*order{}
	for _, e := range events {
		if e.Holder == "" {
			continue
		}
		s := sessions[e.Session]
		if s == nil {
			s = &order{open: map[int]bool{}}
			sessions[e.Session] = s
		}
		if e.Event == Held {
			s.holder, s.has = e.Holder, map[int]bool{}
		}
		if e.Holder == s.holder { // the answers to a former holder may be late
			found = append(found, s.add(e)...)
		}
	}
	return found
}

// order follows the messages of a session.
type order struct {
	holder string
	last   int          // the highest number that came
	has    map[int]bool // numbers that the holder has or had
	open   map[int]bool // numbers that came and are certainly not completed
}

func (s *order) add(e Event) (found []Violation) {
	switch e.Event {
	case Received:
		if e.Number > s.last+1 {
			found = append(found, Violation{Order, fmt.Sprintf("%s came to %s before number %d", e.ID, e.client, s.last+1)})
		}
		for n := range s.open {
			if n < e.Number && !s.has[n] {
				found = append(found, Violation{Order, fmt.Sprintf("%s came to %s before number %d came back", e.ID, e.client, n)})
			}
		}
		s.last = max(s.last, e.Number)
		s.has[e.Number], s.open[e.Number] = true, true
	case Settling:
		delete(s.open, e.Number)
	case Abandoned:
		s.open[e.Number], s.has[e.Number] = true, false
	}
	return found
}

// checkHolders finds sessions that two clients had at a time. A client certainly has a session from
// the answer to its accept to the begin of its last successful call. If it noticed no failure before it
// closed the session, it has the session until then, or until the lock ends. So it has until a failure
// without a kill. A lock that the server says is lost must have reached its end.
func checkHolders(events []Event, kills []int64) (found []Violation) {
	type span struct {
		session, client string
		from, to, until int64
	}
	spans := map[string]*span{}
	for _, e := range events {
		s := spans[e.Holder]
		switch {
		case e.Event == Held:
			spans[e.Holder] = &span{e.Session, e.client, e.At, e.At, e.Until}
		case e.Event == Lost && strings.Contains(e.Text, lockLost) && e.At < s.until:
			found = append(found, Violation{Holders, fmt.Sprintf("the lock of %s on session %s was lost %d ms before its end",
				s.client, s.session, (s.until-e.At)/1e6)})
		case e.Event == Lost:
			if !slices.ContainsFunc(kills, func(at int64) bool { return s.from < at+int64(recovery) && at < e.At }) {
				s.to = max(s.to, min(e.At, s.until))
			}
		case e.Event == Closing:
			s.to = max(s.to, min(e.Since, s.until))
		case e.Holder != "" && e.Event != Received && e.Since != 0: // a message may have waited in the client
			s.to, s.until = max(s.to, e.Since), max(s.until, e.Until)
		}
	}
	held := map[string]*span{}
	for _, e := range events {
		if e.Event != Held {
			continue
		}
		s := spans[e.Holder]
		if before := held[s.session]; before != nil && before.to > s.from {
			found = append(found, Violation{Holders, fmt.Sprintf("%s had session %s for %d ms after %s accepted it",
				before.client, s.session, (before.to-s.from)/1e6, s.client)})
		}
		if before := held[s.session]; before == nil || before.to < s.to {
			held[s.session] = s
		}
	}
	return found
}
