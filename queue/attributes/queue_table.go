package attributes

import (
	"strconv"
	"strings"

	"github.com/seriatimq/seriatim/queue/deduplication"
	"github.com/seriatimq/seriatim/queue/limits"
	"github.com/seriatimq/seriatim/queue/policy"
	"github.com/seriatimq/seriatim/queue/refusal"
)

// Names of the queue attributes that rules mention beside their row.
const (
	nameAutoDelete           = "AutoDeleteOnIdleSeconds"
	nameContentMode          = "ContentDeduplicationMode"
	nameDeadLetterKeepsID    = "DeadLetterKeepsDeduplicationId"
	nameDeduplicationEnabled = "DeduplicationEnabled"
	nameDeduplicationScope   = "DeduplicationScope"
	nameDeduplicationWindow  = "DeduplicationWindowSeconds"
	NameFIFO                 = "FifoQueue"
	NameDeliveryPaused       = "DeliveryPaused"
	NameForwardDeadLetters   = "ForwardDeadLetteredMessagesTo"
	NameForwardTo            = "ForwardTo"
	nameEntriesMax           = "MaxDeduplicationEntries"
	nameGroupMessagesMax     = "MaxMessagesPerGroupPerReceive"
	nameGroupMode            = "MessageGroupIdMode"
	nameKMSKey               = "KmsMasterKeyId"
	NamePolicy               = "Policy"
	nameProfile              = "CompatibilityProfile"
	namePurgeClears          = "PurgeClearsDeduplicationHistory"
	nameReceiveCompatibility = "ReceiveCompatibility"
	nameSizeMax              = "MaxSizeInMegabytes"
	NameStatus               = "EntityStatus"
	nameRedriveAllowPolicy   = "RedriveAllowPolicy"
	nameRedrivePolicy        = "RedrivePolicy"
	nameReservedEnabled      = "ReservedAttributesEnabled"
	nameSQSManaged           = "SqsManagedSseEnabled"
	nameThroughputLimit      = "FifoThroughputLimit"
	nameTimeToLive           = "DefaultTimeToLiveSeconds"
)

// serviceBus is the profile of Azure Service Bus, and serviceBusWindow its deduplication window in
// seconds.
const (
	serviceBus       = "servicebus"
	serviceBusWindow = 600
)

// topicPrefix marks the name of a topic among names of queues.
const topicPrefix = "topic:"

// Bounds that only the rows use.
const (
	messageSizeMin      = 1024
	retentionSecondsMin = 60
	retentionSecondsMax = 1_209_600
	// timeToLiveSecondsMax is the largest time span of .NET, which Service Bus takes for no limit.
	timeToLiveSecondsMax = 922_337_203_685
	kmsReuseSecondsMin   = 60
	kmsReuseSecondsMax   = 86_400
	kmsKeyIDLengthMax    = 2048 // AWS KMS
	// entriesMaxMax exceeds the memory of any node and keeps sums with it far from overflow.
	entriesMaxMax = 1_000_000_000_000
	// sizeMegabytesMax is a terabyte. A megabyte has 1024 kilobytes, as in Service Bus.
	sizeMegabytesMax = 1 << 20
	// autoDeleteSecondsMin is that of Service Bus, autoDeleteSecondsMax a hundred years.
	autoDeleteSecondsMin = 300
	autoDeleteSecondsMax = 3_155_760_000
	megabyteShift        = 20
)

// Values of attributes, with the format version that introduced them, by the number of the value.
var (
	profiles = words{ProfileAWS: {"aws", 1}, ProfileYMQ: {"ymq", 1}, ProfileServiceBus: {serviceBus, 1}}
	scopes   = words{deduplication.ScopeQueue: {"queue", 1}, deduplication.ScopeMessageGroup: {"messageGroup", 1},
		deduplication.ScopePartitionKey: {"partitionKey", 1}}
	contentModes = words{{"IdOverrides", 1}, {"IdAndContent", 1}}
	groupModes   = words{{"Required", 1}, {"Optional", 1}}
	statuses     = words{StatusActive: {"Active", 1}, StatusDisabled: {"Disabled", 1}, StatusSendDisabled: {"SendDisabled", 1},
		StatusReceiveDisabled: {"ReceiveDisabled", 1}}
)

