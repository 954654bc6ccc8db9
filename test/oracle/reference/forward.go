package reference

import (
	"slices"
	"strings"
)

// hopsMax is the number of times that a message is forwarded (servicebus.md 4).
const hopsMax = 4

// mark notes that a command used a queue. At its end, the queue forwards what can be received.
func (b *Broker) mark(q *Queue) {
	if !slices.Contains(b.changed, q) {
		b.changed = append(b.changed, q)
	}
}

// Forward forwards from the queues that the command at hand used, until nothing moves.
func (b *Broker) Forward() {
	for moved := true; moved; {
		moved = false
		for i := 0; i < len(b.changed); i++ {
			if q := b.changed[i]; b.queues[q.Name] == q && q.Withheld() == "forwarding" {
				moved = b.forwardFrom(q) || moved
			}
		}
	}
	b.changed = nil
}

func (b *Broker) forwardFrom(q *Queue) bool {
	var list []*Message
	for _, line := range b.servingOrder(q) {
		list = append(list, line...)
	}
	for _, m := range list {
		b.forward(q, q, m, q.Settings.ForwardTo)
	}
	return len(list) > 0
}

// forward moves a message of holder to a queue or topic. source is the queue whose setting says so.
func (b *Broker) forward(holder, source *Queue, m *Message, to string) {
	if m.Hops >= hopsMax {
		b.stop(holder, m)
		return
	}
	topic, isTopic := strings.CutPrefix(to, "topic:")
	refused := ""
	if isTopic {
		refused = b.forwardToTopic(holder, m, topic)
	} else {
		refused = b.forwardToQueue(holder, m, to)
	}
	text := map[string]string{
		"MessagingEntityNotFoundException": " does not exist.",
		"MessagingEntityDisabledException": " is disabled.",
		"QuotaExceededException":           " has no room for the message.",
		"Session id is null.":              " doesn't allow a message whose session identifier is null.",
	}[refused]
	if refused != "" {
		b.moveUnforwarded(holder, source, m, refused, "The entity "+to+text)
	}
}

func (b *Broker) forwardToQueue(holder *Queue, m *Message, name string) (refused string) {
	to := b.queues[name]
	if to == nil {
		return "MessagingEntityNotFoundException"
	}
	if refuses, _ := statusOf(to.Settings.Status); refuses {
		return "MessagingEntityDisabledException"
	}
	if to.needsGroup() && !m.Grouped {
		return "Session id is null."
	}
	b.mark(to)
	c := &Message{
		Sent: m.Sent, Sender: m.Sender, Group: m.Group, Grouped: m.Grouped, DedupID: m.DedupID, DedupOf: m.DedupOf,
		Partition: m.Partition, SentAt: b.now, TimeToLive: to.timeToLive(m.TimeToLive), Hops: m.Hops + 1, Source: m.Source,
	}
	ids := b.movedIDs(to, c)
	detects := to.FIFO && !to.Settings.DeduplicationOff && len(ids) > 0
	if detects && b.original(&to.history, ids, m.Group, m.Partition) != nil {
		holder.remove(m)
		forget([]*Message{m})
		return ""
	}
	if detects && b.historyFull(&to.history, len(ids)) || to.full(m.bytes()) != nil {
		return "QuotaExceededException"
	}
	holder.remove(m)
	to.usedAt = b.now
	c.ID = b.newMessageID()
	b.place(to, c, nil, reservedValues{})
	if detects {
		b.remember(&to.history, ids, m.Group, m.Partition, c.ID, c.Number)
	}
	return ""
}

