package queue

import (
	"strconv"

	"github.com/seriatimq/seriatim/queue/arn"
	"github.com/seriatimq/seriatim/queue/attributes"
	"github.com/seriatimq/seriatim/queue/content"
	"github.com/seriatimq/seriatim/queue/identifier"
	"github.com/seriatimq/seriatim/queue/limits"
	"github.com/seriatimq/seriatim/queue/refusal"
	"github.com/seriatimq/seriatim/queue/topic"
)

// Subscribe subscribes a queue to a topic, or confirms that it is, with equal attributes.
// Whether the queue exists is not asked (SNS): until it does, deliveries fail.
type Subscribe struct {
	Topic      string
	Endpoint   string      // ARN of the queue
	Owner      string      // account
	Principal  string      // ARN of who subscribes
	Attributes []Attribute // sorted by name, names distinct
}

// QueueName implements Command.
func (*Subscribe) QueueName() string { return "" }

const (
	endpointLengthMax  = 512 // ours; AWS has 2048 for endpoints of all protocols
	principalLengthMax = 2048
)

// Validate checks the endpoint and the attributes.
func (c *Subscribe) Validate() *Error {
	if err := c.wellFormed(); err != nil {
		return err
	}
	_, err := attributes.CreateSubscription(c.ends(), c.Attributes)
	return err
}

// wellFormed checks the names.
func (c *Subscribe) wellFormed() *Error {
	if err := checkTopic(c.Topic); err != nil {
		return err
	}
	if _, ok := arn.Queue(c.Endpoint); !ok || len(c.Endpoint) > endpointLengthMax || content.BadCharacter(c.Endpoint) {
		return refusal.SNSInvalid("SQS endpoint ARN")
	}
	if ends := c.ends(); ends.FIFOQueue && !ends.FIFOTopic {
		// The doubled beginning is how SNS says it.
		return refusal.SNSInvalid("Invalid parameter: Endpoint Reason: FIFO SQS Queues can not be subscribed to standard SNS topics")
	}
	if len(c.Owner) > accountLengthMax || content.BadCharacter(c.Owner) || len(c.Principal) > principalLengthMax || content.BadCharacter(c.Principal) {
		return refusal.SNSInvalid("SubscriptionPrincipal")
	}
	return nil
}

func (c *Subscribe) ends() attributes.Ends {
	name, _ := arn.Queue(c.Endpoint)
	return attributes.Ends{FIFOTopic: isFIFOName(c.Topic), FIFOQueue: isFIFOName(name)}
}

// apply subscribes a queue, which is confirmed at once: all queues are of the account
// that the cluster has.
func (c *Subscribe) apply(b *Broker) (Result, *Error) {
	t, ok := b.topics.Get(c.Topic)
	if !ok {
		return nil, refusal.NoSuchTopic()
	}
	name, _ := arn.Queue(c.Endpoint)
	if s, exists := t.SubscriptionOf(name); exists {
		if err := s.Attributes.Matches(c.Attributes); err != nil {
			return nil, err
		}
		return Subscribed{SubscriptionARN: s.ARN}, nil
	}
	wanted, err := attributes.CreateSubscription(c.ends(), c.Attributes)
	if err != nil {
		return nil, err
	}
	if t.Subscriptions() >= limits.SubscriptionsMax {
		return nil, refusal.New(refusal.SubscriptionLimitExceeded, "A topic can have ", strconv.Itoa(limits.SubscriptionsMax), " subscriptions.")
	}
	if err := b.addReplay(t, c.Attributes, attributes.ReplayNone); err != nil {
		return nil, err
	}
	b.nextIncarnation++
	id := identifier.NewSubscriptionID(b.key, b.nextIncarnation, b.epoch)
	s := &topic.Subscription{
		Number: b.nextIncarnation, ID: id, ARN: t.NewARN(id), Endpoint: c.Endpoint, Queue: name,
		Owner: c.Owner, Principal: c.Principal, Attributes: wanted,
	}
	b.topics.Put(b.key, b.beginTopic(c.Topic), s)
	return Subscribed{SubscriptionARN: s.ARN}, nil
}

// Subscribed answers Subscribe.
type Subscribed struct{ SubscriptionARN string }

func (Subscribed) result() {}

// Unsubscribe removes a subscription. What was delivered stays in the queue.
type Unsubscribe struct{ SubscriptionARN string }

// QueueName implements Command.
func (*Unsubscribe) QueueName() string { return "" }

// Validate checks the form of the ARN.
func (c *Unsubscribe) Validate() *Error { return CheckSubscriptionARN(c.SubscriptionARN) }

// apply removes a subscription. One that does not exist is removed already (SNS).
func (c *Unsubscribe) apply(b *Broker) (Result, *Error) {
	t, s, ok := b.subscriptionByARN(c.SubscriptionARN)
	if ok {
		b.topics.Drop(b.key, b.beginTopic(t.Name), s)
	}
	return Done{}, nil
}

// CheckSubscriptionARN refuses what cannot be the ARN of a subscription, in words
// recorded at SNS.
func CheckSubscriptionARN(text string) *Error {
	switch _, _, elements := arn.Subscription(text); {
	case text == "":
		return refusal.SNSInvalid("SubscriptionArn Reason: no value for required parameter")
	case elements < 6:
		return refusal.SNSInvalid("SubscriptionArn Reason: An ARN must have at least 6 elements, not ", strconv.Itoa(elements))
	case elements != 7 || len(text) > topicARNLengthMax+64:
		return refusal.SNSInvalid("SubscriptionId")
	}
	return nil
}

