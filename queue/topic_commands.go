package queue

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/seriatimq/seriatim/queue/access"
	"github.com/seriatimq/seriatim/queue/arn"
	"github.com/seriatimq/seriatim/queue/attributes"
	"github.com/seriatimq/seriatim/queue/limits"
	"github.com/seriatimq/seriatim/queue/policy"
	"github.com/seriatimq/seriatim/queue/refusal"
	"github.com/seriatimq/seriatim/queue/topic"
)

// CreateTopic creates a topic, or confirms that an equal topic exists.
type CreateTopic struct {
	Topic      string
	TopicARN   string      // stored with the topic
	Attributes []Attribute // sorted by name, names distinct
	Tags       []Tag       // sorted by key, keys distinct
}

// QueueName implements Command.
func (*CreateTopic) QueueName() string { return "" }

// Validate checks the name, the tags, and the attributes except for limits that are cluster
// settings.
func (c *CreateTopic) Validate() *Error {
	if err := c.wellFormed(); err != nil {
		return err
	}
	return c.checkAttributes(attributes.AnyWindow())
}

func (c *CreateTopic) checkAttributes(in attributes.Assignment) *Error {
	_, err := attributes.CreateTopic(isFIFOName(c.Topic), c.Attributes, in)
	return err
}

// wellFormed checks name, ARN and tags.
func (c *CreateTopic) wellFormed() *Error {
	owner, own := access.Split(c.Topic)
	if err := attributes.CheckTopicName(own, c.Attributes); err != nil {
		return err
	}
	if name, ok := arn.Topic(c.TopicARN); !ok || name != own || owner != "" && owner != arn.AccountOf(c.TopicARN) ||
		len(c.TopicARN) > topicARNLengthMax {
		return refusal.SNSInvalid("TopicArn")
	}
	return attributes.CheckTopicTags(c.Tags)
}

func (c *CreateTopic) accessPolicy() (AccessPolicy, bool) {
	return topicPolicy(c.Topic, c.Attributes, "Attributes Reason: Policy Error: ")
}

// topicPolicy returns the access policy among the attributes of a topic.
func topicPolicy(name string, given []Attribute, prefix string) (AccessPolicy, bool) {
	text, found := attributes.ValueOf(given, attributes.NamePolicy)
	return AccessPolicy{Topic: name, Text: text, Refuse: func(reason string) *Error {
		return refusal.SNSInvalid(prefix, reason)
	}}, found
}

// apply creates a topic, or confirms an existing one whose attributes and tags equal those of the
// request.
func (c *CreateTopic) apply(b *Broker) (Result, *Error) {
	in := b.assignment()
	if t, exists := b.topics.Get(c.Topic); exists {
		if err := t.Attributes.Matches(c.withoutDefaultPolicy(t), in); err != nil {
			return nil, err
		}
		if err := attributes.MatchTopicTags(t.Tags, c.Tags); err != nil {
			return nil, err
		}
		return TopicCreated{TopicARN: t.ARN}, nil
	}
	if err := attributes.CheckNewTopicName(c.Topic, c.Attributes); err != nil {
		return nil, err
	}
	fifo := isFIFOName(c.Topic)
	wanted, err := attributes.CreateTopic(fifo, c.Attributes, in)
	if err != nil {
		return nil, err
	}
	most := limits.TopicsStandardMax
	if fifo {
		most = limits.TopicsFIFOMax
	}
	if b.topics.CountOf(fifo) >= most {
		return nil, refusal.New(refusal.TopicLimitExceeded, "There can be ", strconv.Itoa(most), " topics of this type.")
	}
	if err := b.roomForTopic(c.Topic); err != nil {
		return nil, err
	}
	b.nextIncarnation++
	t := topic.New(c.Topic, c.TopicARN, b.nextIncarnation, wanted, b.keptOf(c.Topic))
	t.Tags = c.Tags
	t.CreatedAt, t.ModifiedAt, t.UsedAt = b.now, b.now, b.now
	t.LastSequence = b.sequenceFloor // as for queues, see addQueue
	if wanted.Archive.Days > 0 {
		t.SetArchivedSince(b.now)
	}
	b.addTopic(t)
	return TopicCreated{TopicARN: t.ARN}, nil
}

// withoutDefaultPolicy returns the attributes to compare with those of a topic. It omits a Policy
// that equals the default, which is not stored.
func (c *CreateTopic) withoutDefaultPolicy(t *topic.Topic) []Attribute {
	usual := func(text string) bool { return policy.IsDefaultTopicAccess(text, t.ARN, arn.AccountOf(t.ARN)) }
	given, _ := attributes.ValueOf(c.Attributes, attributes.NamePolicy)
	if !usual(given) || t.Attributes.Policy != "" && !usual(t.Attributes.Policy) {
		return c.Attributes
	}
	return slices.DeleteFunc(slices.Clone(c.Attributes), func(a Attribute) bool { return a.Name == attributes.NamePolicy })
}

