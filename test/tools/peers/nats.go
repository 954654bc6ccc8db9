package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// natsPeer is three NATS servers with a replicated stream that syncs always.
type natsPeer struct {
	processes []*exec.Cmd
	urls      []string
	admin     *nats.Conn
}

const natsConfig = `server_name: n%d
listen: 127.0.0.1:%d
cluster { name: peers, listen: 127.0.0.1:%d, routes: [%s] }
jetstream { store_dir: %q, sync_interval: always }
`

// startNATS builds the server and starts three of them.
func startNATS(ctx context.Context, dir string, ports []int) (_ *natsPeer, err error) {
	binary := filepath.Join(dir, "nats-server")
	build := exec.CommandContext(ctx, "go", "build", "-o", binary, "github.com/nats-io/nats-server/v2")
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		return nil, fmt.Errorf("build nats-server: %w", err)
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
			return nil, err
		}
		process := exec.Command(binary, "-c", config)
		if err := process.Start(); err != nil {
			return nil, err
		}
		p.processes = append(p.processes, process)
		p.urls = append(p.urls, fmt.Sprintf("nats://127.0.0.1:%d", ports[i]))
	}
	return p, p.ready(ctx)
}

// ready waits until a stream can be made.
func (p *natsPeer) ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for {
		// What is asked before the servers have a leader is never answered.
		try, over := context.WithTimeout(ctx, 3*time.Second)
		err := p.stream(try, "first")
		over()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("NATS did not become ready: %w", err)
		case <-time.After(200 * time.Millisecond):
		}
	}
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
		Duplicates: 5 * time.Minute,
	}); err != nil {
		return err
	}
	_, err = js.CreateConsumer(ctx, name, jetstream.ConsumerConfig{Durable: "all", AckPolicy: jetstream.AckExplicitPolicy, MaxAckPending: 100_000})
	return err
}

func (p *natsPeer) name() string { return "NATS JetStream R3, sync always" }

func (p *natsPeer) close() {
	if p.admin != nil {
		p.admin.Close()
	}
	for _, process := range p.processes {
		_ = process.Process.Kill() // it may have ended already
		_ = process.Wait()
	}
}

func (p *natsPeer) measure(ctx context.Context, w workload, duration time.Duration) (result, error) {
	stream := fmt.Sprintf("s%d", time.Now().UnixNano())
	if err := p.stream(ctx, stream); err != nil {
		return result{}, err
	}
	return drive(ctx, w.clients, duration, func(number int) (step, func(), error) {
		conn, err := nats.Connect(p.urls[number%len(p.urls)])
		if err != nil {
			return nil, nil, err
		}
		js, err := jetstream.New(conn)
		if err != nil {
			conn.Close()
			return nil, nil, err
		}
		c := &natsClient{js: js, subject: fmt.Sprintf("%s.g%d", stream, number), id: fmt.Sprintf("%s-%d-", stream, number), body: make([]byte, bodyBytes)}
		if w.lives {
			if c.consumer, err = js.Consumer(ctx, stream, "all"); err != nil {
				conn.Close()
				return nil, nil, err
			}
			return c.life, conn.Close, nil
		}
		return func(ctx context.Context) (int, error) { return c.send(ctx, w.batch) }, conn.Close, nil
	})
}

// natsClient is one client. Used by one goroutine.
type natsClient struct {
	js       jetstream.JetStream
	consumer jetstream.Consumer
	subject  string
	id       string
	sent     int
	body     []byte
}

func (c *natsClient) next() jetstream.PublishOpt {
	c.sent++
	return jetstream.WithMsgID(fmt.Sprint(c.id, c.sent))
}

func (c *natsClient) send(ctx context.Context, batch int) (int, error) {
	if batch == 1 {
		_, err := c.js.Publish(ctx, c.subject, c.body, c.next())
		return 1, err
	}
	futures := make([]jetstream.PubAckFuture, batch)
	for i := range futures {
		var err error
		if futures[i], err = c.js.PublishAsync(c.subject, c.body, c.next()); err != nil {
			return 0, err
		}
	}
	for _, f := range futures {
		select {
		case <-f.Ok():
		case err := <-f.Err():
			return 0, err
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
	return batch, nil
}

// life sends a message, receives one, of whoever, and has its acknowledgement
// confirmed.
func (c *natsClient) life(ctx context.Context) (int, error) {
	if _, err := c.send(ctx, 1); err != nil {
		return 0, err
	}
	for {
		message, err := c.consumer.Next(jetstream.FetchMaxWait(time.Second))
		if errors.Is(err, nats.ErrTimeout) && ctx.Err() == nil {
			continue
		}
		if err != nil {
			return 0, err
		}
		return 1, message.DoubleAck(ctx)
	}
}
