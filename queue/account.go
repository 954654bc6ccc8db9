package queue

import (
	"fmt"
	"strconv"

	"github.com/seriatimq/seriatim/queue/access"
	"github.com/seriatimq/seriatim/queue/account"
	"github.com/seriatimq/seriatim/queue/content"
	"github.com/seriatimq/seriatim/queue/limits"
	"github.com/seriatimq/seriatim/queue/notification"
	"github.com/seriatimq/seriatim/queue/refusal"
	"github.com/seriatimq/seriatim/queue/topic"
)

// CreateAccount creates an account. The cluster's own account always exists. Repeating the command
// with the same quota changes nothing.
type CreateAccount struct {
	Account string // twelve digits
	Quota   account.Quota
}

// QueueName implements Command.
func (*CreateAccount) QueueName() string { return "" }

// Validate checks the number and the quota.
func (c *CreateAccount) Validate() *Error {
	if err := checkUser(c.Account, ""); err != nil {
		return err
	}
	return checkQuota(c.Quota)
}

func checkQuota(q account.Quota) *Error {
	if !q.Valid() {
		return refusal.New(refusal.IAMInvalidInput, "The limits of a quota must be zero, which means no limit, or above.")
	}
	return nil
}

func (c *CreateAccount) apply(b *Broker) (Result, *Error) {
	if old, known := b.access.Account(c.Account); known {
		if old.Quota == c.Quota {
			return Done{}, nil
		}
		return nil, refusal.New(refusal.EntityAlreadyExists, "The account ", c.Account, " already exists with another quota.")
	}
	if b.access.AccountCount() >= limits.AccountsMax {
		return nil, refusal.New(refusal.LimitExceeded, "A cluster can have ", strconv.Itoa(limits.AccountsMax), " accounts.")
	}
	b.putAccount(access.Account{ID: c.Account, Quota: c.Quota, CreatedAt: b.now})
	return Done{}, nil
}

func (b *Broker) putAccount(a access.Account) {
	b.access = b.access.WithAccount(b.key, a)
	b.usage.Of(a.ID).Quota = a.Quota
}

// SetAccountQuota sets the quota of an account. Nothing is deleted if the account exceeds it.
type SetAccountQuota struct {
	Account string // empty: the cluster's own account
	Quota   account.Quota
}

// QueueName implements Command.
func (*SetAccountQuota) QueueName() string { return "" }

// Validate checks the number and the quota.
func (c *SetAccountQuota) Validate() *Error {
	if c.Account != "" {
		if err := checkUser(c.Account, ""); err != nil {
			return err
		}
	}
	return checkQuota(c.Quota)
}

func (c *SetAccountQuota) apply(b *Broker) (Result, *Error) {
	a, known := b.access.Account(c.Account)
	switch {
	case c.Account != "" && !known:
		return nil, noSuchAccount(c.Account)
	case c.Account == "" && c.Quota.IsZero():
		b.access = b.access.WithoutAccount(b.key, "")
		b.usage.Of("").Quota = account.Quota{}
		return Done{}, nil
	case !known:
		a.CreatedAt = b.now
	}
	a.Quota = c.Quota
	b.putAccount(a)
	return Done{}, nil
}

func noSuchAccount(id string) *Error {
	return refusal.New(refusal.NoSuchEntity, "The account ", id, " does not exist. Create it first.")
}

// checkAccount refuses an account that was not created, unless it is the cluster's own.
func (b *Broker) checkAccount(id string, tenant bool) *Error {
	if _, known := b.access.Account(id); tenant && !known {
		return noSuchAccount(id)
	}
	return nil
}

// DeleteAccount deletes an account that has no queues, topics, access keys or policies.
type DeleteAccount struct{ Account string }

// QueueName implements Command.
func (*DeleteAccount) QueueName() string { return "" }

// Validate checks the number.
func (c *DeleteAccount) Validate() *Error { return checkUser(c.Account, "") }

func (c *DeleteAccount) apply(b *Broker) (Result, *Error) {
	if _, known := b.access.Account(c.Account); !known {
		return nil, noSuchAccount(c.Account)
	}
	if has := b.View().Usage(c.Account); has.Queues+has.Topics > 0 || b.access.IsUsed(c.Account) {
		return nil, refusal.New(refusal.DeleteConflict, "The account ", c.Account, " has ", strconv.FormatInt(has.Queues, 10),
			" queues and ",
			strconv.FormatInt(has.Topics, 10), " topics. Delete them, its access keys and the policies of its users first.")
	}
	b.access = b.access.WithoutAccount(b.key, c.Account)
	b.usage.Of(c.Account).Quota = account.Quota{}
	return Done{}, nil
}

