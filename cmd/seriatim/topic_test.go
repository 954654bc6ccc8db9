package main

import (
	"strings"
	"testing"
)

// The tool subscribes a queue and a URL and lists both. The subscription of the URL is pending
// until its confirmation.
func TestTopicSubscribers(t *testing.T) {
	node := devNode(t)
	must(t, "topic", "create", "news", "--endpoint", node)
	must(t, "queue", "create", "readers", "--endpoint", node)
	must(t, "topic", "subscribe", "news", "readers", "--endpoint", node)
	arn := must(t, "topic", "subscribe", "news", "https://example.invalid/hook", "--protocol", "https", "--endpoint", node)
	if !strings.HasPrefix(arn, "arn:aws:sns:") {
		t.Errorf("subscribed is %s", arn)
	}
	list := strings.Join(strings.Fields(must(t, "topic", "subscriptions", "news", "--endpoint", node)), " ")
	if !strings.Contains(list, " readers arn:") || !strings.Contains(list, " https://example.invalid/hook PendingConfirmation") {
		t.Errorf("listed is %s", list)
	}
	if out, code := tool(t, "topic", "confirm", "news", "x", "--endpoint", node); code == 0 || !strings.Contains(out, "Invalid token") {
		t.Errorf("confirmed with a bad token: %d %s", code, out)
	}
	must(t, "topic", "unsubscribe", "news", "readers", "--yes", "--endpoint", node)
}
