package pods

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/seriatimq/seriatim/test/kit/harness"
	"github.com/seriatimq/seriatim/test/kit/lab/network"
)

// binary is the server under test. Set once, before the first test.
var binary string

func TestMain(m *testing.M) {
	os.Exit(network.Inside(func() int { return harness.WithBinary(&binary, m.Run) }))
}

const (
	stopLimit = 10 * time.Second
	// recovery bounds the time until a cluster with new addresses serves after its last node
	// started.
	recovery = 15 * time.Second
	restarts = 3
)

// lab is a cluster whose nodes can get new addresses, in namespaces or on loopback.
type lab struct {
	*harness.Cluster
	moveAll func() error
	resolve func(known ...*harness.Node) error
}

// newLab prepares three pods without starting them.
func newLab(t *testing.T) lab {
	t.Helper()
	return newLabOf(t, 3)
}

func newLabOf(t *testing.T, nodes int) lab {
	t.Helper()
	authority, err := harness.NewAuthority(binary, filepath.Join(t.TempDir(), "certs"))
	harness.Must(t, err)
	o := harness.Options{Binary: binary, Nodes: nodes, Dir: t.TempDir(), Authority: authority, Args: []string{"--log-segment-size", "4MiB"}}
	hosts, err := network.New(network.Options{Ports: network.NodePorts(), Names: true})
	if err != nil {
		t.Logf("on loopback addresses, without namespaces: %v", err)
	} else {
		o.Network, o.Names = hosts, true
		t.Cleanup(func() { harness.Must(t, hosts.Close()) })
	}
	pods, err := harness.Prepare(o)
	harness.Must(t, err)
	t.Cleanup(pods.Close)
	l := lab{Cluster: pods, moveAll: pods.Readdress, resolve: func(...*harness.Node) error { return nil }}
	if hosts != nil {
		l.resolve = func(known ...*harness.Node) error {
			var names []string
			for _, n := range known {
				names = append(names, n.Name)
			}
			return hosts.Resolve(names...)
		}
		l.moveAll = func() error { return errors.Join(pods.Readdress(), l.resolve(pods.Nodes...)) }
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(l.LogTails())
		}
	})
	return l
}

// startAll starts the pods in a random order.
func (l lab) startAll(t *testing.T) {
	t.Helper()
	for _, i := range rand.Perm(len(l.Nodes)) {
		harness.Must(t, l.Nodes[i].Start())
	}
}

func (l lab) stopAll(t *testing.T) {
	t.Helper()
	for _, n := range l.Nodes {
		harness.Must(t, n.Stop(stopLimit))
	}
}

// send sends a numbered message; receive expects all of them in order.
func send(t *testing.T, client *sqs.Client, url string, number int) {
	t.Helper()
	text := fmt.Sprint(number)
	_, err := client.SendMessage(t.Context(), &sqs.SendMessageInput{
		QueueUrl: &url, MessageBody: &text, MessageGroupId: aws.String("g"), MessageDeduplicationId: &text,
	})
	harness.Must(t, err)
}

func receiveAll(t *testing.T, client *sqs.Client, url string, count int) {
	t.Helper()
	out, err := client.ReceiveMessage(t.Context(), &sqs.ReceiveMessageInput{QueueUrl: &url, MaxNumberOfMessages: 10, WaitTimeSeconds: 5})
	harness.Must(t, err)
	var bodies []string
	for _, m := range out.Messages {
		bodies = append(bodies, aws.ToString(m.Body))
	}
	if len(bodies) != count {
		t.Fatalf("received %v, want %d messages", bodies, count)
	}
	for i, body := range bodies {
		if body != fmt.Sprint(i) {
			t.Fatalf("received %v", bodies)
		}
	}
}

// TestAllPodsMove restarts all pods with new addresses, several times.
func TestAllPodsMove(t *testing.T) {
	l := newLab(t)
	harness.Must(t, l.resolve(l.Nodes...))
	l.startAll(t)
	harness.Must(t, l.WaitReady(t.Context(), harness.StartTimeout))
	client := l.NewSQS(l.Rotate())
	created, err := client.CreateQueue(t.Context(),
		&sqs.CreateQueueInput{QueueName: aws.String("pods.fifo"), Attributes: map[string]string{"FifoQueue": "true"}})
	harness.Must(t, err)
	url := aws.ToString(created.QueueUrl)
	first, err := l.Nodes[0].Status(t.Context())
	harness.Must(t, err)
	for round := range restarts {
		send(t, client, url, round)
		l.stopAll(t)
		harness.Must(t, l.moveAll())
		l.startAll(t)
		begin := time.Now()
		harness.Must(t, l.WaitReady(t.Context(), harness.StartTimeout))
		took := time.Since(begin).Round(time.Millisecond)
		t.Logf("round %d: ready %v after the last start with other addresses", round, took)
		if took > recovery {
			t.Errorf("round %d took %v", round, took)
		}
		client = l.NewSQS(l.Rotate())
	}
	receiveAll(t, client, url, restarts)
	status, err := l.WaitConverged(t.Context(), harness.StartTimeout)
	harness.Must(t, err)
	if status.ClusterID != first.ClusterID {
		t.Errorf("cluster %s was %s", status.ClusterID, first.ClusterID)
	}
}

// TestNamesAppearLate starts pods whose resolver does not know the others yet, as when an
// orchestrator starts all at once.
func TestNamesAppearLate(t *testing.T) {
	l := newLab(t)
	for i, n := range l.Nodes {
		harness.Must(t, l.resolve(l.Nodes[:i]...))
		harness.Must(t, n.Start())
	}
	harness.Must(t, l.resolve(l.Nodes...))
	harness.Must(t, l.WaitReady(t.Context(), harness.StartTimeout))
	harness.Check(t, harness.Err(l.WaitConverged(t.Context(), harness.StartTimeout)))
}

// TestPodLosesItsDisk gives one pod a new address and wipes it: it returns as a learner.
func TestPodLosesItsDisk(t *testing.T) {
	l := newLab(t)
	harness.Must(t, l.resolve(l.Nodes...))
	l.startAll(t)
	harness.Must(t, l.WaitReady(t.Context(), harness.StartTimeout))
	l.stopAll(t)
	harness.Must(t, l.Nodes[1].Wipe())
	harness.Must(t, l.moveAll())
	l.startAll(t)
	harness.Must(t, l.WaitReady(t.Context(), harness.StartTimeout))
	status, err := l.Nodes[1].Status(t.Context())
	harness.Must(t, err)
	if status.Role != "learner" {
		t.Errorf("the wiped pod is a %s", status.Role)
	}
	harness.Check(t, harness.Err(l.WaitConverged(t.Context(), harness.StartTimeout)))
}
