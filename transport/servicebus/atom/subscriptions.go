package atom

import (
	"encoding/xml"
	"net/http"
	"strings"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/refusal"
	"github.com/seriatimq/seriatim/transport/service"
	"github.com/seriatimq/seriatim/transport/servicebus/description"
	"github.com/seriatimq/seriatim/transport/servicebus/entity"
	"github.com/seriatimq/seriatim/transport/servicebus/entity/lookup"
)

// serveSubscription serves a request for a subscription.
func (c *call) serveSubscription() error {
	e, err := c.locateSubscription()
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
func (c *call) locateSubscription() (lookup.Entity, error) {
	if err := c.checkPath(c.path); err != nil {
		return lookup.Entity{}, err
	}
	path, name, _ := entity.SplitSubscription(c.path)
	topic, err := c.locate(path)
	if err != nil {
		return lookup.Entity{}, err
	}
	e, err := c.locate(c.path)
	if err == nil && e.Kind == 0 {
		e.Path = entity.Subscription(topic.Path, name)
		e.Name, e.Topic = c.Scope.Own(entity.QueueName(e.Path)), topic.Name
	}
	return e, err
}

// isGone reports whether an error says that an entity does not exist.
func isGone(err error) bool {
	f, ok := err.(*fault) //nolint:errorlint // made by this package
	return ok && f.status == http.StatusNotFound
}

// entryOfSubscription returns the entry of a subscription.
func (c *call) entryOfSubscription(e *lookup.Entity, s *queueState) entry {
	_, name, _ := entity.SplitSubscription(e.Path)
	one := c.newEntry(e.Path, name, descriptionElement("SubscriptionDescription", s.properties(&description.Subscriptions)))
	one.Published, one.Updated = s.created, s.updated
	return one
}

// answerSubscription answers with the present state of a subscription.
func (c *call) answerSubscription(status int, e *lookup.Entity) error {
	s, err := c.read(e.Name)
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
		return c.nothingIn(e.Topic)
	}
	if err := c.answerSubscription(http.StatusOK, e); !isMissing(err) {
		return err
	}
	return c.writeNothing()
}

// nothingIn answers a request for a subscription that does not exist: of a topic, or of none.
func (c *call) nothingIn(topic string) error {
	if err := c.Read(c.ctx, func(v queue.View) error {
		if _, missing := v.TopicARN(topic); missing != nil {
			return missing
		}
		return nil
	}); err != nil {
		return err
	}
	return c.writeNothing()
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
	if err == nil {
		err = withoutRule(&given)
	}
	switch {
	case err != nil:
		return err
	case !update:
		return c.createSubscription(e, &given)
	case e.Kind == 0:
		if err := c.begin(setQueueAttributes, e.Name); err != nil {
			return err
		}
		return notFound()
	}
	if err := c.changeQueue(&description.Subscriptions, e.Name, &given); err != nil {
		return err
	}
	return c.answerSubscription(http.StatusOK, e)
}

// withoutRule removes the default rule of a new subscription, and refuses a rule that does not take all
// messages.
func withoutRule(given *element) error {
	kept := given.Children[:0]
	for _, p := range given.Children {
		if p.XMLName.Local != "DefaultRuleDescription" {
			kept = append(kept, p)
			continue
		}
		for _, part := range p.Children {
			of := part.typeName()
			if part.XMLName.Local == "Filter" && of != "TrueFilter" || part.XMLName.Local == "Action" && of != "EmptyRuleAction" {
				return notImplemented("Rules")
			}
		}
	}
	given.Children = kept
	return nil
}

// typeName returns the type of an element by the schema of XML, without its prefix.
func (e *element) typeName() string {
	for _, a := range e.Attrs {
		if a.Name == (xml.Name{Space: instanceSpace, Local: "type"}) {
			return a.Value[strings.LastIndexByte(a.Value, ':')+1:]
		}
	}
	return ""
}

// createSubscription creates the queue of a subscription, and subscribes it to the topic. A repeated
// request finishes what a failed one began.
func (c *call) createSubscription(e *lookup.Entity, given *element) error {
	q := description.DefaultSubscription()
	wrong := set(&description.Subscriptions, &q, given)
	names := c.Backend.Names
	cmd := &queue.Subscribe{
		Topic: e.Topic, Endpoint: names.QueueARN(e.Name), Queue: e.Name,
		Attributes: description.SubscriptionAttributes(names.QueueARN(queue.ImplicitDeadLetterName(e.Name))),
	}
	cmd.Owner, cmd.Principal = c.Scope.Subscriber(c.Identity, e.Topic)
	needs := append(service.QueueNeeds(e.Name, c.attributesOf(e.Name, q)), createQueue.on(e.Name))
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
		s, refused := readQueue(v, e.Name)
		if refused != nil {
			return entry{}, refused
		}
		return c.entryOfSubscription(e, &s), nil
	})
}
