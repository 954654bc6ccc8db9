package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/seriatimq/seriatim/transport"
)

// listenAMQP opens the ports that serve only AMQP.
func (r *parts) listenAMQP(requests context.Context, listen ListenConfig, clients transport.Config) error {
	for _, port := range []struct {
		setting, address string
		secure           bool
	}{{"amqp-addr", listen.AMQP, false}, {"amqps-addr", listen.AMQPS, true}} {
		if port.address == "" {
			continue
		}
		cfg := clients
		cfg.Addr, cfg.Handler, cfg.GRPC, cfg.OnShutdown = port.address, http.NotFoundHandler(), nil, nil
		if !port.secure {
			cfg.TLS = nil
		}
		open, err := transport.Listen(requests, cfg)
		if err != nil {
			return fmt.Errorf("%s: %w", port.setting, err)
		}
		r.amqpPorts = append(r.amqpPorts, open)
	}
	return nil
}

// endClients ends the ports for clients, and waits for the work that their connections have left.
func (r *parts) endClients(ctx context.Context) error {
	ended := make(chan error, len(r.amqpPorts)) // one result of each port
	for _, port := range r.amqpPorts {
		go func() { ended <- port.Shutdown(ctx) }()
	}
	err := r.clientPort.Shutdown(ctx)
	for range r.amqpPorts {
		err = errors.Join(err, <-ended)
	}
	if err == nil {
		r.bus.Wait()
	}
	return err
}
