package upgrade

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/seriatimq/seriatim/fsm/format"
	"github.com/seriatimq/seriatim/test/kit/harness"
)

const (
	stopLimit         = 10 * time.Second
	exitConflict      = 7  // of the tool: refused
	exitUnknownFormat = 85 // of a node
)

// site is a cluster that is upgraded, with the two programs.
type site struct {
	*harness.Cluster
	t         *testing.T
	old, next string
	format    uint32 // of the next program
	queue     string
	sent      int
}

func newSite(t *testing.T) *site {
	t.Helper()
	dir := t.TempDir()
	s := &site{t: t, format: format.CurrentVersion + 1}
	var err error
	if s.old, err = harness.Build(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	if s.next, err = harness.BuildNext(t.Context(), dir, s.format); err != nil {
		t.Fatal(err)
	}
	s.Cluster = harness.New(t, harness.Options{Binary: s.old, Args: []string{"--log-segment-size", "4MiB", "--snapshot-log-size", "64KiB"}})
	created, err := s.NewSQS(s.Rotate()).CreateQueue(t.Context(), &sqs.CreateQueueInput{
		QueueName: aws.String("upgrade.fifo"), Attributes: map[string]string{"FifoQueue": "true"},
	})
	harness.Must(t, err)
	s.queue = aws.ToString(created.QueueUrl)
	return s
}

// works sends through every running node, and repeats the very first message, which must always be
// a duplicate.
func (s *site) works() {
	s.t.Helper()
	send := func(n *harness.Node, id string) *sqs.SendMessageOutput {
		out, err := s.NewSQS(harness.Only(n)).SendMessage(s.t.Context(), &sqs.SendMessageInput{
			QueueUrl: &s.queue, MessageBody: aws.String(id + strings.Repeat(" ", 4<<10)), MessageGroupId: aws.String("g"),
			MessageDeduplicationId: &id,
		})
		if err != nil {
			s.t.Fatalf("%s: %v", n.Name, err)
		}
		return out
	}
	for _, n := range s.Running() {
		for range 4 {
			send(n, fmt.Sprint(s.sent))
			s.sent++
		}
		if again := aws.ToString(send(n, "0").SequenceNumber); !strings.HasSuffix(again, "01") {
			s.t.Errorf("%s took the first message again, as %s", n.Name, again)
		}
	}
}

// replace stops a node and starts it with another program.
func (s *site) replace(n *harness.Node, program string) {
	s.t.Helper()
	harness.Check(s.t, n.Stop(stopLimit))
	n.Use(program)
	s.start(n)
}

func (s *site) start(n *harness.Node) {
	s.t.Helper()
	harness.Must(s.t, n.Start())
	harness.Must(s.t, s.WaitReady(s.t.Context(), harness.StartTimeout))
}

// tool runs the tool of the next program against a node.
func (s *site) tool(n *harness.Node, args ...string) (string, int) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), waitMax)
	defer cancel()
	cmd := exec.CommandContext(ctx, s.next, append(args, "--admin", n.Admin)...)
	out, err := cmd.CombinedOutput()
	var ended *exec.ExitError
	if err != nil && !errors.As(err, &ended) {
		s.t.Fatalf("%v: %v", args, err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

// upgradeStatus has the used fields of upgrade status -o json.
type upgradeStatus struct {
	FormatVersion, Possible uint32
	Ready                   bool
	Missing                 string
}

// waitStatus waits until a node reports the wanted upgrade status.
func (s *site) waitStatus(n *harness.Node, what string, holds func(upgradeStatus) bool) {
	s.t.Helper()
	waitFor(s.t, what, func() bool {
		out, code := s.tool(n, "upgrade", "status", "-o", "json")
		var status upgradeStatus
		if err := json.Unmarshal([]byte(out), &status); code != 0 || err != nil {
			s.t.Fatalf("upgrade status: exit code %d, %v: %s", code, err, out)
		}
		return holds(status)
	})
}

// held expects that the old format stays in force, for this reason.
func (s *site) held(missing string) {
	s.t.Helper()
	for _, n := range s.Running() {
		s.waitStatus(n, n.Name+" to say "+missing, func(u upgradeStatus) bool {
			if u.FormatVersion != format.CurrentVersion || u.Ready {
				s.t.Fatalf("%s: %+v", n.Name, u)
			}
			return strings.Contains(u.Missing, missing)
		})
		if out, code := s.tool(n, "upgrade", "finalize", "--yes"); code != exitConflict || !strings.Contains(out, missing) {
			s.t.Errorf("%s: finalize: exit code %d, %s", n.Name, code, out)
		}
	}
	s.works()
}

// receiveAll expects all messages that were sent, in order.
func (s *site) receiveAll() {
	s.t.Helper()
	client := s.NewSQS(s.Rotate())
	for want := 0; want < s.sent; {
		out, err := client.ReceiveMessage(s.t.Context(),
			&sqs.ReceiveMessageInput{QueueUrl: &s.queue, MaxNumberOfMessages: 10, WaitTimeSeconds: 5})
		if err != nil || len(out.Messages) == 0 {
			s.t.Fatalf("%d of %d messages came: %v", want, s.sent, err)
		}
		for _, m := range out.Messages {
			if got := strings.TrimSpace(aws.ToString(m.Body)); got != fmt.Sprint(want) {
				s.t.Fatalf("message %d is %s", want, got)
			}
			want++
			if _, err := client.DeleteMessage(s.t.Context(),
				&sqs.DeleteMessageInput{QueueUrl: &s.queue, ReceiptHandle: m.ReceiptHandle}); err != nil {
				s.t.Fatal(err)
			}
		}
	}
}

// TestRollingUpgrade replaces the program of three processes one after the other. Meanwhile, with
// two versions or with one node away, the old format stays in force, and a node can return to the
// old program. When all nodes have the new program, finalize brings its format into force.
// Afterwards the old program refuses a node's data, and cannot join with an empty disk either.
func TestRollingUpgrade(t *testing.T) {
	s := newSite(t)
	s.works()
	s.replace(s.Nodes[0], s.next)
	s.held("an older program runs on n2, n3")
	s.replace(s.Nodes[0], s.old) // return to the old program
	s.works()
	s.replace(s.Nodes[0], s.next)
	s.replace(s.Nodes[1], s.next)
	s.held("an older program runs on n3")

	last := s.Nodes[2]
	harness.Must(t, last.Kill())
	s.held("nothing is heard of n3")
	last.Use(s.next)
	s.start(last)
	for _, n := range s.Nodes {
		s.waitStatus(n, n.Name+" to be ready for the next format", func(u upgradeStatus) bool {
			if u.FormatVersion != format.CurrentVersion {
				t.Fatalf("%s: %+v", n.Name, u)
			}
			return u.Ready && u.Possible == s.format && u.Missing == ""
		})
	}
	s.works()
	if out, code := s.tool(last, "upgrade", "finalize", "--yes"); code != 0 {
		t.Fatalf("finalize: exit code %d, %s", code, out)
	}
	for _, n := range s.Nodes {
		s.waitStatus(n, "the next format to be in force", func(u upgradeStatus) bool { return u.FormatVersion == s.format && !u.Ready })
	}
	s.works()
	s.tooOld(last)
	last.Use(s.next)
	s.start(last)
	s.works()
	s.receiveAll()
	harness.Check(t, harness.Err(s.WaitConverged(t.Context(), waitMax)))
}

// tooOld starts the old program with a node's data, and with an empty disk.
func (s *site) tooOld(n *harness.Node) {
	s.t.Helper()
	harness.Check(s.t, n.Stop(stopLimit))
	n.Use(s.old)
	harness.Must(s.t, n.Start())
	code, err := n.WaitExit(waitMax)
	if text := n.LogTail(); err != nil || code != exitUnknownFormat || !strings.Contains(text, fmt.Sprint("format version ", s.format)) {
		s.t.Errorf("the old program on data of the next format ended with %d, %v:\n%s", code, err, text)
	}
	spare, err := s.Spare("n4")
	harness.Must(s.t, err)
	spare.Use(s.old)
	harness.Must(s.t, spare.Start())
	defer func() {
		harness.Check(s.t, spare.Kill())
	}()
	waitFor(s.t, "the old program to say why it cannot join", func() bool {
		return strings.Contains(spare.LogTail(), "the two programs have no format in common")
	})
}
