package atom

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/seriatimq/seriatim/cluster/clustertest"
	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/access"
	"github.com/seriatimq/seriatim/transport/auth/sas"
)

const (
	toMissing = "SubCode=40400. The auto forwarding destination entity does not exist"
	changing  = "If-Match"
)

// host returns the host and the port of the fixture.
func (f *fixture) host() string { return strings.TrimPrefix(f.url, "http://") }

// TestForwarding forwards from a queue and a subscription, to a path and to a URL.
func TestForwarding(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	want(t, f.put("fwd/All.1", ""), http.StatusCreated)
	want(t, f.putTopic("fwd/News", ""), http.StatusCreated)
	for _, to := range []string{"none", "https://h/none", "fwd/from", "https://h/fwd/from"} { // the last is the queue itself
		want(t, f.put("fwd/from", "<ForwardTo>"+to+"</ForwardTo>"), http.StatusBadRequest, toMissing)
	}
	for _, to := range []string{"fwd/News/Subscriptions/s", "a b", "https://h/", "sb://h"} {
		want(t, f.put("fwd/from", "<ForwardTo>"+to+"</ForwardTo>"), http.StatusBadRequest,
			"The property ForwardTo cannot be '"+to+"' here. It must be the path or the URL of a queue or a topic.")
	}
	if f.exists("fwd_2Ffrom.fifo") || f.exists("fwd_2Ffrom-transferdlq.fifo") {
		t.Error("a refused request created a queue")
	}
	read := "<ForwardTo>sb://" + f.host() + "/fwd/All.1<"
	want(t, f.put("fwd/from", "<LockDuration>PT5S</LockDuration><ForwardTo>FWD/all.1</ForwardTo>"), http.StatusCreated, read)
	if dead := f.typed("fwd_2Ffrom-transferdlq.fifo"); dead.Retention() != 0 || !dead.GroupOptional || dead.VisibilitySeconds != 5 {
		t.Errorf("the transfer dead-letter queue has %+v", dead)
	}
	want(t, f.putSubscription("fwd/News/Subscriptions/s", "<ForwardDeadLetteredMessagesTo>https://example.org/fwd/All.1"+
		"</ForwardDeadLetteredMessagesTo><ForwardTo>sb://h:5671/fwd/News</ForwardTo>"), http.StatusCreated,
		"<ForwardTo>sb://"+f.host()+"/fwd/News<", "<ForwardDeadLetteredMessagesTo>sb://"+f.host()+"/fwd/All.1<")
	if a := f.typed("fwd_2FNews_2FSubscriptions_2Fs.fifo"); a.ForwardTo != "topic:fwd_2FNews.fifo" ||
		a.ForwardDeadLetters != "fwd_2FAll_2E1.fifo" {
		t.Errorf("the subscription has %+v", a)
	}
	want(t, f.get("fwd/from"), http.StatusOK, read)
	want(t, f.send(http.MethodGet, "/$Resources/queues"+version, ""), http.StatusOK, read)
	if strings.Contains(f.send(http.MethodGet, "/$Resources/queues"+version, "").body, "transferdlq") {
		t.Error("the transfer dead-letter queue is listed")
	}

	_, err := f.node.Submit(t.Context(), &queue.SendMessages{Queue: "fwd_2Ffrom.fifo", Entries: []queue.SendEntry{{Body: "12345678"}}})
	clustertest.Must(t, err)
	want(t, f.get("fwd/All.1"), http.StatusOK, "<d2p1:ActiveMessageCount>1<")
	want(t, f.get("fwd/from"), http.StatusOK, "<MessageCount>0<")
	// A message that cannot be forwarded.
	want(t, f.remove("fwd/All.1"), http.StatusOK)
	_, err = f.node.Submit(t.Context(), &queue.SendMessages{Queue: "fwd_2Ffrom.fifo", Entries: []queue.SendEntry{{Body: "12345678"}}})
	clustertest.Must(t, err)
	want(t, f.get("fwd/from"), http.StatusOK, "<MessageCount>1<", "<SizeInBytes>139<", "<d2p1:TransferDeadLetterMessageCount>1<",
		"<d2p1:DeadLetterMessageCount>0<", "<d2p1:ActiveMessageCount>0<")
	want(t, f.remove("fwd/from"), http.StatusOK)
	want(t, f.remove("fwd/News"), http.StatusOK)
	for _, name := range []string{"fwd_2Ffrom-transferdlq.fifo", "fwd_2FNews_2FSubscriptions_2Fs-transferdlq.fifo"} {
		if f.exists(name) {
			t.Errorf("%s is left", name)
		}
	}
}

