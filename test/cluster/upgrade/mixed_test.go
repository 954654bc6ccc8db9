package upgrade

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/seriatimq/seriatim/fsm/format"
	"github.com/seriatimq/seriatim/test/kit/harness"
	"github.com/seriatimq/seriatim/transport/grpc/client"
)

var mixed = flag.Bool("mixed", false, "build this program again with a row of the next format version, and upgrade a cluster to it")

const exitDiverged = 83

// edit replaces a text in a file of the product.
type edit struct{ file, old, new string }

// plantedName is the name of an additional attribute that sets the delay. It is listed, and so part
// of the state hash, only where it is set: see TestLaterAttributes. It is the last one in the
// table.
const plantedName = "XPlantedDelay"

// nextVersion edits this program into one of the next format version, with the additional
// attribute.
func nextVersion() []edit {
	row := fmt.Sprintf("\trow(%q, %d, onAny, \"Delays.\", number(0, limits.DelaySecondsMax,\n"+
		"\t\tfunc(a *Queue) *int64 { return &a.DelaySeconds })).as(1 << 31),\n", plantedName, format.CurrentVersion+1)
	current := "CurrentVersion uint32 = "
	return []edit{
		{"queue/attributes/queue_table.go", "\n)\n\n// deduplicationWindow", "\n" + row + ")\n\n// deduplicationWindow"},
		{"fsm/format/version.go", fmt.Sprint(current, format.CurrentVersion), fmt.Sprint(current, format.CurrentVersion+1)},
	}
}

// build builds this program, with edits, and returns its path.
func build(t *testing.T, name string, edits ...edit) string {
	t.Helper()
	root, err := filepath.Abs("../../..")
	harness.Must(t, err)
	dir := t.TempDir()
	replace := map[string]string{}
	for i, e := range edits {
		path, changed := filepath.Join(root, e.file), filepath.Join(dir, fmt.Sprint(i, ".go"))
		text, err := os.ReadFile(path)
		harness.Must(t, err)
		if strings.Count(string(text), e.old) != 1 {
			t.Fatalf("%s has not the text %q once", e.file, e.old)
		}
		harness.Must(t, os.WriteFile(changed, []byte(strings.Replace(string(text), e.old, e.new, 1)), 0o600))
		replace[path] = changed
	}
	overlay, path := filepath.Join(dir, "overlay.json"), filepath.Join(dir, name)
	list, err := json.Marshal(map[string]map[string]string{"Replace": replace})
	if err == nil {
		err = os.WriteFile(overlay, list, 0o600)
	}
	harness.Must(t, err)
	goBuild := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-buildvcs=false",
		"-tags", "hashicorpmetrics grpcnotrace", "-overlay", overlay, "-o", path, "./cmd/seriatim")
	goBuild.Dir, goBuild.Env = root, append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=")
	if out, err := goBuild.CombinedOutput(); err != nil {
		t.Fatalf("building %s: %v\n%s", name, err, out)
	}
	return path
}

// load uses many rules at once until its context ends. Calls may fail while nodes restart, but most
// must succeed.
type load struct {
	s          *site
	sqs        *sqs.Client
	sns        *sns.Client
	native     *client.Client
	urls       map[string]string
	topic      string
	did, tried atomic.Int64
}

