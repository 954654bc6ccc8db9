package fsm

import (
	"fmt"
	"slices"
	"strings"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/attributes"
	"github.com/seriatimq/seriatim/queue/logtime"
	"github.com/seriatimq/seriatim/queue/message"
)

// createTopics creates topics and subscribes some queues.
func (c *commands) createTopics() []queue.Command {
	return []queue.Command{
		c.createTopic("t.fifo"), c.createTopic("u.fifo"), c.createTopic("standard"),
		c.subscribe("t.fifo", "a.fifo"), c.subscribe("t.fifo", "b.fifo"), c.subscribe("t.fifo", "plain"),
		c.subscribe("u.fifo", "a.fifo"), c.subscribe("standard", "plain"),
	}
}

func (c *commands) createTopic(name string) queue.Command {
	cmd := &queue.CreateTopic{Topic: name, TopicARN: scenarioTopics + name}
	if strings.HasSuffix(name, ".fifo") {
		cmd.Attributes = []queue.Attribute{
			{Name: "ContentBasedDeduplication", Value: "true"}, {Name: "DeduplicationWindowSeconds", Value: "20"},
			{Name: "FifoTopic", Value: "true"},
		}
	}
	if name == "u.fifo" {
		cmd.Attributes = append(cmd.Attributes, queue.Attribute{Name: "MessageGroupIdMode", Value: "Optional"},
			queue.Attribute{Name: "ReservedAttributesEnabled", Value: "true"})
	}
	return cmd
}

func (c *commands) subscribe(topic, name string) queue.Command {
	cmd := &queue.Subscribe{Topic: topic, Endpoint: scenarioQueues + name, Owner: "000000000000"}
	if c.random.IntN(3) == 0 {
		cmd.Attributes = append(cmd.Attributes, queue.Attribute{Name: "FilterPolicy", Value: `{"color":["red"]}`})
	}
	cmd.Attributes = append(cmd.Attributes, queue.Attribute{Name: "RawMessageDelivery", Value: c.one("true", "false")})
	if c.random.IntN(2) == 0 {
		cmd.Attributes = append(cmd.Attributes, queue.Attribute{
			Name: "RedrivePolicy", Value: `{"deadLetterTargetArn":"` + scenarioQueues + `dead.fifo"}`,
		})
	}
	return cmd
}

// replay requests a replay of the last seconds, perhaps with an end before or after now.
func (c *commands) replay() queue.Command {
	point := func(at queue.Timestamp) string { return string(at.AppendRFC3339(nil)) }
	policy := `{"PointType":"Timestamp","StartingPoint":"` + point(c.now.Add(-logtime.Seconds(c.random.Int64N(30)))) + `"`
	if c.random.IntN(3) == 0 {
		policy += `,"EndingPoint":"` + point(c.now.Add(logtime.Seconds(c.random.Int64N(5)))) + `"`
	}
	return &queue.SetSubscriptionAttributes{
		SubscriptionARN: c.subscriptions[c.random.IntN(len(c.subscriptions))],
		Attributes:      []queue.Attribute{{Name: "ReplayPolicy", Value: policy + `}`}},
	}
}

// webCommand subscribes a URL, or continues with a subscribed one.
func (c *commands) webCommand() queue.Command {
	waiting := c.view().OutboxSubscriptions()
	if len(waiting) == 0 || c.random.IntN(4) == 0 {
		cmd := &queue.Subscribe{
			Topic: "standard", Protocol: attributes.ProtocolHTTPS, Endpoint: "https://example.org/" + c.one("a", "b", "c"),
			Server: "http://localhost:9324", Owner: "000000000000",
		}
		if c.random.IntN(2) == 0 {
			cmd.Attributes = append(cmd.Attributes, queue.Attribute{
				Name: "DeliveryPolicy", Value: `{"healthyRetryPolicy":{"numRetries":2,"numNoDelayRetries":1,"minDelayTarget":1}}`,
			}, queue.Attribute{Name: "RedrivePolicy", Value: `{"deadLetterTargetArn":"` + scenarioQueues + `dead"}`})
		}
		return cmd
	}
	subscription := waiting[c.random.IntN(len(waiting))]
	var due []queue.WebDelivery
	c.view().ScanDeliveries(subscription, func(_ uint64, _ queue.Timestamp, request func() queue.WebDelivery) bool {
		due = append(due, request())
		return len(due) < 3
	})
	if asked := due[0].Request.Confirmation; asked != nil && c.random.IntN(2) == 0 {
		return &queue.ConfirmSubscription{Topic: "standard", Token: asked.Token}
	}
	cmd := &queue.ReportDeliveries{}
	for _, d := range due {
		outcome := queue.DeliveryOutcome(1 + c.random.IntN(3))
		cmd.Reports = append(cmd.Reports,
			queue.DeliveryReport{Subscription: subscription, Number: d.Number, Attempts: d.Attempts, Outcome: outcome})
		c.count("posted", outcome == queue.DeliveryDone && d.Number > 0)
		c.count("to be posted again", outcome == queue.DeliveryFailed && d.Number > 0)
	}
	return cmd
}

