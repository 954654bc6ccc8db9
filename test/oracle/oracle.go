package oracle

import (
	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/test/oracle/reference"
)

// Oracle is a model that follows the product. Used by one goroutine.
type Oracle struct {
	// Model is used and changed by Check; others may read it.
	Model *reference.Broker
	// SubscriptionOf returns the ARN of the subscription that a step of a replay is for, which no
	// answer contains. Without it, steps of replays are ignored.
	SubscriptionOf func(number uint64) string

	bound *bindings
}

// New returns an Oracle over a model without queues.
func New(model *reference.Broker) *Oracle {
	return &Oracle{Model: model, bound: newBindings()}
}

// Answer is the model's result of a command. The kind of the command decides which fields are set.
type Answer struct {
	Err      *reference.Error
	Sent     []reference.Sent
	Received reference.Received
	Entries  []*reference.Error
	Task     int
	Moved    int64
	Running  bool

	Published    []reference.Published
	Deliveries   reference.Deliveries
	Subscription int
	Replayed     reference.Replayed
	Locked       reference.Locked
	Released     reference.Released
	Stored       []reference.MovedEntry
	Committed    reference.Committed
}

// Difference describes how the answers of the product and the model differ. Invariant is the one of
// faults.md 1 that the product breaks if the model is right.
type Difference struct{ Invariant, Text string }

// differ returns nil for an empty text.
func differ(invariant, text string) *Difference {
	if text == "" {
		return nil
	}
	return &Difference{invariant, text}
}

// first returns the first difference that is not nil.
func first(list ...*Difference) *Difference {
	for _, d := range list {
		if d != nil {
			return d
		}
	}
	return nil
}

// Check advances the model to a log time, applies the command to it, and compares its answer with
// the product's.
func (o *Oracle) Check(at int64, cmd queue.Command, result queue.Result, refusal *queue.Error) (Answer, *Difference) {
	o.Model.Advance(at)
	o.Model.Leave(refusedEarly(cmd))
	want, d := o.check(cmd, result, refusal)
	if refusal == nil {
		o.Model.Use(cmd.QueueName())
	}
	o.Model.Forward()
	want.Deliveries = o.Model.Deliveries()
	return want, d
}

func (o *Oracle) check(cmd queue.Command, result queue.Result, refusal *queue.Error) (Answer, *Difference) {
	switch c := cmd.(type) {
	case *queue.SendMessages:
		return o.send(c, result, refusal)
	case *queue.ReceiveMessages:
		return o.receive(c, result, refusal)
	case *queue.DeleteMessages:
		return o.delete(c, result, refusal)
	case *queue.ChangeMessageVisibility:
		return o.changeVisibility(c, result, refusal)
	case *queue.StartMoveTask:
		return o.startMove(c, result, refusal)
	case *queue.CancelMoveTask:
		return o.cancelMove(c, result, refusal)
	case *queue.MoveMessages:
		return o.moveStep(c, result, refusal)
	case *queue.SetClusterSetting:
		if refusal == nil {
			o.Model.SetSetting(c.Name, c.Value)
		}
		return Answer{}, nil
	case *queue.AdvanceClock:
		o.Model.Tick()
		o.Model.Forward()
		o.Model.DeleteIdle(int64(c.LeadingSince))
		return Answer{}, nil
	case *queue.SetQueuePolicy:
		if refusal == nil {
			o.Model.Change(c.Queue)
		}
		return Answer{}, nil
	}
	if want, difference, known := o.checkBus(cmd, result, refusal); known {
		return want, difference
	}
	if want, difference, known := o.checkStored(cmd, result, refusal); known {
		return want, difference
	}
	err, known := o.administer(cmd)
	if !known {
		return Answer{}, nil
	}
	return Answer{Err: err}, differ("I11", errorDifference(err, refusal))
}

// refusedEarly reports whether the product refuses a command before it uses the queue.
func refusedEarly(cmd queue.Command) bool {
	switch c := cmd.(type) {
	case *queue.SendMessages, *queue.DeleteMessages, *queue.SetQueueAttributes:
		return false
	case *queue.ChangeMessageVisibility:
		seconds := c.Entries[0].VisibilityTimeout.Value
		return !c.Batch && (seconds < 0 || seconds > 43_200)
	}
	return cmd.Validate() != nil
}

