package reference

// MessageState describes a message in its queue, for reports of differences.
type MessageState struct {
	Gone           bool // it is not in the queue (any more)
	InFlight       bool
	Behind         bool // an earlier message of its group is not delivered yet
	BehindReturned bool // one of these was delivered before
}

// Standings tells how messages stand, in their order.
func (b *Broker) Standings(q *Queue, ids []int) []MessageState {
	place := map[int]int{}
	all := make([]MessageState, len(ids))
	for i, id := range ids {
		place[id] = i
		all[i].Gone = true
	}
	earlier := map[string]MessageState{}
	for _, m := range q.messages {
		before := earlier[m.Group]
		if i, asked := place[m.ID]; asked {
			all[i] = before
			all[i].InFlight = b.inFlight(q, m)
			continue // may be delivered in the same answer
		}
		before.Behind = true
		before.BehindReturned = before.BehindReturned || m.Receives > 0
		earlier[m.Group] = before
	}
	return all
}
