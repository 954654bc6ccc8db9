package servicebus

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/seriatimq/seriatim/cluster/clustertest"
	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/access"
	"github.com/seriatimq/seriatim/transport/servicebus/entity"
)

// describedList is a described list of AMQP, as the client of the tests reads it.
func describedList(t *testing.T, v any) (code uint64, list []any) {
	t.Helper()
	d := reflect.ValueOf(v)
	if d.Kind() == reflect.Pointer {
		d = d.Elem()
	}
	if d.Kind() != reflect.Struct {
		t.Fatalf("%T is no described value", v)
	}
	code, _ = d.FieldByName("Descriptor").Interface().(uint64)
	list, _ = d.FieldByName("Value").Interface().([]any)
	return code, list
}

// listedRules returns the rules in the answer to enumerate-rules as texts.
func listedRules(t *testing.T, answer map[string]any) (texts []string) {
	t.Helper()
	items, _ := answer["rules"].([]any)
	for _, item := range items {
		code, rule := describedList(t, item.(map[string]any)["rule-description"])
		if created, ok := rule[3].(time.Time); code != codeRule || len(rule) != 4 || !ok || created.Before(time.Now().Add(-time.Hour)) {
			t.Errorf("rule %#x %v", code, rule)
		}
		filterCode, filter := describedList(t, rule[0])
		actionCode, action := describedList(t, rule[1])
		texts = append(texts, fmt.Sprintf("%v %x %v %x %v", rule[2], filterCode, filter, actionCode, action))
	}
	return texts
}

