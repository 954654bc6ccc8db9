// Package limits holds the limits that a client meets: lengths, counts and seconds, with their
// source where that is not the documentation of AWS.
package limits

// Limits of the domain. Sources are named as in the manual: AWS documentation
// unless said otherwise.
const (
	QueueNameLengthMax      = 80
	TopicNameLengthMax      = 256 // with .fifo; AWS does not say whether it counts
	TopicDisplayNameMax     = 100 // characters
	BatchEntriesMax         = 10
	BatchBytesMax           = 1 << 20 // body and attribute bytes of one batch
	StreamEntriesMax        = 500     // of one command that a stream makes; ours
	MessageBytesMax         = 1 << 20
	PublishBytesMax         = 262_144 // message and attribute bytes of one publish to a topic
	SubjectLengthMax        = 99      // characters; "less than 100" in the API of SNS
	MessageAttributesMax    = 10
	AttributeNameLengthMax  = 256
	AttributeTypeLengthMax  = 256
	IDLengthMax             = 128 // deduplication, group, attempt id, partition key
	DelaySecondsMax         = 900
	VisibilitySecondsMax    = 43_200
	WaitSecondsMax          = 20
	ReceiveMessagesMax      = 10
	TagsMax                 = 50
	TagKeyLengthMax         = 128
	TagValueLengthMax       = 256
	PolicyActionsMax        = 7
	PolicyLabelLengthMax    = 80
	MoveTasksListedMax      = 10
	MoveTasksKeptPerSource  = 10
	MoveStepMax             = 100 // messages per MoveMessages command; ours
	MovePerSecondMax        = 500
	DeduplicationSecondsMin = 20      // lower bound is a server setting, this is its default
	DeduplicationSecondsMax = 604_800 // seven days, Azure Service Bus
	AttemptSecondsMax       = 3600
	ListQueuesMax           = 1000
	ArchiveDaysMax          = 365
	DataProtectionMax       = 30_720    // characters of a DataProtectionPolicy
	RoleLengthMax           = 2048      // bytes of the ARN of a role, IAM
	ReplaysMax              = 10        // of one topic at a time; ours, AWS does not publish its number
	ReplayStepMax           = 200       // archived messages per ReplayMessages command; ours
	OutboxMax               = 100_000   // deliveries over HTTP that wait, of one subscription; ours
	OutboxBytesMax          = 256 << 20 // bytes of them beyond which no more are put in; ours
	DeliveryReportsMax      = 500       // per ReportDeliveries command; ours
	EndpointLengthMax       = 2048      // bytes of the URL of an HTTP subscriber, AWS
	DeliveryRetriesMax      = 100       // of a DeliveryPolicy, AWS
	DeliveryRetrySecondsMax = 3600      // longest delay, and of all retries together, AWS
	ConfirmationDays        = 3         // that the token of a subscription is good for, AWS
	TopicsFIFOMax           = 1000      // the quota of AWS for an account
	TopicsStandardMax       = 100_000   // likewise
	AccessKeysMax           = 10_000    // ours
	UserPoliciesMax         = 10_000    // ours
	AccountsMax             = 10_000    // ours
	// SubscriptionsMax is that of a FIFO topic on AWS. It holds for every topic here,
	// since one log entry delivers to all of them.
	SubscriptionsMax = 100
	// InFlightMax: AWS, both queue types, since late 2024.
	InFlightMax = 120_000
)
