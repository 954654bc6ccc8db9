package grpc

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/seriatimq/seriatim/cluster/clustertest"
	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/access"
	"github.com/seriatimq/seriatim/transport/grpc/seriatimpb"
)

// policyFor permits actions on queues.
func policyFor(permissions map[string][]string) string {
	var statements []string
	for action, queues := range permissions {
		for _, q := range queues {
			statements = append(statements, `{"Effect":"Allow","Action":"`+action+`","Resource":"arn:aws:sqs:us-east-1:000000000000:`+q+`"}`)
		}
	}
	slices.Sort(statements)
	return `{"Version":"2012-10-17","Statement":[` + strings.Join(statements, ",") + `]}`
}

// Each operation needs all of its permissions, and with them succeeds.
func TestPermissionsOfOperations(t *testing.T) {
	f := guardedFixture(t)
	ctx := t.Context()
	submit := func(cmd queue.Command) queue.Result {
		t.Helper()
		reply, err := node.Submit(ctx, cmd)
		clustertest.Must(t, err)
		return reply.Result
	}
	isFIFO := queue.Attribute{Name: "FifoQueue", Value: "true"}
	unique := func(name string) string { return fmt.Sprintf("%s-%d.fifo", name, queueNumber.Add(1)) }
	dead, other, former := unique("dead"), unique("other"), unique("former")
	for _, name := range []string{dead, other} {
		submit(&queue.CreateQueue{Queue: name, Attributes: []queue.Attribute{isFIFO}})
	}
	redrive := queue.Attribute{Name: "RedrivePolicy",
		Value: `{"deadLetterTargetArn":"arn:aws:sqs:us-east-1:000000000000:` + dead + `","maxReceiveCount":1}`}
	submit(&queue.CreateQueue{Queue: former, Attributes: []queue.Attribute{isFIFO, redrive}})
	var ids []string
	for _, body := range []string{"1", "2", "3", "4"} {
		sent := submit(&queue.SendMessages{Queue: former, Entries: []queue.SendEntry{{
			Body: body, GroupID: body, GroupIDGiven: true, DeduplicationID: body, DeduplicationIDGiven: true,
		}}})
		ids = append(ids, sent.(queue.MessagesSent).Entries[0].MessageID.String())
	}
	for range 2 {
		submit(&queue.ReceiveMessages{Queue: former, MaxMessages: queue.Some(10), VisibilityTimeout: queue.Some(0)})
	}
	// The messages came from a queue that is no longer a source of the dead-letter queue.
	submit(&queue.SetQueueAttributes{Queue: former, Attributes: []queue.Attribute{{Name: "RedrivePolicy"}}})
	selector := func(n int) []*seriatimpb.MessageSelector { return []*seriatimpb.MessageSelector{{MessageId: ids[n]}} }
	for what, c := range map[string]struct {
		method        string
		request, into proto.Message
		needs         map[string][]string
	}{
		"find": {seriatimpb.Operations_FindMessages_FullMethodName, &seriatimpb.FindMessagesRequest{Queue: dead},
			&seriatimpb.FindMessagesResponse{}, map[string][]string{"sqs:ReceiveMessage": {dead}}},
		"explain": {seriatimpb.Operations_Explain_FullMethodName, &seriatimpb.ExplainRequest{Queue: dead,
			Subject: &seriatimpb.ExplainRequest_Message{Message: selector(0)[0]}},
			&seriatimpb.Explanation{}, map[string][]string{"sqs:GetQueueAttributes": {dead}, "sqs:ReceiveMessage": {dead}}},
		"delete": {seriatimpb.Operations_DeleteStored_FullMethodName, &seriatimpb.DeleteStoredRequest{Queue: dead, Messages: selector(1)},
			&seriatimpb.DeleteStoredResponse{}, map[string][]string{"sqs:PurgeQueue": {dead}}},
		"move": {seriatimpb.Operations_MoveStored_FullMethodName,
			&seriatimpb.MoveStoredRequest{Queue: dead, Messages: selector(2), Destination: other}, &seriatimpb.MoveStoredResponse{},
			map[string][]string{"sqs:StartMessageMoveTask": {dead}, "sqs:ReceiveMessage": {dead}, "sqs:DeleteMessage": {dead},
				"sqs:GetQueueAttributes": {dead}, "sqs:SendMessage": {other}}},
		"move back": {seriatimpb.Operations_MoveStored_FullMethodName, &seriatimpb.MoveStoredRequest{Queue: dead, Messages: selector(3)},
			&seriatimpb.MoveStoredResponse{},
			map[string][]string{"sqs:StartMessageMoveTask": {dead}, "sqs:ReceiveMessage": {dead}, "sqs:DeleteMessage": {dead},
				"sqs:GetQueueAttributes": {dead}, "sqs:SendMessage": {former}}},
	} {
		call := func(needs map[string][]string) error {
			t.Helper()
			submit(&access.PutUserPolicy{Account: guardedAccount, User: "anna", Policy: policyFor(needs)})
			return f.conn.Invoke(f.signedWith(ctx, c.method, annaKey, guardedSecret), c.method, c.request, c.into)
		}
		for missing := range c.needs {
			less := map[string][]string{"sqs:ListQueueTags": {other}}
			for permission, queues := range c.needs {
				if permission != missing {
					less[permission] = queues
				}
			}
			err := call(less)
			wantStatus(t, err, codes.PermissionDenied, "AccessDenied")
			if err != nil && !strings.Contains(err.Error(), "perform: "+strings.ToLower(missing)+" on resource") {
				t.Errorf("%s without %s: %v", what, missing, err)
			}
		}
		if err := call(c.needs); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	submit(&access.PutUserPolicy{Account: guardedAccount, User: "anna"})
	for name, want := range map[string]int64{dead: 1, other: 1, former: 1} {
		var got int64
		node.ReadLocal(func(v queue.View) {
			stats, _ := v.Stats(name)
			got = stats.Visible
		})
		if got != want {
			t.Errorf("%s has %d messages, want %d", name, got, want)
		}
	}
}

// A suggested command names the queue of an account with the account: without it, an operator of the
// cluster would change another queue of the same name.
func TestSuggestedCommandsNameTheAccount(t *testing.T) {
	f := guardedFixture(t)
	const tenant, key = "888888888888", "SRTMTENANT8888888888"
	name := fmt.Sprintf("paused-%d", queueNumber.Add(1))
	for _, cmd := range []queue.Command{
		&access.CreateAccount{Account: tenant}, &access.CreateAccessKey{ID: key, Secret: guardedSecret, Account: tenant, Tenant: true},
		&queue.CreateQueue{Queue: tenant + "/" + name, Attributes: []queue.Attribute{{Name: "DeliveryPaused", Value: "true"}}},
	} {
		_, err := node.Submit(t.Context(), cmd)
		if refused := (*queue.Error)(nil); err != nil && !errors.As(err, &refused) { // a run before made the account and the key
			t.Fatal(err)
		}
	}
	connections := map[string]func(method string) (context.Context, grpc.ClientConnInterface){
		"tenant": func(method string) (context.Context, grpc.ClientConnInterface) {
			return f.signedWith(t.Context(), method, key, guardedSecret), f.conn
		},
		"operator": func(string) (context.Context, grpc.ClientConnInterface) {
			return t.Context(), f.server.Local(LocalCaller{Operator: "otto"})
		},
	}
	for who, connection := range connections {
		ctx, conn := connection(seriatimpb.Operations_Explain_FullMethodName)
		asked := tenant + "/" + name
		if who == "tenant" {
			asked = name
		}
		e, err := seriatimpb.NewOperationsClient(conn).Explain(ctx, &seriatimpb.ExplainRequest{Queue: asked})
		clustertest.Must(t, err)
		if e.GetState() != "paused" || len(e.GetCommands()) != 1 ||
			e.GetCommands()[0].GetLine() != "seriatim queue resume "+tenant+"/"+name {
			t.Errorf("%s gets %v", who, e)
		}
		ctx, conn = connection(seriatimpb.Queues_SetQueueAttributes_FullMethodName)
		_, err = seriatimpb.NewQueuesClient(conn).SetQueueAttributes(ctx, &seriatimpb.SetQueueAttributesRequest{
			Queue: tenant + "/" + name, Attributes: map[string]string{"DeliveryPaused": "true"}, // any change will do
		})
		clustertest.Check(t, err)
	}
}

// An explanation of a subscription shows its filter policy, and needs the permission to read that.
func TestPermissionToExplainASubscription(t *testing.T) {
	f := guardedFixture(t)
	topic := fmt.Sprintf("explained-%d", queueNumber.Add(1))
	arn := "arn:aws:sns:us-east-1:000000000000:" + topic
	var subscribed queue.Subscribed
	for _, cmd := range []queue.Command{
		&queue.CreateTopic{Topic: topic, TopicARN: arn},
		&queue.Subscribe{Topic: topic, Endpoint: "arn:aws:sqs:us-east-1:000000000000:" + topic, Owner: guardedAccount},
	} {
		reply, err := node.Submit(t.Context(), cmd)
		clustertest.Must(t, err)
		subscribed, _ = reply.Result.(queue.Subscribed)
	}
	for action, code := range map[string]codes.Code{
		"sns:GetTopicAttributes": codes.PermissionDenied, "sns:GetSubscriptionAttributes": codes.OK,
	} {
		clustertest.Must(t, clustertest.Err(node.Submit(t.Context(), &access.PutUserPolicy{Account: guardedAccount, User: "anna",
			Policy: `{"Version":"2012-10-17","Statement":{"Effect":"Allow","Action":"` + action + `","Resource":"` + arn + `"}}`})))
		_, err := f.operations().Explain(f.signedWith(t.Context(), seriatimpb.Operations_Explain_FullMethodName, annaKey, guardedSecret),
			&seriatimpb.ExplainRequest{Subject: &seriatimpb.ExplainRequest_Subscription{
				Subscription: &seriatimpb.SubscriptionSubject{SubscriptionArn: subscribed.SubscriptionARN},
			}})
		if status.Code(err) != code {
			t.Errorf("with %s: %v, want %v", action, err, code)
		}
	}
	clustertest.Must(t, clustertest.Err(node.Submit(t.Context(), &access.PutUserPolicy{Account: guardedAccount, User: "anna"})))
}
