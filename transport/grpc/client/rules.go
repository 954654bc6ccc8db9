package client

import (
	"context"

	"github.com/seriatimq/seriatim/transport/grpc/seriatimpb"
)

// Parts of rules, and the results of tests.
type (
	Rule            = seriatimpb.Rule
	RuleExpression  = seriatimpb.RuleExpression
	RuleConditions  = seriatimpb.RuleConditions
	PropertyValue   = seriatimpb.PropertyValue
	RuleTest        = seriatimpb.RuleTest
	RuleExplanation = seriatimpb.RuleExplanation
)

// The filters of a Rule.
type (
	AllMessages       = seriatimpb.Rule_All
	SQLFilter         = seriatimpb.Rule_Sql
	CorrelationFilter = seriatimpb.Rule_Correlation
)

// The types of a PropertyValue. An EncodedValue has the encoding of AMQP.
type (
	TextValue    = seriatimpb.PropertyValue_Text
	IntegerValue = seriatimpb.PropertyValue_Integer
	NumberValue  = seriatimpb.PropertyValue_Number
	BooleanValue = seriatimpb.PropertyValue_Boolean
	EncodedValue = seriatimpb.PropertyValue_Amqp
)

// SubscribeWithRules is Subscribe for a subscription that begins with rules.
func (c *Client) SubscribeWithRules(ctx context.Context, topic, queue string, attributes map[string]string, rules []*Rule) (arn string,
	err error) {
	in := &seriatimpb.SubscribeRequest{Topic: topic, Queue: queue, Attributes: attributes, Rules: rules}
	out, err := Call(ctx, c, true, seriatimpb.NewTopicsClient, seriatimpb.TopicsClient.Subscribe, in)
	return out.GetSubscriptionArn(), err
}

// Rules lists the rules of the subscription of a queue, by name.
func (c *Client) Rules(ctx context.Context, subscriptionARN string) ([]*Rule, error) {
	return collect(func(token string) ([]*Rule, string, error) {
		in := &seriatimpb.ListRulesRequest{SubscriptionArn: subscriptionARN, PageToken: token}
		out, err := Call(ctx, c, true, seriatimpb.NewTopicsClient, seriatimpb.TopicsClient.ListRules, in)
		return out.GetRules(), out.GetNextPageToken(), err
	})
}

// PutRule adds a rule to a subscription or replaces it.
func (c *Client) PutRule(ctx context.Context, subscriptionARN string, rule *Rule) error {
	in := &seriatimpb.PutRuleRequest{SubscriptionArn: subscriptionARN, Rule: rule}
	_, err := Call(ctx, c, true, seriatimpb.NewTopicsClient, seriatimpb.TopicsClient.PutRule, in)
	return err
}

// AddRule adds a rule to a subscription, which must not have one of its name.
func (c *Client) AddRule(ctx context.Context, subscriptionARN string, rule *Rule) error {
	in := &seriatimpb.PutRuleRequest{SubscriptionArn: subscriptionARN, Rule: rule, Existing: seriatimpb.ExistingRule_EXISTING_RULE_NONE}
	_, err := Call(ctx, c, false, seriatimpb.NewTopicsClient, seriatimpb.TopicsClient.PutRule, in)
	return err
}

// RemoveRule removes a rule of a subscription.
func (c *Client) RemoveRule(ctx context.Context, subscriptionARN, name string) error {
	in := &seriatimpb.RemoveRuleRequest{SubscriptionArn: subscriptionARN, Name: name}
	_, err := Call(ctx, c, false, seriatimpb.NewTopicsClient, seriatimpb.TopicsClient.RemoveRule, in)
	return err
}

// TestRules evaluates the rules of a subscription, or another one, for a message with some properties.
func (c *Client) TestRules(ctx context.Context, subscriptionARN string, rule *Rule, system, application map[string]*PropertyValue) (
	[]*RuleTest, error) {
	in := &seriatimpb.TestRulesRequest{SubscriptionArn: subscriptionARN, Rule: rule, System: system, Application: application}
	out, err := Call(ctx, c, true, seriatimpb.NewTopicsClient, seriatimpb.TopicsClient.TestRules, in)
	return out.GetTests(), err
}
