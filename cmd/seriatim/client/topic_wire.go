package client

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/seriatimq/seriatim/cmd/seriatim/client/native"
	"github.com/seriatimq/seriatim/cmd/seriatim/exit"
)

// topicVersion is that of the SNS API, by which a node tells its requests from those of
// SQS.
const topicVersion = "2010-03-31"

// onTopics sends one SNS action and decodes its result into out.
func (w *wire) onTopics(ctx context.Context, action string, in url.Values, out any) error {
	_, err := w.onTopicsWithID(ctx, action, false, in, out)
	return err
}

// onTopicsWithID is onTopics for an action whose request may have an id by which a server
// recognises it; it returns the answer, too.
func (w *wire) onTopicsWithID(ctx context.Context, action string, identified bool, in url.Values, out any) (answer, error) {
	again := mayRepeat(repeats().topics, action, identified)
	form := url.Values{"Action": {action}, "Version": {topicVersion}}
	maps.Copy(form, in)
	got, err := w.send(ctx, w.client, request{
		method: http.MethodPost, path: cmp.Or(w.path, "/"), body: []byte(form.Encode()), repeatable: again,
		// The Query protocol answers in JSON if it is asked to.
		header: map[string]string{"Content-Type": "application/x-www-form-urlencoded", "Accept": "application/json"},
	})
	if err != nil {
		return answer{}, err
	}
	if got.status != http.StatusOK {
		return answer{}, topicRefusal(got)
	}
	var envelope map[string]map[string]json.RawMessage // {"XResponse": {"XResult": ...}}
	if err = json.Unmarshal(got.body, &envelope); err == nil && out != nil {
		err = json.Unmarshal(envelope[action+"Response"][action+"Result"], out)
	}
	if err != nil {
		return answer{}, exit.New(exit.Failed, fmt.Errorf("%s at %s: unreadable answer: %w", action, got.from, err), native.ReachHint)
	}
	return got, nil
}

// topicRefusal gives the refusals of SNS actions their exit codes and hints.
func topicRefusal(a answer) error {
	var body struct {
		Error struct{ Code, Message string }
	}
	if json.Unmarshal(a.body, &body) != nil || body.Error.Code == "" {
		return clientRefusal(a)
	}
	e := &apiError{
		Status: a.status, Type: body.Error.Code, Code: body.Error.Code, Message: body.Error.Message, RequestID: a.header.Get("x-amzn-RequestId"),
	}
	switch {
	case e.Code == "NotFound" || e.Code == "ResourceNotFound":
		return exit.New(exit.NotFound, e, "seriatim topic list shows the topics that exist, seriatim topic subscriptions the subscriptions")
	case e.Code == "InvalidState" || strings.HasSuffix(e.Code, "LimitExceeded") || strings.Contains(e.Message, "already exists with different"):
		return exit.New(exit.Conflict, e, "")
	}
	return refusal(e)
}

// topicARN turns a name into an ARN without an account, which is then the caller's; an ARN
// stays as it is.
func topicARN(name string) string {
	if strings.Contains(name, ":") {
		return name
	}
	return "arn:aws:sns:us-east-1::" + name
}

// lastElement is the name in an ARN.
func lastElement(arn string) string { return arn[strings.LastIndexByte(arn, ':')+1:] }

// entries are a map as the Query protocol has it.
func entries(in url.Values, prefix, key, value string, pairs map[string]string) {
	n := 0
	for k, v := range pairs {
		n++
		in.Set(prefix+strconv.Itoa(n)+"."+key, k)
		in.Set(prefix+strconv.Itoa(n)+"."+value, v)
	}
}

// topicAttributes are attributes of a topic or of a subscription in an answer.
type topicAttributes struct {
	Attributes []struct{ Key, Value string }
}

func (a *topicAttributes) values() map[string]string {
	m := make(map[string]string, len(a.Attributes))
	for _, p := range a.Attributes {
		m[p.Key] = p.Value
	}
	return m
}

// attributesOfTopic reads the attributes of a topic.
func (w *wire) attributesOfTopic(ctx context.Context, name string) (map[string]string, error) {
	var out topicAttributes
	err := w.onTopics(ctx, "GetTopicAttributes", url.Values{"TopicArn": {topicARN(name)}}, &out)
	return out.values(), err
}

// subscription is one subscription of a topic in JSON output.
type subscription struct {
	SubscriptionARN string `json:"subscriptionArn"`
	Topic           string `json:"topic"`
	Queue           string `json:"queue"` // empty: the endpoint is a URL
	Endpoint        string `json:"endpoint"`
}

// subscriber is the name of the queue, or the URL.
func (s *subscription) subscriber() string {
	if s.Queue == "" {
		return s.Endpoint
	}
	return s.Queue
}

// listSubscriptions lists the subscriptions of a topic, or all if it is empty.
func (w *wire) listSubscriptions(ctx context.Context, topic string) ([]subscription, error) {
	list, action, in := []subscription{}, "ListSubscriptions", url.Values{}
	if topic != "" {
		action = "ListSubscriptionsByTopic"
		in.Set("TopicArn", topicARN(topic))
	}
	for {
		var out struct {
			Subscriptions []struct {
				SubscriptionARN string `json:"SubscriptionArn"`
				TopicARN        string `json:"TopicArn"`
				Protocol        string
				Endpoint        string
			}
			NextToken string
		}
		if err := w.onTopics(ctx, action, in, &out); err != nil {
			return nil, err
		}
		for _, s := range out.Subscriptions {
			one := subscription{SubscriptionARN: s.SubscriptionARN, Topic: lastElement(s.TopicARN), Endpoint: s.Endpoint}
			if s.Protocol == queueProtocol {
				one.Queue = lastElement(s.Endpoint)
			}
			list = append(list, one)
		}
		if out.NextToken == "" {
			return list, nil
		}
		in.Set("NextToken", out.NextToken)
	}
}

// listTopics lists the names of all topics.
func (w *wire) listTopics(ctx context.Context) ([]string, error) {
	names, in := []string{}, url.Values{}
	for {
		var out struct {
			Topics []struct {
				TopicARN string `json:"TopicArn"`
			}
			NextToken string
		}
		if err := w.onTopics(ctx, "ListTopics", in, &out); err != nil {
			return nil, err
		}
		for _, t := range out.Topics {
			names = append(names, lastElement(t.TopicARN))
		}
		if out.NextToken == "" {
			return names, nil
		}
		in.Set("NextToken", out.NextToken)
	}
}
