package description

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/seriatimq/seriatim/queue/attributes"
	"github.com/seriatimq/seriatim/queue/deduplication"
	"github.com/seriatimq/seriatim/queue/policy"
)

// Queues has the properties of queues.
var Queues = Schema[Queue]{"Queue", []property[Queue]{
	lock,
	number("MaxSizeInMegabytes", megabytesMax, func(q *Queue) *int64 { return &q.SizeMegabytes }),
	fixed(flag("RequiresDuplicateDetection", func(q *Queue) *bool { return &q.DuplicateDetection })),
	session,
	timeToLive,
	deadLetterExpired,
	duration("DuplicateDetectionHistoryTimeWindow", 7*day, func(q *Queue) *int64 { return &q.WindowSeconds }),
	maxDeliveryCount,
	constant[Queue]("EnableBatchedOperations", "true"),
	constant[Queue]("IsAnonymousAccessible", "false"),
	constant[Queue]("AuthorizationRules", ""),
	status(statusOfQueue, attributes.StatusActive, attributes.StatusDisabled, attributes.StatusSendDisabled,
		attributes.StatusReceiveDisabled),
	forwardTo,
	constant[Queue]("UserMetadata", ""),
	autoDelete(func(q *Queue) *int64 { return &q.IdleSeconds }),
	fixed(flag("EnablePartitioning", func(q *Queue) *bool { return &q.Partitioned })),
	constant[Queue]("EnableExpress", "false"),
	forwardDeadLetters,
	number("MaxMessageSizeInKilobytes", kilobytesMax, func(q *Queue) *int64 { return &q.MessageKilobytes }),
}, []string{
	"SizeInBytes", "MessageCount", "CreatedAt", "UpdatedAt", "AccessedAt", "SupportOrdering", "CountDetails", "EntityAvailabilityStatus",
}}

// Subscriptions has the properties of subscriptions, each of which has a queue.
var Subscriptions = Schema[Queue]{"Subscription", []property[Queue]{
	lock,
	session,
	timeToLive,
	deadLetterExpired,
	inverse(flag("DeadLetteringOnFilterEvaluationExceptions", dropFaulty), dropFaulty),
	maxDeliveryCount,
	constant[Queue]("EnableBatchedOperations", "true"),
	status(statusOfQueue, attributes.StatusActive, attributes.StatusDisabled, attributes.StatusReceiveDisabled),
	forwardTo,
	constant[Queue]("UserMetadata", ""),
	forwardDeadLetters,
	autoDelete(func(q *Queue) *int64 { return &q.IdleSeconds }),
}, []string{
	"MessageCount", "CreatedAt", "UpdatedAt", "AccessedAt", "CountDetails", "EntityAvailabilityStatus",
}}

func statusOfQueue(q *Queue) *attributes.Status { return &q.Status }

// Properties of both.
var (
	lock              = duration("LockDuration", 12*hour, func(q *Queue) *int64 { return &q.LockSeconds })
	session           = fixed(flag("RequiresSession", func(q *Queue) *bool { return &q.Session }))
	timeToLive        = duration("DefaultMessageTimeToLive", secondsMax, func(q *Queue) *int64 { return &q.TimeToLiveSeconds })
	deadLetterExpired = flag("DeadLetteringOnMessageExpiration", func(q *Queue) *bool { return &q.DeadLetterExpired })
	maxDeliveryCount  = number("MaxDeliveryCount", policy.MaxReceiveCountMax, func(q *Queue) *int64 { return &q.MaxDeliveryCount })

	forwardTo          = forward(attributes.NameForwardTo, func(q *Queue) *Forward { return &q.ForwardTo })
	forwardDeadLetters = forward(attributes.NameForwardDeadLetters, func(q *Queue) *Forward { return &q.ForwardDeadLetters })
)

func dropFaulty(q *Queue) *bool { return &q.DropFaulty }

