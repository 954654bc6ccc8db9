package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

func endpoint(base, node int) string { return fmt.Sprintf("http://127.0.0.1:%d", base+10*(node-1)) }

// endpoints returns the endpoints of all three nodes, the given one first.
func endpoints(base, first int) string {
	var list []string
	for i := range 3 {
		list = append(list, endpoint(base, (first-1+i)%3+1))
	}
	return strings.Join(list, ",")
}

// startCluster starts dev with three nodes and returns their process ids.
func startCluster(t *testing.T, base int, env []string, args ...string) (*process, []int) {
	t.Helper()
	p := startProcess(t, env, append([]string{"dev", "--nodes", "3", "--base-port", strconv.Itoa(base)}, args...)...)
	p.out.wait(t, `^ready`, 1)
	p.out.wait(t, `^export AWS_ENDPOINT_URL=`+endpoint(base, 1)+`$`, 1)
	p.out.wait(t, `^export SERIATIM_ENDPOINT=`+endpoints(base, 1)+`$`, 1)
	var pids []int
	for node := 1; node <= 3; node++ {
		m := p.out.wait(t, fmt.Sprintf(`^node %d  pid (\d+)  client 127.0.0.1:%d  admin 127.0.0.1:%d  peer 127.0.0.1:%d  gossip 127.0.0.1:%d$`,
			node, base+10*node-10, base+10*node-9, base+10*node-8, base+10*node-7), 1)
		pids = append(pids, atoi(t, m[1]))
	}
	return p, pids
}

// leader returns the number of the leader in the view of the first node.
func leader(t *testing.T, base int) int {
	t.Helper()
	var status struct{ LeaderName string }
	if err := json.Unmarshal([]byte(must(t, "status", "--endpoint", endpoint(base, 1), "-o", "json")), &status); err != nil {
		t.Fatal(err)
	}
	return atoi(t, strings.TrimPrefix(status.LeaderName, "node-"))
}

// awaitClosed waits until a port has no listener.
func awaitClosed(t *testing.T, address string) {
	t.Helper()
	deadline, tick := time.After(waitMax), time.NewTicker(20*time.Millisecond)
	defer tick.Stop()
	for {
		c, err := net.Dial("tcp", address)
		if err != nil {
			return
		}
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("%s still listens", address)
		}
	}
}

