package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

// rabbitPeer is three RabbitMQ nodes with a quorum queue.
type rabbitPeer struct {
	servers []*server
	urls    []string
	queues  int // made so far
}

// rabbitPrograms are the searched paths of the program. Debian's script on the PATH changes the
// user first, and needs a data directory of that user.
var rabbitPrograms = []string{"/usr/lib/rabbitmq/bin/rabbitmq-server", "rabbitmq-server"}

const rabbitConfig = `listeners.tcp.1 = 127.0.0.1:%d
cluster_formation.peer_discovery_backend = classic_config
cluster_formation.classic_config.nodes.1 = n1@localhost
cluster_formation.classic_config.nodes.2 = n2@localhost
cluster_formation.classic_config.nodes.3 = n3@localhost
disk_free_limit.absolute = 500MB
`

// startRabbitMQ starts the naming service of Erlang and three nodes, which find
// each other by their names.
func startRabbitMQ(ctx context.Context, dir string, o options) (_ contender, d description, err error) {
	d = description{
		Name: "RabbitMQ quorum queue", Protocol: "AMQP 0-9-1, publisher confirms",
		Durable: "written and synced to the log of a majority of three nodes; the acknowledgement of a consumer is never confirmed",
		Command: "rabbitmq-server on n1, n2 and n3@localhost; queue with x-queue-type=quorum",
	}
	program, err := firstProgram(rabbitPrograms)
	if err != nil {
		return nil, d, errors.New("not installed: apt-get install rabbitmq-server")
	}
	ports, err := freePorts(7)
	if err != nil {
		return nil, d, err
	}
	p := &rabbitPeer{}
	defer func() {
		if err != nil {
			if len(p.servers) > 1 {
				err = fmt.Errorf("%w\n%s", err, p.servers[1].tail())
			}
			p.close()
		}
	}()
	// The nodes know each other by a secret in the home directory.
	if err := os.WriteFile(filepath.Join(dir, ".erlang.cookie"), []byte(fmt.Sprint("peers", time.Now().UnixNano())), 0o400); err != nil {
		return nil, d, err
	}
	names := []string{"HOME=" + dir, fmt.Sprint("ERL_EPMD_PORT=", ports[6]), "ERL_EPMD_ADDRESS=127.0.0.1"}
	naming := exec.Command("epmd", "-port", fmt.Sprint(ports[6]), "-address", "127.0.0.1")
	if err := p.start(dir, "epmd", naming, 0); err != nil {
		return nil, d, err
	}
	for i := range 3 {
		node, err := rabbitNode(dir, program, i, ports, names)
		if err != nil {
			return nil, d, err
		}
		if err := p.start(dir, fmt.Sprint("node", i+1), node, o.disk); err != nil {
			return nil, d, err
		}
		p.urls = append(p.urls, fmt.Sprintf("amqp://guest:guest@127.0.0.1:%d/", ports[i]))
	}
	if err := await(ctx, 3*time.Minute, p.ready); err != nil {
		return nil, d, err
	}
	d.Version, err = p.version()
	return p, d, err
}

func firstProgram(names []string) (string, error) {
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", exec.ErrNotFound
}

func (p *rabbitPeer) start(dir, name string, process *exec.Cmd, disk time.Duration) error {
	s, err := startServer(dir, name, process, disk)
	if err == nil {
		p.servers = append(p.servers, s)
	}
	return err
}

// rabbitNode is the command of one node, which keeps everything in dir.
func rabbitNode(dir, program string, i int, ports []int, names []string) (*exec.Cmd, error) {
	name := fmt.Sprint("n", i+1)
	own, config, plugins := filepath.Join(dir, name), filepath.Join(dir, name+".conf"), filepath.Join(dir, "enabled_plugins")
	if err := os.Mkdir(own, 0o700); err != nil {
		return nil, err
	}
	if err := os.WriteFile(config, fmt.Appendf(nil, rabbitConfig, ports[i]), 0o600); err != nil {
		return nil, err
	}
	if err := os.WriteFile(plugins, []byte("[rabbitmq_amqp1_0].\n"), 0o600); err != nil {
		return nil, err
	}
	node := exec.Command(program)
	node.Dir = own
	node.Env = append(append(os.Environ(), names...),
		"RABBITMQ_NODENAME="+name+"@localhost", fmt.Sprint("RABBITMQ_DIST_PORT=", ports[3+i]),
		"RABBITMQ_CONFIG_FILE="+config, "RABBITMQ_ENABLED_PLUGINS_FILE="+plugins,
		"RABBITMQ_MNESIA_BASE="+own, "RABBITMQ_LOG_BASE="+own,
		"RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS=-kernel inet_dist_use_interface {127,0,0,1}")
	return node, nil
}

// ready makes a quorum queue and sees that it has three members, by asking
// each node about it.
func (p *rabbitPeer) ready(context.Context) error {
	for _, url := range p.urls {
		conn, err := amqp.DialConfig(url, amqp.Config{Dial: amqp.DefaultDial(2 * time.Second)})
		if err != nil {
			return err
		}
		err = declareAndDelete(conn)
		if err := errors.Join(err, conn.Close()); err != nil {
			return err
		}
	}
	return p.formed()
}

