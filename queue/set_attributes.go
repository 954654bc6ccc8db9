package queue

import (
	"errors"
	"strconv"
	"strings"

	"github.com/tidwall/btree"

	"github.com/seriatimq/seriatim/queue/access"
	"github.com/seriatimq/seriatim/queue/attributes"
	"github.com/seriatimq/seriatim/queue/limits"
	"github.com/seriatimq/seriatim/queue/policy"
	"github.com/seriatimq/seriatim/queue/refusal"
)

// SetQueueAttributes changes attributes of a queue, all or none.
type SetQueueAttributes struct {
	Queue      string
	Attributes []Attribute // sorted by name, names distinct
}

// QueueName implements Command.
func (c *SetQueueAttributes) QueueName() string { return c.Queue }

// Validate checks the attributes by the rules for the queue's name.
func (c *SetQueueAttributes) Validate() *Error {
	if err := checkQueueName(c.Queue); err != nil {
		return err
	}
	return c.checkAttributes(attributes.AnyWindow())
}

func (c *SetQueueAttributes) checkAttributes(in attributes.Assignment) *Error {
	return attributes.Check(isFIFOName(c.Queue), c.Attributes, in)
}

// wellFormed checks nothing: apply checks the attributes against the queue.
func (c *SetQueueAttributes) wellFormed() *Error { return nil }

func (c *SetQueueAttributes) accessPolicy() (AccessPolicy, bool) {
	return queuePolicy(c.Queue, c.Attributes)
}

// queuePolicy returns the access policy among the attributes of a queue.
func queuePolicy(name string, given []Attribute) (AccessPolicy, bool) {
	text, _ := attributes.ValueOf(given, attributes.NamePolicy)
	return AccessPolicy{Queue: name, Text: text, Refuse: attributes.InvalidPolicy}, text != ""
}

func (c *SetQueueAttributes) refuse(b *Broker, q *Queue) (Result, *Error) { //nolint:unparam // implements refuser
	_, err := q.attributes.WithChanges(c.Attributes, b.assignment())
	return nil, err
}

func (c *SetQueueAttributes) apply(b *Broker) (Result, *Error) {
	q := b.beginNow(c.Queue)
	if q == nil {
		return nil, refusal.NoSuchQueue()
	}
	changed, err := q.attributes.WithChanges(c.Attributes, b.assignment())
	if err == nil {
		err = b.checkRedrive(q.name, changed.FIFO, changed.Redrive, c.Attributes)
	}
	if err == nil {
		err = b.checkForward(q.name, &changed, c.Attributes)
	}
	if err == nil {
		err = checkImplicit(q.name, &changed)
	}
	if err == nil {
		err = b.roomForQueues(q.name, 0, &changed)
	}
	if err != nil {
		return nil, err
	}
	target, _ := q.deadLetterTarget()
	if changed.DelaySeconds < q.attributes.DelaySeconds || q.attributes.DeliveryPaused && !changed.DeliveryPaused {
		q.groups.sessions.Wake()
	}
	// Waiting receives are refused, or may get messages.
	if changed.Status != q.attributes.Status || changed.ForwardTo != q.attributes.ForwardTo {
		q.groups.sessions.Wake()
		b.emit(MessagesAvailable, q.name, 0)
	}
	q.attributes = changed
	b.access = b.access.WithQueuePolicy(q.name, changed.Policy)
	q.deduplication.SetRules(changed.Deduplication, b.now)
	q.modified(b.now)
	b.followRedrive(q, target)
	b.addImplicit(q)
	return Done{}, nil
}

// modified records a change of attributes.
func (q *Queue) modified(now Timestamp) {
	q.modifiedAt = now
	q.sums.headerStale = true
}

// SetQueueTags sets and removes tags.
type SetQueueTags struct {
	Queue  string
	Set    []Tag    // sorted by key
	Remove []string // sorted
}

// QueueName implements Command.
func (c *SetQueueTags) QueueName() string { return c.Queue }

// Validate checks keys and values. apply checks the number of tags.
func (c *SetQueueTags) Validate() *Error {
	if err := checkQueueName(c.Queue); err != nil {
		return err
	}
	if len(c.Remove) > tagsRemovedMax {
		return refusal.InvalidParameter("No more than ", strconv.Itoa(tagsRemovedMax), " tag keys can be removed in one request.")
	}
	return c.wellFormed()
}

// wellFormed omits the limit on removed keys, which only protects the log.
func (c *SetQueueTags) wellFormed() *Error {
	if len(c.Set) == 0 && len(c.Remove) == 0 {
		return refusal.MissingParameter("Tags")
	}
	for _, key := range c.Remove {
		if err := attributes.CheckTagKey(key); err != nil {
			return err
		}
	}
	return attributes.CheckTags(access.PlainName(c.Queue), c.Set)
}

// apply sets and removes tags. Removing an unknown key is not an error.
func (c *SetQueueTags) apply(b *Broker) (Result, *Error) {
	q := b.beginNow(c.Queue)
	if q == nil {
		return nil, refusal.NoSuchQueue()
	}
	merged := mergedTags(q.tags, c.Set, c.Remove)
	if len(merged) > limits.TagsMax {
		return nil, attributes.TooManyTags(access.PlainName(q.name))
	}
	q.tags = merged
	q.sums.headerStale = true
	return Done{}, nil
}

