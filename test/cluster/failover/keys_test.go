package failover

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/seriatimq/seriatim/test/kit/harness"
)

// rotation is a cluster whose encryption-key file changes.
type rotation struct {
	t    *testing.T
	c    *harness.Cluster
	file string
}

// nodeKeys is the part about a node in the output of seriatim encryption-key status.
type nodeKeys struct {
	Node       string
	Encryption *struct {
		Keys []struct {
			ID                       string
			Encrypts, InFile, Needed bool
		}
		ClearText []string
	}
}

// keys lists the keys of a node, with a star if it encrypts with them, a plus if it needs them, and
// a minus if they are missing in the file.
func (n nodeKeys) keys() string {
	var list []string
	for _, key := range n.Encryption.Keys {
		text := key.ID
		for _, mark := range []struct {
			shown bool
			sign  string
		}{{key.Encrypts, "*"}, {key.Needed, "+"}, {!key.InFile, "-"}} {
			if mark.shown {
				text += mark.sign
			}
		}
		list = append(list, text)
	}
	slices.Sort(list)
	return strings.Join(append(list, n.Encryption.ClearText...), " ")
}

// status asks any node for the keys of all nodes.
func (r *rotation) status() (nodes []nodeKeys, err error) {
	var admins []string
	for _, n := range r.c.Nodes {
		admins = append(admins, n.Admin)
	}
	out, err := exec.CommandContext(r.t.Context(), binary, "encryption-key", "status", "-o", "json", "--admin",
		strings.Join(admins, ",")).Output()
	if err != nil {
		return nil, err
	}
	var answer struct{ Nodes []nodeKeys }
	return answer.Nodes, json.Unmarshal(out, &answer)
}

// waitFor waits until the keys of all nodes are the wanted ones.
func (r *rotation) waitFor(what string, holds func(keys string) bool) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), 4*time.Minute)
	defer cancel()
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	last := ""
	for {
		nodes, err := r.status()
		last = fmt.Sprint(err)
		fit := err == nil && len(nodes) == len(r.c.Nodes)
		for _, n := range nodes {
			if n.Encryption == nil {
				fit = false
				continue
			}
			last += "\n" + n.Node + " " + n.keys()
			fit = fit && holds(n.keys())
		}
		if fit {
			return
		}
		select {
		case <-ctx.Done():
			r.t.Fatalf("%s: it never came to that: %s", what, last)
		case <-tick.C:
		}
	}
}

// write replaces the content of the key file in one step.
func (r *rotation) write(lines ...string) {
	r.t.Helper()
	part := r.file + ".part"
	harness.Must(r.t, os.WriteFile(part, []byte(strings.Join(lines, "\n")+"\n"), 0o600))
	harness.Must(r.t, os.Rename(part, r.file))
}

// lines returns the keys in a file, in the form in which the tool wrote them.
func (r *rotation) lines(file string) (lines []string) {
	r.t.Helper()
	text, err := os.ReadFile(file)
	harness.Must(r.t, err)
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	return lines
}

func idOf(line string) string { return strings.Fields(line)[0] }

// load makes calls while keys change.
type load struct {
	r       *rotation
	p       *persistent
	keep    string      // queue of the messages that are kept
	keeping atomic.Bool // whether new messages are kept
	stop    atomic.Bool
	working sync.WaitGroup
	kept    map[string]bool // bodies; owned by one worker until the end
}

// begin starts to send and delete messages.
func (r *rotation) begin() *load {
	l := &load{r: r, p: newPersistent(r.c, r.c.Rotate()), kept: map[string]bool{}}
	passing := l.p.create(r.t, "passing.fifo", nil)
	l.keep = l.p.create(r.t, "kept.fifo", nil)
	for worker := range 3 {
		l.working.Go(func() {
			for i := 0; !l.stop.Load(); i++ {
				id := fmt.Sprint(worker, "-", i)
				body := id + strings.Repeat("x", 4<<10)
				l.send(passing, id, body)
				if worker == 0 && i%20 == 0 && l.keeping.Load() {
					l.send(l.keep, id, body)
					l.kept[body] = true
				}
			}
		})
	}
	l.working.Go(func() {
		for i := 0; !l.stop.Load(); i++ {
			out, err := persist(r.t.Context(), l.p.sqs.ReceiveMessage, receiveInput(passing, fmt.Sprint("attempt-", i), 10), nil)
			if err == nil {
				err = l.p.remove(r.t.Context(), passing, out.Messages)
			}
			if err != nil {
				l.fail(err)
			}
		}
	})
	return l
}

