package atom

import (
	"net/http"
	"strings"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/attributes"
	"github.com/seriatimq/seriatim/queue/refusal"
	"github.com/seriatimq/seriatim/queue/rules"
	"github.com/seriatimq/seriatim/transport/service"
	"github.com/seriatimq/seriatim/transport/servicebus/atom/document"
	"github.com/seriatimq/seriatim/transport/servicebus/description"
	"github.com/seriatimq/seriatim/transport/servicebus/entity"
	"github.com/seriatimq/seriatim/transport/servicebus/entity/lookup"
)

// serveSubscription serves a request for a subscription.
func (c *call) serveSubscription() error {
	e, err := c.locateSubscription(c.path)
	if err != nil {
		return err
	}
	switch c.r.Method {
	case http.MethodPut:
		return c.putSubscription(&e)
	case http.MethodDelete:
		return c.deleteSubscription(&e)
	default:
		return c.getSubscription(&e)
	}
}

// locateSubscription finds a subscription. If there is none, its kind is zero and its names are those of a
// new one.
func (c *call) locateSubscription(path string) (lookup.Entity, error) {
	if err := c.checkPath(path); err != nil {
		return lookup.Entity{}, err
	}
	above, name, _ := entity.SplitSubscription(path)
	topic, err := c.locate(above)
	if err != nil {
		return lookup.Entity{}, err
	}
	e, err := c.locate(path)
	if err == nil && e.Kind == 0 {
		e.Path = entity.Subscription(topic.Path, name)
		e.Name, e.Topic = c.Scope.Own(entity.QueueName(e.Path)), topic.Name
	}
	return e, err
}

// readSubscription reads the state of a subscription.
func readSubscription(v queue.View, e *lookup.Entity) (queueState, *queue.Error) {
	s, err := readQueue(v, e.Name)
	s.dropFaulty = dropsFaulty(v, e.ARN)
	return s, err
}

// dropsFaulty reports whether a subscription drops messages for which a rule fails.
func dropsFaulty(v queue.View, subscriptionARN string) bool {
	list, _ := v.SubscriptionAttributes(subscriptionARN) // none without the subscription
	keeps, _ := attributes.ValueOf(list, description.FilterErrors)
	return keeps == "false"
}

// isGone reports whether an error says that an entity does not exist.
func isGone(err error) bool {
	f, ok := err.(*fault) //nolint:errorlint // made by this package
	return ok && f.status == http.StatusNotFound
}

// entryOfSubscription returns the entry of a subscription.
func (c *call) entryOfSubscription(e *lookup.Entity, s *queueState) entry {
	_, name, _ := entity.SplitSubscription(e.Path)
	about := document.Description("SubscriptionDescription", s.properties(c.namespace(), &description.Subscriptions))
	one := c.newEntry(e.Path, name, about)
	one.Published, one.Updated = s.created, s.updated
	return one
}

// answerSubscription answers with the present state of a subscription.
func (c *call) answerSubscription(status int, e *lookup.Entity) error {
	s, err := service.ReadValue(c.ctx, &c.Call, func(v queue.View) (queueState, *queue.Error) {
		if e.ARN == "" { // it is new
			if found, ok := c.in(v).Find(e.Path); ok {
				e = &found
			}
		}
		return readSubscription(v, e)
	})
	if err != nil {
		return err
	}
	return c.write(status, c.entryOfSubscription(e, &s))
}

func (c *call) getSubscription(e *lookup.Entity) error {
	if err := c.begin(getQueueAttributes, e.Name); err != nil {
		return err
	}
	if e.Kind == 0 {
		return notFound()
	}
	return c.answerSubscription(http.StatusOK, e)
}

func (c *call) putSubscription(e *lookup.Entity) error {
	given, err := c.readDescription()
	if err != nil {
		return err
	}
	if given.XMLName.Local != "SubscriptionDescription" {
		return badRequest("Bad Request. The content " + given.XMLName.Local + " is no description of a subscription.")
	}
	update, err := c.updates()
	if err != nil {
		return err
	}
	rule, err := defaultRule(&given)
	switch {
	case !update && err == nil:
		return c.createSubscription(e, &given, rule)
	case err != nil:
		return err
	case e.Kind == 0:
		if err := c.begin(setQueueAttributes, e.Name); err != nil {
			return err
		}
		return notFound()
	}
	if err := c.changeQueue(&description.Subscriptions, e, &given); err != nil {
		return err
	}
	return c.answerSubscription(http.StatusOK, e)
}

