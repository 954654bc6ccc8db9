package oracle

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/identifier"
	"github.com/seriatimq/seriatim/queue/rules"
	"github.com/seriatimq/seriatim/test/oracle/reference"
)

// administerTopic applies a command about whole topics to the model.
func (o *Oracle) administerTopic(cmd queue.Command) (err *reference.Error, known bool) {
	switch c := cmd.(type) {
	case *queue.CreateTopic:
		return o.Model.CreateTopic(c.Topic, c.TopicARN, named(c.Attributes), tags(c.Tags)), true
	case *queue.DeleteTopic:
		return o.Model.DeleteTopic(c.Topic), true
	case *queue.SetTopicAttributes:
		return o.Model.SetTopicAttributes(c.Topic, named(c.Attributes)), true
	case *queue.SetTopicTags:
		return o.Model.SetTopicTags(c.Topic, tags(c.Set), c.Remove), true
	case *queue.Unsubscribe:
		o.Model.Unsubscribe(o.bound.subscriptions.model[c.SubscriptionARN])
		return nil, true
	case *queue.PutRule:
		return o.Model.PutRule(o.bound.subscriptions.model[c.SubscriptionARN], rule(c.Rule), int(c.Existing)), true
	case *queue.RemoveRule:
		return o.Model.RemoveRule(o.bound.subscriptions.model[c.SubscriptionARN], c.Rule), true
	case *queue.SetSubscriptionAttributes:
		return o.Model.SetSubscriptionAttributes(o.bound.subscriptions.model[c.SubscriptionARN], named(c.Attributes)), true
	}
	return nil, false
}

func named(list []queue.Attribute) map[string]string {
	given := map[string]string{}
	for _, a := range list {
		given[a.Name] = a.Value
	}
	return given
}

func tags(list []queue.Tag) map[string]string {
	set := map[string]string{}
	for _, t := range list {
		set[t.Key] = t.Value
	}
	return set
}

// rule returns a rule as the model knows it, by its texts.
func rule(d rules.Definition) reference.Rule {
	r := reference.Rule{Name: d.Name, Filter: map[rules.Kind]string{
		rules.KindTrue: "TRUE", rules.KindFalse: "FALSE", rules.KindCorrelation: "{color=red}",
	}[d.Kind]}
	if d.SQL != nil {
		r.Filter = d.SQL.Text
	}
	if d.Action != nil {
		r.Action = d.Action.Text
	}
	return r
}

func (o *Oracle) subscribe(c *queue.Subscribe, result queue.Result, refusal *queue.Error) (want Answer, _ *Difference) {
	subscribed := c.Queue
	if subscribed == "" {
		subscribed = nameOf(c.Endpoint)
	}
	var own []reference.Rule
	for _, d := range c.Rules {
		own = append(own, rule(d))
	}
	want.Subscription, want.Err = o.Model.Subscribe(c.Topic, subscribed, named(c.Attributes), own)
	if text := errorDifference(want.Err, refusal); text != "" || want.Err != nil {
		return want, differ("I11", text)
	}
	got, ok := result.(queue.Subscribed)
	if !ok {
		return want, differ("I11", fmt.Sprintf("product answered %T %v to a subscription", result, result))
	}
	return want, differ("I11", o.bound.subscriptions.bind("subscription", want.Subscription, got.SubscriptionARN))
}

func (o *Oracle) publish(c *queue.Publish, result queue.Result, refusal *queue.Error) (want Answer, _ *Difference) {
	if c.RepeatedSince != 0 && o.Model.Topic(c.Topic) != nil && !o.Model.TopicRemembers(c.Topic, int64(c.RepeatedSince)) {
		want.Err = &reference.Error{Code: "UnsupportedOperation"}
		if refusal == nil {
			return want, differ("I12", "product: accepted a repetition\nmodel:   the topic would not know that it is one")
		}
		return want, nil
	}
	want.Published, want.Err = o.Model.Publish(c.Topic, c.SenderID, c.Endpoint, publishEntries(c.Entries))
	if text := errorDifference(want.Err, refusal); text != "" || want.Err != nil {
		return want, differ("I11", text)
	}
	got, ok := result.(queue.Published)
	if !ok {
		return want, differ("I11", fmt.Sprintf("product answered %T %+v to a publish", result, result))
	}
	return want, o.compareAllPublished(c.Topic, want.Published, got)
}

func (o *Oracle) compareAllPublished(topic string, want []reference.Published, got queue.Published) *Difference {
	if len(got.Entries) != len(want) {
		return differ("I11", fmt.Sprintf("product answered %+v for %d entries", got, len(want)))
	}
	for i, p := range want {
		if d := o.comparePublished(topic, p, &got.Entries[i]); d != nil {
			d.Text = fmt.Sprintf("entry %d\n%s", i, d.Text)
			return d
		}
	}
	return nil
}

func publishEntries(list []queue.PublishEntry) (entries []reference.PublishEntry) {
	for i := range list {
		e := &list[i]
		at, partition, timeToLive := options(e.Options)
		entries = append(entries, reference.PublishEntry{
			Message: e.Message, Subject: text(e.Subject, e.SubjectGiven), Attributes: attributes(e.Attributes),
			Group: text(e.GroupID, e.GroupIDGiven), Dedup: text(e.DeduplicationID, e.DeduplicationIDGiven),
			Trace: e.TraceHeader, EnqueueAt: at, Partition: partition, TimeToLive: timeToLive,
		})
	}
	return entries
}

