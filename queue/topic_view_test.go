package queue

import (
	"strconv"
	"strings"
	"testing"
)

// SubscriptionsOf finds the subscriptions of an account among others.
func TestOwnSubscriptionsAreFound(t *testing.T) {
	w := newWorld(t)
	topics := func(first, n int, owner string) {
		for i := first; i < first+n; i++ {
			name := "t" + strconv.Itoa(i)
			if _, err := w.b.apply(&CreateTopic{Topic: name, TopicARN: "arn:aws:sns:us-east-1:000000000000:" + name}); err != nil {
				t.Fatal(err)
			}
			for q := range 100 {
				if _, err := w.b.apply(&Subscribe{Topic: name, Endpoint: queueARN("q" + strconv.Itoa(q)), Owner: owner}); err != nil {
					t.Fatal(err)
				}
				w.b.finish()
			}
		}
	}
	topics(0, 1, tenant)
	topics(1, 20, "000000000000")
	topics(21, 1, tenant)
	list := w.b.View().SubscriptionsOf(tenant, 0, 150)
	if n := len(list); n != 150 || list[0].Number >= list[149].Number || !strings.HasSuffix(list[149].TopicARN, ":t21") {
		t.Fatalf("%d subscriptions, the last is %+v", n, list[n-1])
	}
	if rest := w.b.View().SubscriptionsOf(tenant, list[149].Number, 150); len(rest) != 50 {
		t.Errorf("%d more", len(rest))
	}
}