// SetSubscriptionAttributes merges attributes into those of a subscription, all or none.
type SetSubscriptionAttributes struct {
	SubscriptionARN string
	Attributes      []Attribute // sorted by name, names distinct
}

// QueueName implements Command.
func (*SetSubscriptionAttributes) QueueName() string { return "" }

// Validate checks the form of the ARN. The attributes are checked against the
// subscription, since what it may have depends on its queue.
func (c *SetSubscriptionAttributes) Validate() *Error { return CheckSubscriptionARN(c.SubscriptionARN) }

func (c *SetSubscriptionAttributes) apply(b *Broker) (Result, *Error) {
	t, s, ok := b.subscriptionByARN(c.SubscriptionARN)
	if !ok {
		return nil, refusal.NoSuchSubscription()
	}
	wanted, err := s.Attributes.WithChanges(c.Attributes)
	if err != nil {
		return nil, err
	}
	if err := b.addReplay(t, c.Attributes, s.Attributes.ReplayStatus); err != nil {
		return nil, err
	}
	changed := *s
	changed.Attributes = wanted
	if wanted.ReplayStatus != attributes.ReplayInProgress {
		changed.ReplayNext = 0
	}
	b.topics.Put(b.key, b.beginTopic(t.Name), &changed)
	return Done{}, nil
}

// addReplay refuses a replay that attributes ask for if it cannot be, and otherwise has
// the leader begin it. before is the status of the one there is.
func (b *Broker) addReplay(t *topic.Topic, given []Attribute, before attributes.ReplayStatus) *Error {
	switch {
	case !attributes.AsksForReplay(given):
		return nil
	case t.Attributes.Archive.Days == 0:
		return refusal.SNSInvalid("ReplayPolicy Reason: The topic has no ArchivePolicy, so there is nothing to replay.")
	case !before.Running() && t.Replays() >= limits.ReplaysMax:
		return refusal.New(refusal.ReplayLimitExceeded, "A topic can have ", strconv.Itoa(limits.ReplaysMax),
			" replays at a time. Wait until one is completed, or remove a ReplayPolicy.")
	}
	b.events = append(b.events, Event{Kind: ReplayAdded, Topic: t.Name})
	return nil
}

// failReplays ends the replays of a topic that has no archive any more.
func (b *Broker) failReplays(t *topic.Topic) {
	var running []*topic.Subscription
	t.ScanSubscriptions(func(s *topic.Subscription) bool {
		if s.Attributes.ReplayStatus.Running() {
			running = append(running, s)
		}
		return true
	})
	for _, s := range running {
		b.topics.Put(b.key, t, s.WithReplay(attributes.ReplayFailed, 0))
	}
}

// ReplayMessages is one bounded step of a replay, proposed by the leader.
type ReplayMessages struct {
	Subscription uint64 // its number
	Max          int    // 1..ReplayStepMax publications are looked at
}

// MessagesReplayed answers ReplayMessages.
type MessagesReplayed struct {
	Looked  int64 // publications of the archive that were delivered or filtered out
	Running bool  // the replay wants another step
}

func (MessagesReplayed) result() {}

// QueueName implements Command.
func (*ReplayMessages) QueueName() string { return "" }

// Validate bounds the step; only the leader proposes this command.
func (c *ReplayMessages) Validate() *Error {
	if c.Max < 1 || c.Max > limits.ReplayStepMax {
		return refusal.SNSInvalid("a step of a replay looks at 1 to ", strconv.Itoa(limits.ReplayStepMax), " messages")
	}
	return nil
}

// apply delivers what comes next in the archive. The step that reaches its end completes
// the replay: what is published after this entry is delivered at once again, so that
// nothing is lost, repeated or out of order in between. A replay whose queue does not
// exist fails.
func (c *ReplayMessages) apply(b *Broker) (Result, *Error) {
	t, s, ok := b.topics.SubscriptionOfNumber(c.Subscription)
	if !ok || !s.Attributes.ReplayStatus.Running() {
		return MessagesReplayed{}, nil
	}
	t = b.beginTopic(t.Name)
	if _, exists := b.queues.Get(s.Queue); !exists {
		b.topics.Put(b.key, t, s.WithReplay(attributes.ReplayFailed, 0))
		return MessagesReplayed{}, nil
	}
	from := s.ReplayNext
	if s.Attributes.ReplayStatus == attributes.ReplayPending {
		from = t.FirstArchived(s.Attributes.Replay.Start)
	}
	begin, replay := t.ArchiveBegin(b.now), &s.Attributes.Replay
	looked, next := int64(0), uint64(0)
	t.ScanArchive(from, func(p *topic.Publication) bool {
		n := p.Content()
		if replay.Ends && n.Timestamp > replay.End {
			return false
		}
		if looked == int64(c.Max) {
			next = uint64(n.SequenceNumber)
			return false
		}
		looked++
		if f := (fan{b: b, topic: t, publication: p, replayed: true}); n.Timestamp >= begin && f.passes(s.Attributes.Filter) {
			f.deliver(s)
		}
		return true
	})
	status := attributes.ReplayCompleted
	if next != 0 {
		status = attributes.ReplayInProgress
	}
	b.topics.Put(b.key, t, s.WithReplay(status, next))
	return MessagesReplayed{Looked: looked, Running: next != 0}, nil
}
