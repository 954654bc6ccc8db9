package message

import (
	"slices"
	"strings"

	"github.com/seriatimq/seriatim/queue/logtime"
	"github.com/seriatimq/seriatim/queue/refusal"
)

// Message attributes that a queue or topic with ReservedAttributesEnabled=true interprets. It refuses
// other names with the prefix.
const (
	reservedPrefix    = "seriatim."
	reservedScheduled = "seriatim.ScheduledEnqueueTime"
	// PartitionKeyName is the attribute of the partition key.
	PartitionKeyName = "seriatim.PartitionKey"
	// scheduledMax is the last millisecond that RFC 3339 can represent.
	scheduledMax = 253_402_300_799_999
)

// ReservedNames is the state of names with the prefix at a queue: reserved, or not.
type ReservedNames uint8

// MaybeReserved means that the queue is not known yet: the checks skip such names.
const (
	NotReserved ReservedNames = iota
	Reserved
	MaybeReserved
)

// SplitReserved splits off the reserved message attributes: the scheduled time (zero: none) and the
// partition key. rest holds the others, and is attrs itself without reserved ones.
func SplitReserved(attrs []MessageAttribute) (scheduledAt logtime.Timestamp, partitionKey string, rest []MessageAttribute,
	err *refusal.Error) {
	first := -1
	for i := range attrs {
		if strings.HasPrefix(attrs[i].Name, reservedPrefix) {
			first = i
			break
		}
	}
	if first < 0 {
		return 0, "", attrs, nil
	}
	rest = append(rest, attrs[:first]...) // nil without others, as in a packed message
	scheduled, keyed := false, false
	for i := first; i < len(attrs); i++ {
		m := &attrs[i]
		switch {
		case !strings.HasPrefix(m.Name, reservedPrefix):
			rest = append(rest, *m)
		case m.Name == reservedScheduled && !scheduled:
			scheduled = true
			scheduledAt, err = scheduledTime(m)
		case m.Name == PartitionKeyName && !keyed:
			keyed = true
			partitionKey, err = partitionKeyOf(m)
		default:
			err = refusal.InvalidParameter("Message (user) attribute name '", m.Name,
				"' is invalid. Reason: names beginning with '", reservedPrefix, "' are reserved.")
		}
		if err != nil {
			return 0, "", nil, err
		}
	}
	return scheduledAt, partitionKey, rest, nil
}

// withoutReserved returns the attributes that have no reserved name.
func withoutReserved(attrs []MessageAttribute) []MessageAttribute {
	reserved := func(a MessageAttribute) bool { return strings.HasPrefix(a.Name, reservedPrefix) }
	if !slices.ContainsFunc(attrs, reserved) {
		return attrs
	}
	return slices.DeleteFunc(slices.Clone(attrs), reserved)
}

// ValidScheduledTime reports whether a message can be scheduled for at.
func ValidScheduledTime(at logtime.Timestamp) bool { return at >= 0 && at <= scheduledMax }

func scheduledTime(m *MessageAttribute) (logtime.Timestamp, *refusal.Error) {
	switch baseType(m.DataType) {
	case typeNumber:
		if ms, ok := ParseNumber(m.Value); ok && ms <= scheduledMax {
			return logtime.Timestamp(ms), nil
		}
	case typeString:
		if at, ok := logtime.ParseRFC3339(m.Value); ok && at >= 0 {
			return at, nil
		}
	}
	return 0, refusal.InvalidValue(m.Value, reservedScheduled,
		"Must be a Number of milliseconds since 1970 or a String with a time as in RFC 3339.")
}

func partitionKeyOf(m *MessageAttribute) (string, *refusal.Error) {
	if baseType(m.DataType) != typeString || !ValidID(m.Value) {
		return "", InvalidID(m.Value, PartitionKeyName)
	}
	return m.Value, nil
}
