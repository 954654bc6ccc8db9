package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// natsPeer is three NATS servers with a replicated stream that syncs always.
type natsPeer struct {
	servers []*server
	urls    []string
	admin   *nats.Conn
	streams int // the number of streams made so far
}

// A stream permits 50 unfinished atomic batches by default, which is less than the number of
// clients.
const natsConfig = `server_name: n%d
listen: 127.0.0.1:%d
cluster { name: peers, listen: 127.0.0.1:%d, routes: [%s] }
jetstream { store_dir: %q, sync_interval: always, limits { batch { max_inflight_per_stream: 1000 } } }
`

// startNATS builds the server and starts three of them.
func startNATS(ctx context.Context, dir string, o options) (_ contender, d description, err error) {
	d = description{
		Name: "NATS JetStream R3", Protocol: "NATS; batches are atomic ones",
		Durable: "written and synced to the disks of a majority of three nodes (sync_interval: always)",
		Command: "nats-server with sync_interval: always, three of them in one cluster; stream with Replicas: 3",
	}
	binary := filepath.Join(dir, "nats-server")
	build := exec.CommandContext(ctx, "go", "build", "-o", binary, "github.com/nats-io/nats-server/v2")
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		return nil, d, fmt.Errorf("not installed: the module github.com/nats-io/nats-server could not be built: %w", err)
	}
	d.Version = strings.TrimPrefix(firstLine(ctx, binary, "--version"), "nats-server: ")
	ports, err := freePorts(6)
	if err != nil {
		return nil, d, err
	}
	p := &natsPeer{}
	defer func() {
		if err != nil {
			p.close()
		}
	}()
	var routes []string
	for i := range 3 {
		routes = append(routes, fmt.Sprintf("nats://127.0.0.1:%d", ports[3+i]))
	}
	for i := range 3 {
		config := filepath.Join(dir, fmt.Sprintf("nats%d.conf", i))
		text := fmt.Sprintf(natsConfig, i, ports[i], ports[3+i], strings.Join(routes, ", "), filepath.Join(dir, fmt.Sprintf("nats%d", i)))
		if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
			return nil, d, fmt.Errorf("configuration of NATS: %w", err)
		}
		s, err := startServer(dir, fmt.Sprint("nats", i), exec.Command(binary, "-c", config), o.disk)
		if err != nil {
			return nil, d, err
		}
		p.servers = append(p.servers, s)
		p.urls = append(p.urls, fmt.Sprintf("nats://127.0.0.1:%d", ports[i]))
	}
	return p, d, await(ctx, time.Minute, p.ready)
}

// ready makes a stream and removes it, to see that this works.
func (p *natsPeer) ready(ctx context.Context) error {
	if err := p.stream(ctx, "first"); err != nil {
		return err
	}
	return p.remove(ctx, "first")
}

func (p *natsPeer) stream(ctx context.Context, name string) error {
	if p.admin == nil {
		admin, err := nats.Connect(strings.Join(p.urls, ","))
		if err != nil {
			return err
		}
		p.admin = admin
	}
	js, err := jetstream.New(p.admin)
	if err != nil {
		return err
	}
	if _, err = js.CreateStream(ctx, jetstream.StreamConfig{
		Name: name, Subjects: []string{name + ".>"}, Replicas: 3, Storage: jetstream.FileStorage, Retention: jetstream.WorkQueuePolicy,
		Duplicates: 5 * time.Minute, AllowAtomicPublish: true,
	}); err != nil {
		return err
	}
	_, err = js.CreateConsumer(ctx, name,
		jetstream.ConsumerConfig{Durable: "all", AckPolicy: jetstream.AckExplicitPolicy, MaxAckPending: 100_000})
	return err
}

func (p *natsPeer) remove(ctx context.Context, name string) error {
	js, err := jetstream.New(p.admin)
	if err != nil {
		return err
	}
	return js.DeleteStream(ctx, name)
}

// leading returns the number of the server that leads a stream. The servers are named n0, n1 and so
// on.
func (p *natsPeer) leading(ctx context.Context, name string) (int, error) {
	js, err := jetstream.New(p.admin)
	if err != nil {
		return 0, err
	}
	stream, err := js.Stream(ctx, name)
	if err != nil {
		return 0, err
	}
	cluster := stream.CachedInfo().Cluster
	if cluster == nil {
		return 0, errors.New("a stream without a cluster")
	}
	number, err := strconv.Atoi(strings.TrimPrefix(cluster.Leader, "n"))
	if err != nil || number < 0 || number >= len(p.urls) {
		return 0, fmt.Errorf("no server leads the stream that is known: %q", cluster.Leader)
	}
	return number, nil
}

func (p *natsPeer) close() {
	if p.admin != nil {
		p.admin.Close()
	}
	closeAll(p.servers)
}

func (p *natsPeer) spent() time.Duration { return spent(p.servers) }

func (p *natsPeer) takes(w workload) bool { return !w.Own }

