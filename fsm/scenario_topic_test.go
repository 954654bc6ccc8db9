package fsm

import (
	"fmt"
	"slices"
	"strings"

	"github.com/seriatimq/seriatim/queue"
)

const (
	scenarioTopics = "arn:aws:sns:us-east-1:000000000000:"
	scenarioQueues = "arn:aws:sqs:us-east-1:000000000000:"
)

// topics holds the labels of topics: p1 is a publication, s1 a subscription.
type topics struct {
	publications  map[queue.MessageID]string
	subscriptions map[string]string // ARN to label
	arns          map[string]string // label to ARN
	events        []queue.Event
}

func newTopics() topics {
	return topics{publications: map[queue.MessageID]string{}, subscriptions: map[string]string{}, arns: map[string]string{}}
}

// topicCommand reads the lines that are commands of topics.
func (s *scenario) topicCommand(verb string, args []string) queue.Command {
	switch verb {
	case "create-topic":
		return &queue.CreateTopic{Topic: args[0], TopicARN: scenarioTopics + args[0], Attributes: pairs(args[1:])}
	case "delete-topic":
		return &queue.DeleteTopic{Topic: args[0]}
	case "set-topic":
		return &queue.SetTopicAttributes{Topic: args[0], Attributes: pairs(args[1:])}
	case "subscribe":
		return &queue.Subscribe{Topic: args[0], Endpoint: scenarioQueues + args[1], Owner: "000000000000", Attributes: pairs(args[2:])}
	case "remove-rule":
		return &queue.RemoveRule{SubscriptionARN: s.topics.arns[args[0]], Rule: args[1]}
	case "unsubscribe":
		return &queue.Unsubscribe{SubscriptionARN: s.topics.arns[args[0]]}
	case "set-subscription":
		return &queue.SetSubscriptionAttributes{SubscriptionARN: s.topics.arns[args[0]], Attributes: pairs(args[1:])}
	case "replay": // one step
		number := uint64(0)
		for _, sub := range s.replica.fsm.View().ListSubscriptions(0, 100) {
			if sub.SubscriptionARN == s.topics.arns[args[0]] {
				number = sub.Number
			}
		}
		return &queue.ReplayMessages{Subscription: number, Max: int(s.number(args[1]))}
	case "publish", "publish-large":
		cmd := s.publish(args[0], args[1:])
		cmd.Large = verb == "publish-large"
		return cmd
	}
	return nil
}

// publish reads entries separated by semicolons: message, then key=value words.
func (s *scenario) publish(name string, args []string) *queue.Publish {
	cmd := &queue.Publish{Topic: name, SenderID: "AIDAEXAMPLE", Endpoint: "http://localhost:9324"}
	for len(args) > 0 {
		entry := queue.PublishEntry{Message: unescaped(args[0])}
		args = args[1:]
		for len(args) > 0 && args[0] != ";" {
			key, value, _ := strings.Cut(args[0], "=")
			switch key {
			case "group":
				entry.GroupID, entry.GroupIDGiven = unescaped(value), true
			case "dedup":
				entry.DeduplicationID, entry.DeduplicationIDGiven = value, true
			case "filled": // to this number of bytes
				entry.Message += strings.Repeat(".", int(s.number(value))-len(entry.Message))
			case "subject":
				entry.Subject, entry.SubjectGiven = value, true
			case "bytes", "amqp": // the sections before the body
				entry.Native, entry.Encoded = true, encoded(key, value)
			case "enqueue", "key", "ttl":
				s.option(&entry.Options, key, value)
			default: // a message attribute of type String
				entry.Attributes = append(entry.Attributes, queue.MessageAttribute{Name: key, DataType: "String", Value: value})
			}
			args = args[1:]
		}
		cmd.Entries = append(cmd.Entries, entry)
		if len(args) > 0 {
			args = args[1:]
			cmd.Batch = true
		}
	}
	return cmd
}