func wantTexts(t *testing.T, got []string, want ...string) {
	t.Helper()
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// Rules are added, listed in pages and removed. A message takes the way of the rules.
func TestRules(t *testing.T) {
	f := newFixture(t, nil)
	topic := f.createTopic()
	path := f.subscribe(topic, "s", plain)
	s := f.session()
	m := f.manage(s, strings.ToUpper(path[:2])+path[2:]+"/$management")
	all := map[string]any{"skip": int32(0), "top": int32(1<<31 - 1)}
	wantTexts(t, listedRules(t, m.want(200, "enumerate-rules", all)), "$Default 1370000007 [] 13700000005 []")
	add := func(status int32, name string, parts map[string]any) {
		t.Helper()
		m.want(status, "add-rule", map[string]any{"rule-name": name, "rule-description": parts})
	}
	sql := func(text string) map[string]any { return map[string]any{"expression": text} }
	add(200, "large", map[string]any{"sql-filter": sql("size > 10"), "sql-rule-action": sql("SET big = TRUE; SET sys.Label = 'L'")})
	add(200, "exact", map[string]any{"rule-name": "exact", "correlation-filter": map[string]any{
		"label": "x", "message-id": nil, "properties": map[string]any{"n": int16(5), "at": time.UnixMilli(1000).UTC(), "none": nil},
	}})
	add(409, "LARGE", map[string]any{"sql-filter": sql("1=1")})
	add(400, "wrong", map[string]any{"sql-filter": sql("size >")})
	add(400, "wrong", map[string]any{"sql-filter": map[string]any{}})
	add(400, "wrong", map[string]any{})
	add(400, "wrong", map[string]any{"sql-filter": sql("1=1"), "correlation-filter": map[string]any{"label": "x"}})
	add(400, "wrong", map[string]any{"correlation-filter": map[string]any{"label": int32(5)}})
	add(400, "wrong", map[string]any{"correlation-filter": map[string]any{"properties": map[string]any{"a": []any{}}}})
	add(400, "a/b", map[string]any{"sql-filter": sql("1=1")})
	m.want(400, "add-rule", map[string]any{"rule-description": map[string]any{"sql-filter": sql("1=1")}})
	m.want(400, "remove-rule", map[string]any{})
	m.want(404, "remove-rule", map[string]any{"rule-name": "none"})
	exact := "exact 1370000009 [<nil> <nil> <nil> <nil> x <nil> <nil> <nil> map[at:1970-01-01 00:00:01 +0000 UTC n:5]] 13700000005 []"
	large := "large 1370000006 [size > 10 20] 13700000006 [SET big = TRUE; SET sys.Label = 'L' 20]"
	wantTexts(t, listedRules(t, m.want(200, "enumerate-rules", all)), "$Default 1370000007 [] 13700000005 []", exact, large)
	m.want(200, "remove-rule", map[string]any{"rule-name": "$default"})
	wantTexts(t, listedRules(t, m.want(200, "enumerate-rules", map[string]any{"skip": int32(1), "top": int32(5)})), large)
	wantTexts(t, listedRules(t, m.want(200, "enumerate-rules", map[string]any{"top": int32(1)})), exact)
	m.want(204, "enumerate-rules", map[string]any{"skip": int32(2), "top": int32(5)})
	m.want(400, "enumerate-rules", map[string]any{"skip": int32(-1), "top": int32(5)})

	out := f.sender(s, topic)
	for id, size := range map[string]int64{"1": 11, "2": 10} {
		one := newMessage(id, "body")
		one.ApplicationProperties = map[string]any{"size": size}
		clustertest.Must(t, out.Send(t.Context(), one, nil))
	}
	last := newMessage("3", "body")
	last.Properties.Subject = new("x")
	last.ApplicationProperties = map[string]any{"n": int64(5), "at": time.UnixMilli(1000).UTC()}
	clustertest.Must(t, out.Send(t.Context(), last, nil))
	in := f.receiver(s, path, nil)
	if got := f.receive(in); got.Properties.MessageID != "1" || *got.Properties.Subject != "L" ||
		got.ApplicationProperties["big"] != true || got.ApplicationProperties["RuleName"] != "large" {
		t.Errorf("received %+v %+v", got, got.Properties)
	}
	if got := f.receive(in); got.Properties.MessageID != "3" || *got.Properties.Subject != "x" || len(got.ApplicationProperties) != 2 {
		t.Errorf("received %+v %+v", got, got.Properties)
	}
}

// Only subscriptions have rules. A link finds the subscription of the moment.
func TestRulesOfOthers(t *testing.T) {
	f := newFixture(t, nil)
	topic := f.createTopic()
	path := f.subscribe(topic, "s", plain)
	s := f.session()
	page := map[string]any{"skip": int32(0), "top": int32(5)}
	for _, node := range []string{topic, f.create(plain), path + "/$DeadLetterQueue"} {
		f.manage(s, node+"/$management").want(400, "enumerate-rules", page)
	}
	m := f.manage(s, path+"/$management")
	m.want(200, "remove-rule", map[string]any{"rule-name": "$Default"})
	m.want(204, "enumerate-rules", page)
	_, err := node.Submit(t.Context(), &queue.DeleteTopic{Topic: entity.QueueName(topic)})
	clustertest.Must(t, err)
	m.want(404, "enumerate-rules", page)
	m.want(404, "add-rule", map[string]any{"rule-name": "r", "rule-description": map[string]any{
		"sql-filter": map[string]any{"expression": "1=1"}}})
	m.want(404, "remove-rule", map[string]any{"rule-name": "r"})
}

// The rules of a subscription need the permissions to its attributes, on the topic.
func TestRulePermissions(t *testing.T) {
	f := guardedFixture(t)
	topic := f.createTopic()
	path := f.subscribe(topic, "s", plain)
	s := f.session()
	if got := f.manage(s, "$cbs").put(path, annaKey, secret, time.Now().Add(time.Minute)); got != 202 {
		t.Errorf("status %d", got)
	}
	m := f.manage(s, path+"/$management")
	remove, list := map[string]any{"rule-name": "none"}, map[string]any{"top": int32(5)}
	for action, want := range map[string][2]int32{
		`"sqs:*"`: {401, 401}, `"sns:GetSubscriptionAttributes"`: {401, 200}, `"sns:SetSubscriptionAttributes"`: {404, 401},
	} {
		policy := `{"Statement":{"Effect":"Allow","Action":` + action + `,"Resource":"*"}}`
		clustertest.Must(t, clustertest.Err(node.Submit(t.Context(), &access.PutUserPolicy{
			Account: "000000000000", User: "anna", Policy: policy})))
		m.want(want[0], "remove-rule", remove)
		m.want(want[1], "enumerate-rules", list)
	}
}