// ScopeName returns the value of DeduplicationScope for a scope.
func ScopeName(s deduplication.Scope) string { return scopes[s].text }

// queueTable holds the attributes of queues that can be set.
var queueTable = newTable(false,
	row(nameAutoDelete, 1, onAny,
		"Seconds without use after which the queue is deleted with its messages and built-in dead-letter queues. Every request for "+
			"messages of these queues and every change is a use. A queue with scheduled messages or `ForwardTo` is in use. "+
			"`0` means never.",
		autoDelete(func(a *Queue) *int64 { return &a.AutoDeleteSeconds })).as(extensionAutoDelete),
	row(nameProfile, 1, onAny,
		"Presets other attributes as AWS SQS (`aws`), Yandex Message Queue (`ymq`) or Azure Service Bus (`servicebus`) has them.",
		choice(profiles, ProfileAWS, func(a *Queue) *Profile { return &a.Profile })).as(extensionProfile).atCreation(),
	row("ContentBasedDeduplication", 1, onFIFO,
		"Takes the SHA-256 of the body as the deduplication id of a message that has none.",
		flag(func(a *Queue) *bool { return &a.Deduplication.ContentBased })),
	row(nameContentMode, 1, onFIFONamed,
		"With `IdAndContent`, a message is a duplicate if its id or its body repeats. It needs `ContentBasedDeduplication`.",
		either(contentModes, func(a *Queue) *bool { return &a.Deduplication.IDAndContent })).as(extensionContentMode),
	row(nameDeadLetterKeepsID, 1, onFIFONamed,
		"Keeps the deduplication id of a message that moves to the dead-letter queue. Otherwise its id there is its message id.",
		flag(func(a *Queue) *bool { return &a.Deduplication.DeadLetterKeepsID })).as(extensionDeadLetterID),
	row(nameDeduplicationEnabled, 1, onFIFONamed,
		"With `false`, the queue drops no duplicates.",
		inverseFlag(func(a *Queue) *bool { return &a.Deduplication.Disabled })).as(extensionEnabled).atCreation(),
	row(nameDeduplicationScope, 1, onFIFONamed,
		"Says within which messages an id must not repeat: those of the queue, of the message group, or of the partition key.",
		choice(scopes, deduplication.ScopeQueue, func(a *Queue) *deduplication.Scope { return &a.Deduplication.Scope })),
	row(nameDeduplicationWindow, 1, onFIFONamed,
		"Seconds for which the queue remembers the deduplication id of an accepted message. The lowest value is `minimum-window`.",
		deduplicationWindow()).as(extensionWindow).losing(losesIDs),
	row("DeadLetterOnExpiration", 1, onFIFONamed,
		"Moves a message whose time to live ends to the dead-letter queue, instead of deleting it.",
		flag(func(a *Queue) *bool { return &a.DeadLetterExpired })).as(extensionDeadLetterTTL),
	row(nameTimeToLive, 1, onFIFONamed,
		"Seconds that a new message may live, and the most that it may ask for. It replaces `MessageRetentionPeriod`. `0` turns "+
			"it off; a hundred years or more mean no limit.",
		number(0, timeToLiveSecondsMax, func(a *Queue) *int64 { return &a.TimeToLiveSeconds })).as(extensionTimeToLive),
	row("DelaySeconds", 1, onAny,
		"Seconds before a new message can be received.",
		number(0, limits.DelaySecondsMax, func(a *Queue) *int64 { return &a.DelaySeconds })),
	row(NameDeliveryPaused, 1, onAny,
		"With `true`, receives get no messages until you set it to `false`. Sends, deletions and move tasks go on.",
		flag(func(a *Queue) *bool { return &a.DeliveryPaused })).as(extensionDeliveryPaused),
	row(NameStatus, 1, onAny,
		"With `SendDisabled`, the queue refuses sends. With `ReceiveDisabled`, it refuses receives, completions, deferrals and dead "+
			"letters by receivers. `Disabled` is both. Messages from topics arrive, and operators can delete and move messages.",
		choice(statuses, StatusActive, func(a *Queue) *Status { return &a.Status })).as(extensionStatus),
	row(NameFIFO, 1, onFIFO,
		"Makes a FIFO queue. Its name ends in `.fifo`.",
		fifoValue()).atCreation(),
	row(nameThroughputLimit, 1, onFIFONamed,
		"Stored and listed for AWS clients. `perMessageGroupId` needs the `DeduplicationScope` `messageGroup`.",
		either(words{{"perQueue", 1}, {"perMessageGroupId", 1}}, func(a *Queue) *bool { return &a.HighThroughput })),
	row(NameForwardDeadLetters, 1, onAny,
		"Forwards each dead letter of the queue as `ForwardTo` does. It needs `RedrivePolicy` or `ImplicitDeadLetterQueue`.",
		forwardValue(func(a *Queue) *string { return &a.ForwardDeadLetters })).as(extensionForwardDead),
	row(NameForwardTo, 1, onAny,
		"Moves each message that can be received to another queue or topic of the account. The queue then refuses receives. A message "+
			"that cannot be forwarded goes to the queue `NAME-transferdlq` or `NAME-transferdlq.fifo`. An empty value removes it.",
		forwardValue(func(a *Queue) *string { return &a.ForwardTo })).as(extensionForwardTo),
	row("ImplicitDeadLetterQueue", 1, onAny,
		"Gives a queue without a `RedrivePolicy` a dead-letter queue of its own, named `NAME-dlq` or `NAME-dlq.fifo`.",
		flag(func(a *Queue) *bool { return &a.ImplicitDeadLetterQueue })).as(extensionImplicitDLQ),
	row("KmsDataKeyReusePeriodSeconds", 1, onAny,
		"Stored for AWS clients, and listed unless it is 300.",
		kmsReuseValue()),
	row(nameKMSKey, 1, onAny,
		"Refused, because there are no keys of KMS. With `accept-kms-keys` it is stored and ignored.",
		kmsKeyValue()),
	row(nameEntriesMax, 1, onFIFONamed,
		"The most ids that the queue remembers. At this number it refuses sends. `0` means no limit.",
		number(0, entriesMaxMax, func(a *Queue) *int64 { return &a.Deduplication.EntriesMax })).as(extensionEntriesMax),
	row(nameGroupMessagesMax, 1, onFIFONamed,
		"The most messages of one group that one receive returns.",
		number(1, limits.ReceiveMessagesMax, func(a *Queue) *int64 { return &a.GroupMessagesMax })).as(extensionGroupMessages),
	row("MaximumMessageSize", 1, onAny,
		"The most bytes that a message may have.",
		number(messageSizeMin, limits.MessageBytesMax, func(a *Queue) *int64 { return &a.MaximumMessageSize })),
	row(nameSizeMax, 1, onAny,
		"The most megabytes (1,048,576 bytes) of bodies and attributes that sends may fill. Beyond, the queue refuses them. "+
			"Messages from topics and dead letters count and are never refused. `0` means no limit.",
		number(0, sizeMegabytesMax, func(a *Queue) *int64 { return &a.SizeMegabytesMax })).as(extensionSizeMax),
	row(nameGroupMode, 1, onFIFONamed,
		"With `Optional`, a message may have no message group. Such messages do not wait for each other.",
		either(groupModes, func(a *Queue) *bool { return &a.GroupOptional })).as(extensionGroupMode).atCreation(),
	row("MessageRetentionPeriod", 1, onAny,
		"Seconds after which a message is deleted. A change applies to existing messages.",
		number(retentionSecondsMin, retentionSecondsMax, func(a *Queue) *int64 { return &a.RetentionSeconds })).losing(losesMessages),
	row(NamePolicy, 1, onAny,
		"The access policy of the queue, as JSON. An empty value removes it.",
		policyValue()),
	row(namePurgeClears, 1, onFIFONamed,
		"Forgets the deduplication ids when the queue is purged.",
		inverseFlag(func(a *Queue) *bool { return &a.Deduplication.PurgeKeepsHistory })).as(extensionPurge),
	row("ReceiveAttemptWindowSeconds", 1, onFIFONamed,
		"Seconds for which a receive with the same `ReceiveRequestAttemptId` returns the same messages. The lowest "+
			"value is `minimum-window`.",
		window(limits.AttemptSecondsMax, func(a *Queue) *int64 { return &a.AttemptSeconds })).as(extensionAttemptWindow),
	row(nameReceiveCompatibility, 1, onFIFONamed,
		"Says whether attempt ids and old receipt handles behave as in AWS SQS or in Yandex Message Queue.",
		either(words{{"aws", 1}, {"ymq", 1}}, func(a *Queue) *bool { return &a.YMQReceive })).as(extensionReceive).atCreation(),
	row("ReceiveMessageWaitTimeSeconds", 1, onAny,
		"Seconds that a receive waits for a message if the request does not say.",
		number(0, limits.WaitSecondsMax, func(a *Queue) *int64 { return &a.ReceiveWaitSeconds })),
	row(nameRedriveAllowPolicy, 1, onAny,
		"Says which queues may use this queue as their dead-letter queue, as JSON. Without it, all may.",
		redriveAllowValue()).comparedBy(func(a, b *Queue) bool {
		return a.RedriveAllow.Equal(b.RedriveAllow)
	}),
	row(nameRedrivePolicy, 1, onAny,
		"Names the dead-letter queue and the number of receives after which a message moves there, as JSON. An empty value removes it.",
		redriveValue()).comparedBy(func(a, b *Queue) bool {
		return a.Redrive.Target == b.Redrive.Target && a.Redrive.MaxReceiveCount == b.Redrive.MaxReceiveCount
	}),
	row(nameReservedEnabled, 1, onAny,
		"Gives message attributes such as `seriatim.PartitionKey` their meaning. With `false` they are plain attributes.",
		flag(func(a *Queue) *bool { return &a.ReservedAttributes })).as(extensionReservedEnabled),
	row(nameSQSManaged, 1, onAny,
		"Says whether all nodes encrypt data at rest. `true` is refused unless they do.",
		sqsManagedValue()),
	row("VisibilityTimeout", 1, onAny,
		"Seconds for which a received message stays hidden if the receive does not say.",
		number(0, limits.VisibilitySecondsMax, func(a *Queue) *int64 { return &a.VisibilitySeconds })),
)