// topicAnswer shows the results of topic commands.
func (s *scenario) topicAnswer(result queue.Result) ([]string, bool) {
	switch r := result.(type) {
	case queue.TopicCreated:
		return []string{"created " + strings.TrimPrefix(r.TopicARN, scenarioTopics)}, true
	case queue.Subscribed:
		label, known := s.topics.subscriptions[r.SubscriptionARN]
		if !known {
			label = fmt.Sprintf("s%d", len(s.topics.subscriptions)+1)
			s.topics.subscriptions[r.SubscriptionARN], s.topics.arns[label] = label, r.SubscriptionARN
		}
		return []string{"subscribed " + label}, true
	case queue.MessagesReplayed:
		return append([]string{fmt.Sprintf("looked at %d, running %v", r.Looked, r.Running)}, s.topicEvents()...), true
	case queue.Published:
		var lines []string
		for _, e := range r.Entries {
			label, known := s.topics.publications[e.MessageID]
			if !known {
				label = fmt.Sprintf("p%d", len(s.topics.publications)+1)
				s.topics.publications[e.MessageID] = label
			}
			word, state := "published ", ""
			if e.Duplicate {
				word = "duplicate of "
			}
			if e.FirstIsScheduled {
				state = ", still scheduled"
			}
			lines = append(lines, word+label+number(e.Sequence)+state)
		}
		return append(lines, s.topicEvents()...), true
	}
	return nil, false
}

// topicEvents shows the deliveries that did not reach their queue.
func (s *scenario) topicEvents() (lines []string) {
	words := map[queue.EventKind]string{
		queue.TopicDeliveriesDeduplicated: "was a duplicate in ",
		queue.TopicDeliveriesDeadLettered: "was dead-lettered instead of delivered to ",
		queue.TopicDeliveriesLost:         "was lost for ",
	}
	for _, e := range s.topics.events {
		if word := words[e.Kind]; word != "" {
			lines = append(lines, fmt.Sprintf("%d of %s %s%s", e.Count, e.Topic, word, e.Queue))
		}
	}
	return lines
}

// scheduled shows the scheduled messages of a topic, from a number on.
func (s *scenario) scheduled(name string, from queue.SequenceNumber) (lines []string) {
	list, err := s.replica.fsm.View().ScheduledPublications(name, from, 100)
	if err != nil {
		return []string{s.refusal(err)}
	}
	for _, p := range list {
		line := fmt.Sprintf("%s%s %q at %gs", s.topics.publications[p.MessageID], number(p.Sequence), p.Message,
			float64(p.DueAt.Sub(start))/1000)
		for _, word := range [...]struct{ name, value string }{
			{"group", p.GroupID}, {"dedup", p.DeduplicationID}, {"key", p.PartitionKey}, {"subject", p.Subject},
		} {
			if word.value != "" {
				line += " " + word.name + "=" + word.value
			}
		}
		for _, a := range p.Attributes {
			line += " " + a.Name + "=" + a.Value
		}
		lines = append(lines, line)
	}
	return append(lines, fmt.Sprint(len(list), " scheduled"))
}

// body quotes the text of a message. An envelope is shown with labels.
func (s *scenario) body(text string) string {
	if !strings.HasPrefix(text, `{"Type":"Notification"`) {
		return fmt.Sprintf("%q", text)
	}
	for id, label := range s.topics.publications {
		text = strings.ReplaceAll(text, id.String(), label)
	}
	for arn, label := range s.topics.subscriptions {
		text = strings.ReplaceAll(text, arn, label)
	}
	return text
}

// subscriptionAttributes shows the named attributes of a subscription.
func (s *scenario) subscriptionAttributes(label string, wanted []string) []string {
	list, err := s.replica.fsm.View().SubscriptionAttributes(s.topics.arns[label])
	if err != nil {
		return []string{s.refusal(err)}
	}
	return named(list, wanted)
}

// topicAttributes shows the named attributes of a topic, or all.
func (s *scenario) topicAttributes(name string, wanted []string) []string {
	list, err := s.replica.fsm.View().TopicAttributes(name)
	if err != nil {
		return []string{s.refusal(err)}
	}
	return named(list, wanted)
}

// named shows the named attributes, or all.
func named(list []queue.Attribute, wanted []string) (lines []string) {
	for _, a := range list {
		if len(wanted) == 0 || slices.Contains(wanted, a.Name) {
			lines = append(lines, a.Name+"="+a.Value)
		}
	}
	return lines
}
