package notification

import (
	"github.com/seriatimq/seriatim/queue/logtime"
	"github.com/seriatimq/seriatim/queue/message"
	"github.com/seriatimq/seriatim/queue/property"
)

// Typed is the properties of a message as rules read them. Message attributes are application
// properties. It belongs to one goroutine.
type Typed struct {
	n   *Notification
	set property.Set
}

// NewTyped reads the properties of a message. It returns an error if they are too large for AMQP, as
// message attributes can be; such a message has system properties only.
func NewTyped(n *Notification) (*Typed, error) {
	t := &Typed{n: n}
	return t, t.set.Read(n.content().Properties())
}

// Application returns an application property, see [property.Set.Application].
func (t *Typed) Application(name string) property.Value { return t.set.Application(name) }

// NameOf returns the name of the property that Application finds, name if there is none.
func (t *Typed) NameOf(name string) string { return t.set.NameOf(name) }

// System returns a system property, none if the message does not have it. The properties of AMQP come
// first; otherwise the message id is the deduplication id, the session the group, and the label the
// subject.
func (t *Typed) System(p property.System) property.Value {
	if v := t.set.System(p); v.Kind() != property.KindNone {
		return v
	}
	n := t.n
	switch p {
	case property.MessageID:
		return given(n.DeduplicationID)
	case property.SessionID:
		if n.GroupID == message.EmptyGroup {
			return property.String("")
		}
		return given(n.GroupID)
	case property.PartitionKey:
		return given(n.PartitionKey)
	case property.Label:
		return given(n.Subject)
	case property.SequenceNumber, property.EnqueuedSequenceNumber:
		if n.SequenceNumber == 0 { // of a standard topic
			return property.Value{}
		}
		return property.Long(int64(n.SequenceNumber))
	case property.EnqueuedTime:
		return property.Time(int64(n.Timestamp))
	case property.Size:
		return property.Long(int64(n.Message.Len()) + message.Size("", n.Attributes) + n.Encoded.Size())
	case property.TimeToLive, property.ExpiresAt:
		if n.TimeToLive == 0 {
			return property.Value{}
		}
		if p == property.ExpiresAt {
			return property.Time(int64(n.Timestamp.Add(min(n.TimeToLive, longest))))
		}
		return property.Duration(ticks(n.TimeToLive))
	default:
		return property.Value{}
	}
}

// given returns a string, none if it is empty.
func given(text string) property.Value {
	if text == "" {
		return property.Value{}
	}
	return property.String(text)
}

const (
	ticksPerMillisecond = 10_000 // of 100 ns
	longest             = logtime.Duration(1<<63/ticksPerMillisecond - 1)
)

func ticks(d logtime.Duration) int64 { return int64(min(d, longest)) * ticksPerMillisecond }
