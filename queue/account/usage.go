package account

import (
	"fmt"

	"github.com/tidwall/btree"
)

// Quota is how much an account may have; zero is any number.
type Quota struct {
	Queues   int64
	Topics   int64
	Messages int64 // stored in its queues
	Bytes    int64 // of these, as clients sent them: bodies and attributes
	// RequestsPerSecond is for each node, which counts what it serves itself. It is not
	// enforced here.
	RequestsPerSecond int64
}

// IsZero reports whether the quota limits nothing.
func (q Quota) IsZero() bool { return q == Quota{} }

// Valid reports whether no limit is below zero.
func (q Quota) Valid() bool {
	return min(q.Queues, q.Topics, q.Messages, q.Bytes, q.RequestsPerSecond) >= 0
}

// Amount is what an account has.
type Amount struct {
	Queues   int64
	Topics   int64
	Messages int64
	Bytes    int64
}

// Kept are the messages that the topics of an account store themselves: those in archives,
// and the deliveries that wait for HTTP subscribers.
type Kept struct {
	Messages int64
	Bytes    int64
}

// Add counts more messages, or fewer.
func (k *Kept) Add(messages, bytes int64) {
	k.Messages += messages
	k.Bytes += bytes
}

// Usage is what an account has and may have.
type Usage struct {
	Amount // its messages are those in queues
	Kept   Kept
	Quota  Quota
}

// Counted returns what counts for the quota: also the messages that topics keep.
func (u *Usage) Counted() Amount {
	has := u.Amount
	has.Messages += u.Kept.Messages
	has.Bytes += u.Kept.Bytes
	return has
}

// HasRoomForQueues reports whether the quota allows so many more queues.
func (u *Usage) HasRoomForQueues(n int64) bool { return fits(u.Queues, n, u.Quota.Queues) }

// HasRoomForTopic reports whether the quota allows another topic.
func (u *Usage) HasRoomForTopic() bool { return fits(u.Topics, 1, u.Quota.Topics) }

// HasRoomForMessages reports whether the quota allows so many messages of so many bytes,
// beside those that the account has.
func (q Quota) HasRoomForMessages(has Amount, n, bytes int64) bool {
	return fits(has.Messages, n, q.Messages) && fits(has.Bytes, bytes, q.Bytes)
}

func fits(have, more, most int64) bool { return most == 0 || have <= most-more }

// Usages are those of all accounts. They follow from the queues, the topics and the
// quotas, and are no part of the state.
type Usages struct{ byAccount *btree.Map[string, *Usage] }

// NewUsages is of no account.
func NewUsages() Usages { return Usages{new(btree.Map[string, *Usage])} }

// Of is the usage of an account; it stays the same one.
func (u Usages) Of(owner string) *Usage {
	if of, ok := u.byAccount.Get(owner); ok {
		return of
	}
	of := new(Usage)
	u.byAccount.Set(owner, of)
	return of
}

// Counted returns what counts for the quota of an account.
func (u Usages) Counted(owner string) Amount {
	if of, ok := u.byAccount.Get(owner); ok {
		return of.Counted()
	}
	return Amount{}
}

// Compare reports the first account that other knows otherwise.
func (u Usages) Compare(other Usages) (err error) {
	compare := func(a, b Usages) {
		a.byAccount.Scan(func(owner string, of *Usage) bool {
			have, want := *of, Usage{}
			if twin, ok := b.byAccount.Get(owner); ok {
				want = *twin
			}
			if have != want {
				err = fmt.Errorf("account %q has %+v, its records give %+v", owner, have, want)
			}
			return err == nil
		})
	}
	if compare(u, other); err == nil {
		compare(other, u)
	}
	return err
}