// roomForQueues refuses n new queues that exceed the account's quota. It counts the implicit
// dead-letter queue that attributes a would create.
func (b *Broker) roomForQueues(name string, n int64, a *QueueAttributes) *Error {
	if a.ImplicitDeadLetterQueue && a.Redrive.Target == "" {
		if _, exists := b.queues.Get(ImplicitDeadLetterName(name)); !exists {
			n++
		}
	}
	owner := account.OwnerOf(name)
	if err := b.checkAccount(owner, owner != ""); err != nil {
		return refusal.InvalidParameter(err.Message)
	}
	if u := b.usage.Of(owner); n > 0 && !u.HasRoomForQueues(n) {
		return refusal.New(refusal.OverLimit, "The account has ", strconv.FormatInt(u.Queues, 10), " queues, and its quota is ",
			strconv.FormatInt(u.Quota.Queues, 10), ".")
	}
	return nil
}

// roomForTopic refuses a new topic that exceeds the account's quota.
func (b *Broker) roomForTopic(name string) *Error {
	owner := account.OwnerOf(name)
	if err := b.checkAccount(owner, owner != ""); err != nil {
		return refusal.SNSInvalid(err.Message)
	}
	if u := b.usage.Of(owner); !u.HasRoomForTopic() {
		return refusal.New(refusal.TopicLimitExceeded, "The account has ", strconv.FormatInt(u.Topics, 10), " topics, and its quota is ",
			strconv.FormatInt(u.Quota.Topics, 10), ".")
	}
	return nil
}

// roomFor refuses a message that exceeds the quota of the queue's account.
func (b *Broker) roomFor(q *Queue, s *sending) *Error {
	u := q.sums.usage
	has := u.Counted()
	if u.Quota.HasRoomForMessages(has, 1, int64(len(s.entry.Body))+content.Size("", s.attributes)) {
		return nil
	}
	return overQuota(refusal.OverLimit, has)
}

func overQuota(code refusal.Code, has account.Amount) *Error {
	return refusal.New(code, "The quota of the account is exhausted: it has ", strconv.FormatInt(has.Messages, 10), " messages of ",
		strconv.FormatInt(has.Bytes, 10), " bytes. Nothing was stored: retry when some were deleted.")
}

// roomForPublish refuses a publish that exceeds the quota of the topic's account. Each message
// counts once for each copy that the topic itself stores, and at least once. Deliveries to queues
// are not checked: an accepted message goes to every subscription.
func (b *Broker) roomForPublish(t *topic.Topic, c *Publish) *Error {
	u := b.usage.Of(account.OwnerOf(t.Name))
	if u.Quota.Messages == 0 && u.Quota.Bytes == 0 {
		return nil
	}
	messages, bytes := int64(0), int64(0)
	for i := range c.Entries {
		e := &c.Entries[i]
		if t.Attributes.FIFO {
			if _, found := t.Deduplication.Find(b.key, e.deduplicationIDs(t), b.now); found {
				continue
			}
		}
		copies := max(1, b.copiesKept(t, e))
		messages += copies
		bytes += copies * content.Size(e.Message, e.Attributes)
	}
	has := u.Counted()
	if messages == 0 || u.Quota.HasRoomForMessages(has, messages, bytes) {
		return nil
	}
	return overQuota(refusal.Throttled, has)
}

// copiesKept counts the copies that a topic stores itself: one in its archive, and one for each
// HTTP subscriber. If the outbox is full, that copy goes to a dead-letter queue of the same
// account.
func (b *Broker) copiesKept(t *topic.Topic, e *PublishEntry) (copies int64) {
	if t.Attributes.Archive.Days > 0 {
		copies++
	}
	n := &notification.Notification{Message: content.NewBody(e.Message), Attributes: e.Attributes, Timestamp: b.now}
	var in filterInput
	t.ScanSubscriptions(func(s *topic.Subscription) bool {
		if s.Attributes.Ends.Protocol.Web() && in.reaches(s, n) {
			copies++
		}
		return true
	})
	return copies
}

// Usage returns the usage that counts against the quota of an account. Owner is empty for the
// cluster's own account.
func (v View) Usage(owner string) account.Amount {
	return v.b.usage.Counted(owner)
}

// AddAccount adds an account, or the quota of the cluster's own account.
func (r *Restorer) AddAccount(a access.Account) error {
	if _, known := r.b.access.Account(a.ID); known || a.ID == "" && a.Quota.IsZero() {
		return fmt.Errorf("account %q appears twice or has no quota", a.ID)
	}
	if err := (&SetAccountQuota{Account: a.ID, Quota: a.Quota}).Validate(); err != nil {
		return err
	}
	r.b.putAccount(a)
	return nil
}
