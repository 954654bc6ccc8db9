package atom

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seriatimq/seriatim/cluster/clustertest"
	"github.com/seriatimq/seriatim/queue/rules"
	"github.com/seriatimq/seriatim/transport/servicebus/atom/client"
	"github.com/seriatimq/seriatim/transport/servicebus/description"
)

func testClient(t *testing.T, f *fixture) {
	c := client.Client{Endpoint: f.url + "/", KeyID: accountKey, Key: secret, Now: time.Now,
		HTTP: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}}
	made := description.Entity{Path: "client/one", Properties: []description.Property{
		{Name: "LockDuration", Value: "PT30S"}, {Name: "RequiresSession", Value: "true"}}}
	clustertest.Must(t, c.Create(t.Context(), client.Queue, made))
	var refused *client.Refused
	if err := c.Create(t.Context(), client.Queue, made); !errors.As(err, &refused) || refused.Status != http.StatusConflict ||
		!strings.HasPrefix(refused.Detail, "SubCode=40900.") {
		t.Errorf("created twice: %v", err)
	}
	made.Path, made.Properties[0].Value = "two", "<&>"
	err := c.Create(t.Context(), client.Queue, made)
	if err == nil || !strings.Contains(err.Error(), "400 SubCode=40000. The property LockDuration cannot be '<&>'") {
		t.Errorf("got %v", err)
	}
	testClientOfTopics(t, &c)
	list, err := c.Queues(t.Context())
	clustertest.Must(t, err)
	for _, e := range list {
		if e.Path != "client/one" {
			continue
		}
		q, wrong := e.Queue()
		if len(wrong) > 0 {
			t.Error(wrong)
		}
		want := description.Default()
		want.LockSeconds, want.Session = 30, true
		if q != want {
			t.Errorf("listed %+v", e)
		}
		return
	}
	t.Errorf("the queue is not in %+v", list)
}

func testClientOfTopics(t *testing.T, c *client.Client) {
	t.Helper()
	clustertest.Must(t, c.Create(t.Context(), client.Topic, description.Entity{Path: "client/news", Properties: []description.Property{
		{Name: "DefaultMessageTimeToLive", Value: "PT1H"}}}))
	own := []rules.Definition{
		{Name: "a rule", Kind: rules.KindSQL, SQL: &rules.Expression{Text: "a < 1"}},
		{Name: "false", Kind: rules.KindFalse, Action: &rules.Expression{Text: "SET b = 2"}},
	}
	create := func(name string, list []rules.Definition) error {
		return c.Create(t.Context(), client.Subscription, description.Entity{Path: "client/news/Subscriptions/" + name, Rules: list,
			Properties: []description.Property{{Name: "MaxDeliveryCount", Value: "3"}}})
	}
	clustertest.Must(t, create("b", nil))
	clustertest.Must(t, create("a", own))
	clustertest.Must(t, create("c", []rules.Definition{}))
	if err := create("wrong", append(own, rules.Definition{Name: "FALSE", Kind: rules.KindTrue})); err == nil ||
		!strings.Contains(err.Error(), "rule FALSE: 409") {
		t.Errorf("got %v", err)
	}
	list, err := c.Topics(t.Context())
	if err != nil || len(list) != 1 || list[0].Path != "client/news" || len(list[0].Subscriptions) != 3 {
		t.Fatalf("listed %+v, %v", list, err)
	}
	for i, want := range [][]rules.Definition{{{Name: "$Default", Kind: rules.KindTrue}}, own, {}} {
		if diff := cmp.Diff(want, list[0].Subscriptions[i].Rules); diff != "" || list[0].Subscriptions[i].HasRules() != (i > 0) {
			t.Error(diff)
		}
	}
	topic, refused := list[0].Topic()
	if topic.TimeToLiveSeconds != 3600 || len(refused) > 0 {
		t.Errorf("the topic is %+v, %v", topic, refused)
	}
	q, refused := list[0].Subscriptions[0].Subscription()
	if list[0].Subscriptions[0].Path != "b" || q.MaxDeliveryCount != 3 || len(refused) > 0 {
		t.Errorf("the subscription is %+v, %v", q, refused)
	}
}