// topicCommand mostly publishes.
func (c *commands) topicCommand() queue.Command {
	if c.random.IntN(5) == 0 {
		return c.webCommand()
	}
	topic := c.one("t.fifo", "t.fifo", "u.fifo", "standard")
	switch n := c.random.IntN(30); {
	case n == 0:
		return &queue.DeleteTopic{Topic: topic}
	case n == 1:
		return c.createTopic(topic)
	case n == 2 && len(c.subscriptions) > 0:
		return &queue.Unsubscribe{SubscriptionARN: c.subscriptions[c.random.IntN(len(c.subscriptions))]}
	case n == 3 && len(c.subscriptions) > 0:
		return &queue.SetSubscriptionAttributes{
			SubscriptionARN: c.subscriptions[c.random.IntN(len(c.subscriptions))],
			Attributes:      []queue.Attribute{{Name: "RawMessageDelivery", Value: c.one("true", "false")}},
		}
	case n == 4:
		return &queue.SetTopicAttributes{Topic: c.one("t.fifo", "u.fifo"), Attributes: []queue.Attribute{
			{Name: "DeduplicationWindowSeconds", Value: c.one("20", "30")},
			c.topicScope(),
		}}
	case n == 5:
		return &queue.SetTopicTags{Topic: topic, Set: []queue.Tag{{Key: "k", Value: c.one("v", "w")}}}
	case n < 9:
		return c.subscribe(topic, c.queue())
	case n < 12:
		return &queue.SetTopicAttributes{Topic: c.one("t.fifo", "u.fifo"), Attributes: []queue.Attribute{
			{Name: "ArchivePolicy", Value: c.one(`{}`, `{"MessageRetentionPeriod":"1"}`, `{"MessageRetentionPeriod":"2"}`,
				`{"MessageRetentionPeriod":"2"}`)},
		}}
	case n < 15 && len(c.subscriptions) > 0:
		return c.replay()
	case n < 19:
		subscription := uint64(c.random.IntN(40))
		if running := c.view().RunningReplays(); len(running) > 0 {
			subscription = running[c.random.IntN(len(running))]
		}
		return &queue.ReplayMessages{Subscription: subscription, Max: 1 + c.random.IntN(4)}
	}
	if c.random.IntN(4) == 0 {
		return &queue.CancelScheduled{Topic: topic, Sequences: c.scheduledIn(topic), ForgetDeduplicationID: c.random.IntN(2) == 0}
	}
	cmd := &queue.Publish{Topic: topic, SenderID: "AIDAEXAMPLE", Endpoint: c.one("http://localhost:9324", "https://example.org"),
		Batch: true}
	for range 1 + c.random.IntN(3) {
		e := queue.PublishEntry{
			Message: c.one("x", "y", "z"), GroupID: c.one("g", "h", "i"), GroupIDGiven: true,
			Attributes: []queue.MessageAttribute{{Name: "color", DataType: "String", Value: c.one("red", "blue")}},
		}
		if strings.HasSuffix(topic, ".fifo") && c.random.IntN(4) > 0 {
			e.DeduplicationID, e.DeduplicationIDGiven = fmt.Sprint(c.random.IntN(60)), true
		}
		c.schedule(topic, &e)
		cmd.Entries = append(cmd.Entries, e)
	}
	slices.SortFunc(cmd.Entries, func(a, b queue.PublishEntry) int { return strings.Compare(a.Message, b.Message) })
	return cmd
}

// schedule makes a publish to a FIFO topic one for a later time, sometimes without a group.
func (c *commands) schedule(topic string, e *queue.PublishEntry) {
	if !strings.HasSuffix(topic, ".fifo") || c.random.IntN(3) > 0 {
		return
	}
	if topic == "u.fifo" {
		e.GroupID, e.GroupIDGiven = "", false
		key := queue.MessageAttribute{Name: "seriatim.PartitionKey", DataType: "String", Value: c.one("p", "q")}
		e.Attributes = append(e.Attributes, key)
	}
	e.Options = &queue.SendOptions{EnqueueAt: c.now.Add(logtime.Duration(c.random.IntN(5)) * 2500)}
	switch c.now % 4 {
	case 0:
		e.Options.TimeToLive = 4 * logtime.Second
	case 1:
		e.Message, e.Encoded = e.Message+"\xff", &queue.Encoded{Format: message.FormatBytes}
	}
}

// scheduledIn returns up to two scheduled messages of a topic, and one that is not scheduled.
func (c *commands) scheduledIn(topic string) []queue.SequenceNumber {
	numbers := []queue.SequenceNumber{1}
	list, _ := c.view().ScheduledPublications(topic, 0, 2)
	for _, p := range list {
		numbers = append(numbers, p.Sequence)
	}
	return numbers
}

func (c *commands) topicScope() queue.Attribute {
	if c.random.IntN(2) == 0 {
		return queue.Attribute{Name: "DeduplicationScope", Value: c.one("queue", "partitionKey")}
	}
	return queue.Attribute{Name: "FifoThroughputScope", Value: "MessageGroup"}
}
