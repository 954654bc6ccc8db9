package servicebus

import (
	"net/http"
	"strings"
	"testing"
	"time"

	bus "github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"
	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus/admin"
)

// addRule creates a rule of the subscription s.
func (f *fixture) addRule(topic, name string, filter admin.RuleFilter, action admin.RuleAction) {
	f.Helper()
	_, err := f.admin().CreateRule(f.ctx, topic, "s", &admin.CreateRuleOptions{Name: &name, Filter: filter, Action: action})
	f.must(err)
}

// bare creates a topic with a subscription s that has no rule.
func (f *fixture) bare() string {
	f.Helper()
	topic := f.topic(admin.TopicProperties{}, subscriptions{"s": {}})
	_, err := f.admin().DeleteRule(f.ctx, topic, "s", "$Default", nil)
	f.must(err)
	return topic
}

func (f *fixture) ruleNames(topic string) (names []string) {
	f.Helper()
	for pager := f.admin().NewListRulesPager(topic, "s", &admin.ListRulesOptions{MaxPageSize: 5}); pager.More(); {
		page, err := pager.NextPage(f.ctx)
		f.must(err)
		f.holds(len(page.Rules) <= 5, "%d rules in a page", len(page.Rules))
		for _, r := range page.Rules {
			names = append(names, r.Name)
		}
	}
	return names
}

// selected sends messages to a topic, and checks which of them its subscription has.
func (f *fixture) selected(topic string, want []string, messages ...*bus.Message) []*bus.ReceivedMessage {
	f.Helper()
	f.send(topic, messages...)
	r := f.subscription(topic, "s", nil)
	got := f.take(r, len(want))
	f.same(bodies(got), want, "bodies")
	f.nothing(r)
	return got
}

func withNumber(body string, n any) *bus.Message {
	m := message(body)
	m.ApplicationProperties = map[string]any{"n": n}
	return m
}

func TestDefaultRule(t *testing.T) {
	f := newFixture(t)
	topic := f.topic(admin.TopicProperties{}, subscriptions{"s": {}})
	got, err := f.admin().GetRule(f.ctx, topic, "s", "$Default", nil)
	f.must(err)
	f.same(got.Filter, &admin.TrueFilter{}, "filter")
	f.selected(topic, []string{"x"}, message("x"))
	f.selected(f.bare(), nil, message("x"))
}

func TestRules(t *testing.T) {
	f := newFixture(t)
	c, topic := f.admin(), f.topic(admin.TopicProperties{}, subscriptions{"s": {}})
	filter := &admin.SQLFilter{Expression: "a = @p", Parameters: map[string]any{"@p": "x"}}
	action := &admin.SQLAction{Expression: "SET b = @q", Parameters: map[string]any{"@q": int64(1)}}
	f.addRule(topic, "sql", filter, action)
	got, err := c.GetRule(f.ctx, topic, "s", "sql", nil)
	f.must(err)
	f.same([]any{got.Name, got.Filter, got.Action}, []any{"sql", filter, action}, "rule")
	_, err = c.CreateRule(f.ctx, topic, "s", &admin.CreateRuleOptions{Name: new("sql"), Filter: filter})
	f.answered(err, http.StatusConflict, "")
	_, err = c.DeleteRule(f.ctx, topic, "s", "none", nil)
	f.answered(err, http.StatusNotFound, "")
	missing, err := c.GetRule(f.ctx, topic, "s", "none", nil)
	f.must(err)
	f.holds(missing == nil, "the rule exists")
	_, err = c.DeleteRule(f.ctx, topic, "s", "sql", nil)
	f.must(err)
	f.same(f.ruleNames(topic), []string{"$Default"}, "names")
}

func TestPagesOfRules(t *testing.T) {
	f := newFixture(t)
	topic := f.bare()
	var want []string
	for _, text := range texts(10) {
		f.addRule(topic, "r"+text, &admin.FalseFilter{}, nil)
		want = append(want, "r"+text)
	}
	f.same(f.ruleNames(topic), want, "names")
}