// mergedTags returns tags with changes, sorted by key.
func mergedTags(before, set []Tag, remove []string) []Tag {
	var tags btree.Map[string, string]
	for _, t := range before {
		tags.Set(t.Key, t.Value)
	}
	for _, t := range set {
		tags.Set(t.Key, t.Value)
	}
	for _, key := range remove {
		tags.Delete(key)
	}
	merged := make([]Tag, 0, tags.Len())
	tags.Scan(func(key, value string) bool {
		merged = append(merged, Tag{Key: key, Value: value})
		return true
	})
	return merged
}

// SetQueuePolicy is the command for AddPermission and RemovePermission: it adds a statement to the
// queue's access policy, or removes one.
type SetQueuePolicy struct {
	Queue      string
	QueueARN   string // resource in the policy text
	Label      string // Sid of the statement
	Remove     bool
	AccountIDs []string // principals, for adding
	Actions    []string // without the SQS: prefix, for adding
}

// QueueName implements Command.
func (c *SetQueuePolicy) QueueName() string { return c.Queue }

// Validate checks the label and, for adding, accounts and actions.
func (c *SetQueuePolicy) Validate() *Error {
	if err := checkQueueName(c.Queue); err != nil {
		return err
	}
	if c.Label == "" {
		return refusal.MissingParameter("Label")
	}
	if !plainName(c.Label) || len(c.Label) > limits.PolicyLabelLengthMax {
		return badLabel(c.Label, nameRule+".")
	}
	if c.Remove {
		return nil
	}
	if len(c.AccountIDs) == 0 {
		return refusal.MissingParameter("AWSAccountIds")
	}
	if len(c.Actions) == 0 {
		return refusal.MissingParameter("Actions")
	}
	if n := len(c.AccountIDs); n > policyAccountsMax {
		return refusal.New(refusal.OverLimit, strconv.Itoa(n), " principals were found, maximum allowed is ",
			strconv.Itoa(policyAccountsMax), ".")
	}
	for _, account := range c.AccountIDs {
		if !plainName(account) || len(account) > accountLengthMax {
			return refusal.InvalidValue(account, "PrincipalId", "Unable to verify.")
		}
	}
	if n := len(c.Actions); n > limits.PolicyActionsMax {
		return refusal.New(refusal.OverLimit, strconv.Itoa(n), " Actions were found, maximum allowed is ",
			strconv.Itoa(limits.PolicyActionsMax), ".")
	}
	for _, action := range c.Actions {
		if !permitted(action) {
			return refusal.InvalidValue("SQS:"+action, "ActionName", "Only the queue owner is allowed to invoke this action.")
		}
	}
	return nil
}

// accessPolicy returns a policy with only the added statement. Validate checks the actions, so only
// an account can be invalid.
func (c *SetQueuePolicy) accessPolicy() (AccessPolicy, bool) {
	text, err := addPermission("", c)
	return AccessPolicy{Queue: c.Queue, Text: text, Refuse: func(string) *Error {
		return refusal.InvalidValue(strings.Join(c.AccountIDs, ","), "PrincipalId", "Unable to verify.")
	}}, err == nil && !c.Remove
}

func (c *SetQueuePolicy) apply(b *Broker) (Result, *Error) {
	q := b.beginNow(c.Queue)
	if q == nil {
		return nil, refusal.NoSuchQueue()
	}
	var policy string
	var err *Error
	if c.Remove {
		policy, err = removePermission(q.attributes.Policy, c.Label)
	} else {
		policy, err = addPermission(q.attributes.Policy, c)
	}
	if err != nil {
		return nil, err
	}
	q.attributes.Policy = policy
	b.access = b.access.WithQueuePolicy(q.name, policy)
	q.modified(b.now)
	return Done{}, nil
}

// permittedActions are the actions that AddPermission may grant. AWS reserves the others for the
// owner.
var permittedActions = [...]string{
	"*", "ChangeMessageVisibility", "DeleteMessage", "GetQueueAttributes", "GetQueueUrl",
	"ListDeadLetterSourceQueues", "PurgeQueue", "ReceiveMessage", "SendMessage",
}

// permitted compares without regard to letter case, as IAM does.
func permitted(action string) bool {
	for _, p := range permittedActions {
		if strings.EqualFold(p, action) {
			return true
		}
	}
	return false
}

// addPermission adds the statement of c to an access policy.
func addPermission(access string, c *SetQueuePolicy) (string, *Error) {
	text, err := policy.Add(access, policy.Statement{
		Label: c.Label, Service: "SQS", Resource: c.QueueARN, Accounts: c.AccountIDs, Actions: c.Actions,
	})
	return text, accessError(err, c.Label)
}

// removePermission removes the statement with a label.
func removePermission(access, label string) (string, *Error) {
	text, err := policy.Remove(access, label)
	return text, accessError(err, label)
}

func accessError(err error, label string) *Error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, policy.ErrLabelExists):
		return badLabel(label, "Already exists.")
	case errors.Is(err, policy.ErrNoPolicy):
		return badLabel(label, "can't find label.")
	case errors.Is(err, policy.ErrLabelNotFound):
		return badLabel(label, "can't find label on existing policy.")
	case errors.Is(err, policy.ErrTooLong):
		return refusal.New(refusal.OverLimit, "The policy would be longer than ", strconv.Itoa(policy.BytesMax), " bytes.")
	default:
		return attributes.Invalid(attributes.NamePolicy)
	}
}

func badLabel(label, reason string) *Error { return refusal.InvalidValue(label, "Label", reason) }
