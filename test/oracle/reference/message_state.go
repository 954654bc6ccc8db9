package reference

// MessageState describes a message in its queue, for reports of differences.
type MessageState struct {
	Gone           bool // it is not in the queue
	InFlight       bool
	Behind         bool // an earlier message of its group is not delivered yet
	BehindReturned bool // and that one was delivered before
}

// Standings returns the states of messages, in their order.
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
			continue // it may be in the same answer
		}
		before.Behind = true
		before.BehindReturned = before.BehindReturned || m.Receives > 0
		earlier[m.Group] = before
	}
	return all
}
