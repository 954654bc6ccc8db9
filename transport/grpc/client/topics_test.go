package client_test

import (
	"context"
	"fmt"
	"log"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/seriatimq/seriatim/cluster"
	"github.com/seriatimq/seriatim/cluster/clustertest"
	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/transport/grpc/client"
)

// subscribed creates a topic and a queue that is subscribed with raw delivery.
func subscribed(t *testing.T, c *client.Client, suffix string) (topic, name string) {
	t.Helper()
	topic = fmt.Sprintf("t%d%s", queueNumber.Add(1), suffix)
	clustertest.Must(t, clustertest.Err(c.CreateTopic(t.Context(), topic, nil, nil)))
	name = create(t, c, suffix)
	clustertest.Must(t, clustertest.Err(c.Subscribe(t.Context(), topic, name, map[string]string{"RawMessageDelivery": "true"})))
	return topic, name
}

func TestTopics(t *testing.T) {
	c, _ := newClient(t, "n1")
	ctx := t.Context()
	topic, name := subscribed(t, c, ".fifo")
	names, err := c.Topics(ctx)
	if err != nil || !slices.Contains(names, topic) {
		t.Errorf("%v %v", names, err)
	}
	clustertest.Check(t, c.SetTopicAttributes(ctx, topic, map[string]string{"DisplayName": "d"}))
	if attributes, err := c.TopicAttributes(ctx, topic); err != nil || attributes["DisplayName"] != "d" ||
		attributes["SubscriptionsConfirmed"] != "1" {
		t.Errorf("%v %v", attributes, err)
	}
	list, err := c.Subscriptions(ctx, topic)
	if err != nil || len(list) != 1 || list[0].GetQueue() != name {
		t.Fatal(list, err)
	}
	arn := list[0].GetSubscriptionArn()
	clustertest.Check(t, c.SetSubscriptionAttributes(ctx, arn, map[string]string{"RawMessageDelivery": "false"}))
	if attributes, err := c.SubscriptionAttributes(ctx, arn); err != nil || attributes["RawMessageDelivery"] != "false" {
		t.Errorf("%v %v", attributes, err)
	}
	clustertest.Check(t, c.Unsubscribe(ctx, arn))
	if list, err = c.Subscriptions(ctx, topic); err != nil || len(list) != 0 {
		t.Errorf("%v %v", list, err)
	}
	clustertest.Check(t, c.DeleteTopic(ctx, topic))
	if _, err := c.TopicAttributes(ctx, topic); status.Code(err) != codes.NotFound {
		t.Errorf("%v", err)
	}
}

// A message with a time is listed until it is cancelled. A message that has lost its number is not
// found, under the number that the caller sent.
func TestScheduledPublishes(t *testing.T) {
	c, _ := newClient(t, "n1")
	ctx := t.Context()
	topic, name := subscribed(t, c, ".fifo")
	later := time.Now().Add(time.Hour).UnixMilli()
	// Without a deduplication id, the client publishes a copy with one.
	scheduled := &client.TopicMessage{BodyBytes: []byte("a"), GroupId: new("g"), EnqueueAtMs: later, PartitionKey: "g"}
	results, err := c.Publish(ctx, topic, scheduled,
		&client.TopicMessage{Message: "b", GroupId: new("g")})
	clustertest.Must(t, err)
	number := results[0].GetSequenceNumber()
	list, next, err := c.ScheduledPublishes(ctx, topic, 0, 10)
	if err != nil || next != 0 || len(list) != 1 || string(list[0].GetMessage().GetBodyBytes()) != "a" ||
		list[0].GetSequenceNumber() != number ||
		list[0].GetMessage().GetEnqueueAtMs() != later || list[0].GetMessage().GetPartitionKey() != "g" {
		t.Fatalf("scheduled %v, next %d, %v", list, next, err)
	}
	clustertest.Check(t, c.CancelScheduledPublishes(ctx, topic, true, number))
	if err := c.CancelScheduledPublishes(ctx, topic, true, number); client.Reason(err) != "MessageNotFound" ||
		!strings.Contains(err.Error(), fmt.Sprint(number)) {
		t.Errorf("cancelled again: %v", err)
	}
	if got := bodies(receive(t, c, name)); !slices.Equal(got, []string{"b"}) {
		t.Errorf("delivered %v", got)
	}
}

// lostPublishes loses the answers of publishes.
func lostPublishes(cmd queue.Command) error {
	if _, publishes := cmd.(*queue.Publish); publishes {
		return cluster.ErrOutcomeUnknown
	}
	return nil
}

