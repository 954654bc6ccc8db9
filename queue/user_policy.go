package queue

import (
	"fmt"
	"strconv"

	"github.com/seriatimq/seriatim/queue/access"
	"github.com/seriatimq/seriatim/queue/limits"
	"github.com/seriatimq/seriatim/queue/policy"
	"github.com/seriatimq/seriatim/queue/refusal"
)

// PutUserPolicy says what a user may do. Without a text the user may do nothing but what
// the policies of queues and topics permit.
type PutUserPolicy struct {
	Account string
	User    string
	Policy  string // in the language of IAM, read by the node that accepts the command; empty: none
}

// QueueName implements Command.
func (*PutUserPolicy) QueueName() string { return "" }

// userPolicyBytesMax is that of IAM for the policies of a role, the largest it has.
const userPolicyBytesMax = 10_240

// Validate checks the user, and that the policy is an object.
func (c *PutUserPolicy) Validate() *Error {
	if err := checkUser(c.Account, c.User); err != nil {
		return err
	}
	if c.User == "" {
		return refusal.New(refusal.IAMInvalidInput, "The account itself may do everything with what is its own: only users have a policy.")
	}
	if len(c.Policy) > userPolicyBytesMax {
		return refusal.New(refusal.LimitExceeded, "The policy of a user has ", strconv.Itoa(userPolicyBytesMax), " bytes at the most.")
	}
	if c.Policy != "" && !policy.IsAccess(c.Policy) {
		return refusal.New(refusal.MalformedPolicyDocument, "Syntax errors in policy.")
	}
	return nil
}

func (c *PutUserPolicy) apply(b *Broker) (Result, *Error) {
	p := access.Policy{User: access.User{Account: c.Account, Name: c.User}, Text: c.Policy}
	if c.Policy != "" && b.access.Policy(p.User) == "" && b.access.PolicyCount() >= limits.UserPoliciesMax {
		return nil, refusal.New(refusal.LimitExceeded, "A cluster can have ", strconv.Itoa(limits.UserPoliciesMax), " policies of users.")
	}
	b.access = b.access.WithPolicy(b.key, p)
	return Done{}, nil
}

// Access is who may use the cluster.
func (v View) Access() *access.Table { return v.b.access }

// AddAccessKey adds an access key.
func (r *Restorer) AddAccessKey(k access.Key) error {
	if _, known := r.b.access.Key(k.ID); known {
		return fmt.Errorf("access key %q appears twice", k.ID)
	}
	if err := (&CreateAccessKey{ID: k.ID, Secret: k.Secret, Account: k.User.Account, User: k.User.Name}).Validate(); err != nil {
		return err
	}
	r.b.access = r.b.access.WithKey(r.b.key, k)
	return nil
}

// AddUserPolicy adds the policy of a user.
func (r *Restorer) AddUserPolicy(p access.Policy) error {
	if p.Text == "" || r.b.access.Policy(p.User) != "" {
		return fmt.Errorf("the policy of user %q is empty or appears twice", p.User.Name)
	}
	if err := (&PutUserPolicy{Account: p.User.Account, User: p.User.Name, Policy: p.Text}).Validate(); err != nil {
		return err
	}
	r.b.access = r.b.access.WithPolicy(r.b.key, p)
	return nil
}
