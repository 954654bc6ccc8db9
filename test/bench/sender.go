package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/seriatimq/seriatim/test/kit/harness"
	"github.com/seriatimq/seriatim/test/kit/ledger"
)

// sender is one client of its own kind: it asks node after node until one answers.
type sender struct {
	nodes  []*harness.Node
	turn   int
	sent   int
	id     string
	client http.Client
}

// answerTime bounds the wait for the answer of a node before the sender tries another.
const answerTime = 5 * time.Second

func (s *testbed) newSender() *sender {
	s.senders++
	return &sender{
		nodes: s.Nodes, turn: s.senders, id: fmt.Sprint("s", s.senders),
		client: http.Client{Transport: &http.Transport{}, Timeout: answerTime},
	}
}

// call asks one node; after a failure the next call asks another.
func (s *sender) call(ctx context.Context, action string, in, out any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	node := s.nodes[s.turn%len(s.nodes)]
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+node.Client+"/", bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/x-amz-json-1.0")
	request.Header.Set("X-Amz-Target", "AmazonSQS."+action)
	response, err := s.client.Do(request)
	if err != nil {
		s.turn++
		return err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		s.turn++
		return fmt.Errorf("%s: %s: %.200s %w", action, response.Status, answer, err)
	}
	if out == nil {
		return nil
	}
	return json.Unmarshal(answer, out)
}

func queueURL(queue string) string { return "http://127.0.0.1/000000000000/" + queue }

func (s *sender) create(ctx context.Context, queue string) error {
	return s.call(ctx, "CreateQueue", map[string]any{"QueueName": queue, "Attributes": map[string]string{"FifoQueue": "true"}}, nil)
}

// send sends one message, and repeats a failed send under the same id.
func (s *sender) send(ctx context.Context, queue, body string) error {
	err := s.call(ctx, "SendMessage", map[string]any{
		"QueueUrl": queueURL(queue), "MessageBody": body, "MessageGroupId": s.id,
		"MessageDeduplicationId": fmt.Sprint(s.id, "-", s.sent),
	}, nil)
	if err == nil {
		s.sent++
	}
	return err
}

// next returns a body with the sender and its number.
func (s *sender) next() string { return ledger.Body(s.id, s.sent) }

// drain receives and deletes until nothing is left. If another sender still holds messages, it
// continues.
func (s *sender) drain(ctx context.Context, queue string, l *ledger.Ledger) error {
	for {
		var got struct {
			Messages []struct{ Body, ReceiptHandle string }
		}
		in := map[string]any{"QueueUrl": queueURL(queue), "MaxNumberOfMessages": 10, "WaitTimeSeconds": 1}
		if err := s.call(ctx, "ReceiveMessage", in, &got); err != nil {
			return err
		}
		if len(got.Messages) == 0 {
			return nil
		}
		var entries []map[string]string
		for i, m := range got.Messages {
			l.Delivered(ledger.Delivery{Body: m.Body})
			entries = append(entries, map[string]string{"Id": fmt.Sprint(i), "ReceiptHandle": m.ReceiptHandle})
		}
		if err := s.call(ctx, "DeleteMessageBatch", map[string]any{"QueueUrl": queueURL(queue), "Entries": entries}, nil); err != nil {
			return err
		}
	}
}

// take receives one message and deletes it.
func (s *sender) take(ctx context.Context, queue string) error {
	var got struct {
		Messages []struct{ ReceiptHandle string }
	}
	if err := s.call(ctx, "ReceiveMessage", map[string]any{"QueueUrl": queueURL(queue), "WaitTimeSeconds": 5}, &got); err != nil {
		return err
	}
	if len(got.Messages) == 0 {
		return fmt.Errorf("%s: nothing received", queue)
	}
	return s.call(ctx, "DeleteMessage", map[string]any{"QueueUrl": queueURL(queue), "ReceiptHandle": got.Messages[0].ReceiptHandle}, nil)
}
