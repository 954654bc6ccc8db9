package explain

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/limits"
)

// Message explains where a stored message is and what happens to it next.
func Message(v queue.View, name string, sequence queue.SequenceNumber) (Explanation, *queue.Error) {
	m, err := v.Stored(name, sequence)
	if err != nil {
		return Explanation{}, err
	}
	attributes, _ := v.Typed(name)
	e := Explanation{}
	visible := clock(m.VisibleAt)
	var group *queue.GroupInfo
	if m.GroupID != "" && attributes.FIFO {
		if g, err := v.Group(name, m.GroupID); err == nil {
			group = &g
		}
	}
	switch {
	case m.State == "scheduled":
		e.State, e.Summary, e.Until, e.Then = "scheduled", "The message is scheduled and waits outside of its group.", m.VisibleAt, Enqueue
		e.Next = "At " + visible + " it is enqueued with a new sequence number."
		e.command("deletes it before it is enqueued", "msg", "cancel", name, m.Sequence.String())
	case m.State == "in flight":
		e.inFlight(v, name, &m, group)
	case m.State == "deferred":
		e.State, e.Summary = "deferred", "A receiver has deferred the message: it blocks no other message."
		e.Next = "Only a receive by its sequence number returns it, and it does not expire."
	case group != nil && group.State == queue.GroupInSession:
		e.State, e.Until, e.Group = "session", group.Until, group
		e.Summary = "A receiver has locked the group of the message as a session, until " + clock(group.Until) +
			" unless it renews the lock."
		e.Next = "Only this receiver gets the message before the lock ends."
		e.afterLock(&m, group.Until)
		e.command("ends the lock; later calls of the receiver fail", "group", "release", name, m.GroupID)
	case m.Before > 0:
		e.State, e.Summary = "waiting", "The message waits for "+count(m.Before, "earlier message")+" of its group."
		e.Next = "It is delivered after these are deleted, moved or expired, or together with them."
		e.command("explains what holds the group", "group", "explain", name, m.GroupID)
	case m.State == "delayed":
		e.State, e.Summary, e.Until, e.Then = "delayed", "A delay hides the message until "+visible+".", m.VisibleAt, Deliver
		e.Next = "At " + visible + " a receive can get it."
	default:
		e.available(v, name, &m, &attributes)
	}
	e.facts(v, name, &m, &attributes)
	e.timeline(&m)
	e.expires(&m)
	words := []string{name, "--sequence", m.Sequence.String()}
	if m.State == "in flight" {
		words = append(words, "--force")
	}
	if m.Returnable {
		e.command("moves it back to "+m.DeadLetterSource, append([]string{"msg", "move"}, words...)...)
	}
	e.command("deletes it", append([]string{"msg", "discard"}, words...)...)
	return e, nil
}

func (e *Explanation) inFlight(v queue.View, name string, m *queue.StoredMessage, group *queue.GroupInfo) {
	e.State, e.Until = "in-flight", m.VisibleAt
	e.Summary = fmt.Sprintf("A receiver has the message since %s (receive number %d), until %s unless it is deleted or extended.",
		clock(m.ReceivedAt), m.ReceiveCount, clock(m.VisibleAt))
	if m.InSession {
		e.Summary = fmt.Sprintf("A receiver has the message in a session since %s (receive number %d), until %s unless it renews the lock.",
			clock(m.ReceivedAt), m.ReceiveCount, clock(m.VisibleAt))
	}
	switch {
	case m.Deferred:
		e.Next, e.Then = "At "+clock(m.VisibleAt)+" it is deferred again: only a receive by its sequence number returns it.", Nothing
	case m.Before > 0:
		e.Next, e.Then = "At "+clock(m.VisibleAt)+" it becomes visible, and is delivered after the earlier messages of its group.", Nothing
	case m.DeadLetter:
		e.Next, e.Then = "At "+clock(m.VisibleAt)+" it becomes visible, and a receive moves it to the dead-letter queue"+
			deadLetterQueue(v, name)+".", DeadLetter
	default:
		e.Next, e.Then = "At "+clock(m.VisibleAt)+" it becomes visible, and a receive returns it again.", Deliver
	}
	if group == nil || m.Deferred && !m.InSession {
		return
	}
	if m.InSession || m.Before == 0 {
		e.Group = group
	}
	e.command("makes the messages of its group visible; later calls of the receiver fail", "group", "release", name, m.GroupID)
}