func (o *Oracle) replay(c *queue.ReplayMessages, result queue.Result, refusal *queue.Error) (want Answer, _ *Difference) {
	if o.SubscriptionOf == nil {
		return want, nil
	}
	want.Replayed = o.Model.ReplayStep(o.bound.subscriptions.model[o.SubscriptionOf(c.Subscription)], c.Max)
	if result != (queue.MessagesReplayed{Looked: want.Replayed.Looked, Running: want.Replayed.Running}) {
		return want, differ("I1", fmt.Sprintf("step of a replay: product %+v %v, model %+v", result, refusal, want.Replayed))
	}
	return want, nil
}

func (o *Oracle) comparePublished(topic string, want reference.Published, got *queue.PublishedEntry) *Difference {
	if got.Duplicate != want.Duplicate || int64(got.AcceptedAt) != want.AcceptedAt || got.FirstIsScheduled != want.FirstScheduled {
		return differ("I3", fmt.Sprintf("duplicate: product %v (accepted at %d, scheduled %v), model %v (at %d, %v)", got.Duplicate,
			got.AcceptedAt, got.FirstIsScheduled, want.Duplicate, want.AcceptedAt, want.FirstScheduled))
	}
	return first(
		differ("I3", o.bound.messages.bind("message id", want.Message, got.MessageID)),
		differ("I9", o.bound.bindNumber("topic "+topic, want.Number, got.Sequence)),
	)
}

// CompareScheduled compares a scheduled message of a topic with the model's.
func (o *Oracle) CompareScheduled(topic string, got queue.ScheduledPublication, want reference.Scheduled) string {
	d := first(
		differ("I3", o.bound.messages.bind("message id", want.Message, got.MessageID)),
		differ("I9", o.bound.bindNumber("topic "+topic, want.Number, got.Sequence)),
		field("I2", "due", int64(got.DueAt), want.At),
		field("I2", "message", got.Message, want.Text),
		field("I2", "group", got.GroupID, want.Group),
		field("I2", "deduplication id", got.DeduplicationID, want.ID),
		field("I2", "partition key", got.PartitionKey, want.Partition),
	)
	if d == nil {
		return ""
	}
	return d.Text
}

// envelope is the JSON envelope of sns.md 6.
type envelope struct {
	Type, MessageId, SequenceNumber, TopicArn, Subject, Message, Timestamp, UnsubscribeURL string //nolint:revive // names in JSON
	MessageAttributes                                                                      map[string]struct{ Type, Value string }
	Replayed                                                                               bool
}

// compareBody compares the body of a message with the sent text, or with the envelope of a
// publication.
func (o *Oracle) compareBody(got string, want *reference.SendEntry) *Difference {
	p := want.Published
	if p == nil || p.Raw {
		return field("I2", "body", got, want.Body)
	}
	var e envelope
	reader := json.NewDecoder(strings.NewReader(got))
	reader.DisallowUnknownFields()
	if err := reader.Decode(&e); err != nil {
		return differ("I2", fmt.Sprintf("body: %v: %.300s", err, got))
	}
	number, _ := identifier.ParseSequenceNumber(e.SequenceNumber)
	return first(
		field("I2", "Type", e.Type, "Notification"),
		field("I2", "MessageId", e.MessageId, o.bound.messages.product[p.Message].String()),
		// No answer has shown the number of a message that was scheduled.
		differ("I9", o.bound.bindNumber("topic "+nameOf(p.TopicARN), p.Number, number)),
		field("I2", "TopicArn", e.TopicArn, p.TopicARN),
		field("I2", "Subject", e.Subject, p.Subject),
		field("I2", "Message", e.Message, p.Text),
		field("I2", "Timestamp", e.Timestamp, time.UnixMilli(p.At).UTC().Format("2006-01-02T15:04:05.000Z")),
		field("I2", "UnsubscribeURL", e.UnsubscribeURL,
			p.Endpoint+"/?Action=Unsubscribe&SubscriptionArn="+o.bound.subscriptions.product[p.Subscription]),
		field("I2", "Replayed", e.Replayed, p.Replayed),
		compareEnvelopeAttributes(&e, p.Attributes),
	)
}

func nameOf(arn string) string { return arn[strings.LastIndex(arn, ":")+1:] }

func compareEnvelopeAttributes(e *envelope, want []reference.Attribute) *Difference {
	if len(e.MessageAttributes) != len(want) {
		return differ("I2", fmt.Sprintf("attributes of the envelope: product %v, model %v", e.MessageAttributes, want))
	}
	for _, a := range want {
		value := a.Value
		if strings.HasPrefix(a.Type, "Binary") {
			value = base64.StdEncoding.EncodeToString([]byte(value))
		}
		if got := e.MessageAttributes[a.Name]; got.Type != a.Type || got.Value != value {
			return differ("I2", fmt.Sprintf("attribute %s of the envelope: product %v, model %v", a.Name, got, a))
		}
	}
	return nil
}
