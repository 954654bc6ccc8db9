package service

import (
	"context"
	"math"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/access"
	"github.com/seriatimq/seriatim/queue/attributes"
	"github.com/seriatimq/seriatim/queue/policy"
)

// Need is a permission to one resource. An action that touches a second resource has several.
type Need struct {
	Permission string
	Resource   Resource
}

// toQueue returns the Need for a permission to a queue.
func toQueue(permission, qualified string) Need { return Need{permission, Resource{Name: qualified}} }

// ToSend returns the Need for sending to a queue.
func ToSend(qualified string) Need { return toQueue("sqs:SendMessage", qualified) }

// Reader reads a state that contains all acknowledged changes.
type Reader func(ctx context.Context, read func(queue.View) error) error

// QueueNeeds returns the Needs for setting attributes of a queue: they may name a dead-letter queue, or
// queues and topics to forward to, or create a built-in dead-letter queue.
func QueueNeeds(qualified string, given []queue.Attribute) (needs []Need) {
	text, _ := attributes.ValueOf(given, "RedrivePolicy")
	if p, reason := policy.ParseRedrive(text); reason == "" && p.Target != "" {
		needs = append(needs, ToSend(access.Sibling(qualified, p.Target)))
	}
	text, _ = attributes.ValueOf(given, "ImplicitDeadLetterQueue")
	if on, _ := attributes.ParseBool(text); on {
		needs = append(needs, toBuiltIn(queue.ImplicitDeadLetterName(qualified))...)
	}
	for _, attribute := range []string{attributes.NameForwardTo, attributes.NameForwardDeadLetters} {
		text, _ = attributes.ValueOf(given, attribute)
		if text == "" {
			continue
		}
		name, topic := attributes.ForwardTarget(text)
		need := ToSend(access.Sibling(qualified, name))
		if topic {
			need = Need{"sns:Publish", Resource{Topic: access.Sibling(qualified, name)}}
		}
		needs = append(needs, need)
		needs = append(needs, toBuiltIn(queue.TransferDeadLetterName(qualified))...)
	}
	return needs
}

// toBuiltIn returns the Needs for a built-in dead-letter queue.
func toBuiltIn(name string) []Need { return []Need{toQueue("sqs:CreateQueue", name), ToSend(name)} }

// MoveNeeds returns the Needs of a move task (AWS). Without a destination, messages go back to the
// queues whose dead-letter queue is the source.
func MoveNeeds(ctx context.Context, read Reader, source, destination string) ([]Need, error) {
	needs := []Need{
		toQueue("sqs:ReceiveMessage", source), toQueue("sqs:DeleteMessage", source), toQueue("sqs:GetQueueAttributes", source),
	}
	if destination != "" {
		return append(needs, ToSend(destination)), nil
	}
	err := read(ctx, func(v queue.View) error {
		back, _ := v.DeadLetterSources(source, "", math.MaxInt) // the action itself reports a bad source
		for _, name := range back {
			needs = append(needs, ToSend(name))
		}
		return nil
	})
	return needs, err
}

// DeadLetterNeeds returns the Needs for moving messages of a queue to its dead-letter queue.
func DeadLetterNeeds(ctx context.Context, read Reader, qualified string) (needs []Need, err error) {
	err = read(ctx, func(v queue.View) error {
		if target := v.DeadLetterQueue(qualified); target != "" {
			needs = append(needs, ToSend(target))
		}
		return nil
	})
	return needs, err
}

// SubscribeNeeds returns the Needs of a subscription to a topic: it sends to the subscribed queue,
// which is empty for a URL, and to its dead-letter queue.
func SubscribeNeeds(topic, subscribed string, given []queue.Attribute) (needs []Need) {
	if subscribed != "" {
		needs = append(needs, ToSend(subscribed))
	}
	text, _ := attributes.ValueOf(given, "RedrivePolicy")
	if p, reason := policy.ParseDeadLetter(text); reason == "" && p.Target != "" {
		needs = append(needs, ToSend(access.Sibling(topic, p.Target)))
	}
	return needs
}

// SubscriptionNeeds returns the Needs for setting attributes of a subscription: a replay sends to
// the subscribed queue again.
func SubscriptionNeeds(ctx context.Context, read Reader, topic, subscriptionARN string, given []queue.Attribute) ([]Need, error) {
	subscribed := ""
	if text, _ := attributes.ValueOf(given, "ReplayPolicy"); text != "" {
		err := read(ctx, func(v queue.View) error {
			subscribed = v.SubscribedQueue(subscriptionARN)
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return SubscribeNeeds(topic, subscribed, given), nil
}
