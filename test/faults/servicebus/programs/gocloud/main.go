// Command gocloud sends messages, numbered from 1 to its last argument, through the package pubsub of
// the Go Cloud Development Kit, and prints what it receives, until its input ends.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"strconv"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"
	"gocloud.dev/pubsub"
	"gocloud.dev/pubsub/azuresb"
)

func main() {
	if err := run(os.Args[1], os.Args[2], os.Args[3]); err != nil {
		log.Fatal(err)
	}
}

func run(connection, queue, count string) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	last, err := strconv.Atoi(count)
	if err != nil {
		return err
	}
	client, err := azuresb.NewClientFromConnectionString(connection, nil)
	if err != nil {
		return err
	}
	sender, err := azuresb.NewSender(client, queue, nil)
	if err != nil {
		return err
	}
	receiver, err := client.NewReceiverForQueue(queue, &azservicebus.ReceiverOptions{})
	if err != nil {
		return err
	}
	topic, err := azuresb.OpenTopic(ctx, sender, nil)
	if err != nil {
		return err
	}
	subscription, err := azuresb.OpenSubscription(ctx, client, receiver, nil)
	if err != nil {
		return err
	}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin) // only its end counts
		cancel()
	}()
	go send(ctx, topic, last)
	for {
		m, err := subscription.Receive(ctx)
		switch {
		case ctx.Err() != nil:
			end, stop := context.WithTimeout(context.Background(), 10*time.Second)
			defer stop()
			return errors.Join(subscription.Shutdown(end), topic.Shutdown(end), client.Close(end))
		case err != nil:
			log.Print("receive: ", err)
			pause(ctx)
			continue
		}
		fmt.Printf("handled %s\n", m.Body)
		m.Ack()
	}
}

func send(ctx context.Context, topic *pubsub.Topic, last int) {
	for number := 1; number <= last && ctx.Err() == nil; number++ {
		for ctx.Err() == nil {
			err := topic.Send(ctx, &pubsub.Message{Body: fmt.Append(nil, number)})
			if err == nil {
				break
			}
			log.Print("again: ", err)
			pause(ctx)
		}
		pause(ctx)
	}
}

func pause(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-time.After(100 * time.Millisecond):
	}
}
