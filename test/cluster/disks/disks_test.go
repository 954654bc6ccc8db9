package disks

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/seriatimq/seriatim/test/kit/harness"
	"github.com/seriatimq/seriatim/test/kit/lab/disk"
	"github.com/seriatimq/seriatim/test/kit/ledger"
)

const (
	senders    = 4
	serveAgain = time.Minute // how long a slow machine may take until it serves again
	// The deadline of the nodes' disks is shorter than the default, to save time, and long enough
	// for a busy machine.
	diskDeadline = 4 * time.Second
)

// site is a cluster whose nodes have disks of their own, with clients that send all the time.
type site struct {
	*harness.Cluster
	lab   *disk.Lab
	queue string
	ctx   context.Context // of the load
	end   context.CancelFunc
	load  sync.WaitGroup
	*ledger.Ledger
}

func newSite(t *testing.T, args ...string) *site {
	t.Helper()
	if err := disk.Available(); err != nil {
		t.Skipf("this machine cannot mount file systems: %v", err)
	}
	dir := t.TempDir()
	binary, err := harness.Build(t.Context(), dir)
	harness.Must(t, err)
	lab, err := disk.New(dir, disk.DefaultBytes/2, "n1", "n2", "n3")
	harness.Must(t, err)
	// Cleanups run in reverse order: the processes end before their disks.
	t.Cleanup(func() {
		harness.Check(t, lab.Close())
	})
	t.Cleanup(func() {
		for _, d := range lab.Disks {
			harness.Check(t, d.Thaw())
		}
	})
	cluster := harness.New(t, harness.Options{Binary: binary, Dir: dir, Args: append([]string{
		"--log-segment-size", "4MiB", "--disk-deadline", diskDeadline.String(), "--request-timeout", "2s",
	}, args...)})
	s := &site{Cluster: cluster, lab: lab, Ledger: ledger.New()}
	s.ctx, s.end = context.WithCancel(t.Context())
	out, err := s.client(s.Rotate()).CreateQueue(s.ctx, &sqs.CreateQueueInput{
		QueueName: aws.String("disk.fifo"), Attributes: map[string]string{"FifoQueue": "true", "VisibilityTimeout": "43200"},
	})
	harness.Must(t, err)
	s.queue = aws.ToString(out.QueueUrl)
	for n := range senders {
		s.load.Go(func() { s.send(n) })
	}
	t.Cleanup(func() { s.end(); s.load.Wait() })
	s.awaitService(t)
	return s
}

func (s *site) client(pick harness.Pick) *sqs.Client {
	return s.NewSQS(pick, func(o *sqs.Options) { o.RetryMaxAttempts = 1 })
}

// send tries each message once, since a message that is not acknowledged may be lost.
func (s *site) send(sender int) {
	client := s.client(s.Rotate())
	for n := 0; s.ctx.Err() == nil; n++ {
		group := fmt.Sprintf("body-%d", sender)
		body, tried := ledger.Body(group, n), time.Now()
		ctx, cancel := context.WithTimeout(s.ctx, 3*time.Second)
		out, err := client.SendMessage(ctx, &sqs.SendMessageInput{
			QueueUrl: &s.queue, MessageBody: &body, MessageGroupId: &group, MessageDeduplicationId: &body,
		})
		cancel()
		if err != nil {
			s.Uncertain(body)
			continue
		}
		s.Acknowledged(body, aws.ToString(out.MessageId), tried)
	}
}

// awaitService waits until sends are acknowledged again.
func (s *site) awaitService(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), serveAgain)
	defer cancel()
	if _, err := s.AwaitAcks(ctx, time.Now(), 20); err != nil {
		t.Fatalf("%v\n%s", err, s.LogTails())
	}
}

func (s *site) leader(t *testing.T) *harness.Node {
	t.Helper()
	node, err := s.WaitLeader(t.Context(), serveAgain)
	harness.Must(t, err)
	return node
}

func (s *site) disk(node *harness.Node) *disk.Disk { return s.lab.Of(node.DataDir) }

func (s *site) cut(t *testing.T, nodes ...*harness.Node) disk.Loss {
	t.Helper()
	var victims []disk.Powered
	for _, n := range nodes {
		victims = append(victims, disk.Powered{Disk: s.disk(n), Kill: n.Kill})
	}
	loss, err := disk.PowerCut(victims...)
	harness.Must(t, err)
	return loss
}

