package explain

import (
	"strings"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/attributes"
	"github.com/seriatimq/seriatim/queue/limits"
)

// Deduplication explains whether a queue would drop a send with a deduplication id.
func Deduplication(v queue.View, name string, id queue.DeduplicationID) (Explanation, *queue.Error) {
	known, found, err := v.KnownID(name, id)
	if err != nil {
		return Explanation{}, err
	}
	a, _ := v.Typed(name)
	e := deduplication(v, name, id, &a, known, found)
	if a.Status.RefusesSends() {
		e.Next = "A send with the id is refused, because sending to the queue is disabled."
	}
	return e, nil
}

func deduplication(v queue.View, name string, id queue.DeduplicationID, a *queue.QueueAttributes, known queue.KnownID, found bool,
) Explanation {
	if !a.FIFO {
		return Explanation{State: "off", Summary: "The queue is a standard queue, which drops no duplicates.",
			Next: "A send with the id is accepted."}
	}
	if a.Deduplication.Disabled {
		return Explanation{State: "off", Summary: "DeduplicationEnabled of the queue is false, so that it drops no duplicates.",
			Next: "A send with the id is accepted."}
	}
	e := ofKnownID(known, found, "send", "queue", a.Deduplication.WindowSeconds)
	if !found {
		adds := int64(1)
		if a.Deduplication.IDAndContent { // the hash of the body is remembered, too
			adds = 2
		}
		if stats, _ := v.DeduplicationStats(name); stats.EntriesMax > 0 && stats.Live+adds > stats.EntriesMax {
			e.State, e.Next = "full", "A send with the id is refused with OverLimit, because the queue remembers as many ids as it may."
			e.command("removes the limit", "queue", "update", name, "--attribute", "MaxDeduplicationEntries=0")
		}
		return e
	}
	e.detail("The first message is now %s.", known.State)
	words := []string{"dedup", "forget", name, id.ID}
	if id.GroupID != "" {
		words = append(words, "--group", id.GroupID)
	}
	if id.PartitionKey != "" {
		words = append(words, "--partition-key", id.PartitionKey)
	}
	e.command("lets the id be sent again at once", words...)
	return e
}

// TopicDeduplication explains whether a FIFO topic would drop a publish with a deduplication id.
func TopicDeduplication(v queue.View, name string, id queue.DeduplicationID) (Explanation, *queue.Error) {
	known, found, err := v.KnownTopicID(name, id)
	if err != nil {
		return Explanation{}, err
	}
	a, _ := v.TypedTopic(name)
	if a.Deduplication.Disabled {
		return Explanation{State: "off", Summary: "DeduplicationEnabled of the topic is false, so that it drops no duplicates.",
			Next: "A publish with the id is accepted."}, nil
	}
	e := ofKnownID(known, found, "publish", "topic", a.Deduplication.WindowSeconds)
	switch {
	case !found && v.TopicFull(name):
		e.State, e.Next = "full", "A publish with the id is refused with Throttled, because the topic remembers as many ids as it may."
		e.command("removes the limit", "topic", "set", name, "MaxDeduplicationEntries=0")
	case known.State == "scheduled":
		e.detail("The first message is still scheduled.")
		e.command("cancels it, and lets the id be published again", "topic", "cancel", name, known.Sequence.String(), "--forget")
	}
	e.detail("Each subscribed FIFO queue remembers ids of its own, too, and may drop the delivery.")
	if a.Status.RefusesSends() {
		e.Next = "A publish with the id is refused, because sending to the topic is disabled."
	}
	return e, nil
}

func ofKnownID(known queue.KnownID, found bool, verb, where string, window int64) Explanation {
	if !found {
		e := Explanation{State: "unknown", Summary: "The " + where + " does not remember the id.",
			Next: "A " + verb + " with the id is accepted."}
		e.detail("The %s remembers an id for %s.", where, period(window))
		return e
	}
	e := Explanation{
		State: "duplicate", Until: known.FreeAt, Then: Forget,
		Summary: "A " + verb + " with the id is dropped as a duplicate until " + clock(known.FreeAt) + ".",
		Next:    "At " + clock(known.FreeAt) + " the " + where + " forgets the id, and accepts it again.",
	}
	e.detail("The first message with the id was accepted at %s, with the message id %s and the number %s.", clock(known.AcceptedAt),
		known.MessageID, known.Sequence)
	return e
}