// TopicCreated answers CreateTopic.
type TopicCreated struct{ TopicARN string }

func (TopicCreated) result() {}

// topicARNLengthMax bounds the ARN of a topic: the name, region and account. Ours.
const topicARNLengthMax = limits.FIFONameLengthMax + 256

// checkTopic refuses a name that no topic can have.
func checkTopic(name string) *Error {
	if name == "" || len(access.PlainName(name)) > limits.FIFONameLengthMax {
		return refusal.NoSuchTopic()
	}
	return nil
}

// DeleteTopic deletes a topic and its subscriptions. Delivered messages stay in the queues.
type DeleteTopic struct{ Topic string }

// QueueName implements Command.
func (*DeleteTopic) QueueName() string { return "" }

// Validate checks the length of the name.
func (c *DeleteTopic) Validate() *Error { return checkTopic(c.Topic) }

// apply deletes a topic. A missing one is not an error (SNS).
func (c *DeleteTopic) apply(b *Broker) (Result, *Error) {
	t, ok := b.topics.Get(c.Topic)
	if !ok {
		return Done{}, nil
	}
	if t.Attributes.Archive.Text != "" {
		return nil, refusal.New(refusal.InvalidState, "Invalid state: Cannot delete a topic with an ArchivePolicy")
	}
	b.dropTopic(t)
	return Done{}, nil
}

func (b *Broker) dropTopic(t *topic.Topic) {
	t.ScanSubscriptions(func(s *topic.Subscription) bool {
		b.dropDeliveries(t, s.Number)
		return true
	})
	b.releases.dropPublications(t.DropSchedule())
	b.topics.Remove(t)
	b.access = b.access.WithTopicPolicy(t.Name, "")
	b.usage.Of(access.OwnerOf(t.Name)).Topics--
	b.sequenceFloor = max(b.sequenceFloor, t.LastSequence)
}

// SetTopicAttributes changes attributes of a topic, all or none.
type SetTopicAttributes struct {
	Topic      string
	Attributes []Attribute // sorted by name, names distinct
}

// QueueName implements Command.
func (*SetTopicAttributes) QueueName() string { return "" }

// Validate checks the attributes by the rules for the topic's name.
func (c *SetTopicAttributes) Validate() *Error {
	if err := checkTopic(c.Topic); err != nil {
		return err
	}
	return c.checkAttributes(attributes.AnyWindow())
}

func (c *SetTopicAttributes) checkAttributes(in attributes.Assignment) *Error {
	return attributes.CheckTopicChanges(isFIFOName(c.Topic), c.Attributes, in)
}

// wellFormed checks nothing: apply checks the attributes against the topic.
func (*SetTopicAttributes) wellFormed() *Error { return nil }

func (c *SetTopicAttributes) accessPolicy() (AccessPolicy, bool) {
	return topicPolicy(c.Topic, c.Attributes, "Policy Error: ")
}

func (c *SetTopicAttributes) apply(b *Broker) (Result, *Error) {
	t, ok := b.topics.Get(c.Topic)
	if !ok {
		return nil, refusal.NoSuchTopic()
	}
	changed, err := t.Attributes.WithChanges(c.Attributes, b.assignment())
	if err != nil {
		return nil, err
	}
	t = b.beginTopic(c.Topic)
	b.releases.dropPublications(t.SetAttributes(changed, b.now))
	b.access = b.access.WithTopicPolicy(t.Name, changed.Policy)
	if changed.Archive.Days == 0 {
		b.failReplays(t)
	}
	return Done{}, nil
}

// keptOf returns the usage of an account by its topics.
func (b *Broker) keptOf(name string) *access.Kept { return &b.usage.Of(access.OwnerOf(name)).Kept }

func (b *Broker) addTopic(t *topic.Topic) {
	b.topics.Add(t)
	b.access = b.access.WithTopicPolicy(t.Name, t.Attributes.Policy)
	b.usage.Of(access.OwnerOf(t.Name)).Topics++
}

// beginTopic returns a topic that the command may change, with expired records removed; nil if
// there is none. The command counts as a use.
func (b *Broker) beginTopic(name string) *topic.Topic {
	t := b.topics.Begin(name)
	if t != nil {
		t.UsedAt = b.now
		t.Forget(b.key, b.now, queueExpiryBudget)
	}
	return t
}

// SetTopicTags sets and removes tags.
type SetTopicTags struct {
	Topic  string
	Set    []Tag    // sorted by key
	Remove []string // sorted
}

// QueueName implements Command.
func (*SetTopicTags) QueueName() string { return "" }

// Validate checks keys and values. apply checks the number of tags.
func (c *SetTopicTags) Validate() *Error {
	if checkTopic(c.Topic) != nil {
		return noSuchResource()
	}
	if len(c.Remove) > tagsRemovedMax {
		return refusal.SNSInvalid("TagKeys")
	}
	return attributes.CheckTopicTags(c.Set)
}