func (s *site) start(t *testing.T, nodes ...*harness.Node) {
	t.Helper()
	for _, n := range nodes {
		harness.Must(t, n.Start())
	}
	for _, n := range nodes {
		if err := n.WaitReady(t.Context(), serveAgain); err != nil {
			t.Fatalf("%v\n%s", err, n.LogTail())
		}
	}
}

// drain ends the load, empties the queue and closes the account.
func (s *site) drain(t *testing.T) ledger.Report {
	t.Helper()
	s.end()
	s.load.Wait()
	client := s.NewSQS(s.Rotate())
	for n := 0; ; n++ {
		out, err := client.ReceiveMessage(t.Context(), &sqs.ReceiveMessageInput{
			QueueUrl: &s.queue, MaxNumberOfMessages: 10, ReceiveRequestAttemptId: aws.String(fmt.Sprint("drain-", n)),
			MessageSystemAttributeNames: []types.MessageSystemAttributeName{"All"},
		})
		harness.Must(t, err)
		if len(out.Messages) == 0 {
			break
		}
		s.Delivered(ledger.FromSQS(out.Messages)...)
		in := &sqs.DeleteMessageBatchInput{QueueUrl: &s.queue}
		for i, m := range out.Messages {
			in.Entries = append(in.Entries,
				types.DeleteMessageBatchRequestEntry{Id: aws.String(fmt.Sprint(i)), ReceiptHandle: m.ReceiptHandle})
		}
		harness.Must(t, harness.Err(client.DeleteMessageBatch(t.Context(), in)))
	}
	report := s.Report()
	t.Log(report)
	return report
}

// balance drains the queue and fails the test for each problem that the account finds.
func (s *site) balance(t *testing.T) {
	t.Helper()
	for _, fault := range s.drain(t).Faults() {
		t.Error(fault)
	}
}

// TestAcknowledgedSendsSurviveTheDisks cuts the power of one, two and all disks, and makes a disk
// hang, fail, and fill up. After each fault the cluster serves, and at the end no acknowledged
// message is lost.
func TestAcknowledgedSendsSurviveTheDisks(t *testing.T) {
	s := newSite(t, "--snapshot-log-size", "256KiB", "--trailing-log-size", "64KiB")
	var total disk.Loss
	powerCut := func(t *testing.T, nodes ...*harness.Node) {
		loss := s.cut(t, nodes...)
		t.Logf("%d disks: %+v", len(nodes), loss)
		total.Canary += loss.Canary
		total.Dirty += loss.Dirty
		s.start(t, nodes...)
		s.awaitService(t)
	}
	ended := func(t *testing.T, n *harness.Node, codes ...int) {
		t.Helper()
		if code, err := n.WaitExit(serveAgain); err != nil || !slices.Contains(codes, code) {
			t.Errorf("%s ended with code %d, want one of %v: %v\n%s", n.Name, code, codes, err, n.LogTail())
		}
	}
	steps := []struct {
		name string
		run  func(t *testing.T)
	}{
		{"power cut of all", func(t *testing.T) { powerCut(t, s.Nodes...) }},
		{"power cut of the leader", func(t *testing.T) { powerCut(t, s.leader(t)) }},
		{"power cut of a majority", func(t *testing.T) {
			leader := s.leader(t)
			powerCut(t, leader, s.Followers(leader)[0])
		}},
		{"power cut of all again", func(t *testing.T) { powerCut(t, s.Nodes...) }},
		{"disk of the leader hangs", func(t *testing.T) {
			leader := s.leader(t)
			harness.Must(t, s.disk(leader).Hang())
			awaitOtherLeader(t, s, leader)
			s.awaitService(t)
			harness.Must(t, s.disk(leader).Thaw())
			ended(t, leader, 81)
			s.start(t, leader)
		}},
		{"disk of the leader goes away", func(t *testing.T) {
			leader := s.leader(t)
			harness.Must(t, s.disk(leader).Gone())
			ended(t, leader, 80)
			s.awaitService(t)
			harness.Must(t, s.disk(leader).Remount())
			s.start(t, leader)
		}},
		{"disk of the leader is full", func(t *testing.T) {
			leader := s.leader(t)
			harness.Must(t, s.disk(leader).Full())
			awaitOtherLeader(t, s, leader)
			s.awaitService(t)
			harness.Must(t, s.disk(leader).Free())
			if !leader.Running() {
				ended(t, leader, 80)
				s.start(t, leader)
			}
			s.awaitService(t)
		}},
	}
	for _, step := range steps {
		if !t.Run(step.name, step.run) {
			return
		}
	}
	if total.Canary == 0 {
		t.Error("the power cuts dropped nothing")
	}
	s.balance(t)
	harness.Check(t, harness.Err(s.WaitConverged(t.Context(), serveAgain)))
}

