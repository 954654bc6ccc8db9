package explain

import (
	"fmt"

	"github.com/seriatimq/seriatim/queue"
)

// GroupStates are the tokens of the states of message groups.
var GroupStates = map[queue.GroupState]string{
	queue.GroupEmpty: "empty", queue.GroupReady: "ready", queue.GroupInSession: "session", queue.GroupInFlight: "in-flight",
	queue.GroupDelayed: "delayed", queue.GroupDeadLetter: "dead-letter", queue.GroupAtLimit: "limit", queue.GroupPaused: "paused",
}

// Group explains whether receives get messages of a group. The group is also a session.
func Group(v queue.View, name, group string) (Explanation, *queue.Error) {
	g, err := v.Group(name, group)
	if err != nil {
		return Explanation{}, err
	}
	return OfGroup(v, name, &g), nil
}

// OfGroup explains a group that was read from the same view.
func OfGroup(v queue.View, name string, g *queue.GroupInfo) Explanation {
	e := Explanation{State: GroupStates[g.State], Until: g.Until}
	head, until := fmt.Sprintf("its first message, number %s,", g.First.Sequence), clock(g.Until)
	first, _ := v.Stored(name, g.First.Sequence) // zero without messages
	release := func(effect string) {
		e.Group = g
		e.command(effect, "group", "release", name, g.Name)
	}
	switch g.State {
	case queue.GroupInSession:
		e.Summary = "A receiver has locked the group as a session, until " + until + " unless it renews the lock."
		e.detail("It has %d of %d messages in flight, and no other client receives from the group.", g.InFlight, g.Messages)
		e.Next = "Release the group to end the lock."
		e.afterLock(&first, g.Until)
		release("ends the lock; later calls of the receiver fail")
	case queue.GroupInFlight:
		e.Summary = fmt.Sprintf("A receiver has %s since %s (receive number %d), until %s unless it is deleted or extended.", head,
			clock(g.ReceivedAt), g.First.ReceiveCount, until)
		e.detail("Later messages of the group wait for it.")
		e.Next = "Release the group to make it visible."
		if e.Then = Deliver; first.DeadLetter {
			e.Then = DeadLetter
			e.detail("When it is visible again, a receive moves it to the dead-letter queue%s.", deadLetterQueue(v, name))
		}
		release("makes its messages visible; later calls of the receiver fail")
	case queue.GroupDelayed:
		e.Summary, e.Then = fmt.Sprintf("DelaySeconds of the queue hides %s until %s.", head, until), Deliver
		e.command("shows the delay of the queue", "queue", "show", name)
	case queue.GroupDeadLetter:
		e.Summary = fmt.Sprintf("The next receive moves %s to the dead-letter queue%s: it was received %s.", head,
			deadLetterQueue(v, name), times(g.First.ReceiveCount))
		e.Then = DeadLetter
	case queue.GroupAtLimit:
		e.Summary = "The queue has reached its limit of messages in flight."
		e.Next = "Messages of the group are delivered when others are deleted or become visible."
	case queue.GroupPaused:
		a, _ := v.Typed(name)
		w := withheld(name, &a)
		e.State, e.Summary, e.Next = w.state, w.because+", so receives do not get "+head+" and no others.", w.next
		e.command(w.effect, w.command...)
	case queue.GroupReady:
		e.Summary = fmt.Sprintf("Nothing holds the group: the next receive can get %s unless other groups come first.", head)
		e.Then = Deliver
	default:
		e.Summary = "The group has no messages to receive and no receiver."
		e.detail("Scheduled and deferred messages are not part of their group.")
	}
	e.withheldToo(v, name, g.State)
	if g.State == queue.GroupInFlight || g.State == queue.GroupDelayed {
		e.expires(&first)
	}
	return e
}

// afterLock sets what a receive does with a message at the end of a session lock.
func (e *Explanation) afterLock(m *queue.StoredMessage, end queue.Timestamp) {
	switch {
	case m.Sequence == 0 || m.Before > 0 || !m.InSession && m.VisibleAt > end || m.ExpiresAt != 0 && m.ExpiresAt <= end:
	case m.DeadLetter:
		e.Then = DeadLetter
	default:
		e.Then = Deliver
	}
}

// expires changes what is next if the retention of a message ends before its state.
func (e *Explanation) expires(m *queue.StoredMessage) {
	if m.ExpiresAt == 0 || e.Until == 0 || m.ExpiresAt > e.Until {
		return
	}
	e.Until, e.Then = m.ExpiresAt, Expire
	e.Next = "Before that, at " + clock(m.ExpiresAt) + ", its retention ends and it is deleted."
	if m.ExpiresTo != "" {
		e.Then = DeadLetter
		e.Next = "Before that, at " + clock(m.ExpiresAt) + ", its time to live ends and it moves to the dead-letter queue " +
			m.ExpiresTo + "."
	}
}

// withheldToo adds that receives get nothing from a queue when something else holds the message as well.
func (e *Explanation) withheldToo(v queue.View, name string, state queue.GroupState) {
	a, err := v.Typed(name)
	w := withheld(name, &a)
	if err != nil || w.state == "" || state == queue.GroupPaused {
		return
	}
	e.detail("%s, too: receives get no messages.", w.because)
	e.Then = Nothing
	e.command(w.effect, w.command...)
}

// deadLetterQueue returns the name of the dead-letter queue after a blank.
func deadLetterQueue(v queue.View, name string) string {
	target, _ := v.RedriveRule(name)
	if target == "" {
		return ""
	}
	return " " + target
}

func times(n int64) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprint(n, " times")
}