func newLoad(s *site) *load {
	s.t.Helper()
	l := &load{s: s, sqs: s.NewSQS(s.Rotate()), sns: s.NewSNS(s.Rotate()), native: newNative(s), urls: map[string]string{}}
	for name, attributes := range map[string]map[string]string{
		"dead.fifo": {"FifoQueue": "true"},
		"busy.fifo": {"FifoQueue": "true", "VisibilityTimeout": "1"},
		"work.fifo": {"FifoQueue": "true"},
		"plain":     {"DelaySeconds": "1"},
	} {
		out, err := l.sqs.CreateQueue(s.t.Context(), &sqs.CreateQueueInput{QueueName: &name, Attributes: attributes})
		harness.Must(s.t, err)
		l.urls[name] = aws.ToString(out.QueueUrl)
	}
	topic, err := l.sns.CreateTopic(s.t.Context(), &sns.CreateTopicInput{Name: aws.String("news")})
	harness.Must(s.t, err)
	l.topic = aws.ToString(topic.TopicArn)
	queue := strings.Replace(strings.Replace(l.topic, ":sns:", ":sqs:", 1), ":news", ":plain", 1)
	for _, filter := range []string{`{"color":["red",{"prefix":"b"}]}`} {
		if _, err := l.sns.Subscribe(s.t.Context(), &sns.SubscribeInput{
			TopicArn: &l.topic, Protocol: aws.String("sqs"), Endpoint: &queue, Attributes: map[string]string{"FilterPolicy": filter},
		}); err != nil {
			s.t.Fatal(err)
		}
	}
	redrive := `{"deadLetterTargetArn":"` + strings.TrimSuffix(queue, "plain") + `dead.fifo","maxReceiveCount":2}`
	for _, name := range []string{"busy.fifo", "work.fifo"} {
		if _, err := l.sqs.SetQueueAttributes(s.t.Context(), &sqs.SetQueueAttributesInput{
			QueueUrl: aws.String(l.urls[name]), Attributes: map[string]string{"RedrivePolicy": redrive},
		}); err != nil {
			s.t.Fatal(err)
		}
	}
	return l
}

// run repeats work in some goroutines until ctx ends.
func (l *load) run(ctx context.Context, running *sync.WaitGroup) {
	for worker := range 4 {
		running.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				l.tried.Add(1)
				if err := l.step(ctx, worker, i); err == nil {
					l.did.Add(1)
				}
			}
		})
	}
}

func (l *load) step(ctx context.Context, worker, i int) error {
	id := fmt.Sprint(worker, "-", i/2) // each id twice, so that there are duplicates
	fifo, plain := aws.String(l.urls["busy.fifo"]), aws.String(l.urls["plain"])
	switch i % 8 {
	case 0, 1:
		_, err := l.sqs.SendMessage(ctx,
			&sqs.SendMessageInput{QueueUrl: fifo, MessageBody: &id, MessageGroupId: aws.String(fmt.Sprint(i % 3)),
				MessageDeduplicationId: &id})
		return err
	case 2:
		_, err := l.sqs.SendMessageBatch(ctx, &sqs.SendMessageBatchInput{QueueUrl: plain, Entries: []types.SendMessageBatchRequestEntry{
			{Id: aws.String("a"), MessageBody: &id}, {Id: aws.String("b"), MessageBody: &id, DelaySeconds: 3},
		}})
		return err
	case 3:
		_, err := l.sns.Publish(ctx, &sns.PublishInput{TopicArn: &l.topic, Message: &id})
		return err
	case 4:
		_, err := l.sqs.TagQueue(ctx, &sqs.TagQueueInput{QueueUrl: plain, Tags: map[string]string{"step": id}})
		return err
	case 5: // leaves half, which become visible again and are dead-lettered
		return l.consume(ctx, fifo, i%3 == 0)
	case 6:
		return l.workInSession(ctx, id, i)
	}
	return l.consume(ctx, plain, true)
}

func (l *load) consume(ctx context.Context, url *string, remove bool) error {
	out, err := l.sqs.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{QueueUrl: url, MaxNumberOfMessages: 10})
	if err != nil || !remove {
		return err
	}
	for _, m := range out.Messages {
		if _, err := l.sqs.DeleteMessage(ctx, &sqs.DeleteMessageInput{QueueUrl: url, ReceiptHandle: m.ReceiptHandle}); err != nil {
			return err
		}
	}
	return nil
}

// plant sets the new attribute through every node.
func (s *site) plant(queue string, judge func(n *harness.Node, err error)) {
	s.t.Helper()
	attributes := map[string]string{plantedName: "7"}
	for _, n := range s.Running() {
		client := s.NewSQS(harness.Only(n), func(o *sqs.Options) { o.RetryMaxAttempts = 1 })
		_, err := client.SetQueueAttributes(s.t.Context(), &sqs.SetQueueAttributesInput{QueueUrl: &queue, Attributes: attributes})
		judge(n, err)
		_, err = client.CreateQueue(s.t.Context(),
			&sqs.CreateQueueInput{QueueName: aws.String("planted-" + n.Name), Attributes: attributes})
		judge(n, err)
	}
}