// awaitOtherLeader waits until a node other than old leads.
func awaitOtherLeader(t *testing.T, s *site, old *harness.Node) {
	t.Helper()
	var others []*harness.Node
	for _, n := range s.Nodes {
		if n != old {
			others = append(others, n)
		}
	}
	if _, err := s.Part(others...).WaitLeader(t.Context(), serveAgain); err != nil {
		t.Fatalf("%v\n%s", err, s.LogTails())
	}
}

// TestDamagedFilesAreRefused flips a bit in a follower's log or vote while it is down. The follower
// must report this and not run, so that it cannot become the leader.
func TestDamagedFilesAreRefused(t *testing.T) {
	s := newSite(t)
	for class, text := range map[disk.Class]string{disk.ClassLog: "body-0:1", disk.ClassStable: "CurrentTerm"} {
		t.Run(string(class), func(t *testing.T) {
			victim := s.Followers(s.leader(t))[0]
			harness.Must(t, victim.Kill())
			sound := filepath.Join(t.TempDir(), "sound")
			harness.Must(t, disk.Copy(victim.DataDir, sound))
			file := damageAll(t, victim.DataDir, class, text)
			harness.Must(t, victim.Start())
			code, err := victim.WaitExit(serveAgain)
			if err != nil || code < 80 || code > 85 {
				t.Errorf("with a flipped bit in %s: exit code %d, %v\n%s", file, code, err, victim.LogTail())
			}
			s.awaitService(t)
			harness.Must(t, errors.Join(victim.Kill(), disk.Rollback(victim.DataDir, sound)))
			s.start(t, victim)
		})
	}
	s.balance(t)
}

// damageAll flips a bit after every copy of the text, since a store that copies pages leaves old
// copies.
func damageAll(t *testing.T, dir string, class disk.Class, text string) string {
	t.Helper()
	files, err := disk.Files(dir, class)
	harness.Must(t, err)
	for _, file := range files {
		content, err := os.ReadFile(file)
		harness.Must(t, err)
		found := false
		for at := bytes.Index(content, []byte(text)); at >= 0; {
			found = true
			harness.Must(t, disk.FlipBitAt(file, int64(at+len(text)), 2))
			next := bytes.Index(content[at+1:], []byte(text))
			if next < 0 {
				break
			}
			at += 1 + next
		}
		if found {
			return file
		}
	}
	t.Fatalf("no file of the %s holds %q", class, text)
	return ""
}

// TestDisksThatLieLoseMessages is the control of the other tests: if syncs report success without
// being made, acknowledged sends must be lost. Otherwise the power cuts of this package are
// ineffective.
func TestDisksThatLieLoseMessages(t *testing.T) {
	if err := disk.CanInject(); err != nil {
		t.Skipf("this machine cannot trace: %v", err)
	}
	s := newSite(t)
	for _, n := range s.Nodes {
		trouble, err := disk.Inject(n.Pid(), disk.Injection{Calls: disk.Syncs, Lie: true})
		harness.Must(t, err)
		t.Cleanup(func() {
			harness.Check(t, trouble.Stop())
		})
	}
	for range 5 {
		s.awaitService(t)
	}
	s.cut(t, s.Nodes...)
	for _, n := range s.Nodes {
		harness.Must(t, n.Start())
	}
	// A node that detects the loss refuses to start, which shows it as well.
	if err := s.WaitReady(t.Context(), serveAgain); err != nil {
		refused := 0
		for _, n := range s.Nodes {
			if !n.Running() {
				refused++
			}
		}
		if refused == 0 {
			t.Fatalf("no node refused to start: %v\n%s", err, s.LogTails())
		}
		t.Logf("%d nodes refused to start", refused)
		return
	}
	if report := s.drain(t); len(report.Lost) == 0 {
		t.Error("nothing was lost although nothing was synced")
	}
}
