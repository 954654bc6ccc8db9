package main

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/Azure/go-amqp"
)

// amqpConnections is the most connections that the links of one run share.
const amqpConnections = 4

// amqpPeer is a server that speaks AMQP 1.0. Every link is a sender with one unsettled message at a
// time, and for the workloads of lives a receiver with a credit of one, too.
type amqpPeer struct {
	addresses []string
	options   *amqp.ConnOptions
	// declare makes a queue and returns the address of its links.
	declare func(ctx context.Context, name string) (address string, err error)
	remove  func(ctx context.Context, name string) error
	// grouped gives each link a group of its own.
	grouped bool
	servers []*server
	queues  int
}

func (p *amqpPeer) takes(w workload) bool { return w.Links }

func (p *amqpPeer) close() { closeAll(p.servers) }

func (p *amqpPeer) spent() time.Duration { return spent(p.servers) }

// ready waits until a queue can be made and a message sent to it.
func (p *amqpPeer) ready(ctx context.Context) error {
	return await(ctx, 3*time.Minute, func(ctx context.Context) error {
		_, err := p.measure(ctx, workload{Clients: 1, Batch: 1}, time.Millisecond)
		return err
	})
}

func (p *amqpPeer) measure(ctx context.Context, w workload, duration time.Duration) (result, error) {
	return p.measureAt(ctx, p.addresses, w, duration)
}

func (p *amqpPeer) measureAt(ctx context.Context, addresses []string, w workload, duration time.Duration) (got result, err error) {
	p.queues++
	name := fmt.Sprintf("amqp-%d", p.queues)
	address, err := p.declare(ctx, name)
	if err != nil {
		return got, err
	}
	defer func() { err = errors.Join(err, p.remove(context.WithoutCancel(ctx), name)) }()
	var sessions []*amqp.Session
	for i := range min(w.Clients, amqpConnections) {
		connection, err := amqp.Dial(ctx, addresses[i%len(addresses)], p.options)
		if err != nil {
			return got, err
		}
		defer connection.Close()
		session, err := connection.NewSession(ctx, nil)
		if err != nil {
			return got, err
		}
		sessions = append(sessions, session)
	}
	return drive(ctx, w.Clients, duration, func(number int) (client, error) {
		return p.open(ctx, sessions[number%len(sessions)], address, number, w.Lives)
	})
}

// amqpClient is one client. Used by one goroutine.
type amqpClient struct {
	sender   *amqp.Sender
	receiver *amqp.Receiver
	group    *string
	body     []byte
}

var amqpIDs atomic.Int64

func (p *amqpPeer) open(ctx context.Context, session *amqp.Session, address string, number int, lives bool) (client, error) {
	c := &amqpClient{body: make([]byte, bodyBytes)}
	if p.grouped {
		c.group = new(fmt.Sprint("g", number))
	}
	var err error
	if c.sender, err = session.NewSender(ctx, address, nil); err != nil {
		return client{}, err
	}
	out := client{step: c.send, close: c.close}
	if lives {
		if c.receiver, err = session.NewReceiver(ctx, address, &amqp.ReceiverOptions{Credit: 1}); err != nil {
			c.close()
			return client{}, err
		}
		out.step = c.life
	}
	return out, nil
}

// close closes the links. The server removes them with the connection, too.
func (c *amqpClient) close() {
	ctx, cancel := context.WithTimeout(context.Background(), stragglers)
	defer cancel()
	if c.receiver != nil {
		_ = c.receiver.Close(ctx) // as above
	}
	_ = c.sender.Close(ctx) // as above
}

func (c *amqpClient) send(ctx context.Context) (int, error) {
	m := amqp.NewMessage(c.body)
	m.Header = &amqp.MessageHeader{Durable: true}
	m.Properties = &amqp.MessageProperties{MessageID: fmt.Sprint(amqpIDs.Add(1)), GroupID: c.group}
	return 1, c.sender.Send(ctx, m, nil)
}

// life sends a message, receives one of any client, and accepts it.
func (c *amqpClient) life(ctx context.Context) (int, error) {
	if _, err := c.send(ctx); err != nil {
		return 0, err
	}
	m, err := c.receiver.Receive(ctx, nil)
	if err != nil {
		return 0, err
	}
	return 1, c.receiver.AcceptMessage(ctx, m)
}
