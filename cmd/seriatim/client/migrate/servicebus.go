package migrate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
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

// ReadEmulator reads the queues in a configuration of the emulator of Service Bus.
func ReadEmulator(from io.Reader) (*definitions.Document, []string, error) {
	c, err := emulator.Read(from)
	if err != nil {
		return nil, nil, exit.New(exit.Usage, err, "is it the configuration of the emulator?")
	}
	d, notes, err := entities(c.Queues)
	for _, topic := range c.Topics {
		notes = append(notes, "the topic "+topic+" is left out: there are no topics of Service Bus yet")
	}
	return d, notes, err
}

// Namespace reads the queues of a namespace of Service Bus whose names begin with a prefix.
func Namespace(ctx context.Context, o Options, prefix string) (*definitions.Document, []string, error) {
	if base, err := url.Parse(o.Endpoint); err != nil || base.Host == "" {
		return nil, nil, exit.New(exit.Usage, fmt.Errorf("--source-endpoint %q is no address", o.Endpoint),
			"write it like https://example.servicebus.windows.net")
	}
	pool := &http.Transport{TLSClientConfig: o.TLS, Proxy: http.ProxyFromEnvironment}
	defer pool.CloseIdleConnections()
	c := client.Client{Endpoint: o.Endpoint, KeyID: o.KeyID, Key: o.Secret, Now: time.Now,
		HTTP: &http.Client{Transport: pool, Timeout: o.Timeout}}
	list, err := c.Queues(ctx)
	if refused, ok := errors.AsType[*client.Refused](err); ok && refused.Status == http.StatusUnauthorized {
		return nil, nil, exit.New(exit.Denied, fmt.Errorf("the source refused the list of queues: %w", err), "")
	}
	if err != nil {
		return nil, nil, exit.New(exit.Failed, fmt.Errorf("list the queues of the source: %w", err), "")
	}
	kept := list[:0]
	for _, e := range list {
		if strings.HasPrefix(e.Path, prefix) {
			kept = append(kept, e)
		}
	}
	return entities(kept)
}

// entities returns queues of Service Bus as definitions, each with its dead-letter queue, and notes about
// properties that are left out.
func entities(list []description.Entity) (*definitions.Document, []string, error) {
	d := &definitions.Document{Version: 1}
	var notes []string
	for i := range list {
		e := &list[i]
		if !entity.Valid(e.Path) {
			return nil, nil, exit.New(exit.Usage, fmt.Errorf("the queue name %q is not valid", e.Path), "")
		}
		q, refused := e.Queue()
		for _, r := range refused {
			notes = append(notes, "the queue "+e.Path+" gets the default of "+r.Property+": "+strings.ReplaceAll(r.Text, "\n", ", "))
		}
		name, dead := entity.QueueName(e.Path), entity.DeadLetterName(e.Path)
		d.Queues = append(d.Queues, definitionWith(name, q.Attributes(definitions.Here("sqs")+dead)),
			definitionWith(dead, q.DeadLetterAttributes()))
	}
	d.Sort()
	return d, notes, nil
}

// definitionWith returns a queue with attributes. The name says that it is a FIFO queue.
func definitionWith(name string, list []attributes.Attribute) definitions.Queue {
	q := definitions.Queue{Name: name, Attributes: map[string]string{}}
	for _, a := range list {
		if a.Value != "" && a.Name != attributes.NameFIFO {
			q.Attributes[a.Name] = a.Value
		}
	}
	return q
}
