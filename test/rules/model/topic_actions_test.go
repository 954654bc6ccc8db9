package model

import (
	"strings"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/logtime"
	"github.com/seriatimq/seriatim/queue/property"
	"github.com/seriatimq/seriatim/queue/rules"
	"github.com/seriatimq/seriatim/test/oracle/reference"
)

type (
	createTopic struct {
		name string
		attributes
		tags attributes
	}
	deleteTopic struct{ name string }
	setTopic    struct {
		name string
		attributes
	}
	tagTopic struct {
		name   string
		set    attributes
		remove []string
	}
	subscribe struct {
		topic, queue string
		attributes
		rules []reference.Rule
	}
	putRule struct {
		step      int
		rule      reference.Rule
		condition int
	}
	removeRule struct {
		step int
		name string
	}
	unsubscribe     struct{ step int } // the step that made the subscription
	setSubscription struct {
		step int
		attributes
	}
	publish struct {
		topic   string
		sender  string
		batch   bool
		large   bool
		since   int64
		entries []reference.PublishEntry
	}
)

func topicARN(name string) string { return arnOf("sns", name) }

func (a attributes) tags() (list []queue.Tag) {
	for _, t := range a.list() {
		list = append(list, queue.Tag{Key: t.Name, Value: t.Value})
	}
	return list
}

func (c createTopic) command(*world) queue.Command {
	return &queue.CreateTopic{Topic: c.name, TopicARN: topicARN(c.name), Attributes: c.list(), Tags: c.tags.tags()}
}

func (c deleteTopic) command(*world) queue.Command { return &queue.DeleteTopic{Topic: c.name} }

func (c setTopic) command(*world) queue.Command {
	return &queue.SetTopicAttributes{Topic: c.name, Attributes: c.list()}
}

func (c tagTopic) command(*world) queue.Command {
	return &queue.SetTopicTags{Topic: c.name, Set: c.set.tags(), Remove: c.remove}
}

func (c subscribe) command(*world) queue.Command {
	cmd := &queue.Subscribe{Topic: c.topic, Endpoint: arn(c.queue), Owner: "000000000000", Attributes: c.list()}
	if strings.Contains(c.queue, "/") {
		cmd.Queue = c.queue
	}
	for _, r := range c.rules {
		cmd.Rules = append(cmd.Rules, definition(r))
	}
	return cmd
}

// definition returns a rule in its form for the log.
func definition(r reference.Rule) rules.Definition {
	d := rules.Definition{Name: r.Name, Kind: rules.KindSQL}
	switch r.Filter {
	case "TRUE":
		d.Kind = rules.KindTrue
	case "FALSE":
		d.Kind = rules.KindFalse
	case "{color=red}":
		d.Kind = rules.KindCorrelation
		d.Application = []rules.Parameter{rules.NewParameter("color", property.String("red"))}
	default:
		d.SQL = &rules.Expression{Text: r.Filter}
	}
	if r.Action != "" {
		d.Action = &rules.Expression{Text: r.Action}
	}
	canonical, err := d.InCanonicalForm()
	if err != nil {
		panic(err)
	}
	return canonical
}

func (c putRule) command(w *world) queue.Command {
	return &queue.PutRule{SubscriptionARN: w.subscription(c.step), Rule: definition(c.rule), Existing: queue.ExistingRule(c.condition)}
}

func (c removeRule) command(w *world) queue.Command {
	return &queue.RemoveRule{SubscriptionARN: w.subscription(c.step), Rule: c.name}
}

// subscription returns the ARN that a step returned, or one that does not exist.
func (w *world) subscription(step int) string {
	if arn, ok := w.subscriptions[step]; ok {
		return arn
	}
	return topicARN("nosuch.fifo") + ":00000000-0000-0000-0000-000000000000"
}

func (c unsubscribe) command(w *world) queue.Command {
	return &queue.Unsubscribe{SubscriptionARN: w.subscription(c.step)}
}

func (c setSubscription) command(w *world) queue.Command {
	return &queue.SetSubscriptionAttributes{SubscriptionARN: w.subscription(c.step), Attributes: c.list()}
}

func (c publish) command(*world) queue.Command {
	cmd := &queue.Publish{
		Topic: c.topic, SenderID: c.sender, Endpoint: "http://localhost:9324", Batch: c.batch, Large: c.large,
		RepeatedSince: queue.Timestamp(c.since),
	}
	for _, e := range c.entries {
		p := queue.PublishEntry{Message: e.Message}
		if e.Subject != nil {
			p.Subject, p.SubjectGiven = *e.Subject, true
		}
		if e.Group != nil {
			p.GroupID, p.GroupIDGiven = *e.Group, true
		}
		if e.Dedup != nil {
			p.DeduplicationID, p.DeduplicationIDGiven = *e.Dedup, true
		}
		if e.EnqueueAt != nil || e.Partition != nil || e.TimeToLive != nil {
			p.Options = &queue.SendOptions{}
		}
		if e.EnqueueAt != nil {
			p.Options.EnqueueAt = queue.Timestamp(*e.EnqueueAt)
		}
		if e.Partition != nil {
			p.Options.PartitionKey = *e.Partition
		}
		if e.TimeToLive != nil {
			p.Options.TimeToLive = logtime.Duration(*e.TimeToLive)
		}
		for _, a := range e.Attributes {
			p.Attributes = append(p.Attributes, queue.MessageAttribute{Name: a.Name, DataType: a.Type, Value: a.Value})
		}
		cmd.Entries = append(cmd.Entries, p)
	}
	return cmd
}
