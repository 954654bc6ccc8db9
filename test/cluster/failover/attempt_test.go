package failover

import (
	"encoding/json"
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/google/go-cmp/cmp"

	"github.com/seriatimq/seriatim/test/kit/harness"
)

// deliveries are message ids with receipt handles and receive counts.
func deliveries(messages []types.Message) []string {
	var out []string
	for _, m := range messages {
		out = append(out, fmt.Sprintf("%s %s %s", aws.ToString(m.MessageId), aws.ToString(m.ReceiptHandle),
			m.Attributes["ApproximateReceiveCount"]))
	}
	return out
}

func bodies(messages []types.Message) []string {
	var out []string
	for _, m := range messages {
		out = append(out, aws.ToString(m.Body))
	}
	return out
}

// TestReceiveAttemptSurvivesTheLeader receives with an attempt id, kills the leader, and repeats
// the receive at another node.
func TestReceiveAttemptSurvivesTheLeader(t *testing.T) {
	c := cluster(t)
	p := newPersistent(c, c.Rotate())
	fill := func(t *testing.T, name string) (string, []string) {
		queue := p.create(t, name+".fifo", nil)
		var want []string
		for i := range 6 {
			body := fmt.Sprintf("g%d-%d", i%2, i)
			p.send(t, queue, fmt.Sprint("g", i%2), body, body)
			if i%2 == 0 {
				want = append(want, body)
			}
		}
		return queue, append(want, "g1-1", "g1-3", "g1-5")[:5]
	}
	retryEverywhere := func(t *testing.T, queue string) []types.Message {
		var first []types.Message
		for _, n := range c.Running() {
			again := newPersistent(c, harness.Only(n)).receive(t, queue, "A", 5)
			if first == nil {
				first = again
			} else if diff := cmp.Diff(deliveries(first), deliveries(again)); diff != "" {
				t.Errorf("%s answers otherwise (-first +again):\n%s", n.Name, diff)
			}
		}
		return first
	}
	finish := func(t *testing.T, queue string, messages []types.Message, victim *harness.Node) {
		if err := p.remove(t.Context(), queue, messages); err != nil {
			t.Errorf("the handles do not work: %v", err)
		}
		if got, want := p.counts(t, queue), [3]string{"1", "0", "0"}; got != want {
			t.Errorf("the queue counts %v, want %v", got, want)
		}
		start(t, victim)
		agree(t, c)
	}

	t.Run("answer received", func(t *testing.T) {
		queue, want := fill(t, "received")
		victim := leader(t, c)
		first := newPersistent(c, harness.Only(victim)).receive(t, queue, "A", 5)
		kill(t, victim)
		again := retryEverywhere(t, queue)
		if diff := cmp.Diff(deliveries(first), deliveries(again)); diff != "" {
			t.Errorf("replay (-first +again):\n%s", diff)
		}
		if diff := cmp.Diff(want, bodies(again)); diff != "" {
			t.Errorf("messages (-want +got):\n%s", diff)
		}
		finish(t, queue, again, victim)
	})
	for _, asked := range []string{"leader", "follower"} {
		t.Run("answer lost, asked the "+asked, func(t *testing.T) {
			queue, want := fill(t, "lost-"+asked)
			victim := leader(t, c)
			node := victim
			if asked == "follower" {
				node = c.Followers(victim)[0]
			}
			lost := ask(t, c, node, queue)
			defer lost.Close()
			// The receive took effect, but its answer is lost.
			deadline := time.Now().Add(time.Minute)
			for p.counts(t, queue)[1] != "5" {
				if time.Now().After(deadline) {
					t.Fatalf("the receive never took effect: %v", p.counts(t, queue))
				}
			}
			kill(t, victim)
			again := retryEverywhere(t, queue)
			if diff := cmp.Diff(want, bodies(again)); diff != "" {
				t.Errorf("messages (-want +got):\n%s", diff)
			}
			for _, m := range again {
				if m.Attributes["ApproximateReceiveCount"] != "1" {
					t.Errorf("%s has receive count %s", aws.ToString(m.Body), m.Attributes["ApproximateReceiveCount"])
				}
			}
			finish(t, queue, again, victim)
		})
	}
}

// ask sends a receive to a node and does not read the answer.
func ask(t *testing.T, c *harness.Cluster, node *harness.Node, queue string) net.Conn {
	t.Helper()
	body, err := json.Marshal(map[string]any{"QueueUrl": queue, "MaxNumberOfMessages": 5, "ReceiveRequestAttemptId": "A"})
	harness.Must(t, err)
	connection, err := net.Dial("tcp", node.Client)
	harness.Must(t, err)
	_, err = fmt.Fprintf(connection, "POST / HTTP/1.1\r\nHost: %s\r\nContent-Type: application/x-amz-json-1.0\r\n"+
		"X-Amz-Target: AmazonSQS.ReceiveMessage\r\nContent-Length: %d\r\n\r\n%s", c.Nodes[0].Client, len(body), body)
	harness.Must(t, err)
	return connection
}

// TestYMQReceiveAttemptSurvivesTheLeader checks that with the profile ymq, too, a repetition at
// other nodes returns the same messages with the same handles.
func TestYMQReceiveAttemptSurvivesTheLeader(t *testing.T) {
	c := cluster(t)
	p := newPersistent(c, c.Rotate())
	queue := p.create(t, "ymq.fifo", map[string]string{"CompatibilityProfile": "ymq"})
	var want []string
	for i := range 7 {
		group := fmt.Sprint("g", i)
		p.send(t, queue, group, group, group)
		want = append(want, group)
	}
	victim := leader(t, c)
	first := newPersistent(c, harness.Only(victim)).receive(t, queue, "A", 5)
	kill(t, victim)
	for _, n := range c.Followers(victim) {
		again := newPersistent(c, harness.Only(n)).receive(t, queue, "A", 5)
		if diff := cmp.Diff(deliveries(first), deliveries(again)); diff != "" {
			t.Errorf("%s answers otherwise (-first +again):\n%s", n.Name, diff)
		}
	}
	if diff := cmp.Diff(want[:5], bodies(first)); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
	if err := p.remove(t.Context(), queue, first); err != nil {
		t.Errorf("the handles do not work: %v", err)
	}
	if got, want := p.counts(t, queue), [3]string{"2", "0", "0"}; got != want {
		t.Errorf("the queue counts %v, want %v", got, want)
	}
	start(t, victim)
	agree(t, c)
}
