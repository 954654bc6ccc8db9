package pods

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/seriatimq/seriatim/test/kit/harness"
)

// minding is the time for which two clusters that know each other's addresses are watched.
const minding = 5 * time.Second

// tenant is one of two clusters on one network.
type tenant struct {
	*harness.Cluster
	keyFile string // empty: no key
	id      string
	queue   string
}

// start starts nodes of the tenant that join through these addresses.
func (c *tenant) start(t *testing.T, join string, nodes ...*harness.Node) {
	t.Helper()
	args := []string{"--bootstrap-expect", "3", "--join", join}
	if c.keyFile != "" {
		args = append(args, "--gossip-key-file", c.keyFile)
	}
	for _, n := range nodes {
		harness.Must(t, n.Start(args...))
	}
}

func (c *tenant) stop(t *testing.T, nodes ...*harness.Node) {
	t.Helper()
	for _, n := range nodes {
		harness.Must(t, n.Stop(stopLimit))
	}
}

// found starts the three nodes of the cluster, and creates a queue.
func (c *tenant) found(t *testing.T) {
	t.Helper()
	c.start(t, c.Gossip(), c.Nodes...)
	harness.Must(t, c.WaitReady(t.Context(), harness.StartTimeout))
	status, err := c.Nodes[0].Status(t.Context())
	harness.Must(t, err)
	c.id = status.ClusterID
	created, err := c.NewSQS(c.Rotate()).CreateQueue(t.Context(), &sqs.CreateQueueInput{
		QueueName: aws.String("of-" + c.Nodes[0].Name + ".fifo"), Attributes: map[string]string{"FifoQueue": "true"},
	})
	harness.Must(t, err)
	c.queue = aws.ToString(created.QueueUrl)
}

// apart checks that the tenant is unchanged and works: three members, none waiting, one queue, one
// cluster id on all nodes.
func (c *tenant) apart(t *testing.T, number int) {
	t.Helper()
	harness.Must(t, c.WaitReady(t.Context(), harness.StartTimeout))
	for _, n := range c.Nodes {
		status, err := n.Status(t.Context())
		harness.Must(t, err)
		if status.ClusterID != c.id {
			t.Errorf("%s is of cluster %s, it was %s", n.Name, status.ClusterID, c.id)
		}
		text, err := n.Get(t.Context(), "/v1/cluster/members")
		harness.Must(t, err)
		var list struct {
			Members []struct{ Name string }
			Waiting []struct{ Name string }
		}
		harness.Must(t, json.Unmarshal(text, &list))
		if len(list.Members) != 3 {
			t.Errorf("%s has the members %v", n.Name, list.Members)
		}
		for _, w := range list.Waiting {
			if w.Name != spareName {
				t.Errorf("%s of the other cluster waits at %s", w.Name, n.Name)
			}
		}
	}
	client := c.NewSQS(c.Rotate())
	for range c.Nodes {
		queues, err := client.ListQueues(t.Context(), &sqs.ListQueuesInput{})
		harness.Must(t, err)
		if len(queues.QueueUrls) != 1 || queues.QueueUrls[0] != c.queue {
			t.Errorf("there are the queues %v, want %s", queues.QueueUrls, c.queue)
		}
	}
	send(t, client, c.queue, number)
}

const spareName = "n7"

// twoClusters starts two clusters on one network.
func twoClusters(t *testing.T, keys bool) (a, b *tenant) {
	t.Helper()
	l := newLabOf(t, 6)
	harness.Must(t, l.resolve(l.Nodes...))
	a, b = &tenant{Cluster: l.Part(l.Nodes[:3]...)}, &tenant{Cluster: l.Part(l.Nodes[3:]...)}
	for i, c := range []*tenant{a, b} {
		if keys {
			c.keyFile = filepath.Join(t.TempDir(), "key")
			key := base64.StdEncoding.EncodeToString([]byte(strings.Repeat(fmt.Sprint(i), 32)))
			harness.Must(t, os.WriteFile(c.keyFile, []byte(key), 0o600))
		}
		c.found(t)
	}
	if a.id == b.id {
		t.Fatalf("both clusters have the id %s", a.id)
	}
	return a, b
}

// TestTwoClustersOnOneNetwork restarts two clusters, each with the addresses of all nodes of both,
// and of one node of the other cluster only. Without gossip keys the cluster ids keep them apart,
// with different gossip keys the keys do.
func TestTwoClustersOnOneNetwork(t *testing.T) {
	for name, keys := range map[string]bool{"without keys": false, "with different keys": true} {
		t.Run(name, func(t *testing.T) {
			a, b := twoClusters(t, keys)
			everybody := a.Gossip() + "," + b.Gossip()
			for _, c := range []*tenant{a, b} {
				c.stop(t, c.Nodes...)
			}
			for _, c := range []*tenant{b, a} { // not the order in which they were started first
				c.start(t, everybody, c.Nodes...)
			}
			for _, c := range []*tenant{a, b} {
				harness.Must(t, c.WaitReady(t.Context(), harness.StartTimeout))
			}
			time.Sleep(minding)
			a.apart(t, 0)
			b.apart(t, 0)

			lost := b.Nodes[2]
			b.stop(t, lost)
			b.start(t, a.Gossip(), lost)
			time.Sleep(minding)
			a.apart(t, 1)
			b.apart(t, 1)
			receiveAll(t, a.NewSQS(a.Rotate()), a.queue, 2)
			receiveAll(t, b.NewSQS(b.Rotate()), b.queue, 2)
		})
	}
}

// TestEmptyNodeBetweenTwoClusters starts an empty node with addresses of two clusters. It joins
// neither.
func TestEmptyNodeBetweenTwoClusters(t *testing.T) {
	a, b := twoClusters(t, false)
	spare, err := a.Spare(spareName)
	harness.Must(t, err)
	harness.Must(t, spare.Start("--join", a.Gossip()+","+b.Gossip()))
	defer func() { harness.Must(t, spare.Kill()) }()
	deadline := time.Now().Add(harness.StartTimeout)
	for !strings.Contains(spare.Log(), "several clusters are in sight") {
		if time.Now().After(deadline) {
			t.Fatalf("the node does not say that it sees several clusters:\n%s", spare.LogTail())
		}
		time.Sleep(100 * time.Millisecond)
	}
	time.Sleep(minding)
	if status, err := spare.Status(t.Context()); err != nil || status.ClusterID != "" || spare.Ready(t.Context()) == nil {
		t.Errorf("the node is %+v, %v", status, err)
	}
	a.apart(t, 0)
	b.apart(t, 0)
}