// deduplicationWindow is the only number whose error states the bounds.
func deduplicationWindow() attribute[Queue] {
	r := window(limits.DeduplicationSecondsMax, func(a *Queue) *int64 { return &a.Deduplication.WindowSeconds })
	parse := r.parse
	r.parse = func(a *Queue, s setting) *refusal.Error {
		if parse(a, s) == nil {
			return nil
		}
		return refusal.New(refusal.InvalidAttributeValue, "Invalid value for the parameter ", s.name, ". Reason: must be between ",
			strconv.FormatInt(s.in.MinimumWindow, 10), " and ", strconv.FormatInt(limits.DeduplicationSecondsMax, 10), ".")
	}
	return r
}

// forwardValue is the name of a queue, or of a topic with a prefix. It has the type of the queue.
func forwardValue(field func(*Queue) *string) attribute[Queue] {
	return attribute[Queue]{
		takes: takesText("QUEUE or `topic:TOPIC`"),
		parse: func(a *Queue, s setting) *refusal.Error {
			name, topic := ForwardTarget(s.value)
			stem, fifo := strings.CutSuffix(name, ".fifo")
			most := limits.TopicNameLengthMax
			switch {
			case fifo:
				most = limits.FIFONameLengthMax
			case !topic:
				most = limits.QueueNameLengthMax
			}
			if s.value != "" && (fifo != a.FIFO || !isTopicName(stem) || len(name) > most) {
				return s.invalid("")
			}
			*field(a) = s.value
			return nil
		},
		print: func(a *Queue) (string, bool) { return *field(a), true },
	}
}

