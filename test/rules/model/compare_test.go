package model

import (
	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/test/oracle"
)

// compare compares the product's answer to one step with the model's, and keeps the results that
// later steps refer to.
func (w *world) compare(s step, cmd queue.Command, result queue.Result, refusal *queue.Error) string {
	want, difference := w.oracle.Check(s.at, cmd, result, refusal)
	w.count(s, want)
	if difference != nil {
		return difference.Text
	}
	if want.Err != nil {
		return ""
	}
	switch r := result.(type) {
	case queue.MessagesReceived:
		for i := range r.Messages {
			w.numbers[s.id] = append(w.numbers[s.id], r.Messages[i].Sequence)
			if h := r.Messages[i].Handle; h != (queue.ReceiptHandle{}) {
				w.handles[s.id] = append(w.handles[s.id], h.String())
			}
		}
	case queue.MessagesSent:
		for i := range r.Entries {
			w.numbers[s.id] = append(w.numbers[s.id], r.Entries[i].Sequence)
		}
	case queue.Published:
		for i := range r.Entries {
			w.numbers[s.id] = append(w.numbers[s.id], r.Entries[i].Sequence)
		}
	case queue.TransactionCommitted:
		for _, sent := range r.Sends {
			for i := range sent.Entries {
				w.numbers[s.id] = append(w.numbers[s.id], sent.Entries[i].Sequence)
			}
		}
	case queue.SessionLocked:
		if r.SessionID != "" {
			w.locks[s.id] = queue.SessionRef{SessionID: r.SessionID, Token: r.Token.String()}
		}
	case queue.Subscribed:
		w.subscriptions[s.id] = r.SubscriptionARN
	case queue.MoveTaskStarted:
		w.tasks[s.id] = r.TaskID
	}
	return ""
}

func describeProduct(e *queue.Error) string { return oracle.Describe(e) }
