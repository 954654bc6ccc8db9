package reference

// Peeked is a message as an operator sees it.
type Peeked struct {
	Message, Number, Receives int
	Group, State              string
	SentAt                    int64
	Sent                      SendEntry
}

// Peek lists all messages of a queue by number, whatever their state.
func (b *Broker) Peek(q *Queue) (list []Peeked) {
	for _, m := range q.messages {
		state := "visible"
		switch {
		case b.inFlight(q, m):
			state = "in flight"
		case m.Scheduled:
			state = "scheduled"
		case m.Deferred:
			state = "deferred"
		case b.delayed(q, m):
			state = "delayed"
		}
		list = append(list, Peeked{m.ID, m.Number, m.Receives, m.Group, state, m.SentAt, m.Sent})
	}
	return list
}
