package atom

import (
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/access"
	"github.com/seriatimq/seriatim/queue/limits"
	"github.com/seriatimq/seriatim/transport/service"
	"github.com/seriatimq/seriatim/transport/servicebus/description"
	"github.com/seriatimq/seriatim/transport/servicebus/entity"
)

// scanned is the number of names that a search for a queue reads at a time.
const scanned = 1000

// locate returns the qualified name of the queue of the path in the request. If there is none, it is the
// name that a new one would have.
func (c *call) locate() (string, error) {
	if !entity.Valid(c.path) {
		return "", badRequest("'" + c.path + "' is not a valid entity name. It may have letters, digits, and . - _ / inside, and up to " +
			strconv.Itoa(entity.PathLengthMax) + " characters.")
	}
	name := entity.QueueName(c.path)
	if c.Backend.Authorizer != nil && c.Identity.Account == "" {
		return c.Scope.Own(name), nil // no search for an unauthenticated caller
	}
	err := c.Read(c.ctx, func(v queue.View) error {
		found, ok := entity.Find(c.path, func(name string) bool { return v.QueueExists(c.Scope.Own(name)) },
			func(after string) []string { return c.names(v, after, scanned) })
		if ok {
			name = found
		}
		return nil
	})
	return c.Scope.Own(name), err
}

// names lists queues of the account behind a name.
func (c *call) names(v queue.View, after string, limit int) []string {
	names := v.QueuesOf(c.Scope.Caller(), "", c.Scope.Own(after), limit)
	for i, name := range names {
		names[i] = access.PlainName(name)
	}
	return names
}

// read reads the state of a queue.
func (c *call) read(qualified string) (queueState, error) {
	return service.ReadValue(c.ctx, &c.Call, func(v queue.View) (queueState, *queue.Error) { return readQueue(v, qualified) })
}

// getQueue answers with a queue, or with an empty feed if there is none.
func (c *call) getQueue() error {
	qualified, err := c.locate()
	if err != nil {
		return err
	}
	if err := c.begin(getQueueAttributes, qualified); err != nil {
		return err
	}
	s, err := c.read(qualified)
	if isMissing(err) {
		return c.write(http.StatusOK, c.newFeed("Publicly Listed Services", c.path, nil))
	}
	if err != nil {
		return err
	}
	return c.write(http.StatusOK, c.entryOf(&s))
}

// putEntity creates a queue, or changes one if the header If-Match says so.
func (c *call) putEntity() error {
	given, err := c.readDescription()
	if err != nil {
		return err
	}
	switch given.XMLName.Local {
	case "QueueDescription":
	case "TopicDescription":
		return notImplemented("Topics")
	default:
		return badRequest("Bad Request. The content " + given.XMLName.Local + " is no description of a queue.")
	}
	qualified, err := c.locate()
	if err != nil {
		return err
	}
	switch match := c.r.Header.Get("If-Match"); match {
	case "":
		return c.createQueue(qualified, &given)
	case "*":
		return c.updateQueue(qualified, &given)
	default:
		return preconditionFailed()
	}
}

// set changes the properties that a description gives. An empty element of another type than text means
// that the property is not given.
func set(q *description.Queue, given *element) error {
	seen := map[string]bool{}
	for i := range given.Children {
		name, value := given.Children[i].XMLName.Local, given.Children[i].value()
		if seen[name] {
			return badRequest("The property " + name + " is given twice.")
		}
		seen[name] = true
		if value == "" {
			continue
		}
		if err := q.Set(name, value); err != nil {
			return err
		}
	}
	return nil
}

// checkWindow refuses a window below the least one of the cluster.
func checkWindow(v queue.View, q, before *description.Queue) error {
	least := int64(limits.DeduplicationSecondsMin)
	if n, err := strconv.ParseInt(v.Setting(queue.SettingMinimumWindow), 10, 64); err == nil {
		least = n
	}
	if q.WindowSeconds >= least || q.WindowSeconds == before.WindowSeconds {
		return nil
	}
	return description.OutOfRange("DuplicateDetectionHistoryTimeWindow", description.FormatTimeSpan(least),
		description.FormatTimeSpan(limits.DeduplicationSecondsMax), description.FormatTimeSpan(q.WindowSeconds))
}

