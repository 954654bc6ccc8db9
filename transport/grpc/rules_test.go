package grpc

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/seriatimq/seriatim/cluster/clustertest"
	"github.com/seriatimq/seriatim/queue/property"
	"github.com/seriatimq/seriatim/transport/grpc/seriatimpb"
)

// texts returns properties with texts.
func texts(pairs ...string) map[string]*seriatimpb.PropertyValue {
	out := map[string]*seriatimpb.PropertyValue{}
	for i := 0; i < len(pairs); i += 2 {
		out[pairs[i]] = &seriatimpb.PropertyValue{Value: &seriatimpb.PropertyValue_Text{Text: pairs[i+1]}}
	}
	return out
}

// rulesExample has a rule of each kind, with values of each type.
func rulesExample() []*seriatimpb.Rule {
	values := texts("@t", "x")
	values["@i"] = &seriatimpb.PropertyValue{Value: &seriatimpb.PropertyValue_Integer{Integer: -5}}
	values["@n"] = &seriatimpb.PropertyValue{Value: &seriatimpb.PropertyValue_Number{Number: 1.5}}
	values["@b"] = &seriatimpb.PropertyValue{Value: &seriatimpb.PropertyValue_Boolean{Boolean: true}}
	values["@a"] = &seriatimpb.PropertyValue{Value: &seriatimpb.PropertyValue_Amqp{Amqp: property.Append(nil, property.Time(1000))}}
	return []*seriatimpb.Rule{
		{Name: "a", Filter: &seriatimpb.Rule_Sql{Sql: &seriatimpb.RuleExpression{Text: "n > @n", Parameters: values}},
			Action: &seriatimpb.RuleExpression{Text: "SET big = TRUE; REMOVE n; SET sys.Label = 'L'"}},
		{Name: "b", Filter: &seriatimpb.Rule_Correlation{Correlation: &seriatimpb.RuleConditions{
			System: map[string]string{"Label": "l", "MessageId": "m"}, Application: texts("c", "d")}}},
		{Name: "c", Filter: &seriatimpb.Rule_All{All: true}},
		{Name: "d", Filter: &seriatimpb.Rule_All{}},
	}
}

func TestRules(t *testing.T) {
	f := newFixture(t, nil)
	ctx := t.Context()
	client, topic := f.topic(nil)
	queue := f.create(nil)
	subscribed, err := client.Subscribe(ctx, &seriatimpb.SubscribeRequest{Topic: topic, Queue: queue, Rules: rulesExample()})
	clustertest.Must(t, err)
	arn := subscribed.GetSubscriptionArn()
	list := func() (all []*seriatimpb.Rule) {
		t.Helper()
		for in := (&seriatimpb.ListRulesRequest{SubscriptionArn: arn, PageSize: 3}); ; {
			out, err := client.ListRules(ctx, in)
			if err != nil || len(out.GetRules()) > 3 {
				t.Fatal(out, err)
			}
			all = append(all, out.GetRules()...)
			if in.PageToken = out.GetNextPageToken(); in.PageToken == "" {
				return all
			}
		}
	}
	wantRules := func(want ...*seriatimpb.Rule) {
		t.Helper()
		if diff := cmp.Diff(want, list(), protocmp.Transform(), protocmp.IgnoreFields(&seriatimpb.Rule{}, "created_at_ms")); diff != "" {
			t.Error(diff)
		}
	}
	wantRules(rulesExample()...)
	if created := list()[0].GetCreatedAtMs(); created == 0 {
		t.Error("the rule has no time")
	}
	put := func(existing seriatimpb.ExistingRule, r *seriatimpb.Rule) error {
		_, err := client.PutRule(ctx, &seriatimpb.PutRuleRequest{SubscriptionArn: arn, Rule: r, Existing: existing})
		return err
	}
	const none, one = seriatimpb.ExistingRule_EXISTING_RULE_NONE, seriatimpb.ExistingRule_EXISTING_RULE_ONE
	last := &seriatimpb.Rule{Name: "E", Filter: &seriatimpb.Rule_Sql{Sql: &seriatimpb.RuleExpression{Text: "1 = 1"}}}
	wantStatus(t, put(one, last), codes.NotFound, "RuleNotFound")
	clustertest.Must(t, put(none, last))
	wantStatus(t, put(none, &seriatimpb.Rule{Name: "e"}), codes.AlreadyExists, "RuleAlreadyExists")
	wantRules(append(rulesExample(), last)...)
	for i, r := range []*seriatimpb.Rule{nil, {}, {Name: "x", Action: &seriatimpb.RuleExpression{Text: "SET"}},
		{Name: "x", Filter: &seriatimpb.Rule_Sql{}}, {Name: "x", Filter: &seriatimpb.Rule_Correlation{}},
		{Name: "x", Filter: &seriatimpb.Rule_Sql{Sql: &seriatimpb.RuleExpression{Text: "a = @p",
			Parameters: map[string]*seriatimpb.PropertyValue{"@p": {Value: &seriatimpb.PropertyValue_Amqp{Amqp: []byte{0xFF}}}}}}},
	} {
		if err := put(0, r); err == nil {
			t.Errorf("rule %d is accepted", i)
		}
	}
	if err := put(7, last); err == nil {
		t.Error("an unknown condition is accepted")
	}
	remove := func(name string) error {
		_, err := client.RemoveRule(ctx, &seriatimpb.RemoveRuleRequest{SubscriptionArn: arn, Name: name})
		return err
	}
	for _, name := range []string{"a", "B", "c", "d"} {
		clustertest.Must(t, remove(name))
	}
	wantStatus(t, remove("a"), codes.NotFound, "RuleNotFound")
	wantRules(last)
	clustertest.Must(t, put(0, &seriatimpb.Rule{Name: "e"}))
	wantRules(&seriatimpb.Rule{Name: "e", Filter: &seriatimpb.Rule_All{All: true}})
	_, err = client.ListRules(ctx, &seriatimpb.ListRulesRequest{SubscriptionArn: arn + "x"})
	wantStatus(t, err, codes.NotFound, "NotFound")
}

