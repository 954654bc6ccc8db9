package oracle

import (
	"fmt"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/test/oracle/reference"
)

// checkBus is Check for commands that SQS does not have: publishing, sessions, deferral, schedules,
// and settlement.
func (o *Oracle) checkBus(cmd queue.Command, result queue.Result, refusal *queue.Error) (want Answer, d *Difference, known bool) {
	known = true
	switch c := cmd.(type) {
	case *queue.Publish:
		want, d = o.publish(c, result, refusal)
	case *queue.Subscribe:
		want, d = o.subscribe(c, result, refusal)
	case *queue.ReplayMessages:
		want, d = o.replay(c, result, refusal)
	case *queue.SetTopicPolicy:
		if refusal == nil {
			o.Model.ChangeTopic(c.Topic)
		}
	case *queue.AcceptSession:
		want.Locked, want.Err = o.Model.Accept(c.Queue, reference.AcceptRequest{
			ID: text(c.SessionID, c.SessionIDGiven), Seconds: optional(c.LockSeconds), Attempt: text(c.AttemptID, c.AttemptIDGiven),
		})
		d = o.compareLocked(want, result, refusal)
	case *queue.RenewSession:
		want.Locked, want.Err = o.Model.Renew(c.Queue, o.sessionRef(c.Session), optional(c.LockSeconds))
		d = o.compareLocked(want, result, refusal)
	case *queue.ReleaseSession:
		want.Err = o.Model.Release(c.Queue, o.sessionRef(c.Session))
		d = differ("I11", errorDifference(want.Err, refusal))
	case *queue.SetSessionState:
		want.Err = o.Model.SetState(c.Queue, o.sessionRef(c.Session), text(c.State, c.StateGiven))
		d = differ("I11", errorDifference(want.Err, refusal))
	case *queue.ForgetDeduplication:
		want.Err = o.Model.ForgetID(c.Queue, reference.DedupID{ID: c.ID, Group: c.GroupID, Partition: c.PartitionKey})
		d = differ("I3", errorDifference(want.Err, refusal))
	case *queue.ReleaseGroup:
		want.Released, want.Err = o.Model.ReleaseGroup(c.Queue, c.Group)
		d = compareReleased(want, result, refusal)
	case *queue.ReceiveDeferred:
		want, d = o.receiveDeferred(c, result, refusal)
	case *queue.CommitTransaction:
		want, d = o.commit(c, result, refusal)
	default:
		want, d, known = o.checkSettlement(cmd, result, refusal)
	}
	return want, d, known
}

// checkSettlement is Check for commands that complete, abandon, defer or dead-letter messages.
func (o *Oracle) checkSettlement(cmd queue.Command, result queue.Result, refusal *queue.Error) (want Answer, d *Difference, known bool) {
	switch c := cmd.(type) {
	case *queue.CancelScheduled:
		if c.Topic != "" {
			want.Entries, want.Err = o.Model.CancelPublish(c.Topic, o.numbers("topic "+c.Topic, c.Sequences), c.ForgetDeduplicationID)
			break
		}
		want.Entries, want.Err = o.Model.Cancel(c.Queue, o.numbers(c.Queue, c.Sequences), c.ForgetDeduplicationID)
	case *queue.Defer:
		var handles []reference.Handle
		for _, h := range c.Handles {
			handles = append(handles, o.lock(h))
		}
		want.Entries, want.Err = o.Model.Defer(c.Queue, o.session(c.Session), handles, changes(c.Changes))
	case *queue.DeadLetter:
		var entries []reference.DeadLetterEntry
		for _, e := range c.Entries {
			entries = append(entries, reference.DeadLetterEntry{Handle: o.lock(e.Handle), Reason: e.Reason, Description: e.Description})
		}
		want.Entries, want.Err = o.Model.DeadLetter(c.Queue, o.session(c.Session), entries, changes(c.Changes))
	default:
		return want, nil, false
	}
	return want, compareEntries(true, want, result, refusal), true
}

var settlements = map[queue.SettlementAction]string{
	queue.CompleteMessage: "complete", queue.AbandonMessage: "abandon", queue.GiveBackMessage: "give back", queue.DeferMessage: "defer",
	queue.DeadLetterMessage: "dead-letter",
}

