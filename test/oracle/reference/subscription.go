package reference

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Subscription is a queue that a topic delivers to (sns.md 3.3).
type Subscription struct {
	ID       int
	Queue    string
	settings subscriptionSettings
	rules    []Rule // by name in small letters
}

type subscriptionSettings struct {
	dropFaulty bool // DeadLetterOnFilterError=false
	raw        bool
	filter     string // the policy's text, empty if there is none
	bodyScope  bool
	deadLetter string // a queue, empty if there is none
	replay     Replay
}

// Subscribe subscribes a queue, which need not exist, or succeeds if it is subscribed with equal
// attributes. Rules replace the default rule. It returns the number of the subscription.
func (b *Broker) Subscribe(topic, queue string, given map[string]string, rules []Rule) (int, *Error) {
	t := b.topics[topic]
	if strings.HasSuffix(queue, ".fifo") && !strings.HasSuffix(topic, ".fifo") {
		return 0, invalidTopic("Invalid parameter: Endpoint Reason: FIFO SQS Queues can not be subscribed to standard SNS topics")
	}
	if t == nil {
		return 0, topicNotFound()
	}
	wanted, err := subscriptionSettings{}.with(t.FIFO, strings.HasSuffix(queue, ".fifo"), "Attributes Reason: ", given)
	if err != nil {
		return 0, err
	}
	for _, s := range t.Subscriptions {
		if s.Queue != queue {
			continue
		}
		for name := range given {
			if s.settings.text(name) != wanted.text(name) {
				return 0, invalidTopic("Attributes Reason: Subscription already exists with different attributes")
			}
		}
		if len(rules) > 0 && !slices.Equal(rules, s.rules) {
			return 0, invalidTopic("Attributes Reason: Subscription already exists with different attributes")
		}
		return s.ID, nil
	}
	if len(rules) == 0 {
		rules = defaultRules()
	}
	if err := t.mayReplay(given, false); err != nil {
		return 0, err
	}
	b.lastSub++
	t.Subscriptions = append(t.Subscriptions, &Subscription{b.lastSub, queue, wanted, rules})
	t.usedAt = b.now
	return b.lastSub, nil
}

func (s subscriptionSettings) text(name string) string {
	switch name {
	case "RawMessageDelivery":
		return pick(s.raw, "true", "false")
	case "DeadLetterOnFilterError":
		return pick(s.dropFaulty, "false", "true")
	case "FilterPolicy":
		return s.filter
	case "FilterPolicyScope":
		return pick(s.bodyScope, "MessageBody", "MessageAttributes")
	case "ReplayPolicy":
		return fmt.Sprint(s.replay.Status != "", s.replay.start, s.replay.end, s.replay.ends)
	}
	return s.deadLetter
}

// with sets all attributes or none. The scope comes first, because it decides which texts are valid
// policies.
func (s subscriptionSettings) with(fifoTopic, fifoQueue bool, prefix string, given map[string]string) (subscriptionSettings, *Error) {
	if scope, ok := given["FilterPolicyScope"]; ok {
		s.bodyScope = scope == "MessageBody"
		if scope != "MessageBody" && scope != "MessageAttributes" {
			return s, invalidTopic(prefix + "FilterPolicyScope: Invalid value [" + scope +
				"]. Please use either MessageBody or MessageAttributes")
		}
	}
	for _, name := range attributesOrder(given) {
		value := given[name]
		switch name {
		case "FilterPolicyScope":
		case "FilterPolicy":
			if s.filter = value; value != "" && !goodPolicy(value, s.bodyScope) {
				return s, invalidTopic("") // before errors in the following attributes
			}
		case "RawMessageDelivery":
			raw, ok := truth(value)
			if !ok {
				return s, invalidTopic(prefix + "RawMessageDelivery: Invalid value [" + value + "]. Must be true or false.")
			}
			s.raw = raw
		case "DeadLetterOnFilterError":
			keep, ok := truth(value)
			if !ok {
				return s, invalidTopic("")
			}
			s.dropFaulty = !keep
		case "RedrivePolicy":
			if err := s.assignDeadLetter(fifoTopic && fifoQueue, prefix, value); err != nil {
				return s, err
			}
		case "ReplayPolicy":
			replay, ok := replayPolicy(value)
			if !ok || !fifoTopic {
				return s, invalidTopic("")
			}
			s.replay = replay
		default:
			return s, invalidTopic("")
		}
	}
	if s.filter != "" && !goodPolicy(s.filter, s.bodyScope) {
		return s, invalidTopic("")
	}
	return s, nil
}

func (s *subscriptionSettings) assignDeadLetter(fifo bool, prefix, value string) *Error {
	var policy struct{ DeadLetterTargetArn string }
	if value != "" && json.Unmarshal([]byte(value), &policy) != nil {
		return invalidTopic("")
	}
	s.deadLetter = arnName(policy.DeadLetterTargetArn)
	if fifo && s.deadLetter != "" && !strings.HasSuffix(s.deadLetter, ".fifo") {
		return invalidTopic(prefix + "RedrivePolicy: must use a FIFO queue as DLQ for a FIFO Subscription to a FIFO Topic.")
	}
	return nil
}

func (b *Broker) subscription(id int) (*Topic, *Subscription) {
	for _, t := range b.topics { // in any order, as at most one has it
		for _, s := range t.Subscriptions {
			if s.ID == id {
				return t, s
			}
		}
	}
	return nil, nil
}

// Unsubscribe deletes a subscription. Delivered messages stay.
func (b *Broker) Unsubscribe(id int) {
	if t, s := b.subscription(id); t != nil {
		t.Subscriptions = slices.DeleteFunc(t.Subscriptions, func(x *Subscription) bool { return x == s })
		t.usedAt = b.now
	}
}

// SetSubscriptionAttributes changes a subscription.
func (b *Broker) SetSubscriptionAttributes(id int, given map[string]string) *Error {
	t, s := b.subscription(id)
	if t == nil {
		return &Error{"NotFound", "Subscription does not exist"}
	}
	wanted, err := s.settings.with(t.FIFO, strings.HasSuffix(s.Queue, ".fifo"), "", given)
	if err == nil {
		err = t.mayReplay(given, s.settings.replay.Running())
	}
	if err == nil {
		s.settings, t.usedAt = wanted, b.now
		b.Use(s.Queue)
	}
	return err
}