func (c *call) createQueue(qualified string, given *element) error {
	q, dead := description.Default(), queue.ImplicitDeadLetterName(qualified)
	wrong := set(&q, given)
	wanted := q.Attributes(c.Backend.Names.QueueARN(dead))
	if err := c.begin(createQueue, qualified, service.QueueNeeds(qualified, wanted)...); err != nil {
		return err
	}
	if wrong != nil {
		return wrong
	}
	var deadExists bool
	err := c.Read(c.ctx, func(v queue.View) error {
		if v.QueueExists(qualified) {
			return conflict()
		}
		deadExists = v.QueueExists(dead)
		standard := description.Default()
		return checkWindow(v, &q, &standard)
	})
	if err != nil {
		return err
	}
	if !deadExists {
		if _, err := c.Submit(c.ctx, &queue.CreateQueue{Queue: dead, Attributes: q.DeadLetterAttributes()}); err != nil {
			return err
		}
	}
	if _, err := c.Submit(c.ctx, &queue.CreateQueue{Queue: qualified, Attributes: wanted}); err != nil {
		var refused *queue.Error
		if errors.As(err, &refused) && !deadExists {
			_, undone := c.Submit(c.ctx, &queue.DeleteQueue{Queue: dead})
			return errors.Join(err, undone)
		}
		return err
	}
	return c.answerQueue(http.StatusCreated, qualified)
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
	// deadLetters is the built-in dead-letter queue if it has to be created, or if its lock changes.
	deadLetters string
	create      bool
	to          description.Queue
}

func (c *call) updateQueue(qualified string, given *element) error {
	if err := c.begin(setQueueAttributes, qualified); err != nil {
		return err
	}
	planned, err := c.plan(qualified, given)
	if err != nil {
		return err
	}
	needs := service.QueueNeeds(qualified, planned.attributes)
	switch {
	case planned.create:
		needs = append(needs, createQueue.on(planned.deadLetters))
	case planned.deadLetters != "":
		needs = append(needs, setQueueAttributes.on(planned.deadLetters))
	}
	if err := c.PermitAll(c.ctx, needs); err != nil {
		return err
	}
	if err := c.changeDeadLetters(&planned); err != nil {
		return err
	}
	if len(planned.attributes) > 0 {
		if _, err := c.Submit(c.ctx, &queue.SetQueueAttributes{Queue: qualified, Attributes: planned.attributes}); err != nil {
			return err
		}
	}
	return c.answerQueue(http.StatusOK, qualified)
}

// plan compares a description with a queue.
func (c *call) plan(qualified string, given *element) (planned change, err error) {
	err = c.Read(c.ctx, func(v queue.View) error {
		current, refused := v.Typed(qualified)
		if refused != nil {
			return refused
		}
		before := description.Of(&current)
		planned.to = before
		if err := set(&planned.to, given); err != nil {
			return err
		}
		if err := checkWindow(v, &planned.to, &before); err != nil {
			return err
		}
		built := queue.ImplicitDeadLetterName(qualified)
		target := built
		if current.Redrive.Target != "" {
			target = access.Sibling(qualified, current.Redrive.Target)
		}
		list, err := planned.to.Changes(before, c.Backend.Names.QueueARN(target))
		planned.attributes = list
		if target == built {
			exists := v.QueueExists(built)
			planned.create = !exists && planned.to.MaxDeliveryCount != before.MaxDeliveryCount
			if planned.create || exists && planned.to.LockSeconds != before.LockSeconds {
				planned.deadLetters = built
			}
		}
		return err
	})
	return planned, err
}

// changeDeadLetters creates the dead-letter queue or changes its lock.
func (c *call) changeDeadLetters(planned *change) (err error) {
	switch {
	case planned.deadLetters == "":
	case planned.create:
		_, err = c.Submit(c.ctx, &queue.CreateQueue{Queue: planned.deadLetters, Attributes: planned.to.DeadLetterAttributes()})
	default:
		list := slices.DeleteFunc(planned.to.DeadLetterAttributes(), func(a queue.Attribute) bool { return a.Name != "VisibilityTimeout" })
		_, err = c.Submit(c.ctx, &queue.SetQueueAttributes{Queue: planned.deadLetters, Attributes: list})
	}
	return err
}