// noSuchResource returns the error of the tag actions for a missing topic.
func noSuchResource() *Error {
	return refusal.New(refusal.SNSResourceNotFound, "Resource does not exist")
}

// apply sets and removes tags. Removing an unknown key is not an error.
func (c *SetTopicTags) apply(b *Broker) (Result, *Error) {
	t, ok := b.topics.Get(c.Topic)
	if !ok {
		return nil, noSuchResource()
	}
	merged := mergedTags(t.Tags, c.Set, c.Remove)
	if len(merged) > limits.TagsMax {
		return nil, attributes.TooManyTopicTags()
	}
	b.beginTopic(c.Topic).SetTags(merged)
	return Done{}, nil
}

// SetTopicPolicy is the command for AddPermission and RemovePermission: it adds a statement to the
// topic's access policy, or removes those with a label.
type SetTopicPolicy struct {
	Topic      string
	Label      string // Sid of the statement
	Remove     bool
	AccountIDs []string // principals, for adding
	Actions    []string // without the SNS: prefix, for adding
}

// QueueName implements Command.
func (*SetTopicPolicy) QueueName() string { return "" }

// topicActions are the actions that AddPermission may grant (recorded at SNS).
var topicActions = [...]string{
	"AddPermission", "DeleteTopic", "GetTopicAttributes", "ListSubscriptionsByTopic", "Publish", "Receive",
	"RemovePermission", "SetTopicAttributes", "Subscribe",
}

// Validate checks the label and, for adding, accounts and actions.
func (c *SetTopicPolicy) Validate() *Error {
	if err := checkTopic(c.Topic); err != nil {
		return err
	}
	if !plainName(c.Label) || len(c.Label) > limits.PolicyLabelLengthMax {
		return refusal.SNSInvalid("Label")
	}
	if c.Remove {
		return nil
	}
	if len(c.AccountIDs) == 0 || len(c.AccountIDs) > policyAccountsMax {
		return refusal.SNSInvalid("AWSAccountId")
	}
	for _, account := range c.AccountIDs {
		if !plainName(account) || len(account) > accountLengthMax {
			return refusal.SNSInvalid("AWSAccountId")
		}
	}
	if len(c.Actions) == 0 || len(c.Actions) > len(topicActions) {
		return refusal.SNSInvalid("ActionName")
	}
	for _, action := range c.Actions {
		if !slices.Contains(topicActions[:], action) {
			return refusal.SNSInvalid("Policy statement action out of service scope!")
		}
	}
	return nil
}

// accessPolicy returns a policy with only the added statement. Validate checks the actions, so only
// an account can be invalid.
func (c *SetTopicPolicy) accessPolicy() (AccessPolicy, bool) {
	text, err := policy.Add("", policy.Statement{Label: c.Label, Service: "SNS", Resource: "*", Accounts: c.AccountIDs, Actions: c.Actions})
	return AccessPolicy{Topic: c.Topic, Text: text, Refuse: func(string) *Error { return refusal.SNSInvalid("AWSAccountId") }},
		err == nil && !c.Remove
}

// apply changes the policy in force: without one of its own, a topic has the default policy of SNS.
// Removing an unknown label is not an error.
func (c *SetTopicPolicy) apply(b *Broker) (Result, *Error) {
	t, ok := b.topics.Get(c.Topic)
	if !ok {
		return nil, refusal.NoSuchTopic()
	}
	access := t.Attributes.Policy
	if access == "" {
		access = policy.DefaultTopicAccess(t.ARN, arn.AccountOf(t.ARN))
	}
	var err error
	if c.Remove {
		if access, err = policy.Remove(access, c.Label); access == "" && err == nil {
			access = policy.EmptyTopicAccess
		}
	} else {
		access, err = policy.Add(access, policy.Statement{
			Label: c.Label, Service: "SNS", Resource: t.ARN, Accounts: c.AccountIDs, Actions: c.Actions,
		})
	}
	switch {
	case err == nil:
	case errors.Is(err, policy.ErrLabelNotFound):
		return Done{}, nil
	case errors.Is(err, policy.ErrLabelExists):
		return nil, refusal.SNSInvalid("Statement already exists")
	default:
		return nil, refusal.SNSInvalid("Policy Reason: ", err.Error())
	}
	changed := t.Attributes
	changed.Policy = access
	b.beginTopic(c.Topic).SetAttributes(changed, b.now)
	b.access = b.access.WithTopicPolicy(c.Topic, changed.Policy)
	return Done{}, nil
}

// subscriptionByARN finds a subscription and its topic.
func (b *Broker) subscriptionByARN(text string) (*topic.Topic, *topic.Subscription, bool) {
	name, id, _ := arn.Subscription(text)
	for _, owner := range [...]string{"", arn.AccountOf(text)} {
		t, ok := b.topics.Get(access.Qualify(owner, name))
		if ok && strings.HasPrefix(text, t.ARN+":") {
			s, ok := t.Subscription(id)
			return t, s, ok
		}
	}
	return nil, nil, false
}
