package client_test

import (
	"context"
	"fmt"
	"log"

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
	if err := c.CreateQueue(ctx, "orders.fifo", nil, nil); err != nil {
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
	if err := c.CreateQueue(ctx, "events.fifo", nil, nil); err != nil {
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