// Queue holds the properties of a Service Bus queue or subscription that a queue can have.
type Queue struct {
	LockSeconds        int64
	DuplicateDetection bool
	Session            bool
	TimeToLiveSeconds  int64
	DeadLetterExpired  bool
	WindowSeconds      int64
	MaxDeliveryCount   int64
	Partitioned        bool
	Status             attributes.Status
	MessageKilobytes   int64
	SizeMegabytes      int64 // 0: no limit, as subscriptions
	DropFaulty         bool  // of a subscription: messages for which a rule fails
	ForwardTo          Forward
	ForwardDeadLetters Forward
	IdleSeconds        int64 // 0: never
}

const (
	// deliveriesDefault is the MaxDeliveryCount of Service Bus, and that of an implicit dead-letter queue.
	deliveriesDefault = 10
	// deliveriesUnlimited is the MaxDeliveryCount of a queue without a dead-letter queue.
	deliveriesUnlimited = math.MaxInt32
	kilobytesMax        = 1024
	megabytesMax        = 1 << 20
	megabytesDefault    = 1024
)

// Default returns the properties of a queue that was created without any.
func Default() Queue {
	return Queue{
		LockSeconds: minute, TimeToLiveSeconds: secondsMax, WindowSeconds: 10 * minute, MaxDeliveryCount: deliveriesDefault,
		MessageKilobytes: kilobytesMax, SizeMegabytes: megabytesDefault,
	}
}

// DefaultSubscription is Default for a subscription, whose topic has the limit of its size.
func DefaultSubscription() Queue {
	q := Default()
	q.SizeMegabytes = 0
	return q
}

// Of returns the properties of a queue with attributes. A queue that no Service Bus client made may have
// values that Service Bus does not permit.
func Of(a *attributes.Queue) Queue {
	q := Queue{
		LockSeconds: a.VisibilitySeconds, DuplicateDetection: !a.Deduplication.Disabled, Session: !a.GroupOptional,
		TimeToLiveSeconds: a.TimeToLiveSeconds, DeadLetterExpired: a.DeadLetterExpired, WindowSeconds: a.Deduplication.WindowSeconds,
		MaxDeliveryCount: deliveriesUnlimited, Partitioned: a.Deduplication.Scope == deduplication.ScopePartitionKey,
		Status: a.Status, MessageKilobytes: a.MaximumMessageSize / 1024, SizeMegabytes: a.SizeMegabytesMax,
		ForwardTo: forwardOf(a.ForwardTo), ForwardDeadLetters: forwardOf(a.ForwardDeadLetters),
		IdleSeconds: a.AutoDeleteSeconds,
	}
	if q.TimeToLiveSeconds == 0 {
		q.TimeToLiveSeconds = a.RetentionSeconds
	}
	switch {
	case a.Redrive.Target != "":
		q.MaxDeliveryCount = a.Redrive.MaxReceiveCount
	case a.ImplicitDeadLetterQueue:
		q.MaxDeliveryCount = deliveriesDefault
	}
	return q
}

// Attributes returns the attributes of a new queue, sorted by name. deadLetterARN names its dead-letter
// queue, which has to exist.
func (q Queue) Attributes(deadLetterARN string) []attributes.Attribute {
	list := []attributes.Attribute{
		{Name: "AutoDeleteOnIdleSeconds", Value: strconv.FormatInt(q.IdleSeconds, 10)},
		{Name: "CompatibilityProfile", Value: "servicebus"},
		{Name: "DeadLetterOnExpiration", Value: strconv.FormatBool(q.DeadLetterExpired)},
		{Name: "DeduplicationEnabled", Value: strconv.FormatBool(q.DuplicateDetection)},
		{Name: "DeduplicationScope", Value: scopeOf(q.Partitioned)},
		{Name: "DeduplicationWindowSeconds", Value: strconv.FormatInt(q.WindowSeconds, 10)},
		{Name: "DefaultTimeToLiveSeconds", Value: strconv.FormatInt(q.TimeToLiveSeconds, 10)},
		{Name: "EntityStatus", Value: q.Status.String()},
		{Name: "FifoQueue", Value: "true"},
		{Name: attributes.NameForwardDeadLetters, Value: q.ForwardDeadLetters.attribute()},
		{Name: attributes.NameForwardTo, Value: q.ForwardTo.attribute()},
		{Name: "ImplicitDeadLetterQueue", Value: "true"},
		{Name: "MaxSizeInMegabytes", Value: strconv.FormatInt(q.SizeMegabytes, 10)},
		{Name: "MaximumMessageSize", Value: strconv.FormatInt(q.MessageKilobytes*1024, 10)},
		{Name: "MessageGroupIdMode", Value: q.groupMode()},
		{Name: "RedrivePolicy", Value: q.redrive(deadLetterARN)},
		{Name: "VisibilityTimeout", Value: strconv.FormatInt(q.LockSeconds, 10)},
	}
	return list
}

