package migrate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/seriatimq/seriatim/cmd/seriatim/client/definitions"
	"github.com/seriatimq/seriatim/cmd/seriatim/exit"
	"github.com/seriatimq/seriatim/queue/attributes"
	"github.com/seriatimq/seriatim/transport/servicebus/atom/client"
	"github.com/seriatimq/seriatim/transport/servicebus/description"
	"github.com/seriatimq/seriatim/transport/servicebus/emulator"
	"github.com/seriatimq/seriatim/transport/servicebus/entity"
)

// ReadEmulator reads the entities in a configuration of the emulator of Service Bus.
func ReadEmulator(from io.Reader) (*definitions.Document, []string, error) {
	c, err := emulator.Read(from)
	if err != nil {
		return nil, nil, exit.New(exit.Usage, err, "is it the configuration of the emulator?")
	}
	return entities(c.Queues, c.Topics)
}

// Namespace reads the queues and topics of a namespace of Service Bus whose names begin with a prefix.
func Namespace(ctx context.Context, o Options, prefix string) (*definitions.Document, []string, error) {
	if base, err := url.Parse(o.Endpoint); err != nil || base.Host == "" {
		return nil, nil, exit.New(exit.Usage, fmt.Errorf("--source-endpoint %q is no address", o.Endpoint),
			"write it like https://example.servicebus.windows.net")
	}
	pool := &http.Transport{TLSClientConfig: o.TLS, Proxy: http.ProxyFromEnvironment}
	defer pool.CloseIdleConnections()
	c := client.Client{Endpoint: o.Endpoint, KeyID: o.KeyID, Key: o.Secret, Now: time.Now,
		HTTP: &http.Client{Transport: pool, Timeout: o.Timeout}}
	queues, err := c.Queues(ctx)
	if err != nil {
		return nil, nil, unlisted("queues", err)
	}
	topics, err := c.Topics(ctx)
	if err != nil {
		return nil, nil, unlisted("topics", err)
	}
	other := func(e description.Entity) bool { return !strings.HasPrefix(e.Path, prefix) }
	return entities(slices.DeleteFunc(queues, other), slices.DeleteFunc(topics, other))
}

// unlisted explains why the source has not listed its entities.
func unlisted(what string, err error) error {
	if refused, ok := errors.AsType[*client.Refused](err); ok && refused.Status == http.StatusUnauthorized {
		return exit.New(exit.Denied, fmt.Errorf("the source refused the list of %s: %w", what, err), "")
	}
	return exit.New(exit.Failed, fmt.Errorf("list the %s of the source: %w", what, err), "")
}

// converter collects entities of Service Bus as definitions, and notes about properties that are left out.
type converter struct {
	document definitions.Document
	notes    []string
	targets  map[string]description.Forward // of forwarding, by their paths in lower case
}

// entities returns entities of Service Bus as definitions.
func entities(queues, topics []description.Entity) (*definitions.Document, []string, error) {
	c := converter{document: definitions.Document{Version: 1}, targets: map[string]description.Forward{}}
	for i := range topics {
		c.targets[strings.ToLower(topics[i].Path)] = description.Forward{Path: topics[i].Path, Topic: true}
	}
	for i := range queues {
		c.targets[strings.ToLower(queues[i].Path)] = description.Forward{Path: queues[i].Path}
	}
	for i := range queues {
		e := &queues[i]
		q, refused := e.Queue()
		c.note("queue", e.Path, refused)
		if err := c.queue("queue", e.Path, q); err != nil {
			return nil, nil, err
		}
	}
	for i := range topics {
		if err := c.topic(&topics[i]); err != nil {
			return nil, nil, err
		}
	}
	c.document.Sort()
	return &c.document, c.notes, nil
}

func (c *converter) note(kind, path string, refused []*description.Refused) {
	for _, r := range refused {
		text := strings.ReplaceAll(r.Text, "\n", ", ")
		c.notes = append(c.notes, "the "+kind+" "+path+" gets the default of "+r.Property+": "+text)
	}
}

// queue adds the queue of an entity, with its dead-letter queues.
func (c *converter) queue(kind, path string, q description.Queue) error {
	if !entity.Valid(path) {
		return exit.New(exit.Usage, fmt.Errorf("the name %q is not valid", path), "")
	}
	for _, to := range [2]*description.Forward{&q.ForwardTo, &q.ForwardDeadLetters} {
		target, known := c.targets[strings.ToLower(to.Path)]
		if to.Path != "" && !known {
			c.notes = append(c.notes, "the "+kind+" "+path+" does not forward to "+to.Path+", which is not among the entities")
		}
		*to = target
	}
	name, dead := entity.QueueName(path), entity.DeadLetterName(path)
	c.document.Queues = append(c.document.Queues,
		definitions.Queue{Name: name, Attributes: withoutFIFO(q.Attributes(definitions.Here("sqs") + dead))},
		definitions.Queue{Name: dead, Attributes: withoutFIFO(q.DeadLetterAttributes())})
	if q.Forwards() {
		dead = entity.TransferDeadLetterName(path)
		c.document.Queues = append(c.document.Queues, definitions.Queue{Name: dead, Attributes: withoutFIFO(q.DeadLetterAttributes())})
	}
	return nil
}

// topic adds a topic with the queues of its subscriptions.
func (c *converter) topic(e *description.Entity) error {
	if !entity.Valid(e.Path) {
		return exit.New(exit.Usage, fmt.Errorf("the name %q is not valid", e.Path), "")
	}
	properties, refused := e.Topic()
	c.note("topic", e.Path, refused)
	t := definitions.Topic{Name: entity.QueueName(e.Path), Attributes: withoutFIFO(properties.Attributes())}
	for i := range e.Subscriptions {
		path := entity.Subscription(e.Path, e.Subscriptions[i].Path)
		q, refused := e.Subscriptions[i].Subscription()
		c.note("subscription", path, refused)
		if err := c.queue("subscription", path, q); err != nil {
			return err
		}
		dead := definitions.Here("sqs") + entity.DeadLetterName(path)
		t.Subscriptions = append(t.Subscriptions, definitions.Subscription{
			Queue: entity.QueueName(path), Attributes: withoutFIFO(q.SubscriptionAttributes(dead)),
			Rules: c.rules(path, &e.Subscriptions[i]),
		})
	}
	c.document.Topics = append(c.document.Topics, t)
	return nil
}

// withoutFIFO returns attributes as a map. The name says that an object is FIFO.
func withoutFIFO(list []attributes.Attribute) map[string]string {
	out := map[string]string{}
	for _, a := range list {
		if a.Value != "" && a.Name != attributes.NameFIFO && a.Name != attributes.NameFIFOTopic {
			out[a.Name] = a.Value
		}
	}
	return out
}