// The test of rules says which select a message, why, and what they change.
func TestTestRules(t *testing.T) {
	f := newFixture(t, nil)
	client, topic := f.topic(nil)
	subscribed, err := client.Subscribe(t.Context(), &seriatimpb.SubscribeRequest{Topic: topic, Queue: f.create(nil),
		Rules: rulesExample()})
	clustertest.Must(t, err)
	test := func(rule *seriatimpb.Rule, system, application map[string]*seriatimpb.PropertyValue) []*seriatimpb.RuleTest {
		t.Helper()
		out, err := client.TestRules(t.Context(), &seriatimpb.TestRulesRequest{SubscriptionArn: subscribed.GetSubscriptionArn(), Rule: rule,
			System: system, Application: application})
		clustertest.Must(t, err)
		return out.GetTests()
	}
	properties := texts("C", "d")
	properties["n"] = &seriatimpb.PropertyValue{Value: &seriatimpb.PropertyValue_Integer{Integer: 7}}
	tests := test(nil, texts("label", "l"), properties)
	got := ""
	for _, r := range tests {
		got += fmt.Sprintf("%s %v %s %s; ", r.GetName(), r.GetSelected(), r.GetExplanation().GetResult(), r.GetFault())
	}
	if got != "a true true ; b false false ; c true true ; d false false ; " {
		t.Errorf("got %s", got)
	}
	if n := tests[0].GetExplanation().GetValues()["n"]; n.GetInteger() != 7 {
		t.Errorf("the explanation is %v", tests[0].GetExplanation())
	}
	changes := tests[0].GetChanges()
	if len(changes) != 3 || changes[0].GetName() != "big" || !changes[0].GetValue().GetBoolean() ||
		changes[1].GetName() != "n" || changes[1].GetValue() != nil ||
		changes[2].GetName() != "sys.Label" || changes[2].GetValue().GetText() != "L" {
		t.Errorf("changes %v", changes)
	}
	if parts := tests[1].GetExplanation().GetParts(); len(parts) != 3 {
		t.Errorf("parts %v", parts)
	}
	other := &seriatimpb.Rule{Filter: &seriatimpb.Rule_Sql{Sql: &seriatimpb.RuleExpression{Text: "n / 0 = 1 OR newid() = 'x'"}}}
	if tests := test(other, nil, properties); len(tests) != 1 || tests[0].GetSelected() || tests[0].GetFault() == "" ||
		tests[0].GetName() != "" {
		t.Errorf("got %v", tests)
	}
	for i, in := range []*seriatimpb.TestRulesRequest{
		{Rule: &seriatimpb.Rule{Filter: &seriatimpb.Rule_Sql{Sql: &seriatimpb.RuleExpression{Text: "("}}}},
		{System: texts("Colour", "red")}, {System: texts("TimeToLive", "soon")},
		{Application: map[string]*seriatimpb.PropertyValue{"a": {Value: &seriatimpb.PropertyValue_Amqp{}}}},
	} {
		in.SubscriptionArn = subscribed.GetSubscriptionArn()
		if _, err := client.TestRules(t.Context(), in); err == nil {
			t.Errorf("request %d is accepted", i)
		}
	}
}