// administer applies a command about whole queues to the model. Commands for which the model has no
// rules, such as audits, change no message.
func (o *Oracle) administer(cmd queue.Command) (err *reference.Error, known bool) {
	switch c := cmd.(type) {
	case *queue.CreateQueue:
		return o.Model.CreateQueue(c.Queue, settings(c.Attributes)), true
	case *queue.DeleteQueue:
		return o.Model.DeleteQueue(c.Queue), true
	case *queue.SetQueueAttributes:
		return o.Model.SetAttributes(c.Queue, settings(c.Attributes)), true
	case *queue.SetQueueTags:
		set := map[string]string{}
		for _, t := range c.Set {
			set[t.Key] = t.Value
		}
		return o.Model.SetTags(c.Queue, set, c.Remove), true
	case *queue.PurgeQueue:
		return o.Model.PurgeQueue(c.Queue), true
	}
	return o.administerTopic(cmd)
}

// inert contains the attributes that do not affect messages, so the model lacks them.
var inert = map[string]bool{
	"FifoThroughputLimit": true, "KmsDataKeyReusePeriodSeconds": true, "KmsMasterKeyId": true,
	"Policy": true, "ReceiveMessageWaitTimeSeconds": true, "SqsManagedSseEnabled": true,
}

// settings returns the attributes for which the model has rules.
func settings(list []queue.Attribute) map[string]string {
	given := map[string]string{}
	for _, a := range list {
		if !inert[a.Name] {
			given[a.Name] = a.Value
		}
	}
	return given
}

// optional returns nil for a value that is not given.
func optional(i queue.Int) *int64 {
	if !i.Given {
		return nil
	}
	return &i.Value
}

func text(value string, given bool) *string {
	if !given {
		return nil
	}
	return &value
}

// handle returns the model's handle for a text. Its delivery is 0 if the text was never issued.
func (o *Oracle) handle(text string) reference.Handle {
	return reference.Handle{Delivery: o.bound.handles.model[text], Text: text}
}

// lock is handle for commands that take a lock token as well.
func (o *Oracle) lock(text string) reference.Handle {
	h := o.handle(text)
	if handle, ok := o.bound.tokens[text]; ok {
		h.Delivery = o.handle(handle).Delivery
	}
	return h
}

func (o *Oracle) delete(c *queue.DeleteMessages, result queue.Result, refusal *queue.Error) (Answer, *Difference) {
	var handles []reference.Handle
	for _, h := range c.Handles {
		handles = append(handles, o.handle(h))
	}
	var want Answer
	if c.Options != nil {
		for i, text := range c.Handles {
			handles[i] = o.lock(text)
		}
		want.Entries, want.Err = o.Model.Complete(c.Queue, o.session(c.Options.Session), handles)
	} else {
		want.Entries, want.Err = o.Model.Delete(c.Queue, c.Batch, handles)
	}
	return want, compareEntries(c.Batch, want, result, refusal)
}

func (o *Oracle) changeVisibility(c *queue.ChangeMessageVisibility, result queue.Result, refusal *queue.Error) (Answer, *Difference) {
	var entries []reference.VisibilityEntry
	for _, e := range c.Entries {
		entries = append(entries, reference.VisibilityEntry{
			Handle: o.handle(e.Handle), Timeout: e.VisibilityTimeout.Value, Changes: changes(c.Changes),
		})
	}
	var want Answer
	if c.Options != nil {
		for i := range entries {
			entries[i].Handle, entries[i].Uncounted = o.lock(entries[i].Handle.Text), c.Options.Uncounted
		}
		want.Entries, want.Err = o.Model.Abandon(c.Queue, o.session(c.Options.Session), c.Batch, entries)
	} else {
		want.Entries, want.Err = o.Model.ChangeVisibility(c.Queue, c.Batch, entries)
	}
	return want, compareEntries(c.Batch, want, result, refusal)
}
