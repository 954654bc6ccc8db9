package reference

import (
	"maps"
	"slices"
	"strings"
)

// Quota has the limits of an account; zero means none. The model stores the limit of requests and
// does not apply it.
type Quota struct{ Queues, Topics, Messages, Bytes, Requests int64 }

// Usage has the counts of an account.
type Usage struct{ Queues, Topics, Messages, Bytes int64 }

// Names of queues and topics of an account begin with its id and a slash, but for the cluster's own
// account, whose id is empty.
func ownerOf(name string) string {
	owner, _, found := strings.Cut(name, "/")
	return pick(found, owner, "")
}

func plainName(name string) string { return name[strings.LastIndex(name, "/")+1:] }

// sibling qualifies name with the account of another name.
func sibling(of, name string) string {
	if owner := ownerOf(of); owner != "" && name != "" {
		return owner + "/" + name
	}
	return name
}

func noSuchAccount() *Error { return &Error{Code: "NoSuchEntity"} }

// Accounts returns the accounts besides the cluster's own, which always exists.
func (b *Broker) Accounts() []string {
	ids := slices.Sorted(maps.Keys(b.quotas))
	return slices.DeleteFunc(ids, func(id string) bool { return id == "" })
}

// CreateAccount creates an account, or succeeds if it exists with this quota.
func (b *Broker) CreateAccount(id string, q Quota) *Error {
	if had, known := b.quotas[id]; known {
		if had == q {
			return nil
		}
		return &Error{Code: "EntityAlreadyExists"}
	}
	b.quotas[id] = q
	return nil
}

// SetAccountQuota changes the limits of an account. Queues and messages beyond them stay.
func (b *Broker) SetAccountQuota(id string, q Quota) *Error {
	if _, known := b.quotas[id]; !known && id != "" {
		return noSuchAccount()
	}
	b.quotas[id] = q
	return nil
}

// DeleteAccount deletes an account without queues and topics.
func (b *Broker) DeleteAccount(id string) *Error {
	if _, known := b.quotas[id]; !known {
		return noSuchAccount()
	}
	if has := b.Usage(id); has.Queues+has.Topics > 0 {
		return &Error{Code: "DeleteConflict"}
	}
	delete(b.quotas, id)
	return nil
}

// Usage returns the usage of an account: all messages in any state, archived ones included, with
// the bytes that clients sent.
func (b *Broker) Usage(owner string) (u Usage) {
	for name, q := range b.queues { // in any order, as it is a sum
		if ownerOf(name) != owner {
			continue
		}
		u.Queues++
		for _, m := range q.messages {
			u.Messages++
			u.Bytes += m.sentBytes()
		}
	}
	for name, t := range b.topics {
		if ownerOf(name) != owner {
			continue
		}
		u.Topics++
		for _, a := range t.archive {
			u.Messages++
			u.Bytes += SendEntry{Body: a.Text, Attributes: a.Attributes}.size()
		}
	}
	return u
}

// sentBytes returns the size of body and attributes. For a message of a topic these are the
// published ones.
func (m *Message) sentBytes() int64 {
	if p := m.Sent.Published; p != nil {
		return SendEntry{Body: p.Text, Attributes: p.Attributes}.size()
	}
	return m.Sent.size()
}

// exists reports whether the account of a name exists.
func (b *Broker) exists(owner string) bool {
	_, known := b.quotas[owner]
	return known || owner == ""
}

func (b *Broker) exceeds(has, more, most int64) bool {
	if b.bugs[QuotaOneMore] {
		has--
	}
	return most != 0 && has+more > most
}

// roomForQueues refuses more queues than the account may have: those of the given name, and the
// built-in dead-letter queue if the settings require one.
func (b *Broker) roomForQueues(name string, count int64, s Settings) *Error {
	owner := ownerOf(name)
	if !b.exists(owner) {
		return &Error{Code: "InvalidParameterValue"}
	}
	if s.Implicit && s.Redrive.Target == "" && b.queues[implicitName(name)] == nil {
		count++
	}
	if count > 0 && b.exceeds(b.Usage(owner).Queues, count, b.quotas[owner].Queues) {
		return &Error{Code: "OverLimit"}
	}
	return nil
}

func (b *Broker) roomForTopic(name string) *Error {
	owner := ownerOf(name)
	switch {
	case !b.exists(owner):
		return invalidTopic("")
	case b.exceeds(b.Usage(owner).Topics, 1, b.quotas[owner].Topics):
		return &Error{Code: "TopicLimitExceeded"}
	}
	return nil
}

// hasRoom reports whether the quota of a queue's or topic's account has room for this.
func (b *Broker) hasRoom(name string, messages, bytes int64) bool {
	most := b.quotas[ownerOf(name)]
	if most.Messages == 0 && most.Bytes == 0 {
		return true
	}
	has := b.Usage(ownerOf(name))
	return !b.exceeds(has.Messages, messages, most.Messages) && !b.exceeds(has.Bytes, bytes, most.Bytes)
}

// roomForPublish refuses a publish that exceeds the quota of the topic's account. Each new message
// counts once, because accepted messages are delivered to all subscriptions.
func (b *Broker) roomForPublish(t *Topic, entries []PublishEntry) *Error {
	var messages, bytes int64
	for _, e := range entries {
		if t.FIFO && b.original(&t.history, b.publishIDs(t, e), orEmpty(e.Group), "") != nil {
			continue
		}
		messages++
		bytes += SendEntry{Body: e.Message, Attributes: e.Attributes}.size()
	}
	if messages == 0 || b.hasRoom(t.Name, messages, bytes) {
		return nil
	}
	return &Error{Code: "Throttled"}
}

// mayTarget reports whether an ARN of an account may be the dead-letter queue of a resource. The
// model does not know the id of the cluster's own account: any id that no other account has is
// taken for it.
func (b *Broker) mayTarget(name, account string) bool {
	if owner := ownerOf(name); owner != "" {
		return account == owner
	}
	return account == "" || !b.exists(account)
}

func arnAccount(arn string) string {
	if parts := strings.Split(arn, ":"); len(parts) > 4 {
		return parts[4]
	}
	return ""
}
