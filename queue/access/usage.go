package access

import (
	"fmt"

	"github.com/tidwall/btree"
)

// Quota limits an account; zero means no limit.
type Quota struct {
	Queues   int64
	Topics   int64
	Messages int64 // stored in its queues
	Bytes    int64 // bodies and attributes of these messages, as sent
	// RequestsPerSecond applies to each node separately. Package transport enforces it.
	RequestsPerSecond int64
}

// isZero reports whether the quota limits nothing.
func (q Quota) isZero() bool { return q == Quota{} }

// valid reports whether no limit is below zero.
func (q Quota) valid() bool {
	return min(q.Queues, q.Topics, q.Messages, q.Bytes, q.RequestsPerSecond) >= 0
}

// Amount counts the resources of an account.
type Amount struct {
	Queues   int64
	Topics   int64
	Messages int64
	Bytes    int64
}

// Kept counts messages that the account's topics store: in archives and for HTTP delivery.
type Kept struct {
	Messages int64
	Bytes    int64
}

// Add adds to the counters; negative numbers subtract.
func (k *Kept) Add(messages, bytes int64) {
	k.Messages += messages
	k.Bytes += bytes
}

// Usage is the usage of an account, with its quota.
type Usage struct {
	Amount // counts messages in queues only
	Kept   Kept
	Quota  Quota
}

// Counted returns the usage that counts against the quota, including Kept.
func (u *Usage) Counted() Amount {
	has := u.Amount
	has.Messages += u.Kept.Messages
	has.Bytes += u.Kept.Bytes
	return has
}

// HasRoomForQueues reports whether the quota permits n more queues.
func (u *Usage) HasRoomForQueues(n int64) bool { return fits(u.Queues, n, u.Quota.Queues) }

// HasRoomForTopic reports whether the quota permits another topic.
func (u *Usage) HasRoomForTopic() bool { return fits(u.Topics, 1, u.Quota.Topics) }

// HasRoomForMessages reports whether the quota permits n more messages of so many bytes in total.
func (q Quota) HasRoomForMessages(has Amount, n, bytes int64) bool {
	return fits(has.Messages, n, q.Messages) && fits(has.Bytes, bytes, q.Bytes)
}

func fits(have, more, most int64) bool { return most == 0 || have <= most-more }

// Usages holds the Usage of every account. It follows from the records and is not part of the
// state.
type Usages struct{ byAccount *btree.Map[string, *Usage] }

// NewUsages returns empty Usages.
func NewUsages() Usages { return Usages{new(btree.Map[string, *Usage])} }

// Of returns the usage of an account, always the same pointer.
func (u Usages) Of(owner string) *Usage {
	if of, ok := u.byAccount.Get(owner); ok {
		return of
	}
	of := new(Usage)
	u.byAccount.Set(owner, of)
	return of
}

// Bytes returns the bytes of all accounts.
func (u Usages) Bytes() (bytes int64) {
	u.byAccount.Scan(func(_ string, of *Usage) bool {
		bytes += of.Bytes
		return true
	})
	return bytes
}

// Counted returns the usage that counts against the quota of an account.
func (u Usages) Counted(owner string) Amount {
	if of, ok := u.byAccount.Get(owner); ok {
		return of.Counted()
	}
	return Amount{}
}

// Compare reports the first account whose usage differs in other.
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
