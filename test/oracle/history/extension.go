package history

import (
	"fmt"
	"slices"
	"strings"
)

// The actions of topics, sessions and scheduled messages. Receives and deletes in a session have
// its token in Session.
const (
	CreateTopic    = "create topic"
	Subscribe      = "subscribe"
	Publish        = "publish"  // Message and Sequence are those of the topic
	Schedule       = "schedule" // Sequence is the number with which it can be cancelled
	Cancel         = "cancel"   // the message with the number Sequence
	AcceptSession  = "accept session"
	RenewSession   = "renew session"
	ReleaseSession = "release session"
	GetState       = "get session state"
	SetState       = "set session state"
	Abandon        = "abandon" // the message with Handle
)

// Extension contains the fields of calls that SQS does not have. The session is in Group of the
// event.
type Extension struct {
	Topic   string `json:"topic,omitempty"`
	Session string `json:"session,omitempty"` // token of a lock: the one that an accept got, or the one under which another call was made
	Next    bool   `json:"next,omitempty"`    // of an accept: of the next free session
	Until   int64  `json:"until,omitempty"`   // of accept and renew: the lock's end in log time, milliseconds since 1970
	State   string `json:"state,omitempty"`   // of a session; the empty one was never set
	Due     int64  `json:"due,omitempty"`     // of a schedule: log time, milliseconds since 1970
}

// Errors that the checkers distinguish, by their names in the API.
const (
	SessionLockLost = "SessionLockLost"
	MessageLockLost = "MessageLockLost"
	MessageNotFound = "MessageNotFound"
)

// Subscription is a queue that a topic of the run delivers to.
type Subscription struct {
	Topic string `json:"topic"`
	Queue string `json:"queue"`
	Raw   bool   `json:"raw,omitempty"`
	// Shades are the values of ShadeAttribute that pass the subscription's filter; empty: it has no
	// filter.
	Shades []string `json:"shades,omitempty"`
}

// ShadeAttribute is the message attribute that filters use.
const ShadeAttribute = "shade"

// Passes reports whether the filter lets a message with these attributes pass.
func (s *Subscription) Passes(extra string) bool {
	return len(s.Shades) == 0 || slices.ContainsFunc(s.Shades, func(shade string) bool {
		return strings.Contains(";"+extra, fmt.Sprintf(";%q String %q;", ShadeAttribute, shade))
	})
}

// SubscriptionOf returns the subscription of a queue, nil if it has none.
func (r *Rules) SubscriptionOf(queue string) *Subscription {
	for i := range r.Subscriptions {
		if r.Subscriptions[i].Queue == queue {
			return &r.Subscriptions[i]
		}
	}
	return nil
}
