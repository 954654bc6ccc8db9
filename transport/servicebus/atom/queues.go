package atom

import (
	"errors"
	"net/http"
	"slices"
	"strconv"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/access"
	"github.com/seriatimq/seriatim/transport/service"
	"github.com/seriatimq/seriatim/transport/servicebus/atom/document"
	"github.com/seriatimq/seriatim/transport/servicebus/description"
	"github.com/seriatimq/seriatim/transport/servicebus/entity/lookup"
)

// read reads the state of a queue.
func (c *call) read(qualified string) (queueState, error) {
	return service.ReadValue(c.ctx, &c.Call, func(v queue.View) (queueState, *queue.Error) { return readQueue(v, qualified) })
}

// getQueue answers with a queue, or with an empty feed if there is none.
func (c *call) getQueue(qualified string) error {
	if err := c.begin(getQueueAttributes, qualified); err != nil {
		return err
	}
	s, err := c.read(qualified)
	if isMissing(err) {
		return c.writeNothing()
	}
	if err != nil {
		return err
	}
	return c.write(http.StatusOK, c.entryOf(&s))
}

// createQueue creates a queue. taken reports that another entity has its name.
func (c *call) createQueue(qualified string, taken bool, given *document.Element) error {
	q := description.Default()
	wrong, err := c.describe(&description.Queues, &q, given)
	if err != nil {
		return err
	}
	if err := c.begin(createQueue, qualified, service.QueueNeeds(qualified, c.attributesOf(qualified, q))...); err != nil {
		return err
	}
	if wrong != nil {
		return wrong
	}
	if err := c.Read(c.ctx, func(v queue.View) error {
		if taken || v.QueueExists(qualified) {
			return conflict()
		}
		return checkWindow(v, q.WindowSeconds, description.Default().WindowSeconds)
	}); err != nil {
		return err
	}
	if err := c.addQueue(qualified, q, nil); err != nil {
		return err
	}
	return c.answerQueue(http.StatusCreated, qualified)
}

// attributesOf returns the attributes of a new queue.
func (c *call) attributesOf(qualified string, q description.Queue) []queue.Attribute {
	return q.Attributes(c.Backend.Names.QueueARN(queue.ImplicitDeadLetterName(qualified)))
}

// addQueue creates a queue and its dead-letter queues, and executes more, nil for nothing. If the state
// machine refuses a step, it removes what it has created.
func (c *call) addQueue(qualified string, q description.Queue, more queue.Command) error {
	created := map[string]bool{}
	var steps []queue.Command
	if err := c.Read(c.ctx, func(v queue.View) error {
		for _, dead := range deadLetterNames(qualified, &q) {
			if created[dead] = !v.QueueExists(dead); created[dead] {
				steps = append(steps, &queue.CreateQueue{Queue: dead, Attributes: q.DeadLetterAttributes()})
			}
		}
		created[qualified] = !v.QueueExists(qualified)
		return nil
	}); err != nil {
		return err
	}
	steps = append(steps, &queue.CreateQueue{Queue: qualified, Attributes: c.attributesOf(qualified, q)})
	if more != nil {
		steps = append(steps, more)
	}
	var undo []queue.Command
	for _, step := range steps {
		_, err := c.Submit(c.ctx, step)
		var refused *queue.Error
		if errors.As(err, &refused) {
			for _, back := range undo {
				_, undone := c.Submit(c.ctx, back)
				err = errors.Join(err, undone)
			}
		}
		if err != nil {
			return err
		}
		if name := step.QueueName(); created[name] {
			undo = append(undo, &queue.DeleteQueue{Queue: name})
		}
	}
	return nil
}

// deadLetterNames returns the names of the built-in dead-letter queues of a queue.
func deadLetterNames(qualified string, q *description.Queue) []string {
	names := []string{queue.ImplicitDeadLetterName(qualified)}
	if q.Forwards() {
		names = append(names, queue.TransferDeadLetterName(qualified))
	}
	return names
}

// answerQueue answers with the present state of a queue.
func (c *call) answerQueue(status int, qualified string) error {
	s, err := c.read(qualified)
	if err != nil {
		return err
	}
	return c.write(status, c.entryOf(&s))
}

// change is a change of a queue.
type change struct {
	attributes []queue.Attribute
	create     []string // built-in dead-letter queues
	locks      []string // those whose locks change
	to         description.Queue
	// subscription has the attribute of the subscription, if it changes.
	subscription []queue.Attribute
}

func (c *call) updateQueue(qualified string, given *document.Element) error {
	if err := c.changeQueue(&description.Queues, &lookup.Entity{Name: qualified}, given); err != nil {
		return err
	}
	return c.answerQueue(http.StatusOK, qualified)
}

// changeQueue changes the properties that a description of a kind gives.
func (c *call) changeQueue(of *description.Schema[description.Queue], e *lookup.Entity, given *document.Element) error {
	if err := c.begin(setQueueAttributes, e.Name); err != nil {
		return err
	}
	planned, err := c.plan(of, e, given)
	if err != nil {
		return err
	}
	needs := service.QueueNeeds(e.Name, planned.attributes)
	if len(planned.subscription) > 0 {
		needs = append(needs, setSubscriptionAttributes.on(e.Topic))
	}
	for _, name := range planned.create {
		needs = append(needs, createQueue.on(name))
	}
	for _, name := range planned.locks {
		needs = append(needs, setQueueAttributes.on(name))
	}
	if err := c.PermitAll(c.ctx, needs); err != nil {
		return err
	}
	if err := c.changeDeadLetters(&planned); err != nil {
		return err
	}
	if len(planned.subscription) > 0 {
		cmd := &queue.SetSubscriptionAttributes{SubscriptionARN: e.ARN, Attributes: planned.subscription}
		if _, err := c.Submit(c.ctx, cmd); err != nil {
			return err
		}
	}
	if len(planned.attributes) > 0 {
		_, err = c.Submit(c.ctx, &queue.SetQueueAttributes{Queue: e.Name, Attributes: planned.attributes})
	}
	return err
}