func (l *load) send(queue, id, body string) {
	if _, err := persist(l.r.t.Context(), l.p.sqs.SendMessage, sendInput(queue, id, id, body), nil); err != nil {
		l.fail(err)
	}
}

func (l *load) fail(err error) {
	l.stop.Store(true)
	l.r.t.Error(err)
}

func (l *load) end() {
	l.stop.Store(true)
	l.working.Wait()
}

// readKept receives all messages that were kept.
func (l *load) readKept() {
	l.r.t.Helper()
	if len(l.kept) == 0 {
		l.r.t.Error("no message was kept")
	}
	for i := 0; len(l.kept) > 0; i++ {
		messages := l.p.receive(l.r.t, l.keep, fmt.Sprint("attempt-", i), 10)
		if len(messages) == 0 {
			l.r.t.Fatalf("%d messages are gone", len(l.kept))
		}
		for _, m := range messages {
			if body := aws.ToString(m.Body); !l.kept[body] {
				l.r.t.Errorf("a message with %d bytes is another than any that was sent, or came twice", len(body))
			}
			delete(l.kept, aws.ToString(m.Body))
		}
		if err := l.p.remove(l.r.t.Context(), l.keep, messages); err != nil {
			l.r.t.Fatal(err)
		}
	}
}

// waitLogged waits until all nodes have logged a text.
func (r *rotation) waitLogged(text string) {
	r.t.Helper()
	r.waitFor("the log line "+text, func(string) bool {
		return !slices.ContainsFunc(r.c.Nodes, func(n *harness.Node) bool { return !strings.Contains(n.Log(), text) })
	})
}

// TestKeysAreRotated replaces a key under load, and removes the old one once no node needs it. Then
// all nodes start without the old key and have all messages.
func TestKeysAreRotated(t *testing.T) {
	dir := t.TempDir()
	r := &rotation{t: t, file: filepath.Join(dir, "keys")}
	other := filepath.Join(dir, "next")
	run(t, "encryption-key", "create", r.file)
	run(t, "encryption-key", "create", other)
	old, next := r.lines(r.file)[0], r.lines(other)[0]
	r.c = cluster(t, "--encryption-key-file", r.file, "--snapshot-log-size", "1MiB", "--trailing-log-size", "256KiB", "--body-segment-size",
		"1MiB")
	r.waitFor("the first key", func(keys string) bool { return keys == idOf(old)+"*+" })
	l := r.begin()
	defer l.end()

	r.write(old, next)
	both := []string{idOf(old) + "*+", idOf(next)}
	slices.Sort(both)
	r.waitFor("the new key is there", func(keys string) bool { return keys == strings.Join(both, " ") })
	r.write("broken")
	r.waitLogged("changed files are unusable")
	r.write(next)
	r.waitLogged("it lacks the key " + idOf(old))
	r.write(next, old)
	r.waitFor("the new key encrypts", func(keys string) bool {
		return strings.Contains(keys, idOf(next)+"*+") && !strings.Contains(keys, idOf(old)+"*")
	})
	l.keeping.Store(true)
	r.waitFor("the old key is not needed", func(keys string) bool {
		return strings.Contains(keys, idOf(old)) && !strings.Contains(keys, idOf(old)+"+")
	})
	r.write(next)
	alone := func(keys string) bool { return keys == idOf(next)+"*+" }
	r.waitFor("the old key is gone", alone)
	l.end()
	agree(t, r.c)

	kill(t, r.c.Nodes...)
	for _, n := range r.c.Nodes {
		harness.Must(t, n.Start())
	}
	harness.Must(t, r.c.WaitReady(t.Context(), harness.StartTimeout))
	r.waitFor("the new key alone", alone)
	l.readKept()
	agree(t, r.c)
}
