package queue

import (
	"strconv"

	"github.com/seriatimq/seriatim/queue/access"
	"github.com/seriatimq/seriatim/queue/arn"
	"github.com/seriatimq/seriatim/queue/attributes"
	"github.com/seriatimq/seriatim/queue/identifier"
	"github.com/seriatimq/seriatim/queue/limits"
	"github.com/seriatimq/seriatim/queue/logtime"
	"github.com/seriatimq/seriatim/queue/message"
	"github.com/seriatimq/seriatim/queue/outbox"
	"github.com/seriatimq/seriatim/queue/policy"
	"github.com/seriatimq/seriatim/queue/refusal"
	"github.com/seriatimq/seriatim/queue/rules"
	"github.com/seriatimq/seriatim/queue/topic"
)

// Subscribe subscribes a queue or a URL to a topic, or confirms an equal subscription. The queue
// need not exist (SNS): until it does, deliveries fail. A URL must confirm.
type Subscribe struct {
	Topic      string
	Protocol   attributes.Protocol
	Endpoint   string      // ARN of the queue, or the URL
	Queue      string      // queue of the ARN, qualified; empty: its plain name
	Server     string      // for a URL: the URL at which the caller reached the server, without a trailing slash
	Owner      string      // account
	Principal  string      // ARN of the subscriber
	Attributes []Attribute // sorted by name, names distinct
	// Rules replace the default rule of a new subscription of a queue. Their names are distinct.
	Rules []rules.Definition
}

// QueueName implements Command.
func (*Subscribe) QueueName() string { return "" }

const (
	endpointLengthMax  = limits.FIFONameLengthMax + 256 // for the ARN of a queue; ours, AWS permits 2048 for all protocols
	principalLengthMax = 2048
)

// Validate checks the endpoint and the attributes.
func (c *Subscribe) Validate() *Error {
	if err := c.wellFormed(); err != nil {
		return err
	}
	ends, _, _ := endsOf(isFIFOName(c.Topic), c.Protocol, c.Endpoint)
	if _, err := attributes.CreateSubscription(ends, c.Attributes); err != nil {
		return err
	}
	_, err := canonicalRules(c.Rules)
	return err
}

func (c *Subscribe) prepare() (Prepared, *Error) {
	if err := c.Validate(); err != nil || len(c.Rules) == 0 {
		return Prepared{Command: c}, err
	}
	ready := *c
	var err *Error
	ready.Rules, err = canonicalRules(c.Rules)
	return Prepared{Command: &ready}, err
}

// wellFormed checks topic, endpoint and subscriber.
func (c *Subscribe) wellFormed() *Error {
	if err := checkTopic(c.Topic); err != nil {
		return err
	}
	if err := c.checkEndpoint(); err != nil {
		return err
	}
	if len(c.Rules) > 0 && c.Protocol.Web() {
		return onlyQueuesHaveRules()
	}
	if c.Queue != "" && (c.Protocol.Web() || !namesQueue(c.Endpoint, c.Queue)) {
		return refusal.SNSInvalid("SQS endpoint ARN")
	}
	if len(c.Owner) > accountLengthMax || message.BadCharacter(c.Owner) || len(c.Principal) > principalLengthMax ||
		message.BadCharacter(c.Principal) {
		return refusal.SNSInvalid("SubscriptionPrincipal")
	}
	return nil
}

// checkEndpoint checks the endpoint against the protocol and the topic. FIFO topics refuse URLs,
// which keep no order (SNS; the text is ours).
func (c *Subscribe) checkEndpoint() *Error {
	if !c.Protocol.Known() {
		return refusal.SNSInvalid("Protocol")
	}
	ends, _, ok := endsOf(isFIFOName(c.Topic), c.Protocol, c.Endpoint)
	switch {
	case c.Protocol.Web() && ends.FIFOTopic:
		return refusal.SNSInvalid("Invalid protocol type: ", c.Protocol.String())
	case c.Protocol.Web() && !ok:
		return refusal.SNSInvalid("Endpoint must match the specified protocol")
	case c.Protocol.Web() && (len(c.Server) > publishEndpointLengthMax || message.BadCharacter(c.Server)):
		return refusal.SNSInvalid("the URL of the server is too long or has invalid characters")
	case ends.FIFOQueue && !ends.FIFOTopic:
		// SNS repeats the beginning.
		return refusal.SNSInvalid("Invalid parameter: Endpoint Reason: FIFO SQS Queues can not be subscribed to standard SNS topics")
	case !ok:
		return refusal.SNSInvalid("SQS endpoint ARN")
	}
	return nil
}

// namesQueue reports whether a qualified name and an ARN can name the same queue.
func namesQueue(endpoint, qualified string) bool {
	name, _ := arn.Queue(endpoint)
	owner, own := access.Split(qualified)
	return own == name && (owner == "" || owner == arn.AccountOf(endpoint))
}