// available explains a message at the head of its line.
func (e *Explanation) available(v queue.View, name string, m *queue.StoredMessage, attributes *queue.QueueAttributes) {
	stats, _ := v.Stats(name)
	w := withheld(name, attributes)
	switch {
	case w.state != "":
		e.State, e.Summary, e.Next = w.state, w.because+": receives do not get the message.", w.next
		e.command(w.effect, w.command...)
	case stats.NotVisible >= limits.InFlightMax:
		e.State, e.Summary = "limit", "The message could be delivered, but the queue has reached its limit of messages in flight."
		e.Next = "It is delivered when messages in flight are deleted or become visible."
	case m.DeadLetter:
		e.State, e.Then = "dead-letter", DeadLetter
		e.Summary = fmt.Sprintf("The message was received %s, as often as the redrive policy allows.", times(m.HandOuts))
		e.Next = "The next receive moves it to the dead-letter queue" + deadLetterQueue(v, name) + "."
	default:
		e.State, e.Summary, e.Then = "ready", "A receive can get the message now.", Deliver
		e.Next = "The next receive returns it, unless others come first."
	}
}

// facts adds what is true in every state.
func (e *Explanation) facts(v queue.View, name string, m *queue.StoredMessage, attributes *queue.QueueAttributes) {
	if w := withheld(name, attributes); w.state != "" && e.State != w.state {
		e.detail("%s: receives get no messages.", w.because)
		e.command(w.effect, w.command...)
		if e.Then != Enqueue {
			e.Then = Nothing
		}
	}
	if target, after := v.RedriveRule(name); target != "" && !m.DeadLetter && !m.Deferred {
		e.detail("It moves to the dead-letter queue %s after %s more.", target, count(after-m.HandOuts, "receive"))
	}
	if m.DeadLetterSource != "" {
		e.detail("It was dead-lettered from %s.", m.DeadLetterSource)
	}
	if m.ExpiresAt != 0 {
		e.detail("It expires at %s.", clock(m.ExpiresAt))
	}
	if m.DeduplicationID == "" || !attributes.FIFO {
		return
	}
	known, found, err := v.KnownID(name, queue.DeduplicationID{
		ID: m.DeduplicationID, GroupID: m.GroupID, PartitionKey: m.PartitionKey,
	})
	if err == nil && found {
		e.detail("Until %s a send with its deduplication id %s is a duplicate.", clock(known.FreeAt), m.DeduplicationID)
	}
}

// timeline adds the moments that the state remembers or expects.
func (e *Explanation) timeline(m *queue.StoredMessage) {
	add := func(at queue.Timestamp, event string) {
		if at != 0 && (m.ExpiresAt == 0 || at <= m.ExpiresAt) {
			e.Timeline = append(e.Timeline, Event{at, event})
		}
	}
	add(m.SentAt, "It was sent, or arrived in this queue.")
	if m.FirstReceivedAt != m.ReceivedAt {
		add(m.FirstReceivedAt, "It was received for the first time.")
	}
	add(m.ReceivedAt, "It was last received.")
	switch m.State {
	case "scheduled":
		add(m.VisibleAt, "It is enqueued.")
	case "in flight", "delayed":
		event := "It becomes visible."
		if m.Deferred {
			event = "It is deferred again."
		}
		add(m.VisibleAt, event)
	}
	add(m.ExpiresAt, "It expires.")
	slices.SortStableFunc(e.Timeline, func(a, b Event) int { return cmp.Compare(a.At, b.At) })
}
