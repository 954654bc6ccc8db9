package failover

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seriatimq/seriatim/test/kit/harness"
)

// marker is contained in the body of the message that is damaged on disk.
const marker = "the-message-that-will-be-damaged"

// find returns the newest file of a node's data that contains the text, and all its places, because
// a store that copies pages leaves old copies. Only the newest snapshot matters.
func find(t *testing.T, n *harness.Node, part, text string) (string, []int64) {
	t.Helper()
	files, err := n.Files(part)
	harness.Must(t, err)
	modified := func(file string) int64 {
		info, err := os.Stat(file)
		harness.Must(t, err)
		return -info.ModTime().UnixNano()
	}
	slices.SortFunc(files, func(a, b string) int { return cmp.Compare(modified(a), modified(b)) })
	for _, file := range files {
		if strings.Contains(file, ".tmp") {
			continue // a snapshot that was unfinished when the node was killed
		}
		content, err := os.ReadFile(file)
		harness.Must(t, err)
		var places []int64
		for at := 0; ; at += len(text) {
			next := bytes.Index(content[at:], []byte(text))
			if next < 0 {
				break
			}
			at += next
			places = append(places, int64(at))
		}
		if len(places) > 0 {
			return file, places
		}
	}
	t.Fatalf("no file of %s with %q in its path holds the text; there are %v", n.Name, part, files)
	return "", nil
}

func flipBits(t *testing.T, file string, places []int64) {
	t.Helper()
	f, err := os.OpenFile(file, os.O_RDWR, 0)
	harness.Must(t, err)
	defer f.Close()
	for _, at := range places {
		var b [1]byte
		harness.Must(t, harness.Err(f.ReadAt(b[:], at)))
		b[0] ^= 0x04
		harness.Must(t, harness.Err(f.WriteAt(b[:], at)))
	}
}

// TestDamagedDisk damages one node's files while it is down. The node refuses to serve, names the
// file, and says what to do. The other two nodes continue, and no acknowledged message is lost.
func TestDamagedDisk(t *testing.T) {
	const messages = 40
	cases := []struct {
		name     string
		args     []string
		snapshot bool // the snapshot is damaged, so there must be one
		damage   func(t *testing.T, n *harness.Node) string
	}{
		{name: "flipped bit in a log entry", damage: func(t *testing.T, n *harness.Node) string {
			file, at := find(t, n, "log", marker)
			flipBits(t, file, at)
			return file
		}},
		{name: "flipped bit in an entry of the single-file log", args: []string{"--log-store", "boltdb"},
			damage: func(t *testing.T, n *harness.Node) string {
				file, at := find(t, n, "", marker)
				flipBits(t, file, at)
				return file
			}},
		{name: "truncated log", damage: func(t *testing.T, n *harness.Node) string {
			file, at := find(t, n, "log", marker)
			harness.Must(t, os.Truncate(file, at[0]))
			return file
		}},
		{name: "log file gone", damage: func(t *testing.T, n *harness.Node) string {
			file, _ := find(t, n, "log", marker)
			harness.Must(t, os.Remove(file))
			return file
		}},
		{name: "flipped bit in a snapshot", args: smallSnapshots, snapshot: true, damage: func(t *testing.T, n *harness.Node) string {
			file, at := find(t, n, "snapshot", marker)
			flipBits(t, file, at)
			return file
		}},
		{name: "truncated snapshot", args: smallSnapshots, snapshot: true, damage: func(t *testing.T, n *harness.Node) string {
			file, at := find(t, n, "snapshot", marker)
			harness.Must(t, os.Truncate(file, at[0]))
			return file
		}},
	}
	for _, test := range cases {
		t.Run(test.name, func(t *testing.T) {
			c := cluster(t, test.args...)
			p := newPersistent(c, c.Rotate())
			queue := p.create(t, "orders.fifo", map[string]string{"VisibilityTimeout": "43200"})
			var want []string
			for i := range messages {
				body := fmt.Sprint("m", i)
				if i == messages/2 {
					body = marker
				}
				want = append(want, body)
				p.send(t, queue, "g", body, body)
			}
			before := agree(t, c)
			if test.snapshot {
				fillLog(t, c, before.AppliedIndex)
			}
			victim := c.Followers(leader(t, c))[0]
			kill(t, victim)
			file := test.damage(t, victim)
			harness.Must(t, victim.Start())
			refusesToServe(t, victim, file)

			others := c.Part(c.Followers(victim)...)
			p = newPersistent(others, others.Rotate())
			p.send(t, queue, "g", "after", "after")
			drain(t, p, queue, append(want, "after"))
			agree(t, others)
		})
	}
}

// refusesToServe waits for the end of the process and checks its exit code and output.
func refusesToServe(t *testing.T, n *harness.Node, file string) {
	t.Helper()
	code, err := n.WaitExit(time.Minute)
	if err != nil {
		t.Fatalf("the node with the damaged file goes on: %v", err)
	}
	// The codes for a disk error, a checksum error, lost data, and an unknown format, which are
	// documented for operators.
	if code < 80 || code > 85 {
		t.Errorf("exit code %d, want one of those for damage", code)
	}
	text := n.LogTail()
	lines := strings.Split(strings.TrimSpace(text), "\n")
	last := lines[len(lines)-1]
	// The log is a folder of files, and its name is precise enough.
	if !strings.Contains(last, file) && !strings.Contains(last, filepath.Dir(file)) {
		t.Errorf("the last line does not name %s: %s", file, last)
	}
	if !strings.Contains(last, "data directory") && !strings.Contains(last, "move") && !strings.Contains(last, "restore") {
		t.Errorf("the last line does not say what to do: %s", last)
	}
	t.Logf("exit code %d: %s", code, last)
}

// drain receives and deletes all messages and compares them in order.
func drain(t *testing.T, p *persistent, queue string, want []string) {
	t.Helper()
	var got []string
	for n := 0; len(got) < len(want); n++ {
		in := receiveInput(queue, fmt.Sprint("drain", n), 10)
		in.WaitTimeSeconds = 1
		out, err := persist(t.Context(), p.sqs.ReceiveMessage, in, nil)
		harness.Must(t, err)
		if len(out.Messages) == 0 {
			break
		}
		got = append(got, bodies(out.Messages)...)
		harness.Must(t, p.remove(t.Context(), queue, out.Messages))
	}
	if len(got) != len(want) {
		t.Errorf("%d messages came out, want %d", len(got), len(want))
		return
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("message %d is %q, want %q", i, got[i], want[i])
		}
	}
}
