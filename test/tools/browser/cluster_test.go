package browser

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/seriatimq/seriatim/test/kit/harness"
	"github.com/seriatimq/seriatim/transport/grpc/client"
	"github.com/seriatimq/seriatim/transport/grpc/seriatimpb"
)

var binary string

func TestMain(m *testing.M) { os.Exit(harness.WithBinary(&binary, m.Run)) }

// startTimeout bounds the preparation of a cluster.
const startTimeout = 5 * time.Minute

// hostile is text that breaks a page that does not escape it.
const hostile = "<script>alert('x')</script>\"'&\u202egnp.\x01 &lt;b&gt;"

// startCluster starts three nodes with queues, groups in each state, dead letters, topics and hostile
// contents.
func startCluster(t *testing.T) *harness.Cluster {
	t.Helper()
	c := harness.New(t, harness.Options{Binary: binary})
	fill(t, c)
	return c
}

// dial returns a client of a cluster.
func dial(t *testing.T, c *harness.Cluster) *client.Client {
	t.Helper()
	var addresses []string
	for _, n := range c.Nodes {
		addresses = append(addresses, n.Client)
	}
	conn, err := client.Dial(client.Options{}, addresses...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() }) // the test is over
	return conn
}

// fill stores the data that the pages show.
func fill(t *testing.T, c *harness.Cluster) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	conn := dial(t, c)
	create := func(name string, attributes map[string]string) {
		t.Helper()
		if strings.HasSuffix(name, ".fifo") {
			attributes["FifoQueue"] = "true"
		}
		if _, err := conn.CreateQueue(ctx, name, attributes, map[string]string{"team": hostile[:30]}); err != nil {
			t.Fatal(err)
		}
	}
	create("orders-dead.fifo", map[string]string{})
	create("orders.fifo", map[string]string{"VisibilityTimeout": "3600",
		"RedrivePolicy": `{"deadLetterTargetArn":"arn:aws:sqs:us-east-1:000000000000:orders-dead.fifo","maxReceiveCount":2}`})
	create("thumbnails", map[string]string{})
	create("empty.fifo", map[string]string{})
	create("news_2FSubscriptions_2Faudit.fifo", map[string]string{
		"MessageGroupIdMode": "Required", "EntityStatus": "ReceiveDisabled", "ForwardTo": "empty.fifo",
	})
	send := func(queue, group, id, body string) {
		t.Helper()
		m := &client.Message{Body: body, Attributes: map[string]*seriatimpb.Attribute{
			"kind": {DataType: "String", Value: &seriatimpb.Attribute_Text{Text: "test " + id}},
		}}
		if group != "" {
			m.GroupId, m.DeduplicationId = proto.String(group), proto.String(id)
		}
		if _, err := conn.Send(ctx, queue, m); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 30 {
		send("orders.fifo", fmt.Sprintf("customer-%d", i%5), fmt.Sprintf("order-%d", i), fmt.Sprintf(`{"order":%d,"total":"12.50"}`, i))
		send("thumbnails", "", "", fmt.Sprintf("image %d", i))
	}
	send("orders.fifo", "customer-0", "order-0", "a duplicate")
	send("orders.fifo", "hostile", "hostile-1", strings.ReplaceAll(hostile, "\x01", ""))
	send("orders.fifo", "large", "large-1", strings.Repeat("0123456789abcde\n", 60_000))
	send("orders-dead.fifo", "customer-9", "dead-1", "could not be handled")
	if _, err := conn.CreateTopic(ctx, "events.fifo", map[string]string{
		"FifoTopic": "true", "ArchivePolicy": `{"MessageRetentionPeriod":"1"}`,
	}, nil); err != nil {
		t.Fatal(err)
	}
	filter := map[string]string{"FilterPolicy": `{"kind":["order"]}`}
	for name, attributes := range map[string]map[string]string{"orders.fifo": filter, "empty.fifo": nil} {
		if _, err := conn.Subscribe(ctx, "events.fifo", name, attributes); err != nil {
			t.Fatal(err)
		}
	}
	later := &client.TopicMessage{
		Message: "later", GroupId: proto.String("g"), DeduplicationId: proto.String("later"),
		EnqueueAtMs: time.Now().Add(time.Hour).UnixMilli(),
	}
	if _, err := conn.Publish(ctx, "events.fifo", later); err != nil {
		t.Fatal(err)
	}
	session, err := conn.Accept(ctx, "empty.fifo", "customer-9", client.SessionOptions{})
	if err == nil {
		err = session.SetState(ctx, []byte(`{"step": 2}`))
	}
	if err != nil {
		t.Fatal(err)
	}
	// The last request of the connection is about orders.fifo.
	received, err := conn.Receive(ctx, &client.ReceiveRequest{Queue: "orders.fifo", MaxMessages: proto.Int32(1)})
	if err != nil || len(received.GetMessages()) != 1 {
		t.Fatalf("received %v, %v", received.GetMessages(), err)
	}
	waitForAll(ctx, t, c)
}

// waitForAll waits until every node has applied the data.
func waitForAll(ctx context.Context, t *testing.T, c *harness.Cluster) {
	t.Helper()
	if _, err := c.WaitConverged(ctx, startTimeout); err != nil {
		t.Fatal(err)
	}
	for _, n := range c.Nodes {
		response, err := http.Get("http://" + n.Admin + "/readyz")
		if err != nil || response.Body.Close() != nil || response.StatusCode != http.StatusOK {
			t.Fatalf("%s is not ready: %v", n.Name, err)
		}
	}
}
