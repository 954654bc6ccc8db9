package console

import (
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
)

// subscribed returns a node with a subscription, and the page of its rules.
func subscribed(t *testing.T) (f *fixture, csrf, page string) {
	t.Helper()
	f = newEmpty(t)
	csrf = f.csrf("/queues")
	f.post("/queues", csrf, "name", "fraud.fifo")
	f.post("/topics", csrf, "name", "sales.fifo")
	f.post("/topics/sales.fifo/subscribe", csrf, "endpoint", "fraud.fifo", "raw", "1")
	link := regexp.MustCompile(`href="(/topics/sales.fifo/rules[^"]+)" data-testid="rules">Rules<`).FindStringSubmatch(
		f.get("/topics/sales.fifo").body)
	if link == nil {
		t.Fatal("the topic has no link to the rules")
	}
	return f, csrf, html.UnescapeString(link[1])
}

// A rule is added, tested and removed.
func TestRules(t *testing.T) {
	f, csrf, page := subscribed(t)
	if got := f.get(page).body; !strings.Contains(got, "$Default") {
		t.Error("the page does not show the default rule")
	}
	rule := func(fields ...string) []string {
		return append([]string{"queue", "fraud.fifo", "rule", "large"}, fields...)
	}
	for _, refused := range []struct {
		fields []string
		want   string
	}{
		{[]string{"kind", "sql", "condition", "amount >"}, "There was an error parsing the SQL expression"},
		{[]string{"kind", "sql"}, "the rule needs a condition"},
		{[]string{"kind", "where", "condition", "country"}, "has no name and value"},
		{[]string{"kind", "all", "parameters", "limit:integer=5"}, "neither the condition nor the action mentions it"},
	} {
		got := f.post("/topics/sales.fifo/rules", csrf, rule(refused.fields...)...).body
		if !strings.Contains(got, "flash failed") || !strings.Contains(got, refused.want) {
			t.Errorf("%q: not refused with %q", refused.fields, refused.want)
		}
	}
	large := []string{"kind", "sql", "condition", "amount > @limit", "action", "SET checked = FALSE", "parameters", "limit:integer=1000"}
	const rules, remove = "/topics/sales.fifo/rules", "/topics/sales.fifo/rules/remove"
	got := f.post(rules, csrf, rule(large...)...).body
	if want := "seriatim topic rule add sales.fifo fraud.fifo large --sql"; !strings.Contains(got, want) ||
		strings.Contains(got, "flash failed") {
		t.Error("the rule was not added")
	}
	if got = f.post(rules, csrf, rule(large...)...).body; !strings.Contains(got, "has a rule of the name large already") {
		t.Error("a second rule of the name was added")
	}
	if got = f.post(rules, csrf, rule(append(large, "replace", "1")...)...).body; strings.Contains(got, "flash failed") {
		t.Error("the rule was not replaced")
	}
	ofDefault := []string{"queue", "fraud.fifo", "rule", "$Default"}
	if got = f.post(remove, csrf, ofDefault...).body; !strings.Contains(got, "Nothing was changed") {
		t.Error("a rule was removed without its name")
	}
	if got = f.post(remove, csrf, append(ofDefault, "confirm", "$Default")...).body; strings.Contains(got, "flash failed") {
		t.Error("the rule was not removed")
	}
}

// The testers tell what gets a message, and why.
func TestRuleTesters(t *testing.T) {
	f, csrf, page := subscribed(t)
	f.post("/topics/sales.fifo/rules", csrf, "queue", "fraud.fifo", "rule", "large", "kind", "sql", "condition", "amount > 1000", "action",
		"SET checked = FALSE")
	f.post("/topics/sales.fifo/rules/remove", csrf, "queue", "fraud.fifo", "rule", "$Default", "confirm", "$Default")
	if got := f.get("/topics/sales.fifo/rules?queue=none.fifo"); got.code != http.StatusNotFound {
		t.Errorf("a missing subscription: got %d", got.code)
	}
	for query, want := range map[string]string{
		"properties=amount:integer%3D1200":                                        "fraud.fifo gets this message.",
		"properties=amount:integer%3D12":                                          "fraud.fifo does not get this message.",
		"properties=x":                                                            "has no name and value",
		"properties=a%3Db&other=1&kind=where&condition=a%3Db":                     "fraud.fifo gets this message.",
		"properties=sys.Label%3Db&other=1&kind=sql&condition=sys.Label%3D'c'":     "fraud.fifo does not get this message.",
		"properties=sys.Label%3Db&other=1&kind=sql&condition=amount%20%3E%201000": "unknown",
	} {
		if got := f.get(page + "&" + query).body; !strings.Contains(got, want) {
			t.Errorf("%s: the page does not say %q", query, want)
		}
	}
	if got := f.get(page + "&properties=amount:integer%3D1200").body; !strings.Contains(got, "checked:boolean=false") {
		t.Error("the page does not show what the action changes")
	}
	for attributes, want := range map[string]string{
		`{"amount": 1200}`: "1 subscription gets this message.", `{"amount": 5}`: "no rule selects it", `{"amount": "x"}`: "no rule selects it",
	} {
		if got := f.get("/topics/sales.fifo?message=m&attributes=" + url.QueryEscape(attributes)).body; !strings.Contains(got, want) {
			t.Errorf("%s: the page of the topic does not say %q", attributes, want)
		}
	}
}