// fifoValue is FifoQueue. Only FIFO queues have the row. There AWS accepts true without effect, and
// answers to false that the type cannot be changed.
func fifoValue() attribute[Queue] {
	r := flag(func(a *Queue) *bool { return &a.FIFO })
	parse := r.parse
	r.parse = func(a *Queue, s setting) *refusal.Error {
		if err := parse(a, s); err != nil || a.FIFO {
			return err
		}
		return refusal.New(refusal.InvalidAttributeValue,
			"Invalid value for the parameter FifoQueue. Reason: Modifying queue type is not supported.")
	}
	return r
}

// kmsKeyValue is KmsMasterKeyId. A key turns the encryption managed by SQS off; removing the key
// leaves it off (both recorded on AWS).
func kmsKeyValue() attribute[Queue] {
	return text(takesText("text"), func(a *Queue) *string { return &a.Encryption.KMSMasterKeyID }, checkKMSKey).
		then(func(a *Queue) {
			if a.Encryption.KMSMasterKeyID != "" {
				a.Encryption.SQSManaged = false
			}
		})
}

// kmsReuseValue is KmsDataKeyReusePeriodSeconds. AWS does not list the default.
func kmsReuseValue() attribute[Queue] {
	r := number(kmsReuseSecondsMin, kmsReuseSecondsMax, func(a *Queue) *int64 { return &a.Encryption.KMSReuseSeconds })
	r.print = func(a *Queue) (string, bool) {
		seconds := a.Encryption.KMSReuseSeconds
		return strconv.FormatInt(seconds, 10), seconds != kmsReuseSecondsDefault
	}
	return r
}

