package client_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/seriatimq/seriatim/transport/grpc/client"
)

// Consume calls a function for each message, the messages of a group in order.
func ExampleClient_Consume() {
	c, err := client.Dial(client.Options{}, address)
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	if _, err := c.CreateQueue(ctx, "orders.fifo", nil, nil); err != nil {
		log.Fatal(err)
	}
	customer := "customer-1"
	for _, body := range []string{"opened", "paid", "closed"} {
		if _, err := c.Send(ctx, "orders.fifo", &client.Message{Body: body, GroupId: &customer}); err != nil {
			log.Fatal(err)
		}
	}
	err = c.Consume(ctx, "orders.fifo", client.ConsumeOptions{}, func(_ context.Context, m *client.Delivery) error {
		fmt.Println(m.GetGroupId(), m.GetBody())
		if m.GetBody() == "closed" {
			stop()
		}
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// customer-1 opened
	// customer-1 paid
	// customer-1 closed
}

// A Sender does not wait for one answer before it sends the next message.
func ExampleClient_NewSender() {
	c, err := client.Dial(client.Options{}, address)
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	ctx := context.Background()
	if _, err := c.CreateQueue(ctx, "events.fifo", nil, nil); err != nil {
		log.Fatal(err)
	}
	sender := c.NewSender(ctx, "events.fifo")
	group := "device-7"
	var sent []*client.Sent
	for i := range 100 {
		m, err := sender.Send(ctx, &client.Message{Body: fmt.Sprint(i), GroupId: &group})
		if err != nil {
			log.Fatal(err)
		}
		sent = append(sent, m)
	}
	sender.Close()
	stored := 0
	for _, m := range sent {
		if _, err := m.Wait(ctx); err == nil {
			stored++
		}
	}
	fmt.Println(stored, "stored")
	// Output: 100 stored
}

// A session is a group that one receiver has locked. Its state is kept for the next receiver.
func ExampleClient_AcceptNext() {
	c, err := client.Dial(client.Options{}, address)
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	ctx := context.Background()
	if _, err := c.CreateQueue(ctx, "steps.fifo", nil, nil); err != nil {
		log.Fatal(err)
	}
	robot := "robot-1"
	if _, err := c.Send(ctx, "steps.fifo", &client.Message{Body: "left", GroupId: &robot},
		&client.Message{Body: "right", GroupId: &robot}); err != nil {
		log.Fatal(err)
	}
	session, err := c.AcceptNext(ctx, "steps.fifo", client.SessionOptions{})
	if err != nil {
		log.Fatal(err)
	}
	messages, err := session.Receive(ctx, 10, 20)
	if err != nil {
		log.Fatal(err)
	}
	for _, m := range messages {
		fmt.Println(session.ID(), m.GetBody())
		if err := session.Complete(ctx, m.GetReceiptHandle()); err != nil {
			log.Fatal(err)
		}
	}
	if err := session.SetState(ctx, []byte("2 steps")); err != nil {
		log.Fatal(err)
	}
	if err := session.Release(ctx); err != nil {
		log.Fatal(err)
	}
	// Output:
	// robot-1 left
	// robot-1 right
}

// A scheduled message can be cancelled by its number.
func ExampleClient_Schedule() {
	c, err := client.Dial(client.Options{}, address)
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	ctx := context.Background()
	if _, err := c.CreateQueue(ctx, "reminders.fifo", nil, nil); err != nil {
		log.Fatal(err)
	}
	customer := "customer-1"
	scheduled, err := c.Schedule(ctx, "reminders.fifo", time.Now().Add(24*time.Hour), &client.Message{Body: "pay", GroupId: &customer})
	if err != nil {
		log.Fatal(err)
	}
	err = c.CancelScheduled(ctx, "reminders.fifo", false, scheduled[0].GetSequenceNumber())
	fmt.Println(err)
	// Output: <nil>
}

// An operator looks up the state of groups, and releases one.
func ExampleClient_ReleaseGroup() {
	c, err := client.Dial(client.Options{}, address)
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	ctx := context.Background()
	if _, err := c.CreateQueue(ctx, "jobs.fifo", nil, nil); err != nil {
		log.Fatal(err)
	}
	site := "site-1"
	if _, err := c.Send(ctx, "jobs.fifo", &client.Message{Body: "build", GroupId: &site}); err != nil {
		log.Fatal(err)
	}
	// A receiver accepts the session and then stops working.
	if _, err := c.Accept(ctx, "jobs.fifo", "site-1", client.SessionOptions{LockSeconds: 600, ManualRenewal: true}); err != nil {
		log.Fatal(err)
	}
	for group, err := range c.Groups(ctx, "jobs.fifo", "site-") {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(group.ID, group.State)
	}
	released, err := c.ReleaseGroup(ctx, "jobs.fifo", "site-1")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("session:", released.Session)
	// Output:
	// site-1 session
	// session: true
}

// An operator makes a queue forget an id, so that an order can be sent again under it.
func ExampleClient_ForgetDeduplication() {
	c, err := client.Dial(client.Options{}, address)
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	ctx := context.Background()
	if _, err := c.CreateQueue(ctx, "bookings.fifo", nil, nil); err != nil {
		log.Fatal(err)
	}
	group, id := "hotel-1", "booking-17"
	if _, err := c.Send(ctx, "bookings.fifo", &client.Message{Body: "two nights", GroupId: &group, DeduplicationId: &id}); err != nil {
		log.Fatal(err)
	}
	found, known, err := c.LookUpDeduplication(ctx, "bookings.fifo", client.DeduplicationID{ID: id})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(known, found.State)
	if err := c.ForgetDeduplication(ctx, "bookings.fifo", client.DeduplicationID{ID: id}); err != nil {
		log.Fatal(err)
	}
	stats, err := c.DeduplicationStats(ctx, "bookings.fifo")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(stats.Live, "ids remembered for", stats.Window)
	// Output:
	// true stored
	// 0 ids remembered for 5m0s
}
