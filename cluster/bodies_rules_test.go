package cluster

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seriatimq/seriatim/cluster/clustertest"
	"github.com/seriatimq/seriatim/cluster/fault"
	"github.com/seriatimq/seriatim/queue"
)

// ending records why a node ends and stops the goroutine that ended it, as the end of a process
// would.
func ending(cfg *Config) *clustertest.FatalRecord {
	record := clustertest.NewFatalRecord()
	cfg.Fatal = func(code fault.ExitCode, err error) {
		record.Fatal(code, err)
		runtime.Goexit()
	}
	return record
}

// ruled is a cluster and a command that cannot be applied without a certain body. Each node has
// this body only in its first segment.
type ruled struct {
	*nodes
	records []*clustertest.FatalRecord
	command queue.Command
}

// byText contains commands whose result depends on the text of a message.
var byText = map[string]func(c *nodes) queue.Command{
	"cancel and forget": func(c *nodes) queue.Command {
		entry := entryFor(fifo, bodyOf(0))
		entry.DeduplicationID = "first"
		entry.Options = &queue.SendOptions{EnqueueAt: queue.Timestamp(time.Now().Add(time.Hour).UnixMilli())}
		sent := c.submit(0, &queue.SendMessages{Queue: fifo, Entries: []queue.SendEntry{entry}}).Result.(queue.MessagesSent).Entries[0]
		if sent.Err != nil {
			c.t.Fatal(sent.Err)
		}
		return &queue.CancelScheduled{Queue: fifo, Sequences: []queue.SequenceNumber{sent.Sequence}, ForgetDeduplicationID: true}
	},
	"move by content": func(c *nodes) queue.Command {
		const dead, source, target = "dead.fifo", "source.fifo", "target.fifo"
		c.create(0, dead)
		c.create(0, source, queue.Attribute{Name: "RedrivePolicy",
			Value: `{"deadLetterTargetArn":"arn:aws:sqs:us-east-1:000000000000:` + dead + `","maxReceiveCount":1}`})
		c.create(0, target, queue.Attribute{Name: "ContentBasedDeduplication", Value: "true"},
			queue.Attribute{Name: "ContentDeduplicationMode", Value: "IdAndContent"})
		entry := entryFor(dead, bodyOf(0))
		entry.DeduplicationID = "first"
		c.submit(0, &queue.SendMessages{Queue: dead, Entries: []queue.SendEntry{entry}})
		return &queue.StartMoveTask{Source: dead, Destination: target}
	},
}

func newRuled(t *testing.T, size int, prepare func(c *nodes) queue.Command) *ruled {
	clustertest.MayWaitForEver(t, "raft.(*deferError).Error") // for the entry that was not applied
	r := &ruled{records: make([]*clustertest.FatalRecord, size)}
	r.nodes = startNodes(t, size, func(cfg *Config) {
		segmentsEverywhere(cfg)
		r.records[cfg.NodeName[1]-'1'] = ending(cfg)
	})
	r.create(0, fifo)
	r.command = prepare(r.nodes)
	r.sendBodies(0, 0, 100)
	r.agree()
	r.snapshotAll()
	r.sendBodies(0, 100, 140) // the bodies of the first segments are no longer in memory
	r.agree()
	return r
}

// propose submits the command through a node that is expected to stay up.
func (r *ruled) propose(through int) (answered chan error) {
	answered = make(chan error, 1)
	node, ctx := r.nodes.nodes[through], clustertest.Context(r.t)
	go func() {
		_, err := node.Submit(ctx, r.command)
		answered <- err
	}()
	return answered
}

// ended waits for the end of a node and checks that its error names the damaged file and the log
// entry.
func (r *ruled) ended(i int, code fault.ExitCode, texts ...string) {
	r.t.Helper()
	select {
	case <-r.records[i].Ended:
	case <-time.After(clustertest.Timeout):
		r.t.Fatal("the node did not end")
	}
	r.crash(i)
	codes, errs := r.records[i].All()
	if diff := cmp.Diff([]fault.ExitCode{code}, codes); diff != "" {
		r.t.Errorf("exit codes (-want +got):\n%s%v", diff, errs)
	}
	for _, text := range append(texts, r.segmentFiles(i)[0], "bytes at ", "log entry ") {
		if !strings.Contains(errs[0].Error(), text) {
			r.t.Errorf("%q is missing in: %v", text, errs[0])
		}
	}
	if strings.Contains(errs[0].Error(), "invariant") {
		r.t.Errorf("the state is called broken: %v", errs[0])
	}
}

// again restarts a node that has ended, and expects it to end in the same way at the same command.
func (r *ruled) again(i int, code fault.ExitCode, texts ...string) {
	r.t.Helper()
	r.records[i] = ending(&r.configs[i])
	r.open(i)
	r.ended(i, code, texts...)
}

// The command needs a text that is damaged on one node. That node ends with a checksum error
// instead of applying the command, and the others continue.
func TestDamagedBodyThatARuleNeeds(t *testing.T) {
	t.Parallel()
	for name, prepare := range byText {
		for victim := range 2 {
			t.Run(fmt.Sprint(name, map[int]string{0: " at the leader", 1: " at a follower"}[victim]), func(t *testing.T) {
				t.Parallel()
				r := newRuled(t, 3, prepare)
				odd := (r.agreedLeader() + victim) % 3
				clustertest.FlipBit(t, r.segmentFiles(odd)[0], 1000)
				answered := r.propose((odd + 1) % 3)
				r.ended(odd, fault.ExitChecksum, "new member")
				if err := <-answered; err != nil {
					t.Errorf("the others did not go on: %v", err)
				}
				r.agree()
				r.again(odd, fault.ExitChecksum, "new member")
				for i, record := range r.records {
					if codes, errs := record.All(); i != odd && len(codes) > 0 {
						t.Errorf("node %d ended, too: %v, %v", i, codes, errs)
					}
				}
			})
		}
	}
}

// A read error of the disk is not damage: when the disk works again, the node continues where it
// stopped.
func TestBodyThatARuleNeedsAndTheDiskDoesNotGive(t *testing.T) {
	t.Parallel()
	const unmapped = "/proc/self/mem" // nothing is at its beginning: EIO
	if _, err := os.Stat(unmapped); err != nil {
		t.Skip("no file here fails to be read with EIO:", err)
	}
	for name, prepare := range byText {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRuled(t, 1, prepare)
			file := r.segmentFiles(0)[0]
			clustertest.Must(t, errors.Join(os.Rename(file, file+".away"), os.Symlink(unmapped, file)))
			answered := r.propose(0)
			r.ended(0, fault.ExitDiskError, "check the disk")
			<-answered
			clustertest.Must(t, os.Rename(file+".away", file))
			r.records[0] = ending(&r.configs[0])
			r.open(0)
			r.waitReady(0)
			r.takeBodies(0, 0, 140)
			expectNoEnd(t, r.records)
		})
	}
}
