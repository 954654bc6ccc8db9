//go:build faults

package faults

import (
	"bytes"
	"errors"
	"os"
	"strings"
	"time"

	"github.com/seriatimq/seriatim/test/kit/harness"
	"github.com/seriatimq/seriatim/test/oracle/history"
)

// bodyBugs are the bugs that need bodies in segments.
func bodyBugs() []plantedBug {
	segments := []string{"--body-store", "segments", "--body-segment-size", "4KiB"}
	return []plantedBug{
		{
			number: 35, text: "snapshot written before the bodies that it refers to", how: "server", must: []string{"I17 ends"}, nodes: 1,
			// The segment is so large that its bodies stay in the node's buffer.
			args: []string{"--body-store", "segments", "--body-segment-size", "64MiB"}, script: playUnsyncedBodies,
		},
		{
			number: 36, text: "bodies given back before the snapshot without them is on disk",
			how:  "server; it is killed while it writes one (failpoint)",
			must: []string{"I17 ends"}, nodes: 1, args: segments, script: playEarlyFree,
		},
		{number: 37, text: "damaged body answered", how: "server; a bit of a segment is flipped while it is stopped",
			must: []string{"I2 content"}, nodes: 1, args: segments, script: playDamagedBody},
	}
}

// putLong sends messages whose bodies are long enough for segments.
func (p *plot) putLong(n *harness.Node, count int) (bodies []string) {
	for range count {
		body := p.c.bodyOf(500)
		p.c.counter++
		if !p.c.send(p.ctx, n, "q.fifo", "g", keyOf(body), body) {
			p.must(errRefused)
		}
		bodies = append(bodies, body)
	}
	return bodies
}

// unlessEnded returns nil if a node has ended by itself, which the checkers judge.
func unlessEnded(n *harness.Node, err error) error {
	if !n.Running() {
		return nil
	}
	return err
}

func playUnsyncedBodies(p *plot) {
	p.putLong(p.first(), 5)
	p.must(unlessEnded(p.first(), p.compact()))
}

// playEarlyFree frees the segments that the newest snapshot refers to, and kills the node while it
// writes the next snapshot.
func playEarlyFree(p *plot) {
	n := p.first()
	p.putLong(n, 20)
	p.must(p.compact())
	for left := 20; left > 0; {
		messages := p.take(n, "q.fifo", wanted{most: 10})
		for _, m := range messages {
			p.c.remove(p.ctx, n, "q.fifo", m.Handle, m.ID)
		}
		left -= len(messages)
	}
	const at = "/v1/failpoints/snapshot-written"
	p.hand.touch(history.TouchFailpoint, n)
	p.must(p.admin(p.ctx, n, "PUT", at, "hang"))
	c := p.newClient(3, "filler")
	defer c.close()
	for hits := "0"; hits == "0"; {
		body := c.bodyOf(40_000)
		c.counter++
		c.send(p.ctx, n, "filler.fifo", "g", keyOf(body), body)
		text := must(n.Get(p.ctx, at))
		hits = strings.TrimSpace(string(text))
	}
	pause(p.ctx, time.Second) // meanwhile nothing is freed
	p.must(n.Kill())
	p.must(unlessEnded(n, p.restart()))
}

func playDamagedBody(p *plot) {
	n := p.first()
	bodies := p.putLong(n, 3)
	p.must(p.compact())
	p.must(n.Kill())
	p.hand.touch(history.TouchFlip, n)
	sound := must(flipIn(n, ".bodies", bodies[0]))
	// It may end as soon as it checks its bodies, since there is no other node.
	p.must(unlessEnded(n, p.restart()))
	p.c.receive(p.ctx, n, "q.fifo", wanted{most: 1, timeout: seconds(1)})
	if _, err := n.WaitExit(5 * time.Second); err != nil {
		return
	}
	// It must end, and then gets its undamaged files back.
	for file, content := range sound {
		p.must(os.WriteFile(file, content, 0o600))
	}
	p.must(p.restart())
}

// flipIn flips a bit of a text in all files of a stopped node with an extension, and returns their
// undamaged contents.
func flipIn(n *harness.Node, ending, text string) (sound map[string][]byte, err error) {
	files, err := n.Files("")
	if err != nil {
		return nil, err
	}
	sound = map[string][]byte{}
	for _, file := range files {
		if !strings.HasSuffix(file, ending) {
			continue
		}
		content, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		if at := bytes.Index(content, []byte(text)); at >= 0 {
			sound[file] = bytes.Clone(content)
			content[at+200] ^= 1
			if err := os.WriteFile(file, content, 0o600); err != nil {
				return nil, err
			}
		}
	}
	if len(sound) == 0 {
		return nil, errors.New("the body is in no file")
	}
	return sound, nil
}
