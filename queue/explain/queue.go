package explain

import (
	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/attributes"
	"github.com/seriatimq/seriatim/queue/limits"
)

// Queue explains what receives from a queue get.
func Queue(v queue.View, name string) (Explanation, *queue.Error) {
	stats, err := v.Stats(name)
	if err != nil {
		return Explanation{}, err
	}
	typed, _ := v.Typed(name)
	w := withheld(name, &typed)
	var e Explanation
	switch {
	case w.state != "":
		e.State, e.Summary, e.Next = w.state, w.because+": receives get no messages.", w.next
		if !typed.Status.RefusesSends() {
			e.Summary += " Sends go on."
		}
		e.command(w.effect, w.command...)
	case v.Deliverable(name):
		e.State, e.Summary, e.Then = "ready", "Receives get messages now.", Deliver
		e.Next = "The next receive takes the message that has been available the longest."
	case stats.NotVisible >= limits.InFlightMax:
		e.State = "limit"
		e.Summary = "The queue has reached its limit of " + count(limits.InFlightMax, "message") + " in flight."
		e.Next = "Receives get messages again when some in flight are deleted or become visible."
	case stats.Visible+stats.NotVisible+stats.Delayed+stats.Deferred == 0:
		e.State, e.Summary = "empty", "The queue has no messages."
		e.Next = "Receives get the next message that is sent."
	default:
		e.waiting(v, name, &stats)
	}
	e.counts(v, name, &stats)
	return e, nil
}

// withholding says why receives get no messages of a queue, and which command changes that.
type withholding struct {
	state   string // empty: they get messages
	because string // without a point
	next    string
	effect  string
	command []string
}

func withheld(name string, a *queue.QueueAttributes) withholding {
	switch a.Withheld() {
	case attributes.WithheldPaused:
		return withholding{"paused", "Deliveries of the queue are paused", "Receives get messages again when you resume the queue.",
			"resumes the deliveries", []string{"queue", "resume", name}}
	case attributes.WithheldDisabled:
		return withholding{"disabled", "Receiving from the queue is disabled", "Receives get messages again when you activate the queue.",
			"activates the queue", []string{"queue", "update", name, "--attribute", "EntityStatus=Active"}}
	case attributes.WithheldForwarding:
		return withholding{"forwarding", "The queue forwards its messages to " + a.ForwardTo,
			"Receives get messages again when you end the forwarding.", "ends the forwarding",
			[]string{"queue", "update", name, "--attribute", "ForwardTo="}}
	case attributes.NotWithheld:
	}
	return withholding{}
}

// waiting explains a queue with messages of which a receive gets none.
func (e *Explanation) waiting(v queue.View, name string, stats *queue.QueueStats) {
	typed, _ := v.Typed(name)
	switch {
	case typed.FIFO && stats.BlockedGroups > 0 && stats.BlockedGroups == stats.Groups:
		e.State = "blocked"
		e.Summary = "All " + count(stats.Groups, "message group") + " with messages are blocked: receivers hold them."
		e.Next = "A group delivers again when its receiver deletes or releases its messages."
	case stats.NotVisible > 0:
		e.State, e.Summary = "in-flight", "Receivers hold all messages that could be delivered now."
		e.Next = "Receives get messages that become visible again, and those that are sent."
	case stats.Delayed > 0:
		e.State, e.Summary = "delayed", "All messages that could be delivered are delayed or scheduled."
	default:
		e.State, e.Summary = "deferred", "The queue has only deferred messages, which receives return by number only."
		e.Next = "Receives get the next message that is sent."
	}
	at, exact := v.NextAvailable(name)
	switch {
	case at != 0 && exact:
		e.Until, e.Then = at, Deliver
		e.Next = "At " + clock(at) + " a message becomes available, unless a receiver changes that."
	case at != 0:
		e.detail("A message becomes available at %s or earlier.", clock(at))
	}
	if groups, err := v.Groups(name, "", "", 1); err == nil && len(groups) == 1 {
		e.command("lists the message groups with their states", "group", "list", name)
		e.command("shows which client holds the first group", "group", "explain", name, groups[0].Name)
	}
}

// counts adds what the queue holds.
func (e *Explanation) counts(v queue.View, name string, stats *queue.QueueStats) {
	if total := stats.Visible + stats.NotVisible + stats.Delayed + stats.Deferred; total > 0 {
		e.detail("Messages: %d visible, %d in flight, %d delayed or scheduled, %d deferred.", stats.Visible, stats.NotVisible,
			stats.Delayed, stats.Deferred)
	}
	if stats.BlockedGroups > 0 {
		e.detail("Receivers hold %d of %s.", stats.BlockedGroups, count(stats.Groups, "message group"))
	}
	if stats.OldestSentAt != 0 {
		e.detail("The oldest message was sent at %s.", clock(stats.OldestSentAt))
	}
	if target, after := v.RedriveRule(name); target != "" {
		e.detail("After %s a message moves to the dead-letter queue %s.", count(after, "receive"), target)
	} else if target := v.DeadLetterQueue(name); target != "" && target != name {
		e.detail("Its dead-letter queue %s does not exist: messages stay and are delivered again.", target)
	}
}
