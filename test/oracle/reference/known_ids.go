package reference

import (
	"slices"
	"strings"
)

// DedupID is a deduplication id as an operator names it.
type DedupID struct{ ID, Group, Partition string }

func (d DedupID) good() bool {
	return goodNative(d.ID, false) && (d.Group == "" || goodNative(d.Group, true)) && (d.Partition == "" || goodNative(d.Partition, true))
}

// ForgetID frees an id in whatever scope it was recorded, so that it can be sent again at once.
func (b *Broker) ForgetID(name string, id DedupID) *Error {
	q, err := b.find(name)
	if err != nil {
		return err
	}
	if !q.FIFO {
		return &Error{Code: "UnsupportedOperation"}
	}
	if !id.good() {
		return &Error{Code: "InvalidParameterValue"}
	}
	was := len(q.history.accepted)
	q.history.accepted = slices.DeleteFunc(q.history.accepted, func(r remembered) bool {
		return b.matches(&q.history, r, id)
	})
	if len(q.history.accepted) == was {
		return &Error{Code: "DeduplicationIDUnknown"}
	}
	q.forgot, q.forgotAt = true, b.now
	return nil
}

func (b *Broker) matches(h *history, r remembered, id DedupID) bool {
	return b.live(h, r) && r.id == id.ID && r.part == b.scopePart(r.scope, id.ID, id.Group, id.Partition)
}

// KnownID is a remembered id with the first message accepted under it.
type KnownID struct {
	Message, Number         int
	AcceptedAt, ForgottenAt int64
	State                   string // scheduled, stored or gone
}

// Known looks up an id. found is false if a send with it would be accepted.
func (b *Broker) Known(q *Queue, id DedupID) (known KnownID, found bool) {
	r := b.original(&q.history, []string{id.ID}, id.Group, id.Partition)
	if r == nil {
		return known, false
	}
	known = KnownID{r.message, r.number, r.acceptedAt, r.acceptedAt + q.Settings.Window*1000, "gone"}
	if m := q.numbered(r.number); m != nil {
		known.State = pick(m.Scheduled, "scheduled", "stored")
	}
	return known, true
}

// IDs returns the remembered ids of a queue, for a generator of histories.
func (b *Broker) IDs(q *Queue) (list []DedupID) {
	for _, r := range q.history.accepted {
		if strings.HasPrefix(r.id, messageIDPrefix) || !b.live(&q.history, r) {
			continue // the id is a message id, or has expired
		}
		id := DedupID{ID: r.id}
		if r.scope != scopeQueue && r.part != r.id {
			id.Group = r.part
		}
		list = append(list, id)
	}
	return list
}
