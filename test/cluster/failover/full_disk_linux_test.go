package failover

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/seriatimq/seriatim/test/kit/harness"
)

const smallDiskBytes = 192 << 20

// mountSmallDisk mounts a small file system at dir. The tests are skipped where this is not
// permitted; package cluster tests the same with simulated disks.
func mountSmallDisk(t *testing.T, dir string) {
	t.Helper()
	err := syscall.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprint("size=", smallDiskBytes))
	if errors.Is(err, os.ErrPermission) {
		t.Skip("this test needs the privilege to mount a file system")
	}
	harness.Must(t, err)
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Errorf("unmount %s: %v", dir, err)
		}
	})
}

// fillDisk writes a file that leaves this much space, and returns a function that removes it.
func fillDisk(t *testing.T, dir string, leave int) (empty func()) {
	t.Helper()
	var s syscall.Statfs_t
	harness.Must(t, syscall.Statfs(dir, &s))
	file := filepath.Join(dir, "ballast")
	err := os.WriteFile(file, make([]byte, max(0, int(s.Bavail)*int(s.Bsize)-leave)), 0o600)
	if err != nil && !(leave == 0 && errors.Is(err, syscall.ENOSPC)) {
		t.Fatal(err)
	}
	return func() {
		t.Helper()
		harness.Must(t, os.Remove(file))
	}
}

// clusterOnSmallDisks starts three nodes, each with a disk of its own.
func clusterOnSmallDisks(t *testing.T) *harness.Cluster {
	t.Helper()
	dir := t.TempDir()
	c, err := harness.Prepare(harness.Options{Binary: binary, Dir: dir, Args: []string{
		"--log-segment-size", "4MiB", "--snapshot-log-size", "8MiB", "--trailing-log-size", "4MiB",
		"--disk-free-refuse", "40%", "--disk-free-resign", "20%",
	}})
	harness.Must(t, err)
	for _, n := range c.Nodes {
		mountSmallDisk(t, n.DataDir)
	}
	t.Cleanup(func() { // before the disks are unmounted
		if t.Failed() {
			t.Log(c.LogTails())
		}
		c.Close()
	})
	start(t, c.Nodes...)
	return c
}

// underLoad runs clients that send and consume until the returned function is called, which drains
// the queue and checks the ledger.
func underLoad(t *testing.T, c *harness.Cluster, queue string) (*account, func()) {
	t.Helper()
	l := newAccount()
	sending, stopSending := context.WithCancel(t.Context())
	var sendersDone, consumersDone sync.WaitGroup
	allSent := make(chan struct{})
	for i := range senders {
		sendersDone.Go(func() { l.sendUntil(sending, newPersistent(c, c.Rotate()), queue, i) })
	}
	for i := range consumers {
		consumersDone.Go(func() { l.consumeUntil(t.Context(), newPersistent(c, c.Rotate()), queue, i, allSent) })
	}
	return l, func() {
		t.Helper()
		stopSending()
		sendersDone.Wait()
		close(allSent)
		consumersDone.Wait()
		l.check(t)
	}
}

// worksButForSends executes through one node the calls that must succeed under pressure.
func worksButForSends(t *testing.T, c *harness.Cluster, n *harness.Node, queue string) {
	t.Helper()
	p := newPersistent(c, harness.Only(n))
	got := p.receive(t, queue, "pressure-"+n.Name, 1)
	if len(got) != 1 {
		t.Errorf("%s gave %d messages", n.Name, len(got))
	}
	if err := p.remove(t.Context(), queue, got); err != nil {
		t.Errorf("%s: %v", n.Name, err)
	}
}

// TestFullDisks fills real disks under load. A leader whose disk is nearly full hands over, and
// sends continue. If all disks are nearly full, one node leads nevertheless, sends are answered
// with 503 on every node, and receives and deletes continue. With space again, sends are accepted
// without anybody's help. A node whose disk is completely full does not affect the others.
func TestFullDisks(t *testing.T) {
	c := clusterOnSmallDisks(t)
	p := newPersistent(c, c.Rotate())
	queue := p.create(t, "disks.fifo", map[string]string{"VisibilityTimeout": "43200"})
	other := p.create(t, "other.fifo", map[string]string{"VisibilityTimeout": "43200"})
	for i := range 10 {
		p.send(t, other, fmt.Sprint(i), fmt.Sprint(i), fmt.Sprint(i))
	}
	l, finish := underLoad(t, c, queue)
	l.awaitAcks(t, time.Now(), acksBetween)

	first := leader(t, c)
	filled := time.Now()
	emptyFirst := fillDisk(t, first.DataDir, smallDiskBytes/10)
	waitFor(t, "the leader on the full disk to hand over", func() bool { return leader(t, c) != first })
	t.Logf("%s handed over %v after its disk was filled", first.Name, time.Since(filled).Round(time.Millisecond))
	l.awaitAcks(t, time.Now(), acksBetween)
	wantMetric(t, first, `seriatim_pressure{reason="disk"} 1`)
	if now := leader(t, c); now == first {
		t.Errorf("%s leads again, on a full disk", first.Name)
	}

	empty := []func(){emptyFirst}
	for _, n := range c.Nodes {
		if n != first {
			empty = append(empty, fillDisk(t, n.DataDir, smallDiskBytes/10))
		}
	}
	waitFor(t, "sends to be refused", func() bool { return refusal(t, c, c.Next(), other) != nil })
	for _, n := range c.Nodes {
		wantPressure(t, c, n, other, "disk")
		wantMetric(t, n, `seriatim_pressure{reason="disk"} 1`)
		worksButForSends(t, c, n, other)
	}
	for _, remove := range empty {
		remove()
	}
	freed := time.Now()
	l.awaitAcks(t, freed, acksBetween)
	t.Logf("sends went on by themselves, %d of them %v after the disks had room", acksBetween, time.Since(freed).Round(time.Millisecond))

	// The disk is completely full. The log needs a new file soon.
	victim := leader(t, c)
	emptyVictim := fillDisk(t, victim.DataDir, 0)
	bulk := p.create(t, "bulk.fifo", nil)
	rest := c.Part(c.Followers(victim)...)
	p = newPersistent(rest, rest.Rotate())
	for i := range 160 {
		p.send(t, bulk, fmt.Sprint(i), fmt.Sprint(i), strings.Repeat("x", 64<<10))
	}
	l.awaitAcks(t, time.Now(), acksBetween)
	if code, err := victim.WaitExit(time.Minute); err != nil || code != exitDiskError {
		t.Errorf("%s, whose disk is full, ended with %d, %v", victim.Name, code, err)
	} else if text := victim.LogTail(); !strings.Contains(text, "no space left on device") {
		t.Errorf("%s does not say why it ended:\n%s", victim.Name, text)
	}
	emptyVictim()
	start(t, victim)
	finish()
	agree(t, c)
}
