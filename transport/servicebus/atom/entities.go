package atom

import (
	"net/http"
	"strconv"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/limits"
	"github.com/seriatimq/seriatim/transport/servicebus/atom/document"
	"github.com/seriatimq/seriatim/transport/servicebus/description"
	"github.com/seriatimq/seriatim/transport/servicebus/entity"
	"github.com/seriatimq/seriatim/transport/servicebus/entity/lookup"
)

// in returns the entities of the account.
func (c *call) in(v queue.View) lookup.In { return lookup.In{View: v, Owner: c.Scope.Caller()} }

// checkPath refuses a path that no entity can have.
func (c *call) checkPath(path string) error {
	if entity.Valid(path) {
		return nil
	}
	return badRequest("'" + path + "' is not a valid entity name. It may have letters, digits, and . - _ / inside, and up to " +
		strconv.Itoa(entity.PathLengthMax) + " characters, a subscription " + strconv.Itoa(entity.SubscriptionLengthMax) + ".")
}

// anonymous reports whether the caller is not known, though the cluster knows its callers.
func (c *call) anonymous() bool { return c.Backend.Authorizer != nil && c.Identity.Account == "" }

// locate finds an entity. If there is none, its kind is zero and its name that of a new one. There is no
// search for an unauthenticated caller.
func (c *call) locate(path string) (lookup.Entity, error) {
	if err := c.checkPath(path); err != nil {
		return lookup.Entity{}, err
	}
	e := lookup.Entity{Path: path, Name: c.Scope.Own(entity.QueueName(path))}
	if c.anonymous() {
		return e, nil
	}
	err := c.Read(c.ctx, func(v queue.View) error {
		if found, ok := c.in(v).Find(path); ok {
			e = found
		}
		return nil
	})
	return e, err
}

// serveEntity serves a request for a queue or a topic.
func (c *call) serveEntity() error {
	if c.r.Method == http.MethodPut {
		return c.putEntity()
	}
	e, err := c.locate(c.path)
	if err != nil {
		return err
	}
	topic := e.Kind == lookup.Topic
	switch {
	case c.r.Method == http.MethodDelete && topic:
		return c.deleteTopic(&e)
	case c.r.Method == http.MethodDelete:
		return c.deleteQueue(e.Name)
	case topic:
		return c.getTopic(&e)
	default:
		return c.getQueue(e.Name)
	}
}

// putEntity creates a queue or a topic, or changes one if the header If-Match says so.
func (c *call) putEntity() error {
	given, err := c.readDescription()
	if err != nil {
		return err
	}
	of, known := map[string]lookup.Kind{"QueueDescription": lookup.Queue, "TopicDescription": lookup.Topic}[given.XMLName.Local]
	if !known {
		return badRequest("Bad Request. The content " + given.XMLName.Local + " is no description of a queue or a topic.")
	}
	e, err := c.locate(c.path)
	if err != nil {
		return err
	}
	taken := e.Kind != 0 && e.Kind != of // a queue and a topic cannot have one name
	if taken {
		e.Name = c.Scope.Own(entity.QueueName(c.path))
	}
	update, err := c.updates()
	switch {
	case err != nil:
		return err
	case of == lookup.Topic && update:
		return c.updateTopic(e.Name, &given)
	case of == lookup.Topic:
		return c.createTopic(e.Name, taken, &given)
	case update:
		return c.updateQueue(e.Name, &given)
	default:
		return c.createQueue(e.Name, taken, &given)
	}
}

// updates reports whether a request changes an entity that exists.
func (c *call) updates() (bool, error) {
	switch c.r.Header.Get("If-Match") {
	case "":
		return false, nil
	case "*":
		return true, nil
	default:
		return false, preconditionFailed()
	}
}

// set changes the properties that a description gives. An empty element of another type than text means
// that the property is not given.
func set[E any](of *description.Schema[E], e *E, given *document.Element) error {
	seen := map[string]bool{}
	for i := range given.Children {
		name, value := given.Children[i].XMLName.Local, given.Children[i].Value()
		if seen[name] {
			return badRequest("The property " + name + " is given twice.")
		}
		seen[name] = true
		if value == "" {
			continue
		}
		if err := of.Set(e, name, value); err != nil {
			return err
		}
	}
	return nil
}

// checkWindow refuses a window below the least one of the cluster.
func checkWindow(v queue.View, seconds, before int64) error {
	least := int64(limits.DeduplicationSecondsMin)
	if n, err := strconv.ParseInt(v.Setting(queue.SettingMinimumWindow), 10, 64); err == nil {
		least = n
	}
	if seconds >= least || seconds == before {
		return nil
	}
	return description.OutOfRange("DuplicateDetectionHistoryTimeWindow", description.FormatTimeSpan(least),
		description.FormatTimeSpan(limits.DeduplicationSecondsMax), description.FormatTimeSpan(seconds))
}