func (p *natsPeer) measure(ctx context.Context, w workload, duration time.Duration) (got result, err error) {
	p.streams++
	stream := fmt.Sprint("s", p.streams)
	if err := p.stream(ctx, stream); err != nil {
		return got, err
	}
	defer func() { err = errors.Join(err, p.remove(context.WithoutCancel(ctx), stream)) }()
	var conns []*nats.Conn
	defer func() {
		for _, conn := range conns {
			conn.Close()
		}
	}()
	first := 0
	if w.At != "" {
		if first, err = p.leading(ctx, stream); err != nil {
			return got, err
		}
		if w.At == follower {
			first++
		}
	}
	for number := range min(w.Clients, natsConnections) {
		conn, err := nats.Connect(p.urls[(first+number)%len(p.urls)])
		if err != nil {
			return got, err
		}
		conns = append(conns, conn)
	}
	return drive(ctx, w.Clients, duration, func(number int) (client, error) {
		conn := conns[number%len(conns)]
		c := &natsClient{conn: conn, subject: fmt.Sprintf("%s.g%d", stream, number), id: fmt.Sprintf("%s-%d-", stream, number),
			body: make([]byte, bodyBytes)}
		if c.js, err = jetstream.New(conn, jetstream.WithPublishAsyncMaxPending(2*asyncPending)); err == nil && w.Lives {
			c.consumer, err = c.js.Consumer(ctx, stream, "all")
		}
		if err != nil {
			return client{}, err
		}
		own := client{close: func() {}}
		switch {
		case w.Lives:
			// The client prefetches one message. More would wait while the client is busy.
			if c.messages, err = c.consumer.Messages(jetstream.PullMaxMessages(1)); err != nil {
				return client{}, err
			}
			own.step, own.close = c.life, c.messages.Stop
		case w.Streamed:
			own.loop = c.publishAsync
		default:
			own.step = func(ctx context.Context) (int, error) { return c.send(ctx, w.Batch) }
		}
		return own, nil
	})
}

// natsConnections is the number of connections that the clients share, like programs that use NATS:
// the library combines writes of several clients. Clients of seriatim share as many if they
// share.
const natsConnections = 4

// natsClient is one client. Used by one goroutine.
type natsClient struct {
	conn     *nats.Conn
	js       jetstream.JetStream
	consumer jetstream.Consumer
	messages jetstream.MessagesContext // of lives
	subject  string
	id       string
	sent     int
	body     []byte
}

func (c *natsClient) send(ctx context.Context, batch int) (int, error) {
	if batch == 1 {
		c.sent++
		_, err := c.js.Publish(ctx, c.subject, c.body, jetstream.WithMsgID(fmt.Sprint(c.id, c.sent)))
		return 1, err
	}
	return batch, c.atomically(ctx, batch)
}

// asyncPending bounds the unanswered messages of a client: the default of the library.
const asyncPending = 4000

// publishing is a message that is not confirmed yet.
type publishing struct {
	began time.Time
	ack   jetstream.PubAckFuture
}

// publishAsync publishes until the end without waiting for an answer before the next message.
func (c *natsClient) publishAsync(ctx context.Context, began, end time.Time) (s share) {
	pending := make(chan publishing, asyncPending)
	answered := make(chan share, 1) // the one result
	go func() { answered <- collect(ctx, pending, began) }()
	for at := time.Now(); at.Before(end) && ctx.Err() == nil; at = time.Now() {
		c.sent++
		ack, err := c.js.PublishAsync(c.subject, c.body, jetstream.WithMsgID(fmt.Sprint(c.id, c.sent)))
		if err != nil {
			close(pending)
			s = <-answered
			s.err = errors.Join(err, s.err)
			return s
		}
		pending <- publishing{at, ack}
	}
	close(pending)
	return <-answered
}

// collect waits for the answers in the order of the messages.
func collect(ctx context.Context, pending <-chan publishing, began time.Time) (s share) {
	for p := range pending {
		select {
		case <-p.ack.Ok():
			if p.began.After(began) {
				s.last = time.Now()
				s.times = append(s.times, s.last.Sub(p.began))
				s.messages++
			}
		case err := <-p.ack.Err():
			s.err = errors.Join(s.err, err)
		case <-ctx.Done():
			s.err = errors.Join(s.err, ctx.Err())
		}
	}
	return s
}

// atomically publishes an atomic batch: the messages contain the batch's id and their numbers, and
// the last one requests an answer for all.
func (c *natsClient) atomically(ctx context.Context, batch int) error {
	id := fmt.Sprint(c.id, c.sent)
	for i := range batch {
		c.sent++
		m := nats.NewMsg(c.subject)
		m.Data = c.body
		m.Header.Set("Nats-Msg-Id", fmt.Sprint(c.id, c.sent))
		m.Header.Set("Nats-Batch-Id", id)
		m.Header.Set("Nats-Batch-Sequence", fmt.Sprint(i+1))
		if i+1 < batch {
			if err := c.conn.PublishMsg(m); err != nil {
				return err
			}
			continue
		}
		m.Header.Set("Nats-Batch-Commit", "1")
		answer, err := c.conn.RequestMsgWithContext(ctx, m)
		if err != nil {
			return err
		}
		return readNATSAnswer(answer.Data)
	}
	return nil
}

// readNATSAnswer returns the error in the answer to a batch, or nil.
func readNATSAnswer(text []byte) error {
	var answer struct {
		Error *struct{ Description string }
		Seq   uint64
	}
	if err := json.Unmarshal(text, &answer); err != nil {
		return fmt.Errorf("answer to a batch: %w", err)
	}
	if answer.Error != nil || answer.Seq == 0 {
		return fmt.Errorf("a batch was refused: %s", text)
	}
	return nil
}

// life sends a message, receives a message of any client, and waits until its acknowledgement is
// confirmed.
func (c *natsClient) life(ctx context.Context) (int, error) {
	if _, err := c.send(ctx, 1); err != nil {
		return 0, err
	}
	message, err := c.messages.Next(jetstream.NextContext(ctx))
	if err != nil {
		return 0, err
	}
	return 1, message.DoubleAck(ctx)
}
