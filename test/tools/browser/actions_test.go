package browser

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// action is one change that the console makes: the form with a test id or an action, filled in and
// sent.
type action struct {
	page   string
	form   string            // CSS selector
	values map[string]string // by the names of the inputs
	want   string            // part of the message afterwards
	shown  string            // selector of that message; empty: a flash
}

// changes are the actions of a whole cluster, in an order in which each finds what it needs. Those on
// nodes that wait to join, and on upgrades, are not among them.
var changes = []action{
	{"/queues", "[data-testid=create-queue]", map[string]string{"name": "made.fifo", "window": "600"}, "made.fifo", ""},
	{"/queues/made.fifo", "[data-testid=send]",
		map[string]string{"body": "order $i", "group": "g", "dedup": "d-$i", "count": "5"}, "5", ""},
	{"/queues/made.fifo", "[data-testid=pause]", nil, "paused", ""},
	{"/queues/made.fifo", "[data-testid=pause]", nil, "", ""},
	{"/queues/made.fifo", "[data-testid=send]",
		map[string]string{"body": "later", "group": "g", "dedup": "later", "at": "2099-12-31T23:59"}, "scheduled", ""},
	{"/queues/made.fifo/message?seq=10000000000000000002", "[data-testid=move]", map[string]string{"to": "orders-dead.fifo"}, "1", ""},
	{"/queues/made.fifo/message?seq=10000000000000000003", "[data-testid=delete]", map[string]string{"confirm": ""}, "1", ""},
	{"/queues/made.fifo/dedup?id=d-1", "[data-testid=forget]", map[string]string{"confirm": "d-1"}, "d-1", ""},
	{"/queues/made.fifo/settings", "[data-testid=set]", map[string]string{"attribute": "VisibilityTimeout", "value": "120"},
		"VisibilityTimeout", ""},
	{"/queues/made.fifo/settings", "[data-testid=tag]", map[string]string{"key": "team", "value": "billing"}, "team", ""},
	{"/queues/made.fifo/dlq", "[data-testid=set-dlq]",
		map[string]string{"target": "orders-dead.fifo", "receives": "3"}, "orders-dead.fifo", ""},
	{"/queues/orders.fifo/group?id=customer-0", "[data-testid=release]", map[string]string{"confirm": "customer-0"}, "", ""},
	{"/queues/orders.fifo/messages?attribute=kind&value=test+order-7", "[data-testid=move-matching]",
		map[string]string{"to": "made.fifo"}, "1 moved", ""},
	{"/queues/orders.fifo/messages?attribute=kind&value=test+order-8", "[data-testid=delete-matching]",
		map[string]string{"confirm": ""}, "1 deleted", ""},
	{"/queues/orders-dead.fifo/dlq", "[data-testid=redrive]", map[string]string{"to": "made.fifo", "confirm": ""}, "started", ""},
	{"/queues/orders.fifo/consumers", "[data-testid=close-connection]", nil, "closed", ""},
	{"/cluster", `[action="/cluster/drain"]`, nil, "drained", ""},
	{"/cluster", `[action="/cluster/uncordon"]`, nil, "serves", ""},
	{"/audit?tab=log", "[data-testid=log-level]", map[string]string{"level": "debug"}, "debug", ""},
	{"/topics/events.fifo", "[data-testid=set-filter]", map[string]string{"filter": `{"kind":["other"]}`}, "changed", ""},
	{"/topics/events.fifo/rules?queue=orders.fifo", "[data-testid=add-rule]",
		map[string]string{"rule": "large", "condition": "amount > 1000"}, "large", ""},
	{"/topics/events.fifo/rules?queue=orders.fifo", "[data-testid=test-rules]", map[string]string{"properties": "amount:integer=1200"},
		"gets", "[data-testid=tested]"},
	{"/topics/events.fifo/rules?queue=orders.fifo", "[data-testid=remove-rule]", map[string]string{"confirm": ""}, "removed", ""},
	{"/topics/events.fifo", "[data-testid=cancel-scheduled]", map[string]string{"confirm": ""}, "not published", ""},
	{"/topics/events.fifo", "[data-testid=replay]", map[string]string{"from": "2026-01-01T00:00"}, "replay has started", ""},
	{"/topics/events.fifo", "[data-testid=end-replay]", nil, "replay has ended", ""},
	{"/topics/events.fifo", "[data-testid=unsubscribe]", map[string]string{"confirm": ""}, "no longer", ""},
	{"/topics", "[data-testid=create-topic]", map[string]string{"name": "made.fifo"}, "made.fifo", ""},
	{"/topics/made.fifo", "[data-testid=subscribe]", map[string]string{"endpoint": "made.fifo"}, "made.fifo", ""},
	{"/topics/made.fifo", "[data-testid=publish]", map[string]string{"message": "hello", "group": "g", "dedup": "p"}, "", ""},
	{"/topics/made.fifo", "[data-testid=delete-topic]", map[string]string{"confirm": "made.fifo"}, "made.fifo", ""},
	{"/access", "[data-testid=create-account]", map[string]string{"account": "111111111111", "queues": "5"}, "111111111111", ""},
	{"/access", "[data-testid=put-policy]", map[string]string{"user": "anna"}, "anna", ""},
	{"/access", "[data-testid=create-key]", map[string]string{"user": "anna"}, "", "[data-testid=new-key]"},
	{"/access", "[data-testid=toggle-key]", nil, "", ""},
	{"/access", "[data-testid=delete-key]", map[string]string{"confirm": ""}, "", ""},
	{"/access", "[data-testid=delete-policy]", map[string]string{"confirm": ""}, "", ""},
	{"/access", "[data-testid=delete-account]", map[string]string{"confirm": ""}, "111111111111", ""},
	{"/queues/made.fifo", "[data-testid=purge]", map[string]string{"confirm": "made.fifo"}, "made.fifo", ""},
	{"/queues/made.fifo/settings", "[data-testid=delete-queue]", map[string]string{"confirm": "made.fifo"}, "made.fifo", ""},
}