// sqsManagedValue is SqsManagedSseEnabled. Turning it on removes the KMS key, because a queue has
// one kind of encryption at a time.
func sqsManagedValue() attribute[Queue] {
	return flag(func(a *Queue) *bool { return &a.Encryption.SQSManaged }).then(func(a *Queue) {
		if a.Encryption.SQSManaged {
			a.Encryption.KMSMasterKeyID = ""
		}
	})
}

// policyValue is Policy: a JSON object, stored as sent and returned as stored.
func policyValue() attribute[Queue] {
	return text(takesPolicy(policy.AccessGrammar), func(a *Queue) *string { return &a.Policy }, func(s setting) *refusal.Error {
		if s.value != "" && !policy.IsAccess(s.value) {
			return s.invalid("")
		}
		return nil
	})
}

// redriveValue is RedrivePolicy.
func redriveValue() attribute[Queue] {
	return attribute[Queue]{
		takes: takesPolicy(policy.RedriveGrammar),
		parse: func(a *Queue, s setting) *refusal.Error {
			p, reason := policy.ParseRedrive(s.value)
			if reason != "" {
				return s.malformed(reason)
			}
			a.Redrive = p
			return nil
		},
		print: func(a *Queue) (string, bool) { return a.Redrive.Text, a.Redrive.Text != "" },
	}
}

// redriveAllowValue is RedriveAllowPolicy.
func redriveAllowValue() attribute[Queue] {
	return attribute[Queue]{
		takes: takesPolicy(policy.RedriveAllowGrammar),
		parse: func(a *Queue, s setting) *refusal.Error {
			p, ok := policy.ParseRedriveAllow(s.value)
			if !ok {
				return s.malformed("Amazon SQS can't create the redrive allow policy in an unsupported format.")
			}
			a.RedriveAllow = p
			return nil
		},
		print: func(a *Queue) (string, bool) { return a.RedriveAllow.Text, a.RedriveAllow.Text != "" },
	}
}