// TestForwardChanges sets, keeps and removes the target of an existing queue.
func TestForwardChanges(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	for _, path := range []string{"both", "from", "to"} {
		want(t, f.put(path, ""), http.StatusCreated)
	}
	change := func(properties string) answer { return f.put("from", properties, changing, "*") }
	want(t, change("<ForwardTo>none</ForwardTo>"), http.StatusBadRequest, toMissing)
	want(t, change("<ForwardTo>from</ForwardTo>"), http.StatusBadRequest, "the messages would come back to the queue")
	want(t, change("<ForwardTo>to</ForwardTo>"), http.StatusOK, "/to<")
	want(t, f.put("to", "<ForwardTo>from</ForwardTo>", changing, "*"), http.StatusBadRequest, "the messages would come back to the queue")
	if dead := f.typed("from-transferdlq.fifo"); dead.Retention() != 0 {
		t.Errorf("the transfer dead-letter queue has %+v", dead)
	}
	want(t, change("<LockDuration>PT7S</LockDuration><ForwardTo>https://x/to</ForwardTo>"), http.StatusOK, "/to<")
	if dead := f.typed("from-transferdlq.fifo"); dead.VisibilitySeconds != 7 {
		t.Errorf("the transfer dead-letter queue has %+v", dead)
	}
	// A description without the property has no target.
	if got := change("<ForwardDeadLetteredMessagesTo>to</ForwardDeadLetteredMessagesTo>"); got.status != 200 ||
		strings.Contains(got.body, "<ForwardTo>") || !strings.Contains(got.body, "<ForwardDeadLetteredMessagesTo>sb://") {
		t.Errorf("got %+v", got)
	}
	if a := f.typed("from.fifo"); a.ForwardTo != "" || a.ForwardDeadLetters != "to.fifo" {
		t.Errorf("the queue has %+v", a)
	}
	want(t, change("<ForwardDeadLetteredMessagesTo/><ForwardTo></ForwardTo>"), http.StatusOK)
	if a := f.typed("from.fifo"); a.ForwardDeadLetters != "" {
		t.Errorf("the queue has %+v", a)
	}
	// A topic that has the name of a queue stays the target when a client sends the path back.
	for _, cmd := range []queue.Command{
		&queue.CreateTopic{Topic: "both.fifo", TopicARN: "arn:aws:sns:us-east-1:000000000000:both.fifo",
			Attributes: []queue.Attribute{{Name: "FifoTopic", Value: "true"}, {Name: "MessageGroupIdMode", Value: "Optional"}}},
		&queue.SetQueueAttributes{Queue: "from.fifo", Attributes: []queue.Attribute{{Name: "ForwardTo", Value: "topic:both.fifo"}}},
	} {
		clustertest.Must(t, clustertest.Err(f.node.Submit(t.Context(), cmd)))
	}
	want(t, change("<LockDuration>PT8S</LockDuration><ForwardTo>sb://h/both</ForwardTo>"), http.StatusOK, "/both<")
	if a := f.typed("from.fifo"); a.ForwardTo != "topic:both.fifo" || a.VisibilitySeconds != 8 {
		t.Errorf("the queue has %+v", a)
	}
}