// deleteQueue deletes a queue and the dead-letter queue that only this queue uses. The dead-letter queue
// goes first, so that a repeated request finishes what a failed one began.
func (c *call) deleteQueue() error {
	qualified, err := c.locate()
	if err != nil {
		return err
	}
	if err := c.begin(deleteQueue, qualified); err != nil {
		return err
	}
	dead := queue.ImplicitDeadLetterName(qualified)
	if err := c.Read(c.ctx, func(v queue.View) error {
		if !v.QueueExists(qualified) {
			return notFound()
		}
		if sources, err := v.DeadLetterSources(dead, "", 2); err != nil || !slices.Equal(sources, []string{qualified}) {
			dead = ""
		}
		return nil
	}); err != nil {
		return err
	}
	if dead != "" {
		if err := c.PermitAll(c.ctx, []service.Need{deleteQueue.on(dead)}); err != nil {
			return err
		}
	}
	for _, name := range []string{dead, qualified} {
		if name == "" {
			continue
		}
		if _, err := c.Submit(c.ctx, &queue.DeleteQueue{Queue: name}); err != nil && (name == qualified || !isMissing(err)) {
			return err
		}
	}
	c.w.WriteHeader(http.StatusOK)
	return nil
}

// pageMax bounds the entries of a page, as Service Bus does.
const pageMax = 100

// page reads $skip and $top.
func (c *call) page() (skip, top int, err error) {
	top = pageMax
	for _, p := range []struct {
		name  string
		least int
		value *int
	}{{"$skip", 0, &skip}, {"$top", 1, &top}} {
		text := c.query.Get(p.name)
		if text == "" {
			continue
		}
		if *p.value, err = strconv.Atoi(text); err != nil || *p.value < p.least {
			return 0, 0, badRequest("The parameter " + p.name + " must be a number from " + strconv.Itoa(p.least) + " on.")
		}
	}
	return skip, min(top, pageMax), nil
}

// listQueues lists the queues of the account that are entities, in the order of their names. It refuses a
// caller who may not read one of them.
func (c *call) listQueues() error {
	skip, top, err := c.page()
	if err != nil {
		return err
	}
	if err := c.begin(listQueues, ""); err != nil {
		return err
	}
	var states []queueState
	var needs []service.Need
	more := false
	if err := c.Read(c.ctx, func(v queue.View) error {
		for after := ""; !more; {
			names := c.names(v, after, scanned)
			if len(names) == 0 {
				break
			}
			after = names[len(names)-1]
			for _, name := range names {
				if _, ok := entity.OfQueue(name); !ok {
					continue
				}
				if skip > 0 {
					skip--
					continue
				}
				if more = len(states) == top; more {
					break
				}
				qualified := c.Scope.Own(name)
				s, refused := readQueue(v, qualified)
				if refused != nil {
					return refused
				}
				states = append(states, s)
				needs = append(needs, getQueueAttributes.on(qualified))
			}
		}
		return nil
	}); err != nil {
		return err
	}
	if err := c.PermitAll(c.ctx, needs); err != nil {
		return err
	}
	return c.write(http.StatusOK, c.feedOf(states, more))
}

// feedOf returns a page of the feed of queues. The link to the next page is the second one, as SDKs
// expect.
func (c *call) feedOf(states []queueState, more bool) feed {
	entries := make([]entry, len(states))
	for i := range states {
		entries[i] = c.entryOf(&states[i])
	}
	f := c.newFeed("Queues", c.path, entries)
	if more {
		skip, top, _ := c.page() // it was checked
		next := url.Values{versionParameter: c.query[versionParameter], "$skip": {strconv.Itoa(skip + top)}, "$top": {strconv.Itoa(top)}}
		f.Links = append(f.Links, link{"next", c.href(c.path, next.Encode())})
	}
	return f
}