func declareAndDelete(conn *amqp.Connection) error {
	channel, err := conn.Channel()
	if err != nil {
		return err
	}
	if _, err := channel.QueueDeclare("first", true, false, false, false, quorum()); err != nil {
		return err
	}
	_, err = channel.QueueDelete("first", false, false, false)
	return err
}

// quorum returns the arguments for a queue with three members. Without the number of members, a queue
// that is made before the nodes find each other has only one.
func quorum() amqp.Table {
	return amqp.Table{"x-queue-type": "quorum", "x-quorum-initial-group-size": int32(3)}
}

// formed is an error until the nodes are one cluster: a queue made at one of
// them is then known to the others.
func (p *rabbitPeer) formed() error {
	name := p.next()
	for i, url := range p.urls {
		conn, err := amqp.Dial(url)
		if err != nil {
			return err
		}
		defer conn.Close()
		channel, err := conn.Channel()
		if err != nil {
			return err
		}
		if i == 0 {
			if _, err = channel.QueueDeclare(name, true, false, false, false, quorum()); err != nil {
				return err
			}
			defer channel.QueueDelete(name, false, false, false) //nolint:errcheck // an empty queue more
			continue
		}
		if _, err := channel.QueueDeclarePassive(name, true, false, false, false, nil); err != nil {
			return err
		}
	}
	return nil
}

func (p *rabbitPeer) version() (string, error) {
	conn, err := amqp.Dial(p.urls[0])
	if err != nil {
		return "", err
	}
	defer conn.Close()
	var parts []string
	for _, key := range []string{"version", "platform"} {
		parts = append(parts, fmt.Sprint(conn.Properties[key]))
	}
	return strings.Join(parts, ", "), nil
}

func (p *rabbitPeer) next() string {
	p.queues++
	return fmt.Sprint("q", p.queues)
}

// close ends the nodes before what names them.
func (p *rabbitPeer) close() {
	for _, s := range slices.Backward(p.servers) {
		s.close()
	}
}

func (p *rabbitPeer) spent() time.Duration { return spent(p.servers) }

func (p *rabbitPeer) takes(w workload) bool { return w.plain() }

func (p *rabbitPeer) measure(ctx context.Context, w workload, duration time.Duration) (got result, err error) {
	conn, err := amqp.Dial(p.urls[0])
	if err != nil {
		return got, err
	}
	defer conn.Close()
	channel, err := conn.Channel()
	if err != nil {
		return got, err
	}
	queue := p.next()
	if _, err := channel.QueueDeclare(queue, true, false, false, false, quorum()); err != nil {
		return got, err
	}
	defer func() {
		_, failed := channel.QueueDelete(queue, false, false, false)
		err = errors.Join(err, failed)
	}()
	return drive(ctx, w.Clients, duration, func(number int) (client, error) {
		return newRabbitClient(p.urls[number%len(p.urls)], queue, w)
	})
}

// rabbitClient is one client. Used by one goroutine.
type rabbitClient struct {
	channel    *amqp.Channel
	queue      string
	body       []byte
	deliveries <-chan amqp.Delivery
	pending    []*amqp.DeferredConfirmation
}

func newRabbitClient(url, queue string, w workload) (client, error) {
	conn, err := amqp.DialConfig(url, amqp.Config{Dial: dialNoDelay})
	if err != nil {
		return client{}, err
	}
	c := &rabbitClient{queue: queue, body: make([]byte, bodyBytes)}
	closing := func() { _ = conn.Close() } // the server notices either way
	if c.channel, err = conn.Channel(); err == nil {
		err = c.channel.Confirm(false)
	}
	if err == nil && w.Lives {
		err = c.consume()
	}
	if err != nil {
		closing()
		return client{}, err
	}
	if w.Lives {
		return client{step: c.life, close: closing}, nil
	}
	return client{step: func(ctx context.Context) (int, error) { return c.send(ctx, w.Batch) }, close: closing}, nil
}

func dialNoDelay(network, address string) (net.Conn, error) {
	return net.DialTimeout(network, address, 5*time.Second) // Go's connections do not delay
}

// consume asks for one message at a time.
func (c *rabbitClient) consume() (err error) {
	if err := c.channel.Qos(1, 0, false); err != nil {
		return err
	}
	c.deliveries, err = c.channel.Consume(c.queue, "", false, false, false, false, nil)
	return err
}

// send publishes without waiting in between and then waits for all confirms.
func (c *rabbitClient) send(ctx context.Context, batch int) (int, error) {
	c.pending = c.pending[:0]
	for range batch {
		confirm, err := c.channel.PublishWithDeferredConfirm("", c.queue, false, false,
			amqp.Publishing{DeliveryMode: amqp.Persistent, Body: c.body})
		if err != nil {
			return 0, err
		}
		c.pending = append(c.pending, confirm)
	}
	for _, confirm := range c.pending {
		acked, err := confirm.WaitContext(ctx)
		if err != nil {
			return 0, err
		}
		if !acked {
			return 0, errors.New("a message was refused")
		}
	}
	return batch, nil
}

// life sends a message, receives one of any client, and acknowledges it.
func (c *rabbitClient) life(ctx context.Context) (int, error) {
	if _, err := c.send(ctx, 1); err != nil {
		return 0, err
	}
	select {
	case m, ok := <-c.deliveries:
		if !ok {
			return 0, errors.New("the server ended the deliveries")
		}
		return 1, m.Ack(false)
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}
