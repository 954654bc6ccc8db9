package console

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/seriatimq/seriatim/queue/filter"
	"github.com/seriatimq/seriatim/transport/grpc/ruletext"
	"github.com/seriatimq/seriatim/transport/grpc/seriatimpb"
)

// ruleForm holds the fields of a rule. Condition is SQL, or has a property in each line.
type ruleForm struct{ Name, Kind, Condition, Action, Parameters string }

// ruleKinds are the kinds of filters.
var ruleKinds = []choice{
	{"sql", "a condition in SQL"}, {"where", "properties, one in each line"}, {"all", "every message"}, {"none", "no message"},
}

func ruleFormOf(v url.Values) ruleForm {
	trimmed := func(name string) string { return strings.TrimSpace(v.Get(name)) }
	return ruleForm{
		Name: trimmed("rule"), Kind: cmp.Or(trimmed("kind"), ruleKinds[0].Value), Condition: trimmed("condition"),
		Action: trimmed("action"), Parameters: trimmed("parameters"),
	}
}

// rule returns the rule of the form.
func (f ruleForm) rule() (*seriatimpb.Rule, error) {
	r := ruletext.Rule{Name: f.Name, Action: f.Action}
	switch f.Kind {
	case "sql":
		r.SQL = f.Condition
	case "where":
		r.Where = lines(f.Condition)
	default:
		r.All = new(f.Kind == "all")
	}
	if r.All == nil && f.Condition == "" {
		return nil, errors.New("the rule needs a condition")
	}
	for _, text := range lines(f.Parameters) {
		used, err := r.AddParameter(text)
		if err != nil {
			return nil, err
		}
		if !used {
			return nil, fmt.Errorf("the parameter %q: neither the condition nor the action mentions it", text)
		}
	}
	return r.Message()
}

// words returns the rule as flags of a command.
func (f ruleForm) words() (words []string) {
	switch f.Kind {
	case "sql":
		words = append(words, "--sql", f.Condition)
	case "where":
		for _, line := range lines(f.Condition) {
			words = append(words, "--where", line)
		}
	default:
		words = append(words, "--"+f.Kind)
	}
	if f.Action != "" {
		words = append(words, "--action", f.Action)
	}
	for _, p := range lines(f.Parameters) {
		words = append(words, "--parameter", p)
	}
	return words
}

// lines returns the lines of a text that are not empty.
func lines(text string) (list []string) {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			list = append(list, line)
		}
	}
	return list
}

// ruleTest is the result of a rule for the message of the tester.
type ruleTest struct {
	Name, Outcome, Tone string
	Why                 part
	Changes             []string // properties with their new values
	receives            bool
}

// part is the result of a part of a filter.
type part struct {
	Text, Result string
	Values       []string
	Parts        []part
}

func ruleTestOf(t *seriatimpb.RuleTest) ruleTest {
	out := ruleTest{Name: t.GetName(), Outcome: "does not select it", Tone: "muted", Why: partOf(t.GetExplanation())}
	switch {
	case t.GetFault() != "":
		out.Outcome, out.Tone = "fails: "+t.GetFault(), "bad"
	case t.GetSelected():
		out.Outcome, out.Tone, out.receives = "selects it", "ok", true
	}
	for _, c := range t.GetChanges() {
		text := "REMOVE " + c.GetName()
		if c.GetValue() != nil {
			text = ruletext.FormatProperty(c.GetName(), c.GetValue())
		}
		out.Changes = append(out.Changes, text)
	}
	return out
}

func partOf(x *seriatimpb.RuleExplanation) part {
	out := part{Text: x.GetText(), Result: x.GetResult(), Values: ruletext.Properties(x.GetValues())}
	if x.GetReason() != "" {
		out.Result += ": " + x.GetReason()
	}
	for _, p := range x.GetParts() {
		out.Parts = append(out.Parts, partOf(p))
	}
	return out
}

// rulesPage shows the rules of a subscription.
type rulesPage struct {
	Topic        string
	Subscription subscription
	Rules        []ruletext.Rule
	Kinds        []choice
	Properties   string // of the tester, one in each line
	Other        bool   // it tests Form instead of Rules
	Form         ruleForm
	Tested       bool
	Problem      string
	Tests        []ruleTest
}

// Receives reports whether the subscription gets the message of the tester.
func (d rulesPage) Receives() bool {
	return slices.ContainsFunc(d.Tests, func(t ruleTest) bool { return t.receives })
}

// TopicURL returns the page of the topic.
func (d rulesPage) TopicURL() string { return topicURL(d.Topic) }

// URL returns the page.
func (d rulesPage) URL() string { return rulesURL(d.Topic, d.Subscription.Queue) }

func rulesURL(topic, queue string) string {
	return topicURL(topic) + "/rules?" + url.Values{"queue": {queue}}.Encode()
}

// subscriptionOf finds the subscription of a queue.
func (p *page) subscriptionOf(topic, queue string) (*seriatimpb.Subscription, error) {
	list, err := p.topicsAPI(topic).ListSubscriptions(p.r.Context(), &seriatimpb.ListSubscriptionsRequest{
		Topic: p.called(topic), PageSize: topicsMax,
	})
	for _, s := range list.GetSubscriptions() {
		if s.GetQueue() == queue && queue != "" {
			return s, nil
		}
	}
	return nil, cmp.Or(err, status.Error(codes.NotFound, line(90, queue)+" is not subscribed to "+line(90, topic)+"."))
}

