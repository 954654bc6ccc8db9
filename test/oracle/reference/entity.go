package reference

import "strings"

// statusOf says whether a status refuses sends and receives. The texts are those of EntityStatus.
func statusOf(status string) (refusesSends, refusesReceives bool) {
	return status == "Disabled" || status == "SendDisabled", status == "Disabled" || status == "ReceiveDisabled"
}

func disabled() *Error { return &Error{Code: "EntityDisabled"} }

// keeps returns the error of a queue from which receivers can take no messages: neither receive nor
// complete, defer or dead-letter them. They can give them back.
func (q *Queue) keeps() *Error {
	if _, refuses := statusOf(q.Settings.Status); refuses {
		return disabled()
	}
	return nil
}

// refusesReceives returns the error of a queue that refuses receives.
func (q *Queue) refusesReceives() *Error {
	if err := q.keeps(); err != nil {
		return err
	}
	if q.Settings.ForwardTo != "" {
		return &Error{Code: "UnsupportedOperation"}
	}
	return nil
}

// Withheld says why receives get no messages from a queue, empty if they do.
func (q *Queue) Withheld() string {
	switch {
	case q.Settings.Paused:
		return "paused"
	case q.keeps() != nil:
		return "disabled"
	case q.Settings.ForwardTo != "":
		return "forwarding"
	}
	return ""
}

// bytes returns the size of a message for quotas. The attributes of a dead letter are its own, all
// others of a message from a topic belong to the publication.
func (m *Message) bytes() int64 {
	p := m.Sent.Published
	if p == nil {
		return m.Sent.size()
	}
	whole := SendEntry{Body: p.Text, Parts: Parts{Changes: m.Sent.Parts.Changes}}
	whole.Attributes = append(whole.Attributes, p.Attributes...)
	for _, a := range m.Sent.Attributes {
		if strings.HasPrefix(a.Name, "DeadLetter") {
			whole.Attributes = append(whole.Attributes, a)
		}
	}
	return whole.size()
}

func (q *Queue) bytes() (total int64) {
	total = q.planned
	for _, m := range q.messages {
		total += m.bytes()
	}
	return total
}

// full returns the error of a queue without room for more bytes.
func (q *Queue) full(more int64) *Error {
	if limit := q.Settings.MaxMegabytes << 20; limit > 0 && q.bytes()+more > limit {
		return &Error{Code: "QuotaExceeded"}
	}
	return nil
}

// topicFull is the same for a topic, whose size is that of its queues. Duplicates need no room.
func (b *Broker) topicFull(t *Topic, entries []PublishEntry) *Error {
	limit, more := t.settings.maxMegabytes<<20, int64(0)
	b.eachNew(t, entries, func(e PublishEntry) {
		v, _ := t.values(e)
		more += SendEntry{Body: e.Message, Attributes: v.rest}.size()
	})
	if limit == 0 || more == 0 {
		return nil
	}
	for _, s := range t.Subscriptions {
		if q := b.queues[s.Queue]; q != nil {
			more += q.bytes() + q.lingering.mortal + q.lingering.aged
		}
	}
	if more <= limit {
		return nil
	}
	return &Error{Code: "QuotaExceeded"}
}
