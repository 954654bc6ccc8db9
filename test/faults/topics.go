package faults

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"hash/crc32"
	"net/url"
	"strconv"
	"time"

	"github.com/seriatimq/seriatim/test/kit/harness"
	"github.com/seriatimq/seriatim/test/oracle/history"
)

// fanOut is the workload with a topic, and the topic's name.
const fanOut = "fan-out"

// fanOutQueues are the queues that its topic delivers to.
var fanOutQueues = [...]history.Subscription{
	{Queue: fanOut + "-filtered", Raw: true, Shades: []string{"red"}},
	{Queue: fanOut + "-enveloped"},
	{Queue: fanOut + "-raw", Raw: true},
}

// shades are the values of history.ShadeAttribute.
var shades = [...]string{"red", "green", "blue"}

// subscriptions returns the subscriptions of this part of the run.
func (c *client) subscriptions() []history.Subscription {
	all := fanOutQueues
	for i := range all {
		all[i].Topic, all[i].Queue = c.named(fanOut), c.named(all[i].Queue)
	}
	return all[:]
}

// topicAnswer has the fields of all answers of SNS that are looked at.
type topicAnswer struct {
	Error struct{ Code, Message string }
	// The answer of each action has its own element around these.
	MessageID       string `xml:"PublishResult>MessageId"`
	SequenceNumber  string `xml:"PublishResult>SequenceNumber"`
	SubscriptionArn string `xml:"SubscribeResult>SubscriptionArn"`
}

// topicCall makes one call of the SNS API and classifies it.
func (c *client) topicCall(ctx context.Context, node *harness.Node, form url.Values, e *history.Event) (out topicAnswer, sent bool) {
	form.Set("Version", "2010-03-31")
	status, text, sent := c.exchange(ctx, node, map[string]string{"Content-Type": "application/x-www-form-urlencoded"},
		[]byte(form.Encode()), e)
	if status == 0 {
		return out, sent
	}
	// A body that is not XML leaves the code empty, so the result is unknown.
	_ = xml.Unmarshal(text, &out)
	e.Result, e.Error = classify(status, answer{Type: out.Error.Code, Text: out.Error.Message})
	return out, true
}

func topicARN(topic string) string { return "arn:aws:sns:us-east-1:000000000000:" + topic }

// entries adds pairs to a form as SNS numbers them.
func entries(form url.Values, pairs map[string]string) {
	i := 0
	for name, value := range pairs {
		i++
		form.Set(fmt.Sprintf("Attributes.entry.%d.key", i), name)
		form.Set(fmt.Sprintf("Attributes.entry.%d.value", i), value)
	}
}

// createTopic creates a topic with its subscriptions, and retries until it succeeds. Both calls can
// be repeated.
func (c *client) createTopic(ctx context.Context, topic string, subscriptions []history.Subscription) error {
	form := url.Values{"Action": {"CreateTopic"}, "Name": {topic}}
	entries(form, map[string]string{
		"FifoTopic": "true", "FifoThroughputScope": "Topic",
		"DeduplicationWindowSeconds": fmt.Sprint(c.rules.WindowOf(subscriptions[0].Queue) / 1e6),
	})
	e := history.Event{Action: history.CreateTopic}
	e.Topic = topic
	if err := c.insist(ctx, form, e); err != nil {
		return err
	}
	for _, s := range subscriptions {
		form := url.Values{"Action": {"Subscribe"}, "TopicArn": {topicARN(topic)}, "Protocol": {"sqs"},
			"Endpoint": {"arn:aws:sqs:us-east-1:000000000000:" + s.Queue}}
		attributes := map[string]string{"RawMessageDelivery": strconv.FormatBool(s.Raw)}
		if len(s.Shades) > 0 {
			filter, err := json.Marshal(map[string][]string{history.ShadeAttribute: s.Shades})
			if err != nil {
				return err
			}
			attributes["FilterPolicy"] = string(filter)
		}
		entries(form, attributes)
		e := history.Event{Action: history.Subscribe, Queue: s.Queue}
		e.Topic = topic
		if err := c.insist(ctx, form, e); err != nil {
			return err
		}
	}
	return nil
}

func (c *client) insist(ctx context.Context, form url.Values, e history.Event) error {
	for {
		try := e
		if _, sent := c.topicCall(ctx, c.any(), form, &try); sent {
			c.recorder.Add(try)
			if try.Result == history.OK && try.Error == "" {
				return nil
			}
		}
		if !pause(ctx, 50*time.Millisecond) {
			return fmt.Errorf("%s %s: %s, %w", e.Action, e.Topic, try.Error, ctx.Err())
		}
	}
}

// publish tries once to publish, and reports whether the call succeeded. Group and shade depend
// only on the key, so that each try of a key is for the same queues.
func (c *client) publish(ctx context.Context, node *harness.Node, topic, key, body string) bool {
	sum := crc32.ChecksumIEEE([]byte(key))
	attributes := append(attributesFor(body), history.Attribute{Name: history.ShadeAttribute, Type: "String", Value: shades[sum%3]})
	e := history.Event{Action: history.Publish, Group: fmt.Sprint(sum >> 2 % 4), Dedup: key, Body: body}
	e.Topic, e.Extra = topic, history.AttributesText(attributes)
	form := url.Values{
		"Action": {"Publish"}, "TopicArn": {topicARN(topic)}, "Message": {body}, "MessageGroupId": {e.Group},
		"MessageDeduplicationId": {key},
	}
	for i, a := range attributes {
		prefix := fmt.Sprintf("MessageAttributes.entry.%d.", i+1)
		form.Set(prefix+"Name", a.Name)
		form.Set(prefix+"Value.DataType", a.Type)
		if a.Type == "Binary" {
			form.Set(prefix+"Value.BinaryValue", base64.StdEncoding.EncodeToString([]byte(a.Value)))
		} else {
			form.Set(prefix+"Value.StringValue", a.Value)
		}
	}
	out, sent := c.topicCall(ctx, node, form, &e)
	if !sent {
		return false
	}
	e.Message, e.Sequence = out.MessageID, out.SequenceNumber
	c.recorder.Add(e)
	return e.Result == history.OK && e.Error == ""
}

// fanOut publishes with a unique key, or with one that other clients use, too, until the publish is
// answered. Then it receives from one of the topic's queues. Each try of a shared key has its own
// body.
func (c *client) fanOut(ctx context.Context) {
	body := c.body()
	key := keyOf(body)
	if c.random.IntN(3) == 0 {
		key = fmt.Sprintf("again-%d", c.random.IntN(60))
	}
	for range 20 {
		if c.publish(ctx, c.any(), c.named(fanOut), key, body) || !c.think(ctx) {
			break
		}
	}
	c.consumeFrom(ctx, c.named(fanOutQueues[c.random.IntN(len(fanOutQueues))].Queue), 10)
}