// scopeOf returns the DeduplicationScope.
func scopeOf(partitioned bool) string {
	if partitioned {
		return attributes.ScopeName(deduplication.ScopePartitionKey)
	}
	return attributes.ScopeName(deduplication.ScopeQueue)
}

func (q Queue) groupMode() string {
	if q.Session {
		return "Required"
	}
	return "Optional"
}

// redrive returns the RedrivePolicy, which is empty for the count of an implicit dead-letter queue.
func (q Queue) redrive(deadLetterARN string) string {
	if q.MaxDeliveryCount == deliveriesDefault {
		return ""
	}
	return `{"deadLetterTargetArn":"` + deadLetterARN + `","maxReceiveCount":` + strconv.FormatInt(q.MaxDeliveryCount, 10) + `}`
}

// DeadLetterAttributes returns the attributes of the dead-letter queue of a new queue, sorted by name. It
// keeps messages without end, and needs no session.
func (q Queue) DeadLetterAttributes() []attributes.Attribute {
	return []attributes.Attribute{
		{Name: "CompatibilityProfile", Value: "servicebus"},
		{Name: "DeduplicationEnabled", Value: "false"},
		{Name: "DefaultTimeToLiveSeconds", Value: strconv.FormatInt(secondsMax, 10)},
		{Name: "FifoQueue", Value: "true"},
		{Name: "MessageGroupIdMode", Value: "Optional"},
		{Name: "VisibilityTimeout", Value: strconv.FormatInt(q.LockSeconds, 10)},
	}
}

// FilterErrors is the attribute of a subscription that says what happens to a message for which a rule
// fails.
const FilterErrors = "DeadLetterOnFilterError"

// SubscriptionAttributes returns the attributes of the subscription of the queue to a topic, sorted by
// name. deadLetterARN names the dead-letter queue of the queue, which takes messages that the queue
// refuses: those without a session.
func (q Queue) SubscriptionAttributes(deadLetterARN string) (list []attributes.Attribute) {
	if q.DropFaulty {
		list = append(list, attributes.Attribute{Name: FilterErrors, Value: "false"})
	}
	return append(list, attributes.Attribute{Name: "RawMessageDelivery", Value: "true"},
		attributes.Attribute{Name: "RedrivePolicy", Value: `{"deadLetterTargetArn":"` + deadLetterARN + `"}`})
}

// Changes returns the attributes that differ from those of an existing queue, sorted by name.
// deadLetterARN names the dead-letter queue.
func (q Queue) Changes(before Queue, deadLetterARN string) []attributes.Attribute {
	var list []attributes.Attribute
	old := before.Attributes(deadLetterARN)
	for i, a := range q.Attributes(deadLetterARN) {
		switch {
		case a.Value == old[i].Value:
		case a.Name == "RedrivePolicy" && before.MaxDeliveryCount == deliveriesUnlimited:
			list = append(list, attributes.Attribute{Name: "ImplicitDeadLetterQueue", Value: "true"}, a)
		default:
			list = append(list, a)
		}
	}
	slices.SortFunc(list, func(a, b attributes.Attribute) int { return strings.Compare(a.Name, b.Name) })
	return list
}
