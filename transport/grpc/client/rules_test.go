package client_test

import (
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/seriatimq/seriatim/cluster/clustertest"
	"github.com/seriatimq/seriatim/transport/grpc/client"
)

func TestRules(t *testing.T) {
	c, _ := newClient(t, "n1")
	ctx := t.Context()
	topic, name := subscribed(t, c, ".fifo")
	other := create(t, c, ".fifo")
	first := &client.Rule{Name: "first", Filter: &client.SQLFilter{Sql: &client.RuleExpression{Text: "a = 1"}}}
	arn, err := c.SubscribeWithRules(ctx, topic, other, nil, []*client.Rule{first})
	clustertest.Must(t, err)
	if list, err := c.Rules(ctx, arn); err != nil || len(list) != 1 || list[0].GetSql().GetText() != "a = 1" {
		t.Errorf("%v %v", list, err)
	}
	list, err := c.Subscriptions(ctx, topic)
	if err != nil || list[0].GetQueue() != name {
		t.Fatal(list, err)
	}
	arn = list[0].GetSubscriptionArn()
	clustertest.Must(t, c.AddRule(ctx, arn, first))
	if err := c.AddRule(ctx, arn, first); status.Code(err) != codes.AlreadyExists {
		t.Errorf("%v", err)
	}
	clustertest.Must(t, c.PutRule(ctx, arn, &client.Rule{Name: "first", Filter: &client.AllMessages{}}))
	clustertest.Must(t, c.RemoveRule(ctx, arn, "$default"))
	tests, err := c.TestRules(ctx, arn, nil, nil, nil)
	if err != nil || len(tests) != 1 || tests[0].GetSelected() {
		t.Errorf("%v %v", tests, err)
	}
	one := map[string]*client.PropertyValue{"a": {Value: &client.IntegerValue{Integer: 1}}}
	if tests, err = c.TestRules(ctx, arn, first, nil, one); err != nil || len(tests) != 1 || !tests[0].GetSelected() {
		t.Errorf("%v %v", tests, err)
	}
}