// refused checks that all nodes refuse the attribute: an older one does not know it, and a newer
// one says how to finalize the upgrade.
func (s *site) refused(queue string, newer map[*harness.Node]bool) {
	s.t.Helper()
	s.plant(queue, func(n *harness.Node, err error) {
		hint := "seriatim upgrade finalize"
		if !newer[n] {
			hint = "Unknown Attribute"
		}
		if err == nil || !strings.Contains(err.Error(), hint) {
			s.t.Errorf("%s, newer: %v: the attribute was answered %v, want %q", n.Name, newer[n], err, hint)
		}
	})
}

// TestMixedVersions upgrades a cluster under load to a program of the next format version, with one
// more attribute. The replicas stay equal, whichever program leads, and the attribute is refused
// until the upgrade is finalized.
func TestMixedVersions(t *testing.T) {
	if !*mixed {
		t.Skip("two programs take minutes to build: make upgrade-mixed")
	}
	older := build(t, "seriatim")
	s := &site{t: t, old: older, next: build(t, "seriatim-next", nextVersion()...), format: format.CurrentVersion + 1}
	s.Cluster = harness.New(t, harness.Options{Binary: older, Args: []string{
		"--log-segment-size", "4MiB", "--snapshot-log-size", "256KiB", "--audit-interval", "1s", "--audit-entries", "50",
	}})
	l := newLoad(s)
	plain := l.urls["plain"]
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var running sync.WaitGroup
	l.run(ctx, &running)
	l.goesOn()
	newer := map[*harness.Node]bool{}
	for _, n := range s.Nodes {
		s.replace(n, s.next)
		newer[n] = true
		l.goesOn()
		s.refused(plain, newer)
		if leader, err := s.WaitLeader(ctx, waitMax); err != nil {
			t.Error(err)
		} else {
			t.Logf("%s has the newer program; %s leads, newer: %v", n.Name, leader.Name, newer[leader])
		}
	}
	for _, n := range s.Nodes {
		s.waitStatus(n, n.Name+" to be ready", func(u upgradeStatus) bool {
			if u.FormatVersion != format.CurrentVersion {
				t.Fatalf("%s: %+v", n.Name, u)
			}
			return u.Ready
		})
	}
	if out, code := s.tool(s.Nodes[0], "upgrade", "finalize", "--yes"); code != 0 {
		t.Fatalf("finalize: exit code %d, %s", code, out)
	}
	for _, n := range s.Nodes {
		s.waitStatus(n, "the format to be in force", func(u upgradeStatus) bool { return u.FormatVersion == s.format })
	}
	s.plant(plain, func(n *harness.Node, err error) {
		if err != nil {
			t.Errorf("%s: the attribute is refused after finalize: %v", n.Name, err)
		}
	})
	l.goesOn()
	cancel()
	running.Wait()
	harness.Check(t, harness.Err(s.WaitConverged(t.Context(), waitMax)))
	for _, n := range s.Nodes {
		for _, e := range n.Exits() {
			if e.Code == exitDiverged {
				t.Errorf("%s ended as its state differed:\n%s", n.Name, n.LogTail())
			}
		}
	}
	t.Logf("%d of %d steps of the load succeeded", l.did.Load(), l.tried.Load())
}

// goesOn waits until the load has made some more calls.
func (l *load) goesOn() {
	l.s.t.Helper()
	want := l.did.Load() + 200
	deadline := time.Now().Add(2 * waitMax)
	for l.did.Load() < want {
		if time.Now().After(deadline) {
			l.s.t.Fatalf("the load stands at %d of %d steps", l.did.Load(), l.tried.Load())
		}
		time.Sleep(50 * time.Millisecond)
	}
}
