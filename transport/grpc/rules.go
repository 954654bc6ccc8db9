package grpc

import (
	"cmp"
	"context"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/property"
	"github.com/seriatimq/seriatim/queue/refusal"
	"github.com/seriatimq/seriatim/queue/rules"
	"github.com/seriatimq/seriatim/transport/grpc/seriatimpb"
	"github.com/seriatimq/seriatim/transport/service"
)

// ListRules lists the rules of a subscription.
func (t *topics) ListRules(ctx context.Context, in *seriatimpb.ListRulesRequest) (*seriatimpb.ListRulesResponse, error) {
	p, refused := readPage(in.GetPageSize(), in.GetPageToken())
	if refused != nil {
		return nil, refused
	}
	list, err := rulesOf(ctx, in.GetSubscriptionArn())
	if err != nil {
		return nil, err
	}
	if p.after != "" {
		at, found := rules.Position(list, p.after)
		if found {
			at++
		}
		list = list[at:]
	}
	list, token := cut(p, list[:min(p.size+1, len(list))], func(last *rules.Rule) string { return last.Name })
	out := &seriatimpb.ListRulesResponse{NextPageToken: token}
	for _, r := range list {
		one := ruleOf(&r.Definition)
		one.CreatedAtMs = int64(r.CreatedAt)
		out.Rules = append(out.Rules, one)
	}
	return out, nil
}

func rulesOf(ctx context.Context, subscriptionARN string) ([]*rules.Rule, error) {
	return service.ReadValue(ctx, &callOf(ctx).Call, func(v queue.View) ([]*rules.Rule, *queue.Error) { return v.Rules(subscriptionARN) })
}

// PutRule adds or replaces a rule.
func (t *topics) PutRule(ctx context.Context, in *seriatimpb.PutRuleRequest) (*seriatimpb.PutRuleResponse, error) {
	if in.GetRule() == nil {
		return nil, refusal.MissingParameter("rule")
	}
	cmd := &queue.PutRule{SubscriptionARN: in.GetSubscriptionArn(), Rule: definitionOf(in.GetRule())}
	switch in.GetExisting() {
	case seriatimpb.ExistingRule_EXISTING_RULE_ANY:
	case seriatimpb.ExistingRule_EXISTING_RULE_NONE:
		cmd.Existing = queue.RuleMustNot
	case seriatimpb.ExistingRule_EXISTING_RULE_ONE:
		cmd.Existing = queue.RuleMustExist
	default:
		return nil, refusal.InvalidValue(in.GetExisting().String(), "existing", "It is unknown.")
	}
	_, err := callOf(ctx).Submit(ctx, cmd)
	return &seriatimpb.PutRuleResponse{}, err
}

// RemoveRule removes a rule.
func (t *topics) RemoveRule(ctx context.Context, in *seriatimpb.RemoveRuleRequest) (*seriatimpb.RemoveRuleResponse, error) {
	_, err := callOf(ctx).Submit(ctx, &queue.RemoveRule{SubscriptionARN: in.GetSubscriptionArn(), Rule: in.GetName()})
	return &seriatimpb.RemoveRuleResponse{}, err
}

// TestRules evaluates rules for a message that is not published.
func (t *topics) TestRules(ctx context.Context, in *seriatimpb.TestRulesRequest) (*seriatimpb.TestRulesResponse, error) {
	m, err := testedOf(in)
	if err != nil {
		return nil, err
	}
	list, err := rulesOf(ctx, in.GetSubscriptionArn()) // also to find the subscription
	if err != nil {
		return nil, err
	}
	if in.GetRule() != nil {
		r, err := compile(in.GetRule())
		if err != nil {
			return nil, err
		}
		list = []*rules.Rule{r}
	}
	out := &seriatimpb.TestRulesResponse{}
	for _, r := range list {
		report := rules.Test(r.Filter, r.Change, m)
		one := &seriatimpb.RuleTest{Name: r.Name, Selected: report.Selected, Explanation: explanationOf(&report.Explanation)}
		switch {
		case report.Fault != property.OK:
			one.Fault = report.Fault.String()
		case report.ActionFault != property.OK:
			one.Fault = report.ActionFault.String()
		}
		for _, c := range report.Changes {
			one.Changes = append(one.Changes, changeOf(&c))
		}
		out.Tests = append(out.Tests, one)
	}
	return out, nil
}

// compile returns the rule of a client. A test needs neither its name nor its hash.
func compile(given *seriatimpb.Rule) (*rules.Rule, error) {
	d := definitionOf(given)
	d.Name = cmp.Or(d.Name, rules.DefaultName)
	canonical, err := d.InCanonicalForm()
	r := &rules.Rule{Definition: canonical}
	if err == nil {
		r.Filter, r.Change, err = canonical.Compile()
	}
	if err != nil {
		return nil, refusal.SNSInvalid("Rule ", refusal.Echo(d.Name), " Reason: ", err.Error())
	}
	r.Name = given.GetName()
	return r, nil
}
