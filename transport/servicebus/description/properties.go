package description

import (
	"slices"
	"strconv"
	"strings"

	"github.com/seriatimq/seriatim/queue/policy"
)

// Property is a property of an entity as text.
type Property struct{ Name, Value string }

// Refused refuses a property.
type Refused struct{ Property, Text string }

// Error returns the text, in the words of Service Bus where they are known.
func (e *Refused) Error() string { return e.Text }

// unsupported refuses a value that a queue cannot have.
func unsupported(name, value, rule string) *Refused {
	return &Refused{name, "The property " + name + " cannot be '" + value + "' here. It must be " + rule + "."}
}

// property is a property that queues have.
type property struct {
	name  string
	fixed bool // at creation
	set   func(q *Queue, value string) error
	print func(q *Queue) string
}

// properties are in the order of descriptions.
var properties = []property{
	duration("LockDuration", 12*hour, func(q *Queue) *int64 { return &q.LockSeconds }),
	constant("MaxSizeInMegabytes", "1024"),
	fixed(flag("RequiresDuplicateDetection", func(q *Queue) *bool { return &q.DuplicateDetection })),
	fixed(flag("RequiresSession", func(q *Queue) *bool { return &q.Session })),
	duration("DefaultMessageTimeToLive", secondsMax, func(q *Queue) *int64 { return &q.TimeToLiveSeconds }),
	flag("DeadLetteringOnMessageExpiration", func(q *Queue) *bool { return &q.DeadLetterExpired }),
	duration("DuplicateDetectionHistoryTimeWindow", 7*day, func(q *Queue) *int64 { return &q.WindowSeconds }),
	number("MaxDeliveryCount", policy.MaxReceiveCountMax, func(q *Queue) *int64 { return &q.MaxDeliveryCount }),
	constant("EnableBatchedOperations", "true"),
	constant("IsAnonymousAccessible", "false"),
	constant("AuthorizationRules", ""),
	status(),
	constant("ForwardTo", ""),
	constant("UserMetadata", ""),
	neverIdle(),
	fixed(flag("EnablePartitioning", func(q *Queue) *bool { return &q.Partitioned })),
	constant("EnableExpress", "false"),
	constant("ForwardDeadLetteredMessagesTo", ""),
	number("MaxMessageSizeInKilobytes", kilobytesMax, func(q *Queue) *int64 { return &q.MessageKilobytes }),
}

// readOnly are the properties that clients send back as they got them.
var readOnly = []string{
	"SizeInBytes", "MessageCount", "CreatedAt", "UpdatedAt", "AccessedAt", "SupportOrdering", "CountDetails", "EntityAvailabilityStatus",
}

// Set changes a property. The present value of a property is never out of range. The error is a
// *Refused.
func (q *Queue) Set(name, value string) error {
	for i := range properties {
		if properties[i].name == name {
			return properties[i].set(q, value)
		}
	}
	if slices.Contains(readOnly, name) {
		return nil
	}
	return &Refused{Property: name, Text: "There is no property " + name + "."}
}

// Get returns a property as text.
func (q *Queue) Get(name string) string {
	for i := range properties {
		if properties[i].name == name {
			return properties[i].print(q)
		}
	}
	return ""
}

// List returns the properties that have a value.
func (q *Queue) List() (list []Property) {
	for _, p := range properties {
		if value := p.print(q); value != "" {
			list = append(list, Property{p.name, value})
		}
	}
	return list
}

func fixed(p property) property {
	p.fixed = true
	return p
}

func duration(name string, longest int64, field func(*Queue) *int64) property {
	return property{name: name, set: func(q *Queue, value string) error {
		seconds, ok := ParseDuration(value)
		if !ok {
			return &Refused{name, "The property " + name + " cannot be '" + value + "': it must be a duration in the form of ISO 8601, " +
				"in whole seconds."}
		}
		if (seconds < 1 || seconds > longest) && seconds != *field(q) {
			return OutOfRange(name, FormatTimeSpan(1), FormatTimeSpan(longest), FormatTimeSpan(seconds))
		}
		*field(q) = seconds
		return nil
	}, print: func(q *Queue) string { return FormatDuration(*field(q)) }}
}

func number(name string, largest int64, field func(*Queue) *int64) property {
	return property{name: name, set: func(q *Queue, value string) error {
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil || (n < 1 || n > largest) && n != *field(q) {
			return OutOfRange(name, "1", strconv.FormatInt(largest, 10), value)
		}
		*field(q) = n
		return nil
	}, print: func(q *Queue) string { return strconv.FormatInt(*field(q), 10) }}
}

// OutOfRange refuses a value in the words of Service Bus.
func OutOfRange(name, least, most, value string) *Refused {
	return &Refused{name, "The value supplied must be between " + least + " and " + most + ".\nParameter name: " + name +
		"\nActual value was " + value + "."}
}

func flag(name string, field func(*Queue) *bool) property {
	return property{name: name, set: func(q *Queue, value string) error {
		on, err := strconv.ParseBool(strings.ToLower(value))
		if err != nil {
			return &Refused{name, "The property " + name + " cannot be '" + value + "': it must be true or false."}
		}
		*field(q) = on
		return nil
	}, print: func(q *Queue) string { return strconv.FormatBool(*field(q)) }}
}

// constant is a property with only one value, which may be empty.
func constant(name, only string) property {
	rule := only
	if only == "" {
		rule = "empty"
	}
	return property{name: name, set: func(_ *Queue, value string) error {
		if !strings.EqualFold(value, only) {
			return unsupported(name, value, rule)
		}
		return nil
	}, print: func(*Queue) string { return only }}
}

func status() property {
	const active, receiveDisabled = "Active", "ReceiveDisabled"
	return property{name: "Status", set: func(q *Queue, value string) error {
		switch {
		case strings.EqualFold(value, active):
			q.ReceiveDisabled = false
		case strings.EqualFold(value, receiveDisabled):
			q.ReceiveDisabled = true
		default:
			return unsupported("Status", value, active+" or "+receiveDisabled)
		}
		return nil
	}, print: func(q *Queue) string {
		if q.ReceiveDisabled {
			return receiveDisabled
		}
		return active
	}}
}

// neverIdle is AutoDeleteOnIdle: no queue is deleted because it is idle.
func neverIdle() property {
	p := constant("AutoDeleteOnIdle", unlimited)
	exact := p.set
	p.set = func(q *Queue, value string) error {
		if seconds, ok := ParseDuration(value); ok && seconds == secondsMax {
			return nil
		}
		return exact(q, value)
	}
	return p
}