// endsOf returns the properties that attribute rules depend on, and the queue of the endpoint. ok
// is false if the endpoint is invalid.
func endsOf(fifo bool, p attributes.Protocol, endpoint string) (ends attributes.Ends, queue string, ok bool) {
	ends = attributes.Ends{Protocol: p, FIFOTopic: fifo}
	if p.Web() {
		return ends, "", p.IsEndpoint(endpoint) && !fifo
	}
	queue, ok = arn.Queue(endpoint)
	ends.FIFOQueue = isFIFOName(queue)
	return ends, queue, ok && len(endpoint) <= endpointLengthMax && !message.BadCharacter(endpoint) && (fifo || !ends.FIFOQueue)
}

// apply subscribes a queue, which needs no confirmation: the accepting node checked the policy of a
// queue in another account. A URL must confirm. Subscribing it again repeats the request (SNS).
func (c *Subscribe) apply(b *Broker) (Result, *Error) {
	t, ok := b.topics.Get(c.Topic)
	if !ok {
		return nil, refusal.NoSuchTopic()
	}
	ends, name, _ := endsOf(t.Attributes.FIFO, c.Protocol, c.Endpoint)
	if name = access.Qualify("", name); c.Queue != "" {
		name = c.Queue
	}
	key := name
	if c.Protocol.Web() {
		key = c.Endpoint
	}
	if s, exists := t.SubscriptionOf(key); exists {
		if err := s.Attributes.Matches(c.Attributes); err != nil {
			return nil, err
		}
		if !s.Rules.Has(c.Rules) {
			return nil, attributes.SubscriptionDiffers()
		}
		if s.Pending() {
			b.requestConfirmation(b.beginTopic(c.Topic), *s, c.Server)
		}
		return Subscribed{SubscriptionARN: s.ARN, Pending: s.Pending()}, nil
	}
	wanted, err := attributes.CreateSubscription(ends, c.Attributes)
	if err == nil {
		err = b.checkDeadLetter(t, &wanted)
	}
	if err != nil {
		return nil, err
	}
	if t.Subscriptions() >= limits.SubscriptionsMax {
		return nil, refusal.New(refusal.SubscriptionLimitExceeded, "A topic can have ", strconv.Itoa(limits.SubscriptionsMax),
			" subscriptions.")
	}
	own, err := b.newRules(t, c.Rules)
	if err != nil {
		return nil, err
	}
	if err := b.addReplay(t, c.Attributes, attributes.ReplayNone); err != nil {
		return nil, err
	}
	b.nextIncarnation++
	id := identifier.NewSubscriptionID(b.key, b.nextIncarnation, b.epoch)
	s := &topic.Subscription{
		Number: b.nextIncarnation, ID: id, ARN: t.NewARN(id), Endpoint: c.Endpoint, Queue: name,
		Owner: c.Owner, Principal: c.Principal, Attributes: wanted, Rules: own,
	}
	if t = b.beginTopic(c.Topic); c.Protocol.Web() {
		b.requestConfirmation(t, *s, c.Server)
	} else {
		b.topics.Put(b.key, t, s)
	}
	return Subscribed{SubscriptionARN: s.ARN, Pending: c.Protocol.Web()}, nil
}

// checkDeadLetter refuses a dead-letter queue in another account than the topic (SNS; the text is
// ours).
func (b *Broker) checkDeadLetter(t *topic.Topic, a *attributes.Subscription) *Error {
	if a.DeadLetter.Target == "" || b.isOf(access.OwnerOf(t.Name), policy.RedriveTargetARN(a.DeadLetter.Text)) {
		return nil
	}
	return refusal.SNSInvalid("RedrivePolicy: the dead-letter queue is not of the account of the topic")
}

// deadLetterQueue returns the dead-letter queue of a subscription, empty if there is none.
func deadLetterQueue(t *topic.Topic, s *topic.Subscription) string {
	if s.Attributes.DeadLetter.Target == "" {
		return ""
	}
	return access.Sibling(t.Name, s.Attributes.DeadLetter.Target)
}

// Subscribed answers Subscribe and ConfirmSubscription.
type Subscribed struct {
	SubscriptionARN string
	Pending         bool // the subscriber must confirm
}

func (Subscribed) result() {}

// Unsubscribe removes a subscription. Delivered messages stay in the queue; waiting HTTP deliveries
// are dropped.
type Unsubscribe struct {
	SubscriptionARN string
	Signed          bool // the request has a valid signature
}

// QueueName implements Command.
func (*Unsubscribe) QueueName() string { return "" }

// Validate checks the form of the ARN.
func (c *Unsubscribe) Validate() *Error { return CheckSubscriptionARN(c.SubscriptionARN) }

