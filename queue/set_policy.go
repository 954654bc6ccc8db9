package queue

import (
	"errors"
	"strconv"
	"strings"

	"github.com/seriatimq/seriatim/queue/attributes"
	"github.com/seriatimq/seriatim/queue/limits"
	"github.com/seriatimq/seriatim/queue/policy"
	"github.com/seriatimq/seriatim/queue/refusal"
)

// SetQueuePolicy is AddPermission or RemovePermission: it adds one statement
// to the queue's access policy, or removes one.
type SetQueuePolicy struct {
	Queue      string
	QueueARN   string // full ARN, used in the policy text
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
		return refusal.New(refusal.OverLimit, strconv.Itoa(n), " principals were found, maximum allowed is ", strconv.Itoa(policyAccountsMax), ".")
	}
	for _, account := range c.AccountIDs {
		if !plainName(account) || len(account) > accountLengthMax {
			return refusal.InvalidValue(account, "PrincipalId", "Unable to verify.")
		}
	}
	if n := len(c.Actions); n > limits.PolicyActionsMax {
		return refusal.New(refusal.OverLimit, strconv.Itoa(n), " Actions were found, maximum allowed is ", strconv.Itoa(limits.PolicyActionsMax), ".")
	}
	for _, action := range c.Actions {
		if !permitted(action) {
			return refusal.InvalidValue("SQS:"+action, "ActionName", "Only the queue owner is allowed to invoke this action.")
		}
	}
	return nil
}

// apply is AddPermission and RemovePermission.
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
	q.modified(b.now)
	return Done{}, nil
}

// permittedActions are those that AddPermission may grant. AWS lets only the
// owner of a queue do the rest.
var permittedActions = [...]string{
	"*", "ChangeMessageVisibility", "DeleteMessage", "GetQueueAttributes", "GetQueueUrl",
	"ListDeadLetterSourceQueues", "PurgeQueue", "ReceiveMessage", "SendMessage",
}

// permitted compares as IAM does, without regard to letter case.
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
		Label: c.Label, QueueARN: c.QueueARN, Accounts: c.AccountIDs, Actions: c.Actions,
	})
	return text, accessError(err, c.Label)
}

// removePermission removes the statement named label.
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