func (o *Oracle) commit(c *queue.CommitTransaction, result queue.Result, refusal *queue.Error) (want Answer, _ *Difference) {
	want.Committed, want.Err = o.Model.Commit(o.transaction(c))
	if text := errorDifference(want.Err, refusal); text != "" || want.Err != nil {
		return want, differ("I11", text)
	}
	got, ok := result.(queue.TransactionCommitted)
	if !ok || len(got.Sends) != len(c.Sends) || len(got.Publishes) != len(c.Publishes) {
		return want, differ("I11", fmt.Sprintf("product answered %T %+v to a transaction", result, result))
	}
	for i, sent := range want.Committed.Sent {
		if d := o.compareAllSent(c.Sends[i].Queue, sent, got.Sends[i]); d != nil {
			return want, d
		}
	}
	for i, published := range want.Committed.Published {
		if d := o.compareAllPublished(c.Publishes[i].Topic, published, got.Publishes[i]); d != nil {
			return want, d
		}
	}
	return want, nil
}

func (o *Oracle) transaction(c *queue.CommitTransaction) (t reference.Transaction) {
	for i := range c.Settlements {
		s := &c.Settlements[i]
		t.Settlements = append(t.Settlements, reference.Settlement{
			How: settlements[s.Action], Queue: s.Queue, Session: o.session(s.Session), Handle: o.lock(s.Handle),
			Reason: s.Reason, Description: s.Description, Changes: changes(s.Changes),
		})
	}
	for i := range c.Sends {
		s := &c.Sends[i]
		t.Sends = append(t.Sends, reference.TransactionSend{Queue: s.Queue, Sender: s.SenderID, Entries: sendEntries(s.Entries)})
	}
	for i := range c.Publishes {
		p := &c.Publishes[i]
		t.Publishes = append(t.Publishes, reference.TransactionPublish{
			Topic: p.Topic, Sender: p.SenderID, Endpoint: p.Endpoint, Entries: publishEntries(p.Entries),
		})
	}
	return t
}

func (o *Oracle) numbers(name string, list []queue.SequenceNumber) (numbers []int) {
	for _, n := range list {
		numbers = append(numbers, o.bound.number(name, n))
	}
	return numbers
}

// sessionRef returns the model's lock for a token. The lock is 0 if the token was never issued.
func (o *Oracle) sessionRef(s queue.SessionRef) reference.SessionRef {
	return reference.SessionRef{ID: s.SessionID, Lock: o.bound.locks.model[s.Token]}
}

// session returns nil if ref is nil.
func (o *Oracle) session(s queue.SessionRef) *reference.SessionRef {
	if s == (queue.SessionRef{}) {
		return nil
	}
	return new(o.sessionRef(s))
}

func (o *Oracle) compareLocked(want Answer, result queue.Result, refusal *queue.Error) *Difference {
	if text := errorDifference(want.Err, refusal); text != "" || want.Err != nil {
		return differ("I11", text)
	}
	got, ok := result.(queue.SessionLocked)
	if !ok || got.SessionID != want.Locked.ID || int64(got.LockedUntil) != want.Locked.Until {
		return differ("I11", fmt.Sprintf("product: %T %+v\nmodel:   %+v", result, result, want.Locked))
	}
	if want.Locked.Lock == 0 {
		return nil
	}
	return differ("I7", o.bound.locks.bind("lock", want.Locked.Lock, got.Token.String()))
}

func compareReleased(want Answer, result queue.Result, refusal *queue.Error) *Difference {
	if text := errorDifference(want.Err, refusal); text != "" || want.Err != nil {
		return differ("I11", text)
	}
	if result != (queue.GroupReleased{Messages: want.Released.Messages, Session: want.Released.Session}) {
		return differ("I11", fmt.Sprintf("product: %+v\nmodel:   %+v", result, want.Released))
	}
	return nil
}

func (o *Oracle) receiveDeferred(c *queue.ReceiveDeferred, result queue.Result, refusal *queue.Error) (Answer, *Difference) {
	before := o.lookAt(c.Queue, result)
	var want Answer
	want.Received, want.Err = o.Model.ReceiveDeferred(c.Queue, reference.DeferredRequest{
		Numbers: o.numbers(c.Queue, c.Sequences), Session: o.session(c.Session),
		Visibility: optional(c.VisibilityTimeout), Delete: c.Delete,
	})
	return o.compareReceived(c.Queue, false, before, want, result, refusal)
}
