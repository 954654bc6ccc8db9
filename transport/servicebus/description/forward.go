package description

import (
	"net/url"
	"strings"

	"github.com/seriatimq/seriatim/queue/attributes"
	"github.com/seriatimq/seriatim/transport/servicebus/entity"
)

// Forward is the queue or topic to which a queue forwards. The zero Forward is none.
type Forward struct {
	Path  string
	Topic bool
}

// Forwards reports whether the queue forwards messages or dead letters.
func (q *Queue) Forwards() bool { return q.ForwardTo != Forward{} || q.ForwardDeadLetters != Forward{} }

// forward is a property with the path of a queue or a topic, which may be a URL of any host: a cluster is
// one namespace. Whether it is a topic is for the caller to find out.
func forward(name string, field func(*Queue) *Forward) property[Queue] {
	return property[Queue]{name: name, set: func(q *Queue, value string) error {
		path := value
		if u, err := url.Parse(value); err == nil && u.Host != "" {
			path = u.Path
		}
		path = strings.Trim(path, "/")
		if _, _, subscription := entity.SplitSubscription(path); value != "" && (!entity.Valid(path) || subscription) {
			return unsupported(name, value, "the path or the URL of a queue or a topic")
		}
		*field(q) = Forward{Path: path}
		return nil
	}, print: func(q *Queue) string { return field(q).Path }}
}

// forwardOf reads an attribute.
func forwardOf(value string) Forward {
	name, topic := attributes.ForwardTarget(value)
	path, _ := entity.OfQueue(name)
	return Forward{path, topic}
}

// attribute returns the value of an attribute.
func (f Forward) attribute() string {
	if f.Path == "" {
		return ""
	}
	return attributes.ForwardValue(entity.QueueName(f.Path), f.Topic)
}
