package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// redisPeer is a primary with two replicas, all of which sync their file of
// commands before they answer.
type redisPeer struct {
	servers []*server
	primary string
	wait    []string // the command that waits for a replica
	streams int      // made so far
}

func startRedis(ctx context.Context, dir string, o options) (_ contender, d description, err error) {
	d = description{
		Name: "Redis stream", Protocol: "RESP2, XADD and then WAIT in one pipeline; no deduplication",
		Command: "redis-server --appendonly yes --appendfsync always, and twice more with --replicaof",
	}
	program, err := exec.LookPath("redis-server")
	if err != nil {
		return nil, d, errors.New("not installed: apt-get install redis-server")
	}
	d.Version = redisVersion(firstLine(ctx, program, "--version"))
	p := &redisPeer{wait: []string{"WAIT", "1", "5000"}}
	d.Durable = "synced to the disk of the primary; received by one of two replicas, which syncs before it answers but does not promise to (WAIT 1; WAITAOF needs 7.2)"
	if atLeast(d.Version, 7, 2) {
		p.wait = []string{"WAITAOF", "1", "1", "5000"}
		d.Durable = "synced to the disks of the primary and of one of two replicas (WAITAOF 1 1)"
		d.Protocol = strings.Replace(d.Protocol, "WAIT", "WAITAOF", 1)
	}
	ports, err := freePorts(3)
	if err != nil {
		return nil, d, err
	}
	defer func() {
		if err != nil {
			p.close()
		}
	}()
	p.primary = fmt.Sprintf("127.0.0.1:%d", ports[0])
	for i, port := range ports {
		// Rewriting the file is off: it would fall into whichever run comes next.
		args := []string{
			"--port", fmt.Sprint(port), "--bind", "127.0.0.1", "--dir", dir, "--appendonly", "yes", "--appendfsync", "always",
			"--appenddirname", fmt.Sprint("aof", i), "--dbfilename", fmt.Sprintf("dump%d.rdb", i), "--save", "", "--auto-aof-rewrite-percentage", "0",
		}
		if i > 0 {
			args = append(args, "--replicaof", "127.0.0.1 "+fmt.Sprint(ports[0]))
		}
		s, err := startServer(dir, filepath.Base(program)+fmt.Sprint(i), exec.Command(program, args...), o.disk)
		if err != nil {
			return nil, d, err
		}
		p.servers = append(p.servers, s)
	}
	return p, d, await(ctx, time.Minute, p.ready)
}

// redisVersion finds "v=7.0.15" in what the program says.
func redisVersion(line string) string {
	for field := range strings.FieldsSeq(line) {
		if v, ok := strings.CutPrefix(field, "v="); ok {
			return v
		}
	}
	return line
}

// atLeast compares the first two numbers of a version.
func atLeast(version string, major, minor int) bool {
	parts := strings.SplitN(version, ".", 3)
	if len(parts) < 2 {
		return false
	}
	a, err := strconv.Atoi(parts[0])
	b, err2 := strconv.Atoi(parts[1])
	return err == nil && err2 == nil && (a > major || a == major && b >= minor)
}

// ready waits until both replicas confirm a write.
func (p *redisPeer) ready(ctx context.Context) error {
	c, err := dialRESP(ctx, p.primary)
	if err != nil {
		return err
	}
	defer c.close()
	answers, err := c.call(ctx, []string{"SET", "ready", "yes"}, []string{"WAIT", "2", "1000"})
	if err != nil {
		return err
	}
	if answers[1] != int64(2) {
		return fmt.Errorf("%v replicas of 2 answer", answers[1])
	}
	return nil
}

func (p *redisPeer) processes() []*server { return p.servers }

func (p *redisPeer) close() { closeAll(p.servers) }

func (p *redisPeer) takes(w workload) bool { return !w.Streamed && !w.Own && !w.Shared && w.At == "" }

func (p *redisPeer) measure(ctx context.Context, w workload, duration time.Duration) (got result, err error) {
	p.streams++
	stream := fmt.Sprint("s", p.streams)
	c, err := dialRESP(ctx, p.primary)
	if err != nil {
		return got, err
	}
	defer c.close()
	if _, err := c.call(ctx, []string{"XGROUP", "CREATE", stream, "all", "$", "MKSTREAM"}); err != nil {
		return got, err
	}
	defer func() {
		_, failed := c.call(context.WithoutCancel(ctx), []string{"UNLINK", stream})
		err = errors.Join(err, failed)
	}()
	return drive(ctx, w.Clients, duration, func(number int) (client, error) {
		conn, err := dialRESP(ctx, p.primary)
		if err != nil {
			return client{}, err
		}
		r := &redisClient{conn: conn, peer: p, stream: stream, name: fmt.Sprint("c", number), body: strings.Repeat("x", bodyBytes)}
		if w.Lives {
			return client{step: r.life, close: conn.close}, nil
		}
		return client{step: func(ctx context.Context) (int, error) { return r.send(ctx, w.Batch) }, close: conn.close}, nil
	})
}

// redisClient is one client. Used by one goroutine.
type redisClient struct {
	conn   *respConn
	peer   *redisPeer
	stream string
	name   string
	body   string
}

// confirmed runs commands and waits until a replica has them, in one pipeline.
func (c *redisClient) confirmed(ctx context.Context, commands ...[]string) error {
	answers, err := c.conn.call(ctx, append(commands, c.peer.wait)...)
	if err != nil {
		return err
	}
	return enough(answers[len(answers)-1])
}

// enough checks the answer of WAIT, a number, or of WAITAOF, the local and the
// replicas' numbers.
func enough(answer any) error {
	replicas := answer
	if list, ok := answer.([]any); ok && len(list) == 2 {
		if list[0] != int64(1) {
			return fmt.Errorf("the primary has not synced: %v", answer)
		}
		replicas = list[1]
	}
	if n, ok := replicas.(int64); !ok || n < 1 {
		return fmt.Errorf("no replica has confirmed: %v", answer)
	}
	return nil
}

func (c *redisClient) send(ctx context.Context, batch int) (int, error) {
	commands := make([][]string, batch, batch+1)
	for i := range commands {
		commands[i] = []string{"XADD", c.stream, "*", "b", c.body}
	}
	return batch, c.confirmed(ctx, commands...)
}

// life adds a message, receives one, of whoever, and removes it.
func (c *redisClient) life(ctx context.Context) (int, error) {
	if _, err := c.send(ctx, 1); err != nil {
		return 0, err
	}
	for {
		answers, err := c.conn.call(ctx, []string{"XREADGROUP", "GROUP", "all", c.name, "COUNT", "1", "BLOCK", "500", "STREAMS", c.stream, ">"})
		if err != nil {
			return 0, err
		}
		id, ok := firstID(answers[0])
		if !ok {
			if ctx.Err() != nil {
				return 0, ctx.Err()
			}
			continue
		}
		// What was handed out is written too, so this confirms both.
		return 1, c.confirmed(ctx, []string{"XACK", c.stream, "all", id}, []string{"XDEL", c.stream, id})
	}
}

// firstID finds the id in [[stream [[id [b body]]]]]; false: nothing was read.
func firstID(answer any) (string, bool) {
	for _, index := range []int{0, 1, 0, 0} {
		list, ok := answer.([]any)
		if !ok || len(list) <= index {
			return "", false
		}
		answer = list[index]
	}
	id, ok := answer.(string)
	return id, ok
}
