// Package limits holds the limits of requests and resources.
package limits

// The source of a limit is the AWS documentation unless its comment names another.
const (
	QueueNameLengthMax      = 80
	FIFONameLengthMax       = 800 // ours, outside of SQS and SNS: an entity of Service Bus has 260 characters, some of which take three
	TopicNameLengthMax      = 256 // with .fifo (undocumented)
	TopicDisplayNameMax     = 100 // characters
	BatchEntriesMax         = 10
	BatchBytesMax           = 1 << 20 // body and attribute bytes of one batch
	StreamEntriesMax        = 500     // of one command of a stream; ours
	AtomicEntriesMax        = 4500    // of one command that sends all or none; ours
	MessageBytesMax         = 1 << 20
	PublishBytesMax         = 262_144 // message and attribute bytes of one publish to a topic
	SubjectLengthMax        = 99      // characters; "less than 100" in the SNS API
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
	StoredEntriesMax        = 100     // messages of one DeleteStored or MoveStored; ours
	DeduplicationSecondsMin = 20      // default of a cluster setting
	DeduplicationSecondsMax = 604_800 // seven days, Azure Service Bus
	AttemptSecondsMax       = 3600
	ListQueuesMax           = 1000
	ArchiveDaysMax          = 365
	DataProtectionMax       = 30_720    // characters of a DataProtectionPolicy
	RoleLengthMax           = 2048      // bytes of the ARN of a role, IAM
	ReplaysMax              = 10        // of one topic at a time; ours, AWS publishes no number
	ReplayStepMax           = 200       // archived messages per ReplayMessages command; ours
	OutboxMax               = 100_000   // pending HTTP deliveries to one subscription; ours
	OutboxBytesMax          = 256 << 20 // bytes above which none are added; ours
	DeliveryReportsMax      = 500       // per ReportDeliveries command; ours
	EndpointLengthMax       = 2048      // bytes of the URL of an HTTP subscriber, AWS
	DeliveryRetriesMax      = 100       // of a DeliveryPolicy, AWS
	DeliveryRetrySecondsMax = 3600      // for one delay, and for all retries together, AWS
	ConfirmationDays        = 3         // validity of a subscription's token, AWS
	TopicsFIFOMax           = 1000      // AWS quota per account
	TopicsStandardMax       = 100_000   // AWS quota per account
	AccessKeysMax           = 10_000    // ours
	UserPoliciesMax         = 10_000    // ours
	AccountsMax             = 10_000    // ours
	// SubscriptionsMax is the limit of Azure Service Bus; AWS has 100 for a FIFO topic. Here it applies to
	// every topic, because one log entry delivers to all subscriptions.
	SubscriptionsMax = 2000
	// RulesMax is the number of rules of a topic; ours. Azure Service Bus has 2,000 SQL filters a topic.
	RulesMax = 4000
	// InFlightMax is AWS's limit for both queue types.
	InFlightMax = 120_000
)