// A publish whose answer is lost is repeated under the same id, and delivered once.
func TestPublishIsRepeated(t *testing.T) {
	c, fronts := newClient(t, "n1", "n2")
	topic, name := subscribed(t, c, ".fifo")
	lost := lostPublishes
	fronts[0].face.broken.Store(&lost)
	results, err := c.Publish(t.Context(), topic, &client.TopicMessage{Message: "a", GroupId: new("g")})
	if err != nil || results[0].Duplicate != nil { // it may be its own duplicate
		t.Errorf("%v %v", results, err)
	}
	if got := bodies(receive(t, c, name)); !slices.Equal(got, []string{"a"}) {
		t.Errorf("delivered %v", got)
	}
	// A standard topic does not detect the repetition, so the caller has to decide.
	standard, _ := subscribed(t, c, "")
	fronts[1].face.broken.Store(&lost)
	if _, err := c.Publish(t.Context(), standard, &client.TopicMessage{Message: "a"}); client.Reason(err) != "OutcomeUnknown" {
		t.Errorf("%v", err)
	}
}

// After lost answers a publisher continues with another stream, in order and without publishing
// twice. A refused message fails alone.
func TestPublisher(t *testing.T) {
	c, fronts := newClient(t, "n1", "n2")
	topic, name := subscribed(t, c, ".fifo")
	var calls atomic.Int64
	sometimes := func(cmd queue.Command) error {
		if calls.Add(1)%3 == 0 {
			return lostPublishes(cmd)
		}
		return nil
	}
	for _, f := range fronts {
		f.face.broken.Store(&sometimes)
	}
	const messages = 50
	publisher := c.NewPublisher(t.Context(), topic)
	var pending []*client.Published
	for i := range messages {
		m := &client.TopicMessage{Message: fmt.Sprintf("%03d", i), GroupId: new("g")}
		if i == messages/2 {
			m.Message = ""
		}
		one, err := publisher.Send(t.Context(), m)
		clustertest.Must(t, err)
		pending = append(pending, one)
	}
	publisher.Close()
	for i, one := range pending {
		if result, err := one.Wait(t.Context()); (err != nil) != (i == messages/2) {
			t.Errorf("message %d: %v %v", i, result, err)
		}
	}
	for _, f := range fronts {
		f.face.broken.Store(nil)
	}
	var got []string
	for len(got) < messages-1 {
		out := receive(t, c, name)
		if len(out) == 0 {
			break
		}
		got = append(got, bodies(out)...)
		var handles []string
		for _, m := range out {
			handles = append(handles, m.GetReceiptHandle())
		}
		clustertest.Must(t, c.Delete(t.Context(), name, handles...))
	}
	if len(got) != messages-1 || !slices.IsSorted(got) || len(slices.Compact(got)) != messages-1 {
		t.Errorf("delivered %v", got)
	}
}

// Publish stores a message in every subscribed queue.
func ExampleClient_Publish() {
	c, err := client.Dial(client.Options{}, address)
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	ctx := context.Background()
	if _, err := c.CreateTopic(ctx, "sales.fifo", nil, nil); err != nil {
		log.Fatal(err)
	}
	for _, queue := range []string{"billing.fifo", "shipping.fifo"} {
		if _, err := c.CreateQueue(ctx, queue, nil, nil); err != nil {
			log.Fatal(err)
		}
		// Raw delivery: the body is the message, not an envelope in JSON.
		if _, err := c.Subscribe(ctx, "sales.fifo", queue, map[string]string{"RawMessageDelivery": "true"}); err != nil {
			log.Fatal(err)
		}
	}
	customer, order := "customer-1", "order-17"
	for range 2 { // the second is a duplicate, and delivered to no queue
		results, err := c.Publish(ctx, "sales.fifo", &client.TopicMessage{Message: "sold", GroupId: &customer, DeduplicationId: &order})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println("duplicate:", results[0].GetDuplicate())
	}
	for _, queue := range []string{"billing.fifo", "shipping.fifo"} {
		attributes, err := c.QueueAttributes(ctx, queue, "ApproximateNumberOfMessages")
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(queue, attributes["ApproximateNumberOfMessages"])
	}
	// Output:
	// duplicate: false
	// duplicate: true
	// billing.fifo 1
	// shipping.fifo 1
}

// A Publisher does not wait for one answer before it publishes the next message.
func ExampleClient_NewPublisher() {
	c, err := client.Dial(client.Options{}, address)
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	ctx := context.Background()
	if _, err := c.CreateTopic(ctx, "readings.fifo", nil, nil); err != nil {
		log.Fatal(err)
	}
	publisher := c.NewPublisher(ctx, "readings.fifo")
	device := "device-7"
	var published []*client.Published
	for i := range 100 {
		m, err := publisher.Send(ctx, &client.TopicMessage{Message: fmt.Sprint(i), GroupId: &device})
		if err != nil {
			log.Fatal(err)
		}
		published = append(published, m)
	}
	publisher.Close()
	accepted := 0
	for _, m := range published {
		if _, err := m.Wait(ctx); err == nil {
			accepted++
		}
	}
	fmt.Println(accepted, "accepted")
	// Output: 100 accepted
}