// defaultRule takes the rule of a new subscription from its description.
func defaultRule(given *document.Element) (rules.Definition, error) {
	d := rules.Definition{Name: rules.DefaultName, Kind: rules.KindTrue}
	var err error
	kept := given.Children[:0]
	for i := range given.Children {
		if p := &given.Children[i]; p.XMLName.Local != "DefaultRuleDescription" {
			kept = append(kept, *p)
		} else if err == nil {
			d, err = document.ReadRule(p)
		}
	}
	given.Children = kept
	return d, err
}

// createSubscription creates the queue of a subscription, and subscribes it to the topic with one rule. A
// repeated request finishes what a failed one began. A subscription whose queue was deleted goes first.
func (c *call) createSubscription(e *lookup.Entity, given *document.Element, rule rules.Definition) error {
	q := description.DefaultSubscription()
	wrong, err := c.describe(&description.Subscriptions, &q, given)
	if err != nil {
		return err
	}
	names := c.Backend.Names
	cmd := &queue.Subscribe{
		Topic: e.Topic, Endpoint: names.QueueARN(e.Name), Queue: e.Name,
		Attributes: q.SubscriptionAttributes(names.QueueARN(queue.ImplicitDeadLetterName(e.Name))), Rules: []rules.Definition{rule},
	}
	cmd.Owner, cmd.Principal = c.Scope.Subscriber(c.Identity, e.Topic)
	needs := append(service.QueueNeeds(e.Name, c.attributesOf(e.Name, q)), createQueue.on(e.Name))
	if e.Kind != 0 {
		needs = append(needs, unsubscribe.on(e.Topic))
	}
	if err := c.begin(subscribe, e.Topic, append(needs, service.SubscribeNeeds(e.Topic, e.Name, cmd.Attributes)...)...); err != nil {
		return err
	}
	if wrong != nil {
		return wrong
	}
	if err := c.Read(c.ctx, func(v queue.View) error {
		if _, missing := v.TopicARN(e.Topic); missing != nil {
			return missing
		}
		if e.Kind != 0 && v.QueueExists(e.Name) {
			return conflict()
		}
		return nil
	}); err != nil {
		return err
	}
	if wrong := cmd.Validate(); wrong != nil {
		return wrong
	}
	if e.Kind != 0 {
		if _, err := c.Submit(c.ctx, &queue.Unsubscribe{SubscriptionARN: e.ARN, Signed: true}); err != nil {
			return err
		}
	}
	if err := c.addQueue(e.Name, q, cmd); err != nil {
		return err
	}
	return c.answerSubscription(http.StatusCreated, e)
}

// deleteSubscription deletes the queue of a subscription, and unsubscribes it. A repeated request finishes
// what a failed one began.
func (c *call) deleteSubscription(e *lookup.Entity) error {
	if err := c.begin(unsubscribe, e.Topic, deleteQueue.on(e.Name)); err != nil {
		return err
	}
	if e.Kind == 0 {
		return notFound()
	}
	names, err := c.deleted(e.Name)
	if err == nil {
		err = c.removeQueues(names)
	}
	if err != nil && !isGone(err) && !isMissing(err) {
		return err
	}
	if _, err := c.Submit(c.ctx, &queue.Unsubscribe{SubscriptionARN: e.ARN, Signed: true}); err != nil {
		return err
	}
	c.w.WriteHeader(http.StatusOK)
	return nil
}

// listSubscriptions lists the subscriptions of a topic in the order of their creation.
func (c *call) listSubscriptions() error {
	topic, err := c.locate(c.path[:strings.LastIndexByte(c.path, '/')])
	if err != nil {
		return err
	}
	if err := c.begin(listSubscriptions, topic.Name); err != nil {
		return err
	}
	return c.list("Subscriptions", getQueueAttributes, func(in lookup.In, visit func(lookup.Entity) bool) error {
		if topic.Kind != lookup.Topic {
			return refusal.NoSuchTopic()
		}
		for _, e := range in.Subscriptions(topic.Name) {
			if in.View.QueueExists(e.Name) && !visit(e) {
				return nil
			}
		}
		return nil
	}, func(v queue.View, e *lookup.Entity) (entry, error) {
		s, refused := readSubscription(v, e)
		if refused != nil {
			return entry{}, refused
		}
		return c.entryOfSubscription(e, &s), nil
	})
}
