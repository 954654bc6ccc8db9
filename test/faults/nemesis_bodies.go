package faults

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/seriatimq/seriatim/test/kit/harness"
	"github.com/seriatimq/seriatim/test/kit/lab/disk"
	"github.com/seriatimq/seriatim/test/oracle/history"
)

// damagedName is the workload whose message bodies are damaged. Its messages stay in their queue
// until the drain, in which clients must receive them undamaged.
const damagedName = "damaged"

// bodyFaults damage bodies of messages in segment files while the node runs. The node must fetch
// them from another one and continue. Unlike after other damage, it must not exit.
func bodyFaults() []fault {
	return []fault{{name: "bits flipped in bodies", area: areaBodies, least: time.Second, most: 4 * time.Second, begin: flipBodies}}
}

// Bounds for the messages that an injection damages, and for the wait until they are on disk.
const (
	damagedMost   = 5
	storedWithin  = 10 * time.Second
	bodyBytesMost = 6000
)

// fillerBytes is the size of the messages behind those that are damaged.
const fillerBytes = 60_000

// pieceBytes returns more bytes than a node buffers before it writes them, which are a segment or 1
// MiB.
func (s *testbed) pieceBytes() int {
	if s.backlog != nil {
		return 1_200_000
	}
	return 180_000
}

// damage is a body in a segment file that an injection changed.
type damage struct {
	node   string
	file   string
	offset int64
	text   string // the undamaged content
}

// flipBodies sends messages and flips a bit in the body of each in the files of one node. No two
// injections damage the same body, so another node always has it.
func flipBodies(s *injection, ctx context.Context) error {
	n, err := s.target(ctx)
	if err != nil {
		return err
	}
	c := s.testbed.newProbe(n)
	defer c.close()
	c.nodes, c.workload = s.testbed.cluster.Nodes, damagedName
	var texts []string
	for range 1 + s.random.IntN(damagedMost) {
		texts = append(texts, c.put(ctx, n.Name, 200+s.random.IntN(bodyBytesMost)))
	}
	// A node writes its buffer when that fills a piece of a file, and then reads a body from the
	// file once newer bodies have replaced it in memory.
	for sent := 0; sent < s.testbed.pieceBytes(); sent += fillerBytes {
		c.put(ctx, n.Name, fillerBytes)
	}
	bounded, cancel := context.WithTimeout(ctx, storedWithin)
	defer cancel()
	found, err := awaitStored(bounded, n, texts)
	if err != nil {
		return err
	}
	for _, d := range found {
		if err := disk.FlipBitAt(d.file, d.offset+s.random.Int64N(int64(len(d.text))), uint(s.random.IntN(8))); err != nil {
			return err
		}
		s.testbed.progress.mu.Lock()
		s.testbed.progress.damaged = append(s.testbed.progress.damaged, d)
		s.testbed.progress.mu.Unlock()
	}
	s.testbed.observe("bodies damaged", n.Name, int64(len(found)))
	return nil
}

// put sends a message to the client's queue, and returns its body.
func (c *client) put(ctx context.Context, group string, size int) (body string) {
	c.counter++
	body = c.bodyOf(size)
	c.persist(ctx, group, keyOf(body), body)
	return body
}

// storedFiles is the number of newest segment files that may have a new message.
const storedFiles = 4

// awaitStored waits until texts are in the segment files of a node, which may still be writing
// accepted messages.
func awaitStored(ctx context.Context, n *harness.Node, texts []string) ([]damage, error) {
	for {
		files, err := disk.Files(n.DataDir, disk.ClassBodies)
		var found []damage
		if err == nil {
			slices.SortFunc(files, func(a, b string) int { return cmp.Compare(b, a) }) // names are numbers
			found = searchFiles(n, files[:min(len(files), storedFiles)], texts)
		}
		if len(found) == len(texts) || len(found) > 0 && ctx.Err() != nil {
			return found, nil
		}
		if !pause(ctx, 200*time.Millisecond) && len(found) == 0 {
			return nil, errors.Join(fmt.Errorf("no body of this injection is in the files of %s", n.Name), err)
		}
	}
}

// searchFiles finds texts in files.
func searchFiles(n *harness.Node, files, texts []string) (found []damage) {
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			continue // its space was freed meanwhile
		}
		for _, text := range texts {
			if at := bytes.Index(content, []byte(text)); at >= 0 {
				found = append(found, damage{n.Name, file, int64(at), text})
			}
		}
	}
	return found
}

// healed reports whether the body is undamaged again or its file is gone, for example because the
// disk was emptied.
func (d damage) healed() bool {
	file, err := os.Open(d.file)
	if err != nil {
		return errors.Is(err, os.ErrNotExist)
	}
	defer file.Close()
	text := make([]byte, len(d.text))
	if _, err := file.ReadAt(text, d.offset); err != nil {
		return false
	}
	return string(text) == d.text || len(bytes.Trim(text, "\x00")) == 0
}

// healBodies waits until every damage is repaired: all nodes are up and connected, so the scrub
// finds and fetches each body. A body that stays damaged breaks I17, a slow repair I15.
func (s *testbed) healBodies() {
	s.progress.mu.Lock()
	left := s.progress.damaged
	s.progress.damaged = nil
	s.progress.mu.Unlock()
	if len(left) == 0 {
		return
	}
	e := history.Event{Kind: history.KindAgree, Call: s.recorder.Now(), Result: history.OK}
	ctx, cancel := context.WithTimeout(context.Background(), s.scrubTime())
	defer cancel()
	for {
		left = slices.DeleteFunc(left, damage.healed)
		if len(left) == 0 {
			return
		}
		if !pause(ctx, 200*time.Millisecond) {
			break
		}
	}
	var where []string
	for _, d := range left {
		if s.replaced(d) {
			continue
		}
		where = append(where, fmt.Sprintf("%s: %d bytes at %d of %s", d.node, len(d.text), d.offset, d.file))
	}
	if len(where) == 0 {
		return
	}
	e.Result, e.Return, e.Error = history.Fail, s.recorder.Now(), "damaged bodies were not healed: "+strings.Join(where, "; ")
	s.recorder.Add(e)
}

// replaced reports whether the node has the body in a newer file, because it has installed a
// snapshot. The damaged file is then unused, and removed later.
func (s *testbed) replaced(d damage) bool {
	n := s.named(d.node)
	files, err := disk.Files(n.DataDir, disk.ClassBodies)
	if err != nil {
		return false
	}
	files = slices.DeleteFunc(files, func(file string) bool { return file <= d.file })
	return len(searchFiles(n, files, []string{d.text})) > 0
}

// scrubTime bounds the repair of all damaged bodies: the rest of the current scrub, and the next
// one.
func (s *testbed) scrubTime() time.Duration {
	walk := time.Duration(0)
	if s.backlog != nil {
		walk = time.Duration(float64(s.backlog.bytes) / parkedScrubRate * float64(time.Second))
	}
	return s.recovery() + 2*walk
}
