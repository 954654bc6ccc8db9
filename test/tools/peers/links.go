package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/Azure/go-amqp"
	rabbit "github.com/rabbitmq/amqp091-go"
)

// linkEntrants has one cluster of seriatim three times, by protocol.
func linkEntrants() []entrant {
	var nodes *sqsServers
	return []entrant{
		{"seriatim", func(ctx context.Context, dir string, o options) (contender, description, error) {
			c, d, err := startSeriatim(ctx, dir, o)
			nodes, _ = c.(*sqsServers)
			return c, d, err
		}},
		{"grpc", func(context.Context, string, options) (contender, description, error) {
			d := ownFace("gRPC", "gRPC, unary calls")
			return overGRPC{nodes}, d, nil
		}},
		{"amqp", func(ctx context.Context, _ string, _ options) (contender, description, error) {
			p := overAMQP(nodes)
			return p, ownFace("AMQP", "AMQP 1.0"), p.peer.ready(ctx)
		}},
		{"rabbitmq", startRabbitMQLinks},
		{"artemis", startArtemis},
	}
}

func ownFace(name, protocol string) description {
	return description{Name: "seriatim over " + name, Version: "the same nodes", Protocol: protocol,
		Durable: "as over HTTP", Command: "as over HTTP"}
}

// overGRPC measures the nodes of seriatim over the native API.
type overGRPC struct{ nodes *sqsServers }

func (p overGRPC) takes(w workload) bool { return p.nodes.takes(w) }

func (p overGRPC) spent() time.Duration { return p.nodes.spent() }

func (p overGRPC) close() {} // the nodes are closed once

func (p overGRPC) measure(ctx context.Context, w workload, duration time.Duration) (result, error) {
	w.Ours = append(slices.Clone(w.Ours), "--protocol", "grpc", "--connections", strconv.Itoa(min(w.Clients, amqpConnections)))
	return p.nodes.measure(ctx, w, duration)
}

// sharedNodes are nodes that another contender closes.
type sharedNodes struct {
	peer  *amqpPeer
	nodes *sqsServers
}

func (p sharedNodes) takes(w workload) bool { return p.peer.takes(w) }

func (p sharedNodes) close() {} // as above

func (p sharedNodes) measure(ctx context.Context, w workload, duration time.Duration) (result, error) {
	if w.At != leader {
		return p.peer.measure(ctx, w, duration)
	}
	leading, err := p.nodes.leading(ctx)
	if err != nil {
		return result{}, err
	}
	return p.peer.measureAt(ctx, p.peer.addresses[leading:leading+1], w, duration)
}

func (p sharedNodes) spent() time.Duration { return p.nodes.spent() }

// overAMQP measures the nodes of seriatim with queues as Azure Service Bus has them.
func overAMQP(nodes *sqsServers) sharedNodes {
	p := &amqpPeer{grouped: true, options: &amqp.ConnOptions{SASLType: amqp.SASLTypeAnonymous()}}
	for _, endpoint := range nodes.endpoints {
		p.addresses = append(p.addresses, "amqp"+strings.TrimPrefix(endpoint, "http"))
	}
	command := func(ctx context.Context, args ...string) error {
		args = append(args, "--endpoint", strings.Join(nodes.endpoints, ","))
		if text, err := exec.CommandContext(ctx, nodes.binary, args...).CombinedOutput(); err != nil {
			return fmt.Errorf("%w: %s", err, text)
		}
		return nil
	}
	p.declare = func(ctx context.Context, name string) (string, error) {
		return name, command(ctx, "queue", "create", name+".fifo", "-a", "CompatibilityProfile=servicebus", "-a",
			"MessageGroupIdMode=Optional")
	}
	p.remove = func(ctx context.Context, name string) error {
		return command(ctx, "queue", "delete", name+".fifo", "--yes")
	}
	return sharedNodes{p, nodes}
}

// rabbitLinks are the nodes of RabbitMQ over AMQP 1.0.
type rabbitLinks struct {
	peer  *amqpPeer
	nodes *rabbitPeer
}

func (p rabbitLinks) takes(w workload) bool { return p.peer.takes(w) }

func (p rabbitLinks) measure(ctx context.Context, w workload, duration time.Duration) (result, error) {
	return p.peer.measure(ctx, w, duration)
}

func (p rabbitLinks) close() { p.nodes.close() }

func (p rabbitLinks) spent() time.Duration { return p.nodes.spent() }

// startRabbitMQLinks starts the nodes. Before version 4, a plugin of RabbitMQ speaks AMQP 1.0.
func startRabbitMQLinks(ctx context.Context, dir string, o options) (contender, description, error) {
	c, d, err := startRabbitMQ(ctx, dir, o)
	if err != nil {
		return nil, d, err
	}
	nodes := c.(*rabbitPeer)
	d.Protocol = "AMQP 1.0, of the plugin"
	d.Durable = "written and synced to the log of a majority of three nodes; settlements of a consumer are never confirmed"
	peer := &amqpPeer{addresses: nodes.urls, options: &amqp.ConnOptions{SASLType: amqp.SASLTypePlain("guest", "guest")}}
	peer.declare = func(_ context.Context, name string) (string, error) {
		return "/amq/queue/" + name, nodes.admin(func(channel *rabbit.Channel) error {
			_, err := channel.QueueDeclare(name, true, false, false, false, quorum())
			return err
		})
	}
	peer.remove = func(_ context.Context, name string) error {
		return nodes.admin(func(channel *rabbit.Channel) error {
			_, err := channel.QueueDelete(name, false, false, false)
			return err
		})
	}
	if err := peer.ready(ctx); err != nil {
		nodes.close()
		return nil, d, err
	}
	return rabbitLinks{peer, nodes}, d, nil
}

// admin calls a node on a connection of its own.
func (p *rabbitPeer) admin(call func(*rabbit.Channel) error) (err error) {
	connection, err := rabbit.Dial(p.urls[0])
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, connection.Close()) }()
	channel, err := connection.Channel()
	if err != nil {
		return err
	}
	return call(channel)
}