func (p *page) rules() {
	p.still = true
	name, q := p.stateName(p.r.PathValue("name")), p.r.URL.Query()
	api := p.topicsAPI(name)
	data := rulesPage{
		Topic: name, Kinds: ruleKinds, Properties: q.Get("properties"), Tested: q.Has("properties"), Other: q.Get("other") != "",
		Form: ruleFormOf(q),
	}
	s, err := p.subscriptionOf(name, q.Get("queue"))
	if err == nil {
		data.Subscription = p.subscription(api, name, s)
		data.Rules, err = p.rulesOf(api, s.GetSubscriptionArn())
	}
	if err != nil {
		p.fail(err)
		return
	}
	if data.Tested {
		if err := p.test(api, &data); err != nil {
			data.Problem = textOf(err)
		}
	}
	p.crumbs = []crumb{{"Topics", "/topics"}, {name, topicURL(name)}, {"Rules", data.URL()}}
	p.render("rules", "Rules of "+line(60, data.Subscription.Called()), data)
}

// rulesOf lists the rules of a subscription.
func (p *page) rulesOf(api seriatimpb.TopicsClient, arn string) (list []ruletext.Rule, err error) {
	in := &seriatimpb.ListRulesRequest{SubscriptionArn: arn}
	for {
		out, err := api.ListRules(p.r.Context(), in)
		if err != nil {
			return nil, err
		}
		for _, r := range out.GetRules() {
			list = append(list, ruletext.Of(r))
		}
		if in.PageToken = out.GetNextPageToken(); in.PageToken == "" {
			return list, nil
		}
	}
}

// rulesWithhold says why no rule selects a publication with attributes, which are application properties.
// Empty: one does.
func (p *page) rulesWithhold(api seriatimpb.TopicsClient, arn string, attributes []filter.Attribute) string {
	in := &seriatimpb.TestRulesRequest{SubscriptionArn: arn, Application: map[string]*seriatimpb.PropertyValue{}}
	for _, a := range attributes {
		v := &seriatimpb.PropertyValue{Value: &seriatimpb.PropertyValue_Text{Text: a.Value}}
		if n, err := strconv.ParseInt(a.Value, 10, 64); err == nil && a.DataType == "Number" {
			v.Value = &seriatimpb.PropertyValue_Integer{Integer: n}
		} else if n, err := strconv.ParseFloat(a.Value, 64); err == nil && a.DataType == "Number" {
			v.Value = &seriatimpb.PropertyValue_Number{Number: n}
		}
		in.Application[a.Name] = v
	}
	out, err := api.TestRules(p.r.Context(), in)
	if err != nil {
		return textOf(err)
	}
	verdict := "does not get it: no rule selects it"
	for _, t := range out.GetTests() {
		switch result := ruleTestOf(t); {
		case result.receives:
			return ""
		case t.GetFault() != "":
			verdict = "does not get it: the rule " + t.GetName() + " " + result.Outcome
		}
	}
	return verdict
}

// test fills in the result of the tester.
func (p *page) test(api seriatimpb.TopicsClient, data *rulesPage) error {
	in := &seriatimpb.TestRulesRequest{
		SubscriptionArn: data.Subscription.ARN, System: map[string]*seriatimpb.PropertyValue{},
		Application: map[string]*seriatimpb.PropertyValue{},
	}
	for _, text := range lines(data.Properties) {
		name, v, err := ruletext.ParseProperty(text)
		if err != nil {
			return err
		}
		if system, is := ruletext.SystemProperty(name); is {
			in.System[system] = v
		} else {
			in.Application[name] = v
		}
	}
	if data.Other {
		var err error
		if in.Rule, err = data.Form.rule(); err != nil {
			return err
		}
	}
	out, err := api.TestRules(p.r.Context(), in)
	for _, t := range out.GetTests() {
		data.Tests = append(data.Tests, ruleTestOf(t))
	}
	return err
}

func (p *page) putRule() {
	name, queue, form := p.stateName(p.r.PathValue("name")), p.r.PostFormValue("queue"), ruleFormOf(p.r.PostForm)
	words := append([]string{"topic", "rule", "add", name, queue, form.Name}, form.words()...)
	in := &seriatimpb.PutRuleRequest{Existing: seriatimpb.ExistingRule_EXISTING_RULE_NONE}
	if p.r.PostFormValue("replace") != "" {
		in.Existing, words = seriatimpb.ExistingRule_EXISTING_RULE_ANY, append(words, "--replace")
	}
	s, err := p.subscriptionOf(name, queue)
	if err == nil {
		in.SubscriptionArn = s.GetSubscriptionArn()
		in.Rule, err = form.rule()
	}
	if err == nil {
		_, err = p.topicsAPI(name).PutRule(p.r.Context(), in)
	}
	p.done(err, rulesURL(name, queue), "Rule "+form.Name+" added.", command(words...))
}

func (p *page) removeRule() {
	name, queue, rule := p.stateName(p.r.PathValue("name")), p.r.PostFormValue("queue"), p.r.PostFormValue("rule")
	if !p.confirmed(rule, rulesURL(name, queue)) {
		return
	}
	s, err := p.subscriptionOf(name, queue)
	if err == nil {
		in := &seriatimpb.RemoveRuleRequest{SubscriptionArn: s.GetSubscriptionArn(), Name: rule}
		_, err = p.topicsAPI(name).RemoveRule(p.r.Context(), in)
	}
	p.done(err, rulesURL(name, queue), "Rule "+rule+" removed.", command("topic", "rule", "remove", name, queue, rule))
}
