package console

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/seriatimq/seriatim/cluster/clustertest"
	"github.com/seriatimq/seriatim/transport/grpc"
	"github.com/seriatimq/seriatim/transport/grpc/seriatimpb"
)

// The pages of a queue name its entity, its status and where it forwards.
func TestEntity(t *testing.T) {
	const name = "news_2FSubscriptions_2Faudit.fifo"
	f := newEmpty(t)
	csrf := f.csrf("/queues")
	f.post("/queues", csrf, "name", "plain.fifo")
	f.post("/queues", csrf, "name", name)
	for _, set := range [][2]string{{"EntityStatus", "ReceiveDisabled"}, {"ForwardTo", "plain.fifo"}, {"MessageGroupIdMode", "Required"}} {
		got := f.post("/queues/"+name+"/settings", csrf, "attribute", set[0], "value", set[1]).body
		if strings.Contains(got, "flash failed") {
			t.Errorf("%v was refused", set)
		}
	}
	got := f.get("/queues/" + name).body
	for _, want := range []string{
		"Azure Service Bus entity <b>news/Subscriptions/audit</b>", `data-testid="status">ReceiveDisabled<`, "sessions required",
		`messages are forwarded to <a href="/queues/plain.fifo">`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	got = f.get("/queues/plain.fifo").body
	for _, unwanted := range []string{`data-testid="entity"`, `data-testid="status"`, `data-testid="forwards"`} {
		if strings.Contains(got, unwanted) {
			t.Errorf("the page of a plain queue has %s", unwanted)
		}
	}
	got = f.get("/queues?find=SUBSCRIPTIONS/audit").body
	if !strings.Contains(got, `href="/queues/`+name+`"`) || strings.Contains(got, `href="/queues/plain.fifo"`) {
		t.Error("the list does not find an entity by its path")
	}
}

// The page of groups lists sessions with a state.
func TestSessions(t *testing.T) {
	f := newEmpty(t)
	f.post("/queues", f.csrf("/queues"), "name", "orders.fifo")
	sessions := seriatimpb.NewSessionsClient(f.native.Local(grpc.LocalCaller{Operator: "test"}))
	lock, id := int32(36000), "customer-9"
	s, err := sessions.AcceptSession(t.Context(), &seriatimpb.AcceptSessionRequest{
		Queue: "orders.fifo", SessionId: &id, LockSeconds: &lock,
	})
	clustertest.Must(t, err)
	clustertest.Must(t, clustertest.Err(sessions.SetSessionState(t.Context(), &seriatimpb.SetSessionStateRequest{
		Queue: "orders.fifo", Session: s.GetSession(), State: []byte(`{"step": 2}`),
	})))
	got := f.get("/queues/orders.fifo/groups").body
	for _, want := range []string{`data-testid="sessions"`, `href="/queues/orders.fifo/group?id=` + id, "11 B", ">for "} {
		if !strings.Contains(got, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
}

// A scheduled message of a topic is listed, and cancelled.
func TestCancelScheduled(t *testing.T) {
	f := newEmpty(t)
	csrf := f.csrf("/queues")
	f.post("/topics", csrf, "name", "events.fifo")
	topics, group, id := seriatimpb.NewTopicsClient(f.native.Local(grpc.LocalCaller{Operator: "test"})), "g", "d"
	clustertest.Must(t, clustertest.Err(topics.Publish(t.Context(), &seriatimpb.PublishRequest{
		Topic: "events.fifo", Messages: []*seriatimpb.TopicMessage{{
			BodyBytes: []byte("later"), GroupId: &group, DeduplicationId: &id, EnqueueAtMs: time.Now().Add(time.Hour).UnixMilli(),
		}},
	})))
	got := f.get("/topics/events.fifo").body
	sequence := regexp.MustCompile(`name="seq" value="(\d+)"`).FindStringSubmatch(got)
	if sequence == nil || !strings.Contains(got, "later") {
		t.Fatal("the message is not listed")
	}
	if got = f.post("/topics/events.fifo/scheduled/cancel", csrf, "seq", sequence[1]).body; !strings.Contains(got, "Nothing was changed") {
		t.Error("it was cancelled without its number")
	}
	cancel := []string{"seq", sequence[1], "confirm", sequence[1]}
	got = f.post("/topics/events.fifo/scheduled/cancel", csrf, cancel...).body
	if !strings.Contains(got, "The message is not published.") || strings.Contains(got, `data-testid="later"`) {
		t.Error("the message is still there")
	}
	if got = f.post("/topics/events.fifo/scheduled/cancel", csrf, cancel...).body; !strings.Contains(got, "flash failed") {
		t.Error("a second cancel is reported as done")
	}
}