// apply removes a subscription. A missing one is not an error (SNS).
func (c *Unsubscribe) apply(b *Broker) (Result, *Error) {
	t, s, ok := b.subscriptionByARN(c.SubscriptionARN)
	if !ok {
		return Done{}, nil
	}
	if s.Confirmation.Unsubscribe && !c.Signed {
		return nil, refusal.New(refusal.AuthorizationError,
			"The subscription was confirmed with AuthenticateOnUnsubscribe: sign the request to unsubscribe.")
	}
	b.dropSubscription(t, s)
	return Done{}, nil
}

func (b *Broker) dropSubscription(t *topic.Topic, s *topic.Subscription) {
	b.topics.Drop(b.key, b.beginTopic(t.Name), s)
	b.dropDeliveries(t, s.Number)
}

// CheckSubscriptionARN refuses a malformed ARN with the errors recorded at SNS.
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

// SetSubscriptionAttributes changes attributes of a subscription, all or none.
type SetSubscriptionAttributes struct {
	SubscriptionARN string
	Attributes      []Attribute // sorted by name, names distinct
}

// QueueName implements Command.
func (*SetSubscriptionAttributes) QueueName() string { return "" }

// Validate checks the form of the ARN. apply checks the attributes, whose rules depend on the
// queue.
func (c *SetSubscriptionAttributes) Validate() *Error { return CheckSubscriptionARN(c.SubscriptionARN) }

func (c *SetSubscriptionAttributes) apply(b *Broker) (Result, *Error) {
	t, s, ok := b.subscriptionByARN(c.SubscriptionARN)
	if !ok {
		return nil, refusal.NoSuchSubscription()
	}
	wanted, err := s.Attributes.WithChanges(c.Attributes)
	if err == nil {
		err = b.checkDeadLetter(t, &wanted)
	}
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
	b.noteUse(s.Queue)
	return Done{}, nil
}

// ConfirmSubscription confirms the subscription of a URL with the token sent to it.
type ConfirmSubscription struct {
	Topic string
	Token string
	// Signed reports a valid signature. AuthenticateOnUnsubscribe requires one for Unsubscribe.
	Signed                    bool
	AuthenticateOnUnsubscribe bool
}

// QueueName implements Command.
func (*ConfirmSubscription) QueueName() string { return "" }

// tokenLengthMax exceeds the length of every token.
const tokenLengthMax = 256

// Validate checks the lengths. apply verifies the token.
func (c *ConfirmSubscription) Validate() *Error {
	if err := checkTopic(c.Topic); err != nil {
		return err
	}
	if c.Token == "" || len(c.Token) > tokenLengthMax {
		return badToken()
	}
	return nil
}

// badToken returns the error recorded at SNS.
func badToken() *Error { return refusal.New(refusal.SNSInvalidParameter, "Invalid token") }

// subscription verifies the token and returns its subscription. A token is valid for three days,
// also after it was used (SNS).
func (c *ConfirmSubscription) subscription(b *Broker) (*topic.Subscription, *Error) {
	if _, ok := b.topics.Get(c.Topic); !ok {
		return nil, refusal.NoSuchTopic()
	}
	number, made, ok := identifier.OpenConfirmationToken(c.Token, b.key, b.epoch)
	if !ok || b.now >= Timestamp(made).Add(limits.ConfirmationDays*24*logtime.Hour) {
		return nil, badToken()
	}
	t, s, ok := b.topics.SubscriptionOfNumber(number)
	if !ok || t.Name != c.Topic {
		return nil, badToken()
	}
	return s, nil
}

func (c *ConfirmSubscription) apply(b *Broker) (Result, *Error) {
	s, refused := c.subscription(b)
	if refused != nil {
		return nil, refused
	}
	if s.Pending() {
		confirmed := *s
		confirmed.Confirmation = topic.Confirmation{Signed: c.Signed, Unsubscribe: c.AuthenticateOnUnsubscribe}
		b.topics.Put(b.key, b.beginTopic(c.Topic), &confirmed)
		b.outbox.Drop(b.key, s.Number, 0)
	}
	return Subscribed{SubscriptionARN: s.ARN}, nil
}

// requestConfirmation stores an unconfirmed subscription and enqueues the request to confirm. A
// repeated request counts as the next attempt, so that a report of the earlier one is ignored.
func (b *Broker) requestConfirmation(t *topic.Topic, s topic.Subscription, server string) {
	s.Confirmation = topic.Confirmation{RequestedAt: b.now, Server: server}
	b.topics.Put(b.key, t, &s)
	i := &outbox.Item{Subscription: s.Number, DueAt: b.now}
	if old, waits := b.outbox.Get(s.Number, 0); waits {
		i.Attempts = old.Attempts + 1
	}
	b.addDelivery(i)
}

// removeUnconfirmed removes at most budget subscriptions that were not confirmed in time.
func (b *Broker) removeUnconfirmed(budget int) {
	for ; budget > 0; budget-- {
		number, ok := b.topics.Overdue(b.now)
		if !ok {
			return
		}
		t, s, _ := b.topics.SubscriptionOfNumber(number)
		b.dropSubscription(t, s)
	}
}