func TestDevSurvivesItsLeader(t *testing.T) {
	base, tmp := freeBase(t, 3), t.TempDir()
	p, pids := startCluster(t, base, []string{"TMPDIR=" + tmp})
	must(t, "queue", "create", "a.fifo", "--endpoint", endpoint(base, 1))
	send := []string{"msg", "send", "a.fifo", "x", "-g", "g", "-d", "1", "-o", "json", "--timeout", waitMax.String(), "--endpoint"}
	first := must(t, append(send, endpoint(base, 2))...)

	lead := leader(t, base)
	if err := syscall.Kill(pids[lead-1], syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	p.err.wait(t, fmt.Sprintf(`^node %d \(pid %d\) ended: signal: killed$`, lead, pids[lead-1]), 1)
	for node := 1; node <= 3; node++ {
		if node == lead {
			continue
		}
		again := must(t, append(send, endpoint(base, node))...)
		if without := strings.Replace(again, "  \"duplicate\": true,\n", "", 1); without == again || without != first {
			t.Errorf("the duplicate was answered with %s, the original with %s", again, first)
		}
	}
	// With the endpoints that dev printed, every command works without one node.
	all := []string{"--timeout", waitMax.String(), "--endpoint", endpoints(base, lead)}
	if out := must(t, append([]string{"msg", "receive", "a.fifo", "--wait", "5", "--delete"}, all...)...); !strings.Contains(out,
		"deleted 1") {
		t.Error(out)
	}
	for _, command := range []string{"queue list", "status", "cluster members", "upgrade status"} {
		must(t, append(strings.Fields(command), all...)...)
	}

	p.signal(t, syscall.SIGTERM)
	if code := p.wait(t); code != 0 {
		t.Errorf("exit code %d", code)
	}
	for node := range 3 {
		awaitClosed(t, fmt.Sprintf("127.0.0.1:%d", base+10*node))
	}
	if left, err := filepath.Glob(filepath.Join(tmp, "*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// Every node reports the client that holds a group, until the node that served it ends.
func TestGroupExplainNamesTheHolder(t *testing.T) {
	base := freeBase(t, 3)
	_, pids := startCluster(t, base, nil)
	must(t, "queue", "create", "a.fifo", "-a", "VisibilityTimeout=3600", "--endpoint", endpoint(base, 1))
	for _, group := range []string{"g", "h"} {
		must(t, "msg", "send", "a.fifo", "x", "-g", group, "-d", group, "--endpoint", endpoint(base, 1))
	}
	must(t, "session", "accept", "a.fifo", "h", "--lock", "3600", "--endpoint", endpoint(base, 2))
	must(t, "msg", "receive", "a.fifo", "--wait", "5", "--endpoint", endpoint(base, 2))
	explain := func(node int, group string, more ...string) string {
		return must(t, append([]string{"group", "explain", "a.fifo", group, "--endpoint", endpoint(base, node)}, more...)...)
	}
	for node := 1; node <= 3; node++ {
		for _, group := range []string{"g", "h"} {
			if text := explain(node, group); !strings.Contains(text, "The receiver is the client at 127.0.0.1:") ||
				!strings.Contains(text, "the node node-2 served it at ") {
				t.Errorf("node %d says about %s: %s", node, group, text)
			}
			var g struct {
				Holder struct {
					Address, Node string
					SinceMs       int64
				}
			}
			if err := json.Unmarshal([]byte(explain(node, group, "-o", "json")), &g); err != nil ||
				!strings.HasPrefix(g.Holder.Address, "127.0.0.1:") || g.Holder.Node != "node-2" || g.Holder.SinceMs == 0 {
				t.Errorf("node %d says %+v about %s, %v", node, g, group, err)
			}
		}
	}
	if err := syscall.Kill(pids[1], syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	awaitClosed(t, fmt.Sprintf("127.0.0.1:%d", base+10))
	if text := explain(1, "g", "--timeout", waitMax.String()); !strings.Contains(text, "A receiver has its first message") ||
		!strings.Contains(text, "is unknown") || !strings.Contains(text, "did not answer: node-2.") {
		t.Errorf("without the node that served it: %s", text)
	}
}

func TestDevRestart(t *testing.T) {
	base, dir := freeBase(t, 3), filepath.Join(t.TempDir(), "data")
	p, pids := startCluster(t, base, nil, "--restart", "--data-dir", dir, "--minimum-window", "1")
	must(t, "queue", "create", "a.fifo", "-a", "DeduplicationWindowSeconds=1", "--endpoint", endpoint(base, 1))
	if err := syscall.Kill(pids[1], syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	again := p.out.wait(t, `^node 2  pid (\d+) `, 2)
	if atoi(t, again[1]) == pids[1] {
		t.Errorf("the same process %s", again[1])
	}
	p.err.wait(t, `^node 2 is ready again$`, 1)
	must(t, "queue", "show", "a.fifo", "--endpoint", endpoint(base, 2))
	p.signal(t, syscall.SIGINT)
	if code := p.wait(t); code != 0 {
		t.Errorf("exit code %d", code)
	}
	if _, err := os.Stat(filepath.Join(dir, "node-2", "seriatim.log")); err != nil {
		t.Error(err)
	}

	out, code := tool(t, "dev", "--base-port", strconv.Itoa(base), "--data-dir", dir)
	if code != 7 || !strings.Contains(out, "holds the data of 3 nodes, not of 1") || !strings.Contains(out, "--nodes 3") {
		t.Errorf("one node on the data of three: exit code %d\n%s", code, out)
	}

	p, _ = startCluster(t, base, nil, "--data-dir", dir, "--minimum-window", "1")
	must(t, "queue", "show", "a.fifo", "--endpoint", endpoint(base, 3))
	p.signal(t, syscall.SIGTERM)
	if code := p.wait(t); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// TestDevServiceBusConfig: the entities of the emulator's configuration exist when dev is ready.
func TestDevServiceBusConfig(t *testing.T) {
	config := filepath.Join(t.TempDir(), "Config.json")
	write := func(properties string) {
		t.Helper()
		text := `{"UserConfig":{"Namespaces":[{"Name":"sbemulatorns","Queues":[{"Name":"queue.1","Properties":{` + properties +
			`}},{"Name":"queue.2","Properties":{"ForwardDeadLetteredMessagesTo":"topic.1"}}],` +
			`"Topics":[{"Name":"topic.1","Properties":{"RequiresDuplicateDetection":true},"Subscriptions":[{"Name":"all"},` +
			`{"Name":"some","Properties":{"MaxDeliveryCount":5},"Rules":[{"Name":"r","Properties":` +
			`{"FilterType":"Sql","SqlFilter":{"SqlExpression":"a = 1"}}}]}]}]}]}}`
		if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(`"LockDuration":"PT30S","MaxDeliveryCount":3,"RequiresSession":true,"ForwardTo":"queue.2","AutoDeleteOnIdle":"PT1H"`)
	for _, nodes := range []int{1, 3} {
		base, dir := freeBase(t, nodes), t.TempDir()
		for range 2 { // the second time the queue is there
			p := startProcess(t, nil, "dev", "--nodes", strconv.Itoa(nodes), "--base-port", strconv.Itoa(base), "--data-dir", dir,
				"--servicebus-config", config, "--auth")
			p.out.wait(t, `^ready`, 1)
			key, err := os.ReadFile(filepath.Join(dir, "first-key"))
			if err != nil {
				t.Fatal(err)
			}
			for line := range strings.Lines(string(key)) {
				name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
				t.Setenv(name, value)
			}
			shown := must(t, "queue", "show", "queue_2E1.fifo", "--endpoint", endpoint(base, nodes))
			rules := must(t, "topic", "rule", "list", "topic_2E1.fifo", "topic_2E1_2FSubscriptions_2Fsome.fifo",
				"--endpoint", endpoint(base, nodes))
			if !strings.Contains(rules, "a = 1") || strings.Contains(rules, "$Default") {
				t.Errorf("the rules are %s", rules)
			}
			if !strings.Contains(shown, `"maxReceiveCount":3`) || !strings.Contains(shown, "queue_2E1-dlq.fifo") ||
				!strings.Contains(shown, "queue_2E2.fifo") || !strings.Contains(shown, "3600") {
				t.Errorf("the queue is %s", shown)
			}
			subscribed := must(t, "topic", "show", "topic_2E1.fifo", "--endpoint", endpoint(base, nodes))
			if !strings.Contains(subscribed, "topic_2E1_2FSubscriptions_2Fall.fifo") ||
				!strings.Contains(subscribed, "topic_2E1_2FSubscriptions_2Fsome.fifo") {
				t.Errorf("the subscriptions are %s", subscribed)
			}
			p.signal(t, syscall.SIGTERM)
			if code := p.wait(t); code != 0 {
				t.Errorf("exit code %d", code)
			}
		}
	}
	write(`"ForwardTo":"a b"`)
	out, code := tool(t, "dev", "--servicebus-config", config)
	if code != 2 || !strings.Contains(out, "queue queue.1: The property ForwardTo cannot be 'a b' here. It must be") {
		t.Errorf("exit code %d: %s", code, out)
	}
}

// TestDevTakesItsNodesAlong: the nodes end when dev is killed.
func TestDevTakesItsNodesAlong(t *testing.T) {
	base := freeBase(t, 3)
	p, _ := startCluster(t, base, nil, "--data-dir", t.TempDir())
	p.signal(t, syscall.SIGKILL)
	p.wait(t)
	for node := range 3 {
		awaitClosed(t, fmt.Sprintf("127.0.0.1:%d", base+10*node+1))
		awaitClosed(t, fmt.Sprintf("127.0.0.1:%d", base+10*node+2))
	}
}

func TestDevPortTaken(t *testing.T) {
	base, dir := freeBase(t, 3), filepath.Join(t.TempDir(), "data")
	l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", base+11))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	out, code := tool(t, "dev", "--nodes", "3", "--base-port", strconv.Itoa(base), "--data-dir", dir)
	if code != 1 || !strings.Contains(out, "the admin port of node 2 is not free") || !strings.Contains(out, "--base-port") {
		t.Errorf("exit code %d\n%s", code, out)
	}
	if _, err := os.Stat(dir); err == nil {
		t.Error("something was started")
	}
}

// TestDevNodeCannotStart: if a node ends before the cluster is ready, dev prints the end of its log.
func TestDevNodeCannotStart(t *testing.T) {
	base := freeBase(t, 2)
	p := startProcess(t, nil, "dev", "--nodes", "2", "--base-port", strconv.Itoa(base), "--heartbeat-timeout", "soon")
	code, out := p.wait(t), p.err.text()
	if code != 1 || !strings.Contains(out, "ended before the cluster was ready") || !strings.Contains(out, `"soon" is not a duration`) {
		t.Errorf("exit code %d\n%s", code, out)
	}
}

func TestServerStops(t *testing.T) {
	base, dir := freeBase(t, 1), t.TempDir()
	port := func(offset int) string { return fmt.Sprintf("127.0.0.1:%d", base+offset) }
	args := []string{
		"server", "--node-name", "n", "--data-dir", dir, "--auth=false", "--insecure-admin", "--client-addr", port(0),
		"--admin-addr", port(1),
		"--peer-addr", port(2), "--gossip-addr", port(3),
	}
	p := startProcess(t, nil, args...)
	p.err.wait(t, `"msg":"ready"`, 1)

	second := startProcess(t, nil, append(args, "--client-addr", fmt.Sprintf("127.0.0.1:%d", base))...)
	if code := second.wait(t); code != 1 || !strings.Contains(second.err.text(), "choose another address with --client-addr") {
		t.Errorf("a second one on the same ports: exit code %d\n%s", code, second.err.text())
	}

	// A waiting long poll must not delay the stop of the node.
	must(t, "queue", "create", "q", "--endpoint", "http://"+port(0))
	receiving := startProcess(t, nil, "msg", "receive", "q", "--wait", "20", "--endpoint", "http://"+port(0))
	awaitWaiting(t, port(1))
	started := time.Now()
	p.signal(t, syscall.SIGTERM)
	if code := p.wait(t); code != 0 {
		t.Errorf("exit code %d", code)
	}
	if code := receiving.wait(t); code != 5 {
		t.Errorf("the receive that was waiting ended with %d\n%s", code, receiving.err.text())
	}
	t.Logf("stopped within %v", time.Since(started))
	p.err.wait(t, `"msg":"stopped"`, 1)
}

// awaitWaiting waits until a receive waits at the node.
func awaitWaiting(t *testing.T, admin string) {
	t.Helper()
	deadline, tick := time.After(waitMax), time.NewTicker(20*time.Millisecond)
	defer tick.Stop()
	for {
		resp, err := http.Get("http://" + admin + "/metrics")
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(resp.Body)
		if err = errors.Join(err, resp.Body.Close()); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), "seriatim_longpoll_waiters 1\n") {
			return
		}
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatal("no receive is waiting")
		}
	}
}
