package aws

import (
	"context"
	"math"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/account"
	"github.com/seriatimq/seriatim/queue/attributes"
	"github.com/seriatimq/seriatim/queue/policy"
)

// Need is a permission that an action asks for beside the one of its row: it touches another
// resource, or does what another action does.
type Need struct {
	Permission string
	Resource   Resource
}

// toQueue is the permission to do something to a queue.
func toQueue(permission, qualified string) Need { return Need{permission, Resource{Name: qualified}} }

// ToSend is the permission to send to a queue.
func ToSend(qualified string) Need { return toQueue("sqs:SendMessage", qualified) }

// Reader reads a state that contains all that was acknowledged.
type Reader func(ctx context.Context, read func(queue.View) error) error

// QueueNeeds are those of attributes that are given to a queue: its letters go to another
// queue, which the built-in one of ImplicitDeadLetterQueue is, too.
func QueueNeeds(qualified string, given []queue.Attribute) (needs []Need) {
	text, _ := attributes.ValueOf(given, "RedrivePolicy")
	if p, reason := policy.ParseRedrive(text); reason == "" && p.Target != "" {
		needs = append(needs, ToSend(account.Sibling(qualified, p.Target)))
	}
	text, _ = attributes.ValueOf(given, "ImplicitDeadLetterQueue")
	if on, _ := attributes.ParseBool(text); on {
		built := queue.ImplicitDeadLetterName(qualified)
		needs = append(needs, toQueue("sqs:CreateQueue", built), ToSend(built))
	}
	return needs
}

// MoveNeeds are those of a move task (AWS). Without a destination, letters go back to the
// queues that have the source as their dead-letter queue.
func MoveNeeds(ctx context.Context, read Reader, source, destination string) ([]Need, error) {
	needs := []Need{
		toQueue("sqs:ReceiveMessage", source), toQueue("sqs:DeleteMessage", source), toQueue("sqs:GetQueueAttributes", source),
	}
	if destination != "" {
		return append(needs, ToSend(destination)), nil
	}
	err := read(ctx, func(v queue.View) error {
		back, _ := v.DeadLetterSources(source, "", math.MaxInt) // the action says what is wrong with the source
		for _, name := range back {
			needs = append(needs, ToSend(name))
		}
		return nil
	})
	return needs, err
}

// LetterNeeds are those of moving messages of a queue to its dead-letter queue.
func LetterNeeds(ctx context.Context, read Reader, qualified string) (needs []Need, err error) {
	err = read(ctx, func(v queue.View) error {
		if target := v.DeadLetterQueue(qualified); target != "" {
			needs = append(needs, ToSend(target))
		}
		return nil
	})
	return needs, err
}

// SubscribeNeeds are those of a subscription to a topic: it sends to its queue, which is empty
// for a URL, and to its dead-letter queue.
func SubscribeNeeds(topic, subscribed string, given []queue.Attribute) (needs []Need) {
	if subscribed != "" {
		needs = append(needs, ToSend(subscribed))
	}
	text, _ := attributes.ValueOf(given, "RedrivePolicy")
	if p, reason := policy.ParseDeadLetter(text); reason == "" && p.Target != "" {
		needs = append(needs, ToSend(account.Sibling(topic, p.Target)))
	}
	return needs
}

// SubscriptionNeeds are those of attributes that are given to a subscription: a replay sends
// to its queue again.
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
