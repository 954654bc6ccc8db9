package property

import "github.com/seriatimq/seriatim/queue/lettercase"

// System is a system property of a message.
type System uint8

// The system properties. SystemNone is none of them.
const (
	SystemNone System = iota
	ContentType
	CorrelationID
	DeadLetterSource
	DeliveryCount
	EnqueuedSequenceNumber
	EnqueuedTime
	ExpiresAt
	ForcePersistence
	Label
	LockedUntil
	LockToken
	MessageID
	PartitionKey
	ReplyTo
	ReplyToSessionID
	ScheduledEnqueueTime
	SequenceNumber
	SessionID
	Size
	State
	TimeToLive
	To
	ViaPartitionKey
	systemCount
)

// systemProperties has the public properties of the vendor's class BrokeredMessage. An alias is the
// name in its newer class ServiceBusMessage. A rule can set the properties that a sender can set.
var systemProperties = [systemCount]struct {
	name, alias string
	typ         Type
	settable    bool
}{
	ContentType:            {"ContentType", "", TypeString, true},
	CorrelationID:          {"CorrelationId", "", TypeString, true},
	DeadLetterSource:       {"DeadLetterSource", "", TypeString, false},
	DeliveryCount:          {"DeliveryCount", "", TypeInt, false},
	EnqueuedSequenceNumber: {"EnqueuedSequenceNumber", "", TypeLong, false},
	EnqueuedTime:           {"EnqueuedTimeUtc", "EnqueuedTime", TypeTimestamp, false},
	ExpiresAt:              {"ExpiresAtUtc", "ExpiresAt", TypeTimestamp, false},
	ForcePersistence:       {"ForcePersistence", "", TypeBoolean, true},
	Label:                  {"Label", "Subject", TypeString, true},
	LockedUntil:            {"LockedUntilUtc", "LockedUntil", TypeTimestamp, false},
	LockToken:              {"LockToken", "", TypeUUID, false},
	MessageID:              {"MessageId", "", TypeString, true},
	PartitionKey:           {"PartitionKey", "", TypeString, true},
	ReplyTo:                {"ReplyTo", "", TypeString, true},
	ReplyToSessionID:       {"ReplyToSessionId", "", TypeString, true},
	ScheduledEnqueueTime:   {"ScheduledEnqueueTimeUtc", "ScheduledEnqueueTime", TypeTimestamp, true},
	SequenceNumber:         {"SequenceNumber", "", TypeLong, false},
	SessionID:              {"SessionId", "", TypeString, true},
	Size:                   {"Size", "", TypeLong, false},
	State:                  {"State", "", TypeInt, false},
	TimeToLive:             {"TimeToLive", "", TypeTimeSpan, true},
	To:                     {"To", "", TypeString, true},
	ViaPartitionKey:        {"ViaPartitionKey", "TransactionPartitionKey", TypeString, true},
}

// ParseSystem reads the name of a system property, in any letter case.
func ParseSystem(name string) (System, bool) {
	for s := SystemNone + 1; s < systemCount; s++ {
		if p := &systemProperties[s]; lettercase.Equal(name, p.name) || p.alias != "" && lettercase.Equal(name, p.alias) {
			return s, true
		}
	}
	return SystemNone, false
}

// String returns the name.
func (s System) String() string {
	if s < systemCount {
		return systemProperties[s].name
	}
	return "invalid"
}

// Type returns the type of the property.
func (s System) Type() Type { return systemProperties[s].typ }

// Settable reports whether an action can set the property.
func (s System) Settable() bool { return systemProperties[s].settable }

// InSection reports whether the property is a field of the properties section.
func (s System) InSection() bool { return fieldOf(s) >= 0 }

// Encode returns the value of a field of the properties section in its AMQP encoding, empty for none.
func (s System) Encode(v Value) string {
	if v.Kind() <= KindNull {
		return ""
	}
	converted, ok := Convert(v, fields[fieldOf(s)].types[0])
	if !ok { // a content type with letters outside of ASCII is no symbol
		converted = String(v.Text())
	}
	return string(Append(nil, converted))
}