// forwardToTopic publishes a message. Histories forward only text to topics.
func (b *Broker) forwardToTopic(holder *Queue, m *Message, name string) (refused string) {
	t := b.topics[name]
	if t == nil {
		return "MessagingEntityNotFoundException"
	}
	if refuses, _ := statusOf(t.settings.status); refuses {
		return "MessagingEntityDisabledException"
	}
	if t.FIFO && !t.settings.groupOptional && !m.Grouped {
		return "Session id is null."
	}
	e := PublishEntry{Message: m.Sent.Body, Attributes: m.Sent.Attributes, Trace: m.Sent.Trace, Hops: m.Hops + 1}
	if p := m.Sent.Published; p != nil {
		e.Message, e.Subject, e.Trace = p.Text, &p.Subject, p.Trace
		e.Attributes = slices.Clone(p.Attributes)
		for _, a := range m.Sent.Attributes {
			if strings.HasPrefix(a.Name, "DeadLetter") {
				e.Attributes = withAttribute(e.Attributes, a.Name, a.Value)
			}
		}
	}
	if m.Grouped {
		e.Group = &m.Group
	}
	if m.Partition != "" {
		e.Partition = &m.Partition
	}
	if m.TimeToLive != 0 {
		e.TimeToLive = &m.TimeToLive
	}
	if id := m.DedupID; m.DedupOf != 0 {
		e.Dedup = new(messageIDText(m.DedupOf))
	} else if t.FIFO && id != "" {
		e.Dedup = &id
	} else if t.FIFO && !t.settings.ContentBased && !t.settings.DeduplicationOff {
		e.Dedup = new(messageIDText(m.ID))
	}
	if b.topicFull(t, []PublishEntry{e}) != nil || b.tooManyIDs(t, []PublishEntry{e}) {
		return "QuotaExceededException"
	}
	holder.remove(m)
	t.usedAt = b.now
	b.publish(t, m.Sender, "", e)
	return ""
}

// stop puts a message that was forwarded too often into a dead-letter queue. A dead letter stays.
func (b *Broker) stop(q *Queue, m *Message) {
	if q.Withheld() != "forwarding" {
		return
	}
	const reason = "MaxTransferHopCountExceeded"
	const text = "The maximum number of allowed hops when forwarding between queues has been exceeded."
	target := b.queues[q.redrive().Target]
	if target == nil || target == q || target.FIFO != q.FIFO {
		b.moveUnforwarded(q, q, m, reason, text)
		return
	}
	explain(m, reason, text)
	b.deadLetter(q, target, m)
}

// moveUnforwarded moves a message that cannot be forwarded to the transfer dead-letter queue of source.
func (b *Broker) moveUnforwarded(holder, source *Queue, m *Message, reason, text string) {
	name := transferName(source.Name)
	target := b.queues[name]
	if target == nil {
		target = b.addQueue(name, source.FIFO, defaults())
	}
	explain(m, reason, text)
	b.moveDead(holder, target, source, m)
}

func explain(m *Message, reason, text string) {
	m.Sent.Attributes = withAttribute(m.Sent.Attributes, "DeadLetterReason", reason)
	m.Sent.Attributes = withAttribute(m.Sent.Attributes, "DeadLetterErrorDescription", text)
}

// transferName is implicitName for what cannot be forwarded.
func transferName(source string) string {
	if base, fifo := strings.CutSuffix(source, ".fifo"); fifo {
		return base + "-transferdlq.fifo"
	}
	return source + "-transferdlq"
}

// checkForward refuses targets that do not exist, or from which messages come back.
func (b *Broker) checkForward(name string, s Settings, given map[string]string) *Error {
	bad := &Error{Code: "InvalidAttributeValue"}
	for _, attribute := range []string{"ForwardTo", "ForwardDeadLetteredMessagesTo"} {
		to := given[attribute]
		if to == "" {
			continue
		}
		if topic, is := strings.CutPrefix(to, "topic:"); is {
			if b.topics[topic] == nil {
				return bad
			}
			continue
		}
		dead := Queue{Name: name, Settings: s}
		if b.queues[to] == nil || to == s.ForwardDead && to == dead.redrive().Target {
			return bad
		}
		for range hopsMax {
			if to == name {
				return bad
			}
			if next := b.queues[to]; next != nil && next.Settings.ForwardTo != "" {
				to = next.Settings.ForwardTo
			}
		}
	}
	return nil
}
