package ops

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/seriatimq/seriatim/cluster"
	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/transport/ops/document"
)

// topicNode returns a node with two topics, one of which has subscriptions.
func topicNode(t *testing.T) *node {
	t.Helper()
	const news, queues = "arn:aws:sns:us-east-1:000000000000:news", "arn:aws:sqs:us-east-1:000000000000:"
	n := newNode(t,
		&queue.CreateQueue{Queue: "a"}, &queue.CreateQueue{Queue: "b"},
		&queue.CreateTopic{Topic: "empty", TopicARN: "arn:aws:sns:us-east-1:000000000000:empty"},
		&queue.CreateTopic{
			Topic: "news", TopicARN: news, Attributes: []queue.Attribute{{Name: "DisplayName", Value: "News"}},
			Tags: []queue.Tag{{Key: "team", Value: "press"}},
		},
		&queue.Subscribe{Topic: "news", Endpoint: queues + "a"},
		&queue.Subscribe{Topic: "news", Endpoint: queues + "b", Attributes: []queue.Attribute{{Name: "RawMessageDelivery", Value: "true"}}},
	)
	return n
}

func readJSON[T any](t *testing.T, a *Admin, path string) (out T) {
	t.Helper()
	code, body := get(a, path)
	if code != 200 {
		t.Fatalf("%s: %d %s", path, code, body)
	}
	if err := json.Unmarshal([]byte(body), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestTopics(t *testing.T) {
	t.Parallel()
	n := topicNode(t)
	a := newAdmin(n)
	all := readJSON[document.Topics](t, a, "/v1/topics")
	if len(all.Topics) != 2 || all.Next != "" || all.Topics[0] != (document.TopicCounts{Name: "empty", Subscriptions: 0}) ||
		all.Topics[1] != (document.TopicCounts{Name: "news", Subscriptions: 2}) {
		t.Errorf("got %+v", all)
	}
	if page := readJSON[document.Topics](t, a, "/v1/topics?limit=1"); len(page.Topics) != 1 || page.Next != "empty" {
		t.Errorf("got %+v", page)
	}
	if page := readJSON[document.Topics](t, a, "/v1/topics?after=empty"); len(page.Topics) != 1 || page.Topics[0].Name != "news" {
		t.Errorf("got %+v", page)
	}
	if none := readJSON[document.Topics](t, a, "/v1/topics?after=z"); none.Topics == nil || len(none.Topics) != 0 {
		t.Errorf("got %+v", none)
	}
	news := readJSON[document.Topic](t, a, "/v1/topics/news")
	if news.Name != "news" || news.Attributes["DisplayName"] != "News" || news.Attributes["SubscriptionsConfirmed"] != "2" ||
		news.Tags["team"] != "press" ||
		len(news.Subscriptions) != 2 || news.Next != 0 || news.Subscriptions[1].Attributes["RawMessageDelivery"] != "true" ||
		!strings.HasSuffix(news.Subscriptions[0].Attributes["Endpoint"], ":a") {
		t.Errorf("got %+v", news)
	}
	first := readJSON[document.Topic](t, a, "/v1/topics/news?limit=1")
	if len(first.Subscriptions) != 1 || first.Next != first.Subscriptions[0].Number || first.Next != news.Subscriptions[0].Number {
		t.Errorf("got %+v", first)
	}
	if empty := readJSON[document.Topic](t, a, "/v1/topics/empty"); empty.Subscriptions == nil || empty.Tags == nil ||
		len(empty.Subscriptions) != 0 {
		t.Errorf("got %+v", empty)
	}
	for path, want := range map[string]int{
		"/v1/topics/none": 404, "/v1/topics?limit=0": 400, "/v1/topics?limit=1001": 400, "/v1/topics/news?limit=101": 400,
		"/v1/topics/news?after=x": 400, "/v1/topics/news?after=-1": 400,
	} {
		if code, body := get(a, path); code != want {
			t.Errorf("%s: %d %s", path, code, body)
		}
	}
	for _, fail := range []error{cluster.ErrUnavailable, errors.New("broken")} {
		n.fail = fail
		for _, path := range []string{"/v1/topics", "/v1/topics/news"} {
			if code, _ := get(a, path); code != 503 {
				t.Errorf("%s: %d", path, code)
			}
		}
	}
}

func TestPasswordsOfEndpointsAreLeftOut(t *testing.T) {
	t.Parallel()
	got := attributeMap([]queue.Attribute{{Name: "Endpoint", Value: "https://me:secret@example.com/hook"}, {Name: "Owner", Value: "a@b"}})
	if got["Endpoint"] != "https://me:xxxxx@example.com/hook" || got["Owner"] != "a@b" {
		t.Errorf("got %v", got)
	}
}