func TestCorrelationRule(t *testing.T) {
	f := newFixture(t)
	topic := f.bare()
	filter := &admin.CorrelationFilter{
		CorrelationID: new("1"), MessageID: new("2"), To: new("3"), ReplyTo: new("4"), Subject: new("5"), SessionID: new("6"),
		ReplyToSessionID: new("7"), ContentType: new("8"), ApplicationProperties: map[string]any{
			"text": "é", "number": int64(5), "flag": true, "double": 1.5, "time": time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
		},
	}
	f.addRule(topic, "r", filter, nil)
	got, err := f.admin().GetRule(f.ctx, topic, "s", "r", nil)
	f.must(err)
	f.same(got.Filter, filter, "filter")
	f.addRule(topic, "n", &admin.CorrelationFilter{Subject: new("s"), ApplicationProperties: map[string]any{"n": int64(1)}}, nil)
	yes, no := withNumber("1", int64(1)), withNumber("2", int64(2))
	yes.Subject, no.Subject = new("s"), new("s")
	f.selected(topic, []string{"1"}, yes, no, withNumber("3", int64(1)))
}

func TestSQLRule(t *testing.T) {
	f := newFixture(t)
	topic := f.bare()
	f.addRule(topic, "r", &admin.SQLFilter{Expression: "n >= @n AND sys.Label LIKE 'a%'", Parameters: map[string]any{"@n": int64(2)}}, nil)
	one, two, three := withNumber("1", int64(1)), withNumber("2", int64(2)), withNumber("3", 3.5)
	one.Subject, two.Subject, three.Subject = new("a"), new("ab"), new("abc")
	f.selected(topic, []string{"2", "3"}, one, two, three, withNumber("4", int64(4)))
}

func TestRuleWithAnAction(t *testing.T) {
	f := newFixture(t)
	topic := f.bare()
	f.addRule(topic, "r", &admin.TrueFilter{}, &admin.SQLAction{Expression: "SET n = n * 2; SET sys.Label = 'big'"})
	got := f.selected(topic, []string{"x"}, withNumber("x", int64(3)))[0]
	f.same([]any{*got.Subject, got.ApplicationProperties}, []any{"big", map[string]any{"n": int64(6), "RuleName": "r"}}, "message")
}

func TestChangeOfARule(t *testing.T) {
	f := newFixture(t)
	topic := f.bare()
	f.addRule(topic, "r", &admin.FalseFilter{}, nil)
	f.send(topic, message("dropped"))
	_, err := f.admin().UpdateRule(f.ctx, topic, "s", admin.RuleProperties{Name: "r", Filter: &admin.SQLFilter{Expression: "n = 2"}})
	f.must(err)
	f.selected(topic, []string{"2"}, withNumber("1", int64(1)), withNumber("2", int64(2)))
}

func TestWrongRules(t *testing.T) {
	f := newFixture(t)
	topic := f.bare()
	for name, expression := range map[string]string{
		"unfinished": "a =", "parameter": "a = @missing", strings.Repeat("a", 51): "1=1", "long": "a = '" + strings.Repeat("x", 1100) + "'",
	} {
		_, err := f.admin().CreateRule(f.ctx, topic, "s", &admin.CreateRuleOptions{
			Name: &name, Filter: &admin.SQLFilter{Expression: expression},
		})
		f.answered(err, http.StatusBadRequest, "SubCode=40000")
	}
	f.same(f.ruleNames(topic), []string(nil), "names")
}

func TestRuleOfANewSubscription(t *testing.T) {
	f := newFixture(t)
	topic := f.topic(admin.TopicProperties{}, subscriptions{"s": {
		DefaultRule: &admin.RuleProperties{Name: "mine", Filter: &admin.SQLFilter{Expression: "n = 1"}},
	}})
	f.same(f.ruleNames(topic), []string{"mine"}, "names")
	f.selected(topic, []string{"1"}, withNumber("1", int64(1)), message("2"))
}
