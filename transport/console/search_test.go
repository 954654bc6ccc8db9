package console

import (
	"net/http"
	"strings"
	"testing"

	"github.com/seriatimq/seriatim/cluster/clustertest"
	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/access"
)

// A search with an access key finds only names that its policy permits to list.
func TestSearchesWithAccessKeys(t *testing.T) {
	f := newFixture(t, filled, true)
	const noneKey = "SRTMNONENONENONE"
	for _, cmd := range []queue.Command{
		&access.CreateAccessKey{ID: noneKey, Secret: secret, Account: account, User: "powerless"},
		&queue.CreateTopic{Topic: "orders-topic", TopicARN: "arn:aws:sns:us-east-1:" + account + ":orders-topic"},
	} {
		clustertest.Must(t, clustertest.Err(filled.Submit(t.Context(), cmd)))
	}
	for _, c := range []struct {
		key            string
		queues, topics bool
	}{{rootKey, true, true}, {userKey, true, false}, {noneKey, false, false}} {
		f.client = f.browser()
		f.post("/login", f.csrf("/login"), "key", c.key, "secret", secret)
		got := f.get("/search?q=orders")
		queues, topics := strings.Contains(got.body, `href="/queues/orders.fifo"`), strings.Contains(got.body, `href="/topics/orders-topic"`)
		if got.code != http.StatusOK || queues != c.queues || topics != c.topics {
			t.Errorf("%s: got %d, queues %v, topics %v", c.key, got.code, queues, topics)
		}
	}
}

// The counts and names beside a queue need the permission of each queue.
func TestSiblingsNeedPermission(t *testing.T) {
	f := newFixture(t, filled, true)
	const oneKey = "SRTMONEQUEUEONLY"
	for _, cmd := range []queue.Command{
		&access.CreateAccessKey{ID: oneKey, Secret: secret, Account: account, User: "one"},
		&access.PutUserPolicy{Account: account, User: "one", Policy: `{"Version":"2012-10-17","Statement":[` +
			`{"Effect":"Allow","Action":"sqs:ListQueues","Resource":"*"},` +
			`{"Effect":"Allow","Action":"sqs:GetQueueAttributes","Resource":"arn:aws:sqs:us-east-1:` + account + `:dead.fifo"}]}`},
	} {
		clustertest.Must(t, clustertest.Err(filled.Submit(t.Context(), cmd)))
	}
	for key, sees := range map[string]bool{oneKey: false, rootKey: true} {
		f.client = f.browser()
		f.post("/login", f.csrf("/login"), "key", key, "secret", secret)
		for _, path := range []string{"/dlqs", "/queues/dead.fifo/dlq"} {
			got := f.get(path)
			if shown := strings.Contains(got.body, "orders.fifo"); got.code != http.StatusOK || shown != sees {
				t.Errorf("%s at %s: got %d, orders.fifo is shown: %v", key, path, got.code, shown)
			}
		}
	}
}

// Without tokens there is no login, and a form for one is answered.
func TestLoginWithoutTokens(t *testing.T) {
	f := newFixture(t, filled, false)
	csrf := f.csrf("/queues")
	if got := f.post("/login", csrf, "token", "x", "next", "/topics"); got.code != http.StatusOK || got.path != "/topics" {
		t.Errorf("got %d at %s", got.code, got.path)
	}
}
