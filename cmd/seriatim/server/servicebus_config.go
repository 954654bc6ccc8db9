package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	"github.com/seriatimq/seriatim/cmd/seriatim/exit"
	"github.com/seriatimq/seriatim/cmd/seriatim/server/files"
	"github.com/seriatimq/seriatim/transport/servicebus/atom/client"
	"github.com/seriatimq/seriatim/transport/servicebus/emulator"
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
	for i := range c.Queues {
		if _, refused := c.Queues[i].Queue(); len(refused) > 0 && err == nil {
			err = fmt.Errorf("queue %s: %w", c.Queues[i].Path, refused[0])
		}
	}
	if err != nil {
		err = exit.New(exit.Usage, fmt.Errorf("--servicebus-config %s: %w", file, err), "")
	}
	return c, err
}

// createEntities creates the entities of the configuration that do not exist yet.
func (f *devFlags) createEntities(ctx context.Context, words io.Writer) error {
	for _, topic := range f.entities.Topics {
		if _, err := fmt.Fprintf(words, "the topic %s is left out: there are no topics of Service Bus yet\n", topic); err != nil {
			return err
		}
	}
	if len(f.entities.Queues) == 0 {
		return nil
	}
	c := client.Client{Endpoint: "http://" + f.addresses(1).client, HTTP: http.DefaultClient, Now: time.Now}
	if f.auth {
		key, err := files.ReadKey(f.keyFile)
		if err != nil {
			return err
		}
		c.KeyID, c.Key = key.ID, key.Secret
	}
	ctx, cancel := context.WithTimeout(ctx, entityWait)
	defer cancel()
	for _, e := range f.entities.Queues {
		err := c.Create(ctx, e)
		for answered(err, http.StatusServiceUnavailable) {
			select {
			case <-ctx.Done():
				return fmt.Errorf("create the queue %s: %w", e.Path, err)
			case <-time.After(entityPause):
			}
			err = c.Create(ctx, e)
		}
		if err != nil && !answered(err, http.StatusConflict) {
			return fmt.Errorf("create the queue %s: %w", e.Path, err)
		}
	}
	return nil
}

// answered reports whether an error is an answer with a status.
func answered(err error, status int) bool {
	var refused *client.Refused
	return errors.As(err, &refused) && refused.Status == status
}
