package grpc

import (
	"context"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/seriatimq/seriatim/cluster/clustertest"
	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/access"
	"github.com/seriatimq/seriatim/transport/grpc/seriatimpb"
)

const (
	deniedKey  = "SRTMDENIED0000000001"
	arnOfQueue = "arn:aws:sqs:us-east-1:000000000000:"
	arnOfTopic = "arn:aws:sns:us-east-1:000000000000:"
)

// may lets the user doris do everything, except the denied action on a resource.
func may(t *testing.T, denied, resource string) {
	t.Helper()
	text := `{"Statement":[{"Effect":"Allow","Action":"*","Resource":"*"}`
	if denied != "" {
		text += `,{"Effect":"Deny","Action":"` + denied + `","Resource":"` + resource + `"}`
	}
	submitAll(t, &access.PutUserPolicy{Account: guardedAccount, User: "doris", Policy: text + `]}`})
}

func submitAll(t *testing.T, commands ...queue.Command) {
	t.Helper()
	for _, cmd := range commands {
		clustertest.Must(t, clustertest.Err(node.Submit(t.Context(), cmd)))
	}
}

// TestSecondResources calls each method that uses a second resource as a user to whom this use is
// denied, and then without the denial.
func TestSecondResources(t *testing.T) {
	f := guardedFixture(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	letters := `{"deadLetterTargetArn":"` + arnOfQueue + `second-letters","maxReceiveCount":5}`
	undelivered := map[string]string{"RedrivePolicy": `{"deadLetterTargetArn":"` + arnOfQueue + `second-letters"}`}
	submitAll(t,
		&access.CreateAccessKey{ID: deniedKey, Secret: guardedSecret, Account: guardedAccount, User: "doris"},
		&queue.CreateQueue{Queue: "second-letters"}, &queue.CreateQueue{Queue: "second-other"},
		&queue.CreateQueue{Queue: "second", Attributes: []queue.Attribute{{Name: "RedrivePolicy", Value: letters}}},
		&queue.CreateTopic{Topic: "second", TopicARN: arnOfTopic + "second"})
	subscribed, err := node.Submit(t.Context(), &queue.Subscribe{Topic: "second", Endpoint: arnOfQueue + "second"})
	clustertest.Must(t, err)
	subscription := subscribed.Result.(queue.Subscribed).SubscriptionARN
	queues, topics, messages := seriatimpb.NewQueuesClient(f.conn), seriatimpb.NewTopicsClient(f.conn), f.messages()
	signed := func(path string) context.Context { return f.signedWith(ctx, path, deniedKey, guardedSecret) }
	createWith := func(attributes map[string]string) func() error {
		return func() error {
			_, err := queues.CreateQueue(signed(seriatimpb.Queues_CreateQueue_FullMethodName),
				&seriatimpb.CreateQueueRequest{Queue: "second-new", Attributes: attributes})
			return err
		}
	}
	move := func(destination string) func() error {
		return func() error {
			_, err := queues.StartMoveTask(signed(seriatimpb.Queues_StartMoveTask_FullMethodName),
				&seriatimpb.StartMoveTaskRequest{Source: "second-letters", Destination: destination})
			return err
		}
	}
	operations := seriatimpb.NewOperationsClient(f.conn)
	moveStored := func(destination string) func() error {
		return func() error {
			_, err := operations.MoveStored(signed(seriatimpb.Operations_MoveStored_FullMethodName), &seriatimpb.MoveStoredRequest{
				Queue: "second", Destination: destination, Messages: []*seriatimpb.MessageSelector{{SequenceNumber: 1}},
			})
			return err
		}
	}
	reset := func(attributes map[string]string) func() error {
		return func() error {
			_, err := topics.SetSubscriptionAttributes(signed(seriatimpb.Topics_SetSubscriptionAttributes_FullMethodName),
				&seriatimpb.SetSubscriptionAttributesRequest{SubscriptionArn: subscription, Attributes: attributes})
			return err
		}
	}
	subscribe := func(attributes map[string]string) func() error {
		return func() error {
			_, err := topics.Subscribe(signed(seriatimpb.Topics_Subscribe_FullMethodName),
				&seriatimpb.SubscribeRequest{Topic: "second", Queue: "second-other", Attributes: attributes})
			return err
		}
	}
	tried := map[string]bool{}
	for _, tc := range []struct {
		method, denied, on string
		call               func() error
	}{
		{"CreateQueue", "sqs:SendMessage", "second-letters", createWith(map[string]string{"RedrivePolicy": letters})},
		{"CreateQueue", "sqs:SendMessage", "second-new-dlq", createWith(map[string]string{"ImplicitDeadLetterQueue": "true"})},
		{"CreateQueue", "sqs:CreateQueue", "second-new-dlq", createWith(map[string]string{"ImplicitDeadLetterQueue": "true"})},
		{"CreateQueue", "sqs:SendMessage", "second-other", createWith(map[string]string{"ForwardTo": "second-other"})},
		{"CreateQueue", "sns:Publish", "second", createWith(map[string]string{"ForwardTo": "topic:second"})},
		{"CreateQueue", "sqs:SendMessage", "second-other", createWith(map[string]string{
			"ForwardDeadLetteredMessagesTo": "second-other", "ImplicitDeadLetterQueue": "true",
		})},
		{"CreateQueue", "sqs:CreateQueue", "second-new-transferdlq", createWith(map[string]string{"ForwardTo": "second-other"})},
		{"SetQueueAttributes", "sqs:SendMessage", "second-letters", func() error {
			_, err := queues.SetQueueAttributes(signed(seriatimpb.Queues_SetQueueAttributes_FullMethodName),
				&seriatimpb.SetQueueAttributesRequest{Queue: "second", Attributes: map[string]string{"RedrivePolicy": letters}})
			return err
		}},
		{"StartMoveTask", "sqs:ReceiveMessage", "second-letters", move("second-other")},
		{"StartMoveTask", "sqs:DeleteMessage", "second-letters", move("second-other")},
		{"StartMoveTask", "sqs:GetQueueAttributes", "second-letters", move("second-other")},
		{"StartMoveTask", "sqs:SendMessage", "second-other", move("second-other")},
		{"StartMoveTask", "sqs:SendMessage", "second", move("")},
		{"Subscribe", "sqs:SendMessage", "second-other", subscribe(nil)},
		{"Subscribe", "sqs:SendMessage", "second-letters", subscribe(undelivered)},
		{"SetSubscriptionAttributes", "sqs:SendMessage", "second-letters", reset(undelivered)},
		{"SetSubscriptionAttributes", "sqs:SendMessage", "second",
			reset(map[string]string{"ReplayPolicy": `{"PointType":"Timestamp","StartingPoint":"2026-01-01T00:00:00Z"}`})},
		{"DeadLetter", "sqs:SendMessage", "second-letters", func() error {
			_, err := messages.DeadLetter(signed(seriatimpb.Messages_DeadLetter_FullMethodName),
				&seriatimpb.DeadLetterRequest{Queue: "second", Entries: []*seriatimpb.DeadLetterEntry{{ReceiptHandle: "x"}}})
			return err
		}},
		{"Explain", "sqs:ReceiveMessage", "second", func() error {
			_, err := operations.Explain(signed(seriatimpb.Operations_Explain_FullMethodName), &seriatimpb.ExplainRequest{
				Queue: "second", Subject: &seriatimpb.ExplainRequest_Message{Message: &seriatimpb.MessageSelector{SequenceNumber: 1}},
			})
			return err
		}},
		{"MoveStored", "sqs:DeleteMessage", "second", moveStored("second-other")},
		{"MoveStored", "sqs:SendMessage", "second-other", moveStored("second-other")},
	} {
		tried[tc.method] = true
		resource := arnOfQueue
		if strings.HasPrefix(tc.denied, "sns:") {
			resource = arnOfTopic
		}
		may(t, tc.denied, resource+tc.on)
		if err := tc.call(); status.Code(err) != codes.PermissionDenied {
			t.Errorf("%s, without %s on %s: %v", tc.method, tc.denied, tc.on, err)
		}
		may(t, "", "")
		if err := tc.call(); status.Code(err) == codes.PermissionDenied {
			t.Errorf("%s with all permissions: %v", tc.method, err)
		}
	}
	for name, row := range methodTable {
		if tried[name] != (row.needs != nil) {
			t.Errorf("%s needs more than one permission: %t, and was tried: %t", name, row.needs != nil, tried[name])
		}
	}
}

// A user who may receive also needs the permission of each settlement.
func TestSettlementsNeedPermissions(t *testing.T) {
	f := guardedFixture(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	submitAll(t,
		&access.CreateAccessKey{ID: deniedKey, Secret: guardedSecret, Account: guardedAccount, User: "doris"},
		&queue.CreateQueue{Queue: "settled-letters.fifo", Attributes: []queue.Attribute{{Name: "FifoQueue", Value: "true"}}},
		&queue.CreateQueue{Queue: "settled.fifo", Attributes: []queue.Attribute{
			{Name: "FifoQueue", Value: "true"},
			{Name: "RedrivePolicy", Value: `{"deadLetterTargetArn":"` + arnOfQueue + `settled-letters.fifo","maxReceiveCount":500}`},
		}})
	may(t, "", "")
	if _, err := f.client.Send(f.signedWith(ctx, seriatimpb.Queues_Send_FullMethodName, deniedKey, guardedSecret),
		&seriatimpb.SendRequest{Queue: "settled.fifo", Messages: []*seriatimpb.OutgoingMessage{outgoingMessage("g", "m")}}); err != nil {
		t.Fatal(err)
	}
	c := f.consume(f.signedWith(ctx, seriatimpb.Queues_Consume_FullMethodName, deniedKey, guardedSecret),
		&seriatimpb.ConsumeOpen{Queue: "settled.fifo", Credit: 10})
	held := c.messages(1)
	tried := map[seriatimpb.SettlementKind]bool{}
	for _, tc := range []struct {
		kind       seriatimpb.SettlementKind
		denied, on string
	}{
		{seriatimpb.SettlementKind_SETTLEMENT_KIND_EXTEND, "sqs:ChangeMessageVisibility", "settled.fifo"},
		{seriatimpb.SettlementKind_SETTLEMENT_KIND_ABANDON, "sqs:ChangeMessageVisibility", "settled.fifo"},
		{seriatimpb.SettlementKind_SETTLEMENT_KIND_DEFER, "sqs:ChangeMessageVisibility", "settled.fifo"},
		{seriatimpb.SettlementKind_SETTLEMENT_KIND_ACKNOWLEDGE, "sqs:DeleteMessage", "settled.fifo"},
		{seriatimpb.SettlementKind_SETTLEMENT_KIND_DEAD_LETTER, "sqs:DeleteMessage", "settled.fifo"},
		{seriatimpb.SettlementKind_SETTLEMENT_KIND_DEAD_LETTER, "sqs:SendMessage", "settled-letters.fifo"},
	} {
		tried[tc.kind] = true
		may(t, tc.denied, arnOfQueue+tc.on)
		c.sendSettlement(tc.kind, 30, held...)
		settled := c.next().GetSettled()
		if outcomes := settled.GetOutcomes(); len(outcomes) != 1 || outcomes[0].GetFailure().GetReason() != "AccessDenied" {
			t.Errorf("%v without %s on %s: %v", tc.kind, tc.denied, tc.on, settled)
		}
	}
	if len(tried) != len(settlements) {
		t.Errorf("%d kinds of settlements were tried, the table has %d", len(tried), len(settlements))
	}
	may(t, "", "")
	c.sendSettlement(seriatimpb.SettlementKind_SETTLEMENT_KIND_ACKNOWLEDGE, 0, held...)
	if settled := c.next().GetSettled(); len(settled.GetOutcomes()) != 1 || settled.GetOutcomes()[0].GetFailure() != nil {
		t.Errorf("with all permissions: %v", settled)
	}
}
