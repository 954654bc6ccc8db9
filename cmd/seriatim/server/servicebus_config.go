package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"time"

	"github.com/seriatimq/seriatim/cmd/seriatim/exit"
	"github.com/seriatimq/seriatim/cmd/seriatim/server/files"
	"github.com/seriatimq/seriatim/transport/servicebus/atom/client"
	"github.com/seriatimq/seriatim/transport/servicebus/description"
	"github.com/seriatimq/seriatim/transport/servicebus/emulator"
	"github.com/seriatimq/seriatim/transport/servicebus/entity"
)

const (
	entityWait  = 30 * time.Second // for a leader
	entityPause = 200 * time.Millisecond
)

// readEntities reads the configuration of the Service Bus emulator that the flag names, if it is set.
func readEntities(file string) (emulator.Config, error) {
	if file == "" {
		return emulator.Config{}, nil
	}
	opened, err := os.Open(file)
	if err != nil {
		return emulator.Config{}, exit.New(exit.Usage, fmt.Errorf("--servicebus-config: %w", err), "")
	}
	defer func() { _ = opened.Close() }() // it is only read
	c, err := emulator.Read(opened)
	if err == nil {
		err = checkEntities(&c)
	}
	if err != nil {
		err = exit.New(exit.Usage, fmt.Errorf("--servicebus-config %s: %w", file, err), "")
	}
	return c, err
}

// checkEntities refuses entities with a property that they cannot have here.
func checkEntities(c *emulator.Config) (err error) {
	check := func(kind, name string, refused []*description.Refused) {
		if len(refused) > 0 && err == nil {
			err = fmt.Errorf("%s %s: %w", kind, name, refused[0])
		}
	}
	for i := range c.Queues {
		_, refused := c.Queues[i].Queue()
		check("queue", c.Queues[i].Path, refused)
	}
	for i := range c.Topics {
		t := &c.Topics[i]
		_, refused := t.Topic()
		check("topic", t.Path, refused)
		for j := range t.Subscriptions {
			_, refused := t.Subscriptions[j].Subscription()
			check("subscription", entity.Subscription(t.Path, t.Subscriptions[j].Path), refused)
		}
	}
	return err
}

// createEntities creates the entities of the configuration that do not exist yet. Those to which others
// forward come first.
func (f *devFlags) createEntities(ctx context.Context) error {
	if len(f.entities.Queues)+len(f.entities.Topics) == 0 {
		return nil
	}
	c := creator{client.Client{Endpoint: "http://" + f.addresses(1).client, HTTP: http.DefaultClient, Now: time.Now}}
	if f.auth {
		key, err := files.ReadKey(f.keyFile)
		if err != nil {
			return err
		}
		c.KeyID, c.Key = key.ID, key.Secret
	}
	ctx, cancel := context.WithTimeout(ctx, entityWait)
	defer cancel()
	for _, t := range f.entities.Topics {
		if err := c.create(ctx, client.Topic, t); err != nil {
			return err
		}
	}
	for _, e := range description.InOrder(f.entities.Queues) {
		if err := c.create(ctx, client.Queue, e); err != nil {
			return err
		}
	}
	for _, t := range f.entities.Topics {
		for _, s := range t.Subscriptions {
			s.Path = entity.Subscription(t.Path, s.Path)
			if err := c.create(ctx, client.Subscription, s); err != nil {
				return err
			}
		}
	}
	return nil
}

// creator creates entities.
type creator struct{ client.Client }

// create creates an entity unless it exists. It waits for a leader.
func (c *creator) create(ctx context.Context, of client.Kind, e description.Entity) error {
	err := c.Create(ctx, of, e)
	for answered(err, http.StatusServiceUnavailable) {
		select {
		case <-ctx.Done():
			return fmt.Errorf("create %s: %w", e.Path, err)
		case <-time.After(entityPause):
		}
		err = c.Create(ctx, of, e)
	}
	if err != nil && !answered(err, http.StatusConflict) {
		return fmt.Errorf("create %s: %w", e.Path, err)
	}
	return nil
}

// answered reports whether an error is an answer with a status.
func answered(err error, status int) bool {
	var refused *client.Refused
	return errors.As(err, &refused) && refused.Status == status
}