// TestAutoDelete sets AutoDeleteOnIdle of all kinds of entities.
func TestAutoDelete(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	const five, never = "<AutoDeleteOnIdle>PT5M</AutoDeleteOnIdle>", "<AutoDeleteOnIdle>P10675199DT2H48M5.4775807S</AutoDeleteOnIdle>"
	want(t, f.put("idle", five), http.StatusCreated, five)
	want(t, f.putTopic("idle/news", five), http.StatusCreated, five)
	want(t, f.putSubscription("idle/news/Subscriptions/s", five), http.StatusCreated, five)
	for _, name := range []string{"idle.fifo", "idle_2Fnews_2FSubscriptions_2Fs.fifo"} {
		if a := f.typed(name); a.AutoDeleteSeconds != 300 {
			t.Errorf("%s has %+v", name, a)
		}
	}
	if a, _, _ := f.topic("idle_2Fnews.fifo"); a.AutoDeleteSeconds != 300 {
		t.Errorf("the topic has %+v", a)
	}
	want(t, f.put("idle", "<AutoDeleteOnIdle>PT4M</AutoDeleteOnIdle>", changing, "*"), http.StatusBadRequest, "between 00:05:00 and")
	want(t, f.put("idle", never, changing, "*"), http.StatusOK, never)
	want(t, f.putTopic("idle/news", never, changing, "*"), http.StatusOK, never)
	want(t, f.putSubscription("idle/news/Subscriptions/s", "<AutoDeleteOnIdle>PT1H</AutoDeleteOnIdle>", changing, "*"), http.StatusOK,
		"<AutoDeleteOnIdle>PT1H<")
	if a := f.typed("idle.fifo"); a.AutoDeleteSeconds != 0 {
		t.Errorf("the queue has %+v", a)
	}
}

// testForwardTokens checks that a token covers the target, and that its caller may send to it.
func testForwardTokens(t *testing.T, f *fixture, user string) {
	owner := f.token
	defer func() { f.token = owner }()
	sign := func(path, key string) string { return sas.Sign("sb://h/"+path, key, secret, time.Now().Add(time.Hour)) }
	want(t, f.put("target", ""), http.StatusCreated)
	const forwards, header = "<ForwardTo>sb://h/target</ForwardTo>", "ServiceBusSupplementaryAuthorization"
	const deadHeader = "ServiceBusDlqSupplementaryAuthorization"
	f.token = sign("source", accountKey)
	want(t, f.put("source", forwards), http.StatusUnauthorized, "does not cover target")
	want(t, f.put("source", forwards, deadHeader, sign("target", accountKey)), http.StatusUnauthorized, "does not cover target")
	want(t, f.put("source", forwards, header, sign("other", accountKey)), http.StatusUnauthorized, "does not cover target")
	want(t, f.put("source", forwards, header, sign("target", userKey)), http.StatusUnauthorized, "must have the key")
	want(t, f.put("source", forwards, header, "x"), http.StatusUnauthorized, "Malformed")
	if f.exists(account + "/source.fifo") {
		t.Error("a refused request created a queue")
	}
	want(t, f.put("source", forwards, header, sign("target", accountKey)), http.StatusCreated)
	// A target that stays needs no token. A new one does.
	want(t, f.put("source", forwards+"<LockDuration>PT5S</LockDuration>", changing, "*"), http.StatusOK)
	const dead = "<ForwardDeadLetteredMessagesTo>target</ForwardDeadLetteredMessagesTo>"
	want(t, f.put("source", forwards+dead, changing, "*"), http.StatusUnauthorized, "does not cover target")
	want(t, f.put("source", forwards+dead, changing, "*", deadHeader, sign("target", accountKey)), http.StatusOK)

	f.token = user
	permit := func(resources string) {
		t.Helper()
		text := `{"Statement":{"Effect":"Allow","Action":"sqs:*","Resource":` + resources + `}}`
		policy := &access.PutUserPolicy{Account: account, User: "anna", Policy: text}
		clustertest.Must(t, clustertest.Err(f.node.Submit(t.Context(), policy)))
	}
	const queues = `"arn:aws:sqs:us-east-1:` + account
	permit(queues + `:users*"`)
	want(t, f.put("users", forwards), http.StatusUnauthorized, "'CreateQueue'")
	permit(`[` + queues + `:users*",` + queues + `:target.fifo"]`)
	want(t, f.put("users", forwards), http.StatusCreated)
	f.token = ""
	want(t, f.put("users2", forwards), http.StatusUnauthorized)
	f.token = owner
	for _, path := range []string{"users", "source", "target"} {
		want(t, f.remove(path), http.StatusOK)
	}
}