// plan compares a description with a queue.
func (c *call) plan(of *description.Schema[description.Queue], e *lookup.Entity, given *document.Element) (planned change, err error) {
	qualified := e.Name
	var before description.Queue
	err = c.Read(c.ctx, func(v queue.View) error {
		current, refused := v.Typed(qualified)
		if refused != nil {
			return refused
		}
		before = description.Of(&current)
		before.DropFaulty = dropsFaulty(v, e.ARN)
		planned.to = before
		planned.to.ForwardTo, planned.to.ForwardDeadLetters = description.Forward{}, description.Forward{} // unless given
		if err := set(of, &planned.to, given); err != nil {
			return err
		}
		if err := c.resolve(v, &planned.to, &before); err != nil {
			return err
		}
		if err := of.CheckFixed(&planned.to, &before); err != nil {
			return err
		}
		if err := checkWindow(v, planned.to.WindowSeconds, before.WindowSeconds); err != nil {
			return err
		}
		built := queue.ImplicitDeadLetterName(qualified)
		target := built
		if current.Redrive.Target != "" {
			target = access.Sibling(qualified, current.Redrive.Target)
		}
		planned.attributes = planned.to.Changes(before, c.Backend.Names.QueueARN(target))
		if planned.to.DropFaulty != before.DropFaulty {
			planned.subscription = []queue.Attribute{{Name: description.FilterErrors, Value: strconv.FormatBool(!planned.to.DropFaulty)}}
		}
		planned.deadLetters(v, built, target == built, planned.to.MaxDeliveryCount != before.MaxDeliveryCount, &before)
		planned.deadLetters(v, queue.TransferDeadLetterName(qualified), true, planned.to.Forwards(), &before)
		return nil
	})
	if err == nil {
		err = c.checkTokens(&planned.to, &before)
	}
	return planned, err
}

// deadLetters plans for a built-in dead-letter queue that is the one in use: it is created if it is needed
// now, and has the lock of the queue.
func (p *change) deadLetters(v queue.View, name string, inUse, needed bool, before *description.Queue) {
	exists := v.QueueExists(name)
	switch {
	case !inUse:
	case !exists && needed:
		p.create = append(p.create, name)
	case exists && p.to.LockSeconds != before.LockSeconds:
		p.locks = append(p.locks, name)
	}
}

// changeDeadLetters creates dead-letter queues and changes locks.
func (c *call) changeDeadLetters(planned *change) error {
	for _, name := range planned.create {
		if _, err := c.Submit(c.ctx, &queue.CreateQueue{Queue: name, Attributes: planned.to.DeadLetterAttributes()}); err != nil {
			return err
		}
	}
	list := slices.DeleteFunc(planned.to.DeadLetterAttributes(), func(a queue.Attribute) bool { return a.Name != "VisibilityTimeout" })
	for _, name := range planned.locks {
		if _, err := c.Submit(c.ctx, &queue.SetQueueAttributes{Queue: name, Attributes: list}); err != nil {
			return err
		}
	}
	return nil
}

// deleteQueue deletes a queue, its transfer dead-letter queue, and the dead-letter queue that only this
// queue uses.
func (c *call) deleteQueue(qualified string) error {
	if err := c.begin(deleteQueue, qualified); err != nil {
		return err
	}
	names, err := c.deleted(qualified)
	if err != nil {
		return err
	}
	if err := c.removeQueues(names); err != nil {
		return err
	}
	c.w.WriteHeader(http.StatusOK)
	return nil
}

// deleted returns the queue, and the dead-letter queues that are deleted with it, in the order of their
// deletion: a repeated request finishes what a failed one began. The caller must be permitted to delete
// all of them.
func (c *call) deleted(qualified string) (names []string, err error) {
	if err := c.Read(c.ctx, func(v queue.View) error {
		if !v.QueueExists(qualified) {
			return notFound()
		}
		dead := queue.ImplicitDeadLetterName(qualified)
		if sources, err := v.DeadLetterSources(dead, "", 2); err == nil && slices.Equal(sources, []string{qualified}) {
			names = append(names, dead)
		}
		if transfer := queue.TransferDeadLetterName(qualified); v.QueueExists(transfer) {
			names = append(names, transfer)
		}
		return nil
	}); err != nil {
		return nil, err
	}
	names = append(names, qualified)
	for _, name := range names {
		if err := c.PermitAll(c.ctx, []service.Need{deleteQueue.on(name)}); err != nil {
			return nil, err
		}
	}
	return names, nil
}

// removeQueues deletes queues, of which only the last one must exist.
func (c *call) removeQueues(names []string) error {
	for i, name := range names {
		if _, err := c.Submit(c.ctx, &queue.DeleteQueue{Queue: name}); err != nil && (i == len(names)-1 || !isMissing(err)) {
			return err
		}
	}
	return nil
}
