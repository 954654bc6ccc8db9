package entity

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestQueueName(t *testing.T) {
	t.Parallel()
	for path, name := range map[string]string{
		"orders":                 "orders.fifo",
		"Orders":                 "Orders.fifo",
		"eu/orders.v2":           "eu_2Forders_2Ev2.fifo",
		"orders.fifo":            "orders_2Efifo.fifo",
		"orders_2024":            "orders_2024.fifo",
		"a_b":                    "a_b.fifo",
		"a_2F":                   "a_5F2F.fifo",
		"a_5F2F":                 "a_5F5F2F.fifo",
		"a__2E":                  "a__5F2E.fifo",
		"orders-dlq":             "orders_2Ddlq.fifo",
		"Orders-DLQ":             "Orders_2DDLQ.fifo",
		"-dlq":                   "_2Ddlq.fifo",
		"orders-dlq-dlq":         "orders-dlq_2Ddlq.fifo",
		"orders-dlqs":            "orders-dlqs.fifo",
		"orders-transferdlq":     "orders_2Dtransferdlq.fifo",
		"a-TransferDLQ":          "a_2DTransferDLQ.fifo",
		"orders_2Dtransferdlq":   "orders_5F2Dtransferdlq.fifo",
		"orders_2Ddlq":           "orders_5F2Ddlq.fifo",
		"news/Subscriptions/all": "news_2FSubscriptions_2Fall.fifo",
	} {
		if got := QueueName(path); got != name {
			t.Errorf("%s has the queue %s, want %s", path, got, name)
		}
		if got, ok := OfQueue(name); got != path || !ok {
			t.Errorf("%s belongs to %q, %v, want %s", name, got, ok, path)
		}
	}
	if got := DeadLetterName("a.b"); got != "a_2Eb-dlq.fifo" {
		t.Errorf("the dead-letter queue is %s", got)
	}
	if got := TransferDeadLetterName("a.b"); got != "a_2Eb-transferdlq.fifo" {
		t.Errorf("the transfer dead-letter queue is %s", got)
	}
	for _, name := range []string{
		"orders", "", ".fifo", "orders-dlq.fifo", "a-transferdlq.fifo", "a_2D.fifo", "a_5Fb.fifo", "a_2F_2Fb.fifo", "a_2F.fifo",
	} {
		if path, ok := OfQueue(name); ok {
			t.Errorf("the queue %q belongs to %q", name, path)
		}
	}
	for _, path := range []string{"", "/", "/a", "a/", "a//b", "a b", "ä", "a$", strings.Repeat("a", PathLengthMax+1),
		"t/Subscriptions/" + strings.Repeat("s", SubscriptionLengthMax+1), "t/subscriptions/", "a/Subscriptions/b/Subscriptions/c",
		strings.Repeat("t", PathLengthMax+1) + "/Subscriptions/s"} {
		if Valid(path) {
			t.Errorf("the path %q is valid", path)
		}
	}
}

func TestSplitSubscription(t *testing.T) {
	t.Parallel()
	for path, want := range map[string][2]string{
		"t/Subscriptions/s": {"t", "s"}, "eu/t.1/SUBSCRIPTIONS/s-1": {"eu/t.1", "s-1"}, "t/subscriptions/s/x": {}, "/Subscriptions/s": {},
		"Subscriptions/s": {}, "t": {}, "": {}, "t/Subscriptions": {}, "t/aSubscriptions/s": {},
		strings.Repeat("t", PathLengthMax) + "/Subscriptions/" + strings.Repeat("s", SubscriptionLengthMax): {
			strings.Repeat("t", PathLengthMax), strings.Repeat("s", SubscriptionLengthMax)},
	} {
		topic, name, ok := SplitSubscription(path)
		if topic != want[0] || name != want[1] || ok != (want[0] != "") {
			t.Errorf("%q: topic %q, subscription %q, %v", path, topic, name, ok)
		}
		if ok && (!Valid(path) || !strings.EqualFold(Subscription(topic, name), path)) {
			t.Errorf("%q is not valid, or is %s", path, Subscription(topic, name))
		}
	}
}

// texts draws texts that have escapes and their parts.
var texts = rapid.Custom(func(t *rapid.T) string {
	return strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{
		"a", "Z", "9", "_", "-", ".", "/", "2", "5", "D", "E", "F", "_2E", "_5F", "_2D", "dlq", "-dlq", "-DLQ", "-transferdlq",
	}), 1, 12).Draw(t, "parts"), "")
})

// TestOneToOne checks that two paths never have one queue, that two queues never belong to one path, and
// that names of queues are valid.
func TestOneToOne(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		if path := texts.Draw(t, "path"); Valid(path) {
			name := QueueName(path)
			if back, ok := OfQueue(name); back != path || !ok {
				t.Fatalf("%s has the queue %s, which belongs to %q, %v", path, name, back, ok)
			}
			base := strings.TrimSuffix(name, suffix)
			if builtIn(base) > 0 || strings.ContainsFunc(base, func(c rune) bool { return !plain(byte(c)) }) {
				t.Fatalf("%s has the queue %s", path, name)
			}
		}
		name := texts.Draw(t, "name") + suffix
		if path, ok := OfQueue(name); ok && QueueName(path) != name {
			t.Fatalf("%s belongs to %s, whose queue is %s", name, path, QueueName(path))
		}
	})
}

func TestFind(t *testing.T) {
	t.Parallel()
	queues := []string{"ORDERS.fifo", "Orders.fifo", "a_2FB.fifo", "a_2Fc.fifo", "orders", "orders-dlq.fifo", "zoo.fifo"}
	exists := func(name string) bool { return slices.Contains(queues, name) }
	list := func(after string) []string { // two at a time
		i, found := slices.BinarySearch(queues, after)
		if found {
			i++
		}
		return queues[i:min(i+2, len(queues))]
	}
	for path, want := range map[string]string{
		"Orders": "Orders.fifo", "ORDERS": "ORDERS.fifo", "orders": "ORDERS.fifo", "A/b": "a_2FB.fifo", "ZOO": "zoo.fifo",
		"none": "", "orders-dlq": "", "a_2FB": "", "": "", "a//B": "",
	} {
		if got, ok := Find(path, exists, list); got != want || ok != (want != "") {
			t.Errorf("%q: %q, %v, want %q", path, got, ok, want)
		}
	}
}