// TestActions does what the forms of the console offer, and kills the leader in the middle.
func TestActions(t *testing.T) {
	c := startCluster(t)
	ctx := t.Context()
	leader, err := c.WaitLeader(ctx, startTimeout)
	if err != nil {
		t.Fatal(err)
	}
	follower := c.Followers(leader)[0]
	b := newTab(t, follower.Admin)
	b.look(t, variants[0])
	actions := append(slices.Clone(changes), action{"/cluster", "[data-testid=remove-member]",
		map[string]string{"node": leader.Name, "confirm": leader.Name}, "no longer a member", ""})
	for i, a := range actions {
		if a.form == "[data-testid=create-topic]" { // in the middle
			if err := leader.Kill(); err != nil {
				t.Fatal(err)
			}
			rest := c.Part(c.Followers(leader)...)
			if _, err := rest.WaitLeader(ctx, startTimeout); err != nil {
				t.Fatal(err)
			}
		}
		t.Run(fmt.Sprintf("%02d %s", i, a.form), func(t *testing.T) { b.act(t, "http://"+follower.Admin, a) })
	}
}

// act fills in a form, sends it, and expects a message without a failure.
func (b *tab) act(t *testing.T, root string, a action) {
	t.Helper()
	b.open(t, root+a.page)
	form := "form" + a.form
	var missing string
	script := `(() => {
		const form = document.querySelector(%q);
		if (!form) return "the form";
		form.closest("details")?.setAttribute("open", "");
		for (const [name, value] of Object.entries(%s)) {
			const input = form.elements[name];
			if (!input) return name;
			input.value = value === "" && name === "confirm" ? input.dataset.confirm : value;
			input.dispatchEvent(new Event("input", {bubbles: true}));
		}
		return "";
	})()`
	b.run(t, chromedp.Evaluate(fmt.Sprintf(script, form, object(a.values)), &missing))
	if missing != "" {
		t.Fatalf("%s has no %s in %s", a.page, missing, form)
	}
	shown := a.shown
	if shown == "" {
		shown = "#flashes .flash"
	}
	var kind, text string
	b.run(t, chromedp.Click(form+" button:not([type=button])", chromedp.NodeVisible), chromedp.WaitVisible(shown),
		chromedp.AttributeValue(shown, "class", &kind, nil), chromedp.Text(shown, &text))
	if strings.Contains(kind, "failed") || !strings.Contains(text, a.want) {
		t.Errorf("%s: %s %q, want %q", a.page, kind, text, a.want)
	}
	for _, problem := range b.take() {
		t.Errorf("%s: %s", a.page, problem)
	}
}

// object returns a map as a literal of JavaScript.
func object(values map[string]string) string {
	var pairs []string
	for name, value := range values {
		pairs = append(pairs, fmt.Sprintf("%q: %q", name, value))
	}
	return "{" + strings.Join(pairs, ", ") + "}"
}