// Topic explains where the messages of a topic go.
func Topic(v queue.View, name string) (Explanation, *queue.Error) {
	list, err := v.ListSubscriptionsByTopic(name, 0, limits.SubscriptionsMax)
	if err != nil {
		return Explanation{}, err
	}
	e := Explanation{State: "delivers"}
	var failing, pending int64
	for _, s := range list {
		state, err := v.SubscriptionState(s.SubscriptionARN)
		switch {
		case err != nil:
		case state.PendingUntil != 0:
			pending++
		case fails(state):
			failing++
			e.detail("Deliveries to %s fail.", endpoint(state))
			e.command("explains why", "topic", "subscription", "explain", s.SubscriptionARN)
		}
	}
	active := int64(len(list)) - pending
	switch {
	case active == 0:
		e.State, e.Summary = "no-subscribers", "The topic has no confirmed subscriptions: its messages go nowhere."
		e.command("subscribes a queue", "topic", "subscribe", name, "QUEUE")
	case failing > 0:
		e.State, e.Summary = "failing", count(failing, "subscription")+" of the topic cannot deliver."
	default:
		e.Summary = "The topic delivers to " + count(active, "subscription") + "."
	}
	if n := v.TopicScheduled(name); n > 0 {
		e.detail("Messages that are scheduled for later: %d.", n)
		e.command("lists them", "topic", "scheduled", name)
	}
	if pending > 0 {
		be := " are"
		if pending == 1 {
			be = " is"
		}
		e.detail("%s not confirmed yet.", count(pending, "subscription")+be)
	}
	e.Next = "A message that is published goes to every confirmed subscription whose filter policy it matches."
	return e, nil
}

// Publication is a message to compare with a filter policy.
type Publication struct {
	Attributes []queue.MessageAttribute
	Body       string
}

// Subscription explains whether a topic delivers to a subscription, and if p is set, whether this
// message passes its filter policy.
func Subscription(v queue.View, subscriptionARN string, p *Publication) (Explanation, *queue.Error) {
	s, err := v.SubscriptionState(subscriptionARN)
	if err != nil {
		return Explanation{}, err
	}
	e := ofSubscription(s)
	if p != nil && (e.State == "delivers" || e.State == "waiting") {
		keys, passes, _ := v.FilterUnmet(subscriptionARN, p.Attributes, p.Body)
		switch {
		case passes && s.Filter == "":
			e.detail("The subscription has no filter policy, so every message passes.")
		case passes:
			e.detail("The message passes the filter policy.")
		default:
			e.State, e.Summary = "filtered", "The filter policy drops the message for this subscription."
			if len(keys) > 0 {
				e.detail("It does not match the filter for: %s.", strings.Join(keys, ", "))
			}
			e.Next = "A message like this one is not delivered here. Other subscriptions are not affected."
		}
	}
	if s.Filter != "" {
		e.detail("The filter policy reads %s: %s", s.FilterScope, s.Filter)
	}
	return e, nil
}

func ofSubscription(s queue.SubscriptionState) Explanation {
	e := Explanation{State: "delivers", Summary: "The topic delivers to " + endpoint(s) + ".",
		Next: "Each message that passes the filter policy is delivered."}
	switch {
	case s.PendingUntil != 0:
		e.State, e.Until = "pending", s.PendingUntil
		e.Summary = "The subscription is not confirmed: nothing is delivered to " + endpoint(s) + "."
		e.Next = "At " + clock(s.PendingUntil) + " the subscription is removed, unless its endpoint confirms it."
	case fails(s):
		e.State, e.Summary = "failing", "The queue "+s.Queue+" does not exist, so deliveries fail."
		if s.QueueExists {
			e.Summary = "A standard topic cannot deliver to the FIFO queue " + s.Queue + ", so deliveries fail."
		} else {
			e.command("creates the queue", "queue", "create", s.Queue)
		}
		e.Next = "The subscription loses each message: it has no dead-letter queue that can take it."
		if s.DeadLetterFits {
			e.Next = "Each message goes to the dead-letter queue " + s.DeadLetterQueue + "."
		}
		e.command("removes the subscription", "topic", "unsubscribe", s.Topic, s.Queue)
	case s.Waiting > 0:
		e.State, e.Until = "waiting", s.RetryAt
		e.Summary = count(int64(s.Waiting), "message") + " are waiting for " + endpoint(s) + " to accept them."
		if s.Waiting == 1 {
			e.Summary = "1 message is waiting for " + endpoint(s) + " to accept it."
		}
		e.detail("The first of them has %s.", count(int64(s.Attempts), "failed attempt"))
		e.Next = "The next attempt is due at " + clock(s.RetryAt) + "."
	}
	if s.QueueNeedsGroup {
		e.detail("The queue %s needs a message group: a message without one is not delivered there. Messages of the topic may have none.",
			s.Queue)
	}
	if s.QueuePaused {
		e.detail("Deliveries of the queue %s are paused: messages arrive there, but receives get none.", s.Queue)
		e.command("resumes the deliveries", "queue", "resume", s.Queue)
	}
	switch s.Replay {
	case attributes.ReplayPending, attributes.ReplayInProgress:
		e.detail("A replay of archived messages is running. New messages arrive after it.")
	case attributes.ReplayFailed:
		e.detail("Its last replay failed.")
	case attributes.ReplayNone, attributes.ReplayCompleted:
	}
	return e
}

// fails reports whether every delivery to the queue of a subscription fails.
func fails(s queue.SubscriptionState) bool { return s.Queue != "" && !s.QueueFits }

func endpoint(s queue.SubscriptionState) string {
	if s.Queue == "" {
		return s.Endpoint
	}
	return "the queue " + s.Queue
}
