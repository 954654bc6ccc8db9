package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	grpcclient "github.com/seriatimq/seriatim/transport/grpc/client"
)

// startServer starts a single node.
func startServer(t *testing.T, base int, dir string, env []string, args ...string) *process {
	t.Helper()
	at := func(offset int) string { return fmt.Sprintf("127.0.0.1:%d", base+offset) }
	return startProcess(t, env, append([]string{
		"server", "--node-name", "n1", "--data-dir", dir, "--log-format", "json", "--log-segment-size", "4MiB", "--auth=false",
		"--insecure-admin", "--insecure-peers",
		"--client-addr", at(0), "--admin-addr", at(1), "--peer-addr", at(2), "--gossip-addr", at(3),
	}, args...)...)
}

// manager receives the notifications of a process to its service manager.
func manager(t *testing.T) (socket string, expect func(state string)) {
	t.Helper()
	socket = filepath.Join(t.TempDir(), "notify")
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: socket, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() }) // the test is over
	var received []string
	return socket, func(state string) {
		t.Helper()
		for {
			if err := conn.SetReadDeadline(time.Now().Add(waitMax)); err != nil {
				t.Fatal(err)
			}
			content := make([]byte, 4096)
			n, err := conn.Read(content)
			if err != nil {
				t.Fatalf("the service manager received %[2]q, not %[1]q: %[3]v", state, received, err)
			}
			received = append(received, string(content[:n]))
			if strings.HasPrefix(string(content[:n]), state) {
				return
			}
		}
	}
}

// The server notifies its service manager, and does not end when its terminal is closed.
func TestServerUnderAServiceManager(t *testing.T) {
	socket, expect := manager(t)
	p := startServer(t, freeBase(t, 1), t.TempDir(), []string{"NOTIFY_SOCKET=" + socket})
	expect("READY=1")
	expect("STATUS=ready")
	p.signal(t, syscall.SIGHUP)
	p.err.wait(t, `SIGHUP is ignored`, 1)
	p.signal(t, syscall.SIGTERM)
	expect("STOPPING=1")
	if code := p.wait(t); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// The first of three servers reports READY although it waits for the others. Its status names the
// missing ones.
func TestFirstServerOfThree(t *testing.T) {
	socket, expect := manager(t)
	base := freeBase(t, 1)
	p := startServer(t, base, t.TempDir(), []string{"NOTIFY_SOCKET=" + socket}, "--bootstrap-expect", "3", "--join",
		"127.0.0.1:9,127.0.0.1:"+strconv.Itoa(base+3))
	expect("READY=1")
	expect("STATUS=not ready: this node belongs to no cluster yet: waiting for 2 of 3 initial members: n1 is here")
	admin := "127.0.0.1:" + strconv.Itoa(base+1)
	out, code := tool(t, "cluster", "status", "--admin", admin)
	if code != 5 || !strings.Contains(out,
		"No cluster yet: waiting for 2 of 3 initial members: n1 is here, looking for more at 127.0.0.1:9") {
		t.Errorf("cluster status: exit code %d\n%s", code, out)
	}
	if out, code := tool(t, "status", "--admin", admin); code != 5 || !strings.Contains(out, "waiting for 2 of 3") ||
		strings.Contains(out, "learner") {
		t.Errorf("status: exit code %d\n%s", code, out)
	}
	p.signal(t, syscall.SIGTERM)
	p.wait(t)
}

// The account is part of ARNs, which clients and redrive policies store, so it cannot change.
func TestAccountOfExistingDataStays(t *testing.T) {
	base, dir := freeBase(t, 1), t.TempDir()
	p := startServer(t, base, dir, nil, "--account", "111111111111")
	p.err.wait(t, `"msg":"ready"`, 1)
	p.signal(t, syscall.SIGTERM)
	p.wait(t)
	p = startServer(t, base, dir, nil, "--account", "222222222222")
	if code := p.wait(t); code != 78 {
		t.Errorf("exit code %d", code)
	}
	p.err.wait(t, `have ARNs of account 111111111111 in us-east-1, not of account 222222222222`, 1)
	p.err.wait(t, `start it with --account 111111111111`, 1)
	p = startServer(t, base, dir, nil, "--account", "111111111111")
	p.err.wait(t, `"msg":"ready"`, 1)
}

func TestDevRemovesItsDataWhenTheTerminalIsClosed(t *testing.T) {
	for _, nodes := range []int{1, 3} {
		t.Run(strconv.Itoa(nodes), func(t *testing.T) {
			tmp := t.TempDir()
			p := startProcess(t, []string{"TMPDIR=" + tmp}, "dev", "--nodes", strconv.Itoa(nodes), "--base-port",
				strconv.Itoa(freeBase(t, nodes)))
			p.out.wait(t, `^ready`, 1)
			p.signal(t, syscall.SIGHUP)
			p.wait(t)
			if left, err := os.ReadDir(tmp); err != nil || len(left) != 0 {
				t.Errorf("left behind: %v, %v", left, err)
			}
		})
	}
}

// The client port serves gRPC, and an open stream does not delay the stop of the server.
func TestServerSpeaksGRPC(t *testing.T) {
	base := freeBase(t, 1)
	p := startServer(t, base, t.TempDir(), nil)
	p.err.wait(t, `"msg":"ready"`, 1)
	c, err := grpcclient.Dial(grpcclient.Options{RetryFor: -1}, "127.0.0.1:"+strconv.Itoa(base))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.CreateQueue(t.Context(), "q.fifo", nil, nil); err != nil {
		t.Fatal(err)
	}
	group := "g"
	if _, err := c.Send(t.Context(), "q.fifo", &grpcclient.Message{Body: "hello", GroupId: &group}); err != nil {
		t.Fatal(err)
	}
	handled, ended := make(chan string, 1), make(chan error, 1)
	go func() {
		ended <- c.Consume(t.Context(), "q.fifo", grpcclient.ConsumeOptions{}, func(_ context.Context, m *grpcclient.Delivery) error {
			handled <- m.GetBody()
			return nil
		})
	}()
	if body := <-handled; body != "hello" {
		t.Errorf("handled %q", body)
	}
	p.signal(t, syscall.SIGTERM)
	if err := <-ended; grpcclient.Reason(err) != "Draining" {
		t.Errorf("the stream ended with %v", err)
	}
	if code := p.wait(t); code != 0 {
		t.Errorf("exit code %d", code)
	}
	if strings.Contains(p.err.text(), "did not stop cleanly") {
		t.Error("something did not stop cleanly")
	}
}
