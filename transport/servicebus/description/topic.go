package description

import (
	"slices"
	"strconv"

	"github.com/seriatimq/seriatim/queue/attributes"
	"github.com/seriatimq/seriatim/queue/deduplication"
)

// Topic holds the properties of a Service Bus topic that a topic can have.
type Topic struct {
	TimeToLiveSeconds  int64
	DuplicateDetection bool
	WindowSeconds      int64
	Partitioned        bool
	Status             attributes.Status
	SizeMegabytes      int64 // 0: no limit
	IdleSeconds        int64 // 0: never
}

// Topics has the properties of topics.
var Topics = Schema[Topic]{"Topic", []property[Topic]{
	duration("DefaultMessageTimeToLive", secondsMax, func(t *Topic) *int64 { return &t.TimeToLiveSeconds }),
	number("MaxSizeInMegabytes", megabytesMax, func(t *Topic) *int64 { return &t.SizeMegabytes }),
	fixed(flag("RequiresDuplicateDetection", func(t *Topic) *bool { return &t.DuplicateDetection })),
	duration("DuplicateDetectionHistoryTimeWindow", 7*day, func(t *Topic) *int64 { return &t.WindowSeconds }),
	constant[Topic]("EnableBatchedOperations", "true"),
	constant[Topic]("FilteringMessagesBeforePublishing", "false"),
	constant[Topic]("IsAnonymousAccessible", "false"),
	constant[Topic]("AuthorizationRules", ""),
	status(func(t *Topic) *attributes.Status { return &t.Status }, attributes.StatusActive, attributes.StatusDisabled,
		attributes.StatusSendDisabled),
	constant[Topic]("UserMetadata", ""),
	autoDelete(func(t *Topic) *int64 { return &t.IdleSeconds }),
	fixed(flag("EnablePartitioning", func(t *Topic) *bool { return &t.Partitioned })),
	constant[Topic]("EnableSubscriptionPartitioning", "false"),
	constant[Topic]("EnableExpress", "false"),
	constant[Topic]("MaxMessageSizeInKilobytes", strconv.Itoa(kilobytesMax)),
}, []string{
	"SizeInBytes", "CreatedAt", "UpdatedAt", "AccessedAt", "SupportOrdering", "CountDetails", "SubscriptionCount",
	"SqlFilterCount", "CorrelationFilterCount", "EntityAvailabilityStatus",
}}

// DefaultTopic returns the properties of a topic that was created without any.
func DefaultTopic() Topic {
	return Topic{TimeToLiveSeconds: secondsMax, WindowSeconds: 10 * minute, SizeMegabytes: megabytesDefault}
}

// TopicOf returns the properties of a topic with attributes.
func TopicOf(a *attributes.Topic) Topic {
	t := Topic{
		TimeToLiveSeconds: a.TimeToLiveSeconds, DuplicateDetection: !a.Deduplication.Disabled,
		WindowSeconds: a.Deduplication.WindowSeconds, Partitioned: a.Deduplication.Scope == deduplication.ScopePartitionKey,
		Status: a.Status, SizeMegabytes: a.SizeMegabytesMax, IdleSeconds: a.AutoDeleteSeconds,
	}
	if t.TimeToLiveSeconds == 0 {
		t.TimeToLiveSeconds = secondsMax
	}
	return t
}

// Attributes returns the attributes of a new topic, sorted by name. Messages may have a session or none:
// that is a matter of subscriptions.
func (t Topic) Attributes() []attributes.Attribute {
	return []attributes.Attribute{
		{Name: "AutoDeleteOnIdleSeconds", Value: strconv.FormatInt(t.IdleSeconds, 10)},
		{Name: "CompatibilityProfile", Value: "servicebus"},
		{Name: "DeduplicationEnabled", Value: strconv.FormatBool(t.DuplicateDetection)},
		{Name: "DeduplicationScope", Value: scopeOf(t.Partitioned)},
		{Name: "DeduplicationWindowSeconds", Value: strconv.FormatInt(t.WindowSeconds, 10)},
		{Name: "DefaultTimeToLiveSeconds", Value: strconv.FormatInt(t.TimeToLiveSeconds, 10)},
		{Name: "EntityStatus", Value: t.Status.String()},
		{Name: "FifoTopic", Value: "true"},
		{Name: "MaxSizeInMegabytes", Value: strconv.FormatInt(t.SizeMegabytes, 10)},
		{Name: "MessageGroupIdMode", Value: "Optional"},
	}
}

// Changes returns the attributes that differ from those of an existing topic, sorted by name.
func (t Topic) Changes(before Topic) (list []attributes.Attribute) {
	old := before.Attributes()
	for _, a := range t.Attributes() {
		if !slices.Contains(old, a) {
			list = append(list, a)
		}
	}
	return list
}
