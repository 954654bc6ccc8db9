package lookup

import (
	"strings"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/access"
	"github.com/seriatimq/seriatim/queue/limits"
	"github.com/seriatimq/seriatim/transport/servicebus/entity"
)

// Kind is a kind of entity.
type Kind uint8

// Kinds of entities.
const (
	Queue Kind = iota + 1
	Topic
	Subscription
)

// Entity is an entity that exists.
type Entity struct {
	Kind Kind
	Path string
	Name string // of the queue or the topic, qualified by its account; the queue of a subscription
	// Of a subscription: the name of its topic, qualified, and its ARN.
	Topic string
	ARN   string
}

// In is the state of an account.
type In struct {
	View  queue.View
	Owner string // the account by its name in the state
}

// step is the number of names that a search reads at a time.
const step = 1000

// Find finds the entity of a path.
func (in In) Find(path string) (e Entity, ok bool) {
	if !entity.Valid(path) {
		return Entity{}, false
	}
	if topic, _, is := entity.SplitSubscription(path); is {
		return in.subscription(topic, path)
	}
	name := entity.QueueName(path)
	if !in.hasQueue(name) && in.hasTopic(name) {
		return in.entity(Topic, name), true
	}
	if name, ok := entity.Find(path, in.hasQueue, in.queues); ok {
		return in.entity(Queue, name), true
	}
	return in.topic(path)
}

func (in In) topic(path string) (Entity, bool) {
	name, ok := entity.Find(path, in.hasTopic, in.topics)
	return in.entity(Topic, name), ok
}

func (in In) subscription(topic, path string) (found Entity, ok bool) {
	t, ok := in.topic(topic)
	if !ok {
		return Entity{}, false
	}
	exact := in.own(entity.QueueName(t.Path + path[len(topic):]))
	for _, s := range in.Subscriptions(t.Name) {
		if s.Name == exact {
			return s, true
		}
		if found.Kind == 0 && strings.EqualFold(s.Path, path) {
			found = s
		}
	}
	return found, found.Kind != 0
}

// Subscriptions lists the subscriptions of a topic, whose name is qualified, in the order of their creation.
// The queue of one may be missing, if only a part of it was deleted.
func (in In) Subscriptions(topic string) (list []Entity) {
	t := in.entity(Topic, access.PlainName(topic))
	all, _ := in.View.ListSubscriptionsByTopic(topic, 0, limits.SubscriptionsMax) // none without the topic
	for i := range all {
		name := in.View.SubscribedQueue(all[i].SubscriptionARN)
		if access.OwnerOf(name) != in.Owner {
			continue
		}
		path, ok := entity.OfQueue(access.PlainName(name))
		if of, _, is := entity.SplitSubscription(path); ok && is && strings.EqualFold(of, t.Path) {
			list = append(list, Entity{Kind: Subscription, Path: path, Name: name, Topic: topic, ARN: all[i].SubscriptionARN})
		}
	}
	return list
}

// Queues visits the queues of the account in the order of their names, until visit returns false. The
// queues of subscriptions are not among them.
func (in In) Queues(visit func(Entity) bool) { in.scan(Queue, in.queues, visit) }

// Topics is Queues for topics.
func (in In) Topics(visit func(Entity) bool) { in.scan(Topic, in.topics, visit) }

func (in In) scan(of Kind, list func(after string) []string, visit func(Entity) bool) {
	for after := ""; ; {
		names := list(after)
		if len(names) == 0 {
			return
		}
		for _, after = range names {
			path, ok := entity.OfQueue(after)
			if _, _, is := entity.SplitSubscription(path); ok && !is && !visit(in.entity(of, after)) {
				return
			}
		}
	}
}

// entity returns the entity of a plain name.
func (in In) entity(of Kind, name string) Entity {
	path, _ := entity.OfQueue(name)
	return Entity{Kind: of, Path: path, Name: in.own(name)}
}

func (in In) own(name string) string { return access.Qualify(in.Owner, name) }

func (in In) hasQueue(name string) bool { return in.View.QueueExists(in.own(name)) }

func (in In) hasTopic(name string) bool {
	_, missing := in.View.TopicARN(in.own(name))
	return missing == nil
}

func (in In) queues(after string) []string {
	return in.plain(after, func(from string) []string { return in.View.QueuesOf(in.Owner, "", from, step) })
}

func (in In) topics(after string) []string {
	return in.plain(after, func(from string) []string { return in.View.TopicsOf(in.Owner, from, step) })
}

// plain lists names without the account.
func (in In) plain(after string, list func(from string) []string) []string {
	from := ""
	if after != "" {
		from = in.own(after)
	}
	names := list(from)
	for i := range names {
		names[i] = access.PlainName(names[i])
	}
	return names
}
