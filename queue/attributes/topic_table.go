package attributes

import (
	"strconv"
	"unicode/utf8"

	"github.com/seriatimq/seriatim/queue/deduplication"
	"github.com/seriatimq/seriatim/queue/limits"
	"github.com/seriatimq/seriatim/queue/message"
	"github.com/seriatimq/seriatim/queue/policy"
	"github.com/seriatimq/seriatim/queue/refusal"
)

// Names of the topic attributes that rules mention beside their row. The names that queues have,
// too, are beside the rows of queues.
const (
	nameContentBased = "ContentBasedDeduplication"
	// NameDataProtection is the DataProtectionPolicy. SNS has actions of its own for it: it is set
	// like an attribute and never listed as one.
	NameDataProtection = "DataProtectionPolicy"
	nameDeliveryPolicy = "DeliveryPolicy"
	// NameFIFOTopic is set if and only if the name says so.
	NameFIFOTopic       = "FifoTopic"
	nameThroughputScope = "FifoThroughputScope"
	nameTracing         = "TracingConfig"
)

// Values that are used outside of their rows.
const (
	wholeTopic         = "Topic"
	perGroup           = "MessageGroup"
	tracingPassThrough = "PassThrough"
	tracingActive      = "Active"
)

// topicTable holds the attributes of topics that can be set.
var topicTable = newTable(true, append(feedbackRows(),
	row(nameAutoDelete, 1, onAny,
		"Seconds without use after which the topic is deleted with its subscriptions. A publish, a change, and a use of the queue of a "+
			"Service Bus subscription are uses. These queues are deleted, too. A topic with an archive or scheduled messages stays. "+
			"`0` means never.",
		autoDelete(func(a *Topic) *int64 { return &a.AutoDeleteSeconds })).as(extensionAutoDelete),
	row("ArchivePolicy", 1, onFIFO,
		"Keeps published messages for a number of days, so that a subscription can replay them. `{}` removes the archive.",
		archiveValue()).losing(losesArchive),
	row(nameProfile, 1, onAny,
		"With `servicebus`, a FIFO topic has the deduplication window of Azure Service Bus, 600 seconds, unless you set another.",
		either(words{{"aws", 1}, {serviceBus, 1}}, func(a *Topic) *bool { return &a.ServiceBus })).as(extensionProfile).atCreation(),
	row(nameContentBased, 1, onFIFO,
		"Takes the SHA-256 of the message as the deduplication id of a message that has none.",
		flag(func(a *Topic) *bool { return &a.Deduplication.ContentBased })),
	row(nameContentMode, 1, onFIFO,
		"With `IdAndContent`, a message is a duplicate if its id or its content repeats.",
		either(contentModes, func(a *Topic) *bool { return &a.Deduplication.IDAndContent })).as(extensionContentMode),
	row(NameDataProtection, 1, onAny, "Stored and returned for AWS clients.", dataProtectionValue()),
	row(nameDeduplicationEnabled, 1, onFIFO,
		"With `false`, the topic drops no duplicates.",
		inverseFlag(func(a *Topic) *bool { return &a.Deduplication.Disabled })).as(extensionEnabled).atCreation(),
	row(nameDeduplicationScope, 1, onFIFO,
		"Says within which messages an id must not repeat: those of the topic (`queue`), of the message group, or of the partition "+
			"key. `FifoThroughputScope` is another name of the same setting.",
		choice(scopes, deduplication.ScopeQueue,
			func(a *Topic) *deduplication.Scope { return &a.Deduplication.Scope })).as(extensionTopicScope),
	row(nameDeduplicationWindow, 1, onFIFO,
		"Seconds for which the topic remembers the id of an accepted message.",
		window(limits.DeduplicationSecondsMax,
			func(a *Topic) *int64 { return &a.Deduplication.WindowSeconds })).as(extensionWindow).losing(losesIDs),
	row(nameTimeToLive, 1, onFIFO,
		"Seconds that a new message may live in each queue, and the most that it may ask for. `0` leaves it to the queues.",
		number(0, timeToLiveSecondsMax, func(a *Topic) *int64 { return &a.TimeToLiveSeconds })).as(extensionTimeToLive),
	row(nameDeliveryPolicy, 1, onAny,
		"Says how often and how fast deliveries to HTTP subscribers are repeated, unless their subscription says so.",
		text(takesPolicy(policy.DeliveryGrammar), func(a *Topic) *string { return &a.DeliveryPolicy }, func(s setting) *refusal.Error {
			if reason := policy.ParseTopicDelivery(s.value); reason != "" {
				return s.malformed(reason)
			}
			return nil
		})),
	row("DisplayName", 1, onAny,
		"Stored and returned for AWS clients. It has at most "+strconv.Itoa(limits.TopicDisplayNameMax)+" characters.",
		displayNameValue()),
	row(NameStatus, 1, onAny,
		"With `SendDisabled` or `Disabled`, the topic refuses messages. Scheduled ones are published when they are due.",
		choice(statuses[:StatusReceiveDisabled], StatusActive, func(a *Topic) *Status { return &a.Status })).as(extensionStatus),
	row(nameThroughputScope, 1, onFIFO,
		"Says within which messages an id must not repeat: those of the topic, or of the message group. `Topic` also stands for "+
			"the `DeduplicationScope` `partitionKey`.",
		throughputScope()),
	row(NameFIFOTopic, 1, onAny, "Makes a FIFO topic. Its name ends in `.fifo`.", fifoTopicValue()).atCreation(),
	row(nameKMSKey, 1, onAny,
		"Refused, because there are no keys of KMS. With `accept-kms-keys` it is stored and ignored.",
		text(takesText("text"), func(a *Topic) *string { return &a.KMSMasterKeyID }, checkKMSKey)),
	row(nameEntriesMax, 1, onFIFO,
		"The most ids that the topic remembers. At this number it refuses messages. `0` means no limit.",
		number(0, entriesMaxMax, func(a *Topic) *int64 { return &a.Deduplication.EntriesMax })).as(extensionEntriesMax),
	row(nameGroupMode, 1, onFIFO,
		"With `Optional`, a message may have no message group. A FIFO queue gets such messages only if it has `Optional`, too.",
		either(groupModes, func(a *Topic) *bool { return &a.GroupOptional })).as(extensionGroupMode).atCreation(),
	row(nameSizeMax, 1, onAny,
		"The most megabytes (1,048,576 bytes) that the queues subscribed to the topic may hold together. Beyond, the topic refuses "+
			"messages. `0` means no limit.",
		number(0, sizeMegabytesMax, func(a *Topic) *int64 { return &a.SizeMegabytesMax })).as(extensionSizeMax),
	row(NamePolicy, 1, onAny, "The access policy of the topic.",
		text(takesPolicy(policy.AccessGrammar), func(a *Topic) *string { return &a.Policy }, func(s setting) *refusal.Error {
			if !policy.IsAccess(s.value) {
				return refusal.New(refusal.SNSInvalidParameter, "Policy Error: null") // AWS, also of empty text
			}
			return nil
		})),
	row(nameReservedEnabled, 1, onFIFO,
		"Gives message attributes such as `seriatim.ScheduledEnqueueTime` their meaning. With `false` they are plain attributes.",
		flag(func(a *Topic) *bool { return &a.ReservedAttributes })).as(extensionReservedEnabled),
	row("SignatureVersion", 1, onAny,
		"Stored and returned for AWS clients. Messages are not signed.",
		choice(words{{"1", 1}, {"2", 1}}, SignatureSHA1, func(a *Topic) *SignatureVersion { return &a.SignatureVersion })),
	row(nameTracing, 1, onAny,
		"Stored and returned for AWS clients.",
		choice(words{{tracingPassThrough, 1}, {tracingActive, 1}}, TracingPassThrough, func(a *Topic) *Tracing { return &a.Tracing })),
)...)

// throughputScope is FifoThroughputScope: DeduplicationScope by the names of AWS, which has no
// partition keys. Topic leaves a scope that is narrower than the topic, except for the group.
func throughputScope() attribute[Topic] {
	return oneOf(words{{wholeTopic, 1}, {perGroup, 1}}, func(a *Topic) int {
		if a.Deduplication.Scope == deduplication.ScopeMessageGroup {
			return 1
		}
		return 0
	}, func(a *Topic, i int) {
		switch scope := &a.Deduplication.Scope; {
		case i == 1:
			*scope = deduplication.ScopeMessageGroup
		case *scope == deduplication.ScopeMessageGroup:
			*scope = deduplication.ScopeQueue
		}
	})
}

// archiveValue is ArchivePolicy, which {} removes. The number of days may be a string or a number.
func archiveValue() attribute[Topic] {
	return attribute[Topic]{
		takes: takesPolicy(policy.ArchiveGrammar),
		parse: func(a *Topic, s setting) *refusal.Error {
			p, reason := policy.ParseArchive(s.value)
			if reason != "" {
				return s.malformed(reason)
			}
			a.Archive = p
			return nil
		},
		print: func(a *Topic) (string, bool) { return a.Archive.Text, a.Archive.Text != "" },
		same:  func(a, b *Topic) bool { return a.Archive.Days == b.Archive.Days },
	}
}

func dataProtectionValue() attribute[Topic] {
	r := text(takesText("text"), func(a *Topic) *string { return &a.DataProtection }, func(s setting) *refusal.Error {
		if utf8.RuneCountInString(s.value) > limits.DataProtectionMax || message.BadCharacter(s.value) {
			return refusal.New(refusal.SNSInvalidParameter, s.name, " Reason: Must be at most ", strconv.Itoa(limits.DataProtectionMax),
				" valid characters.")
		}
		return nil
	})
	r.print = func(a *Topic) (string, bool) { return a.DataProtection, false }
	return r
}

// displayNameValue is DisplayName, which SNS lists also when it is empty.
func displayNameValue() attribute[Topic] {
	r := text(takesText("text"), func(a *Topic) *string { return &a.DisplayName }, func(s setting) *refusal.Error {
		if message.BadCharacter(s.value) || utf8.RuneCountInString(s.value) > limits.TopicDisplayNameMax {
			return s.invalid("Must be at most " + strconv.Itoa(limits.TopicDisplayNameMax) + " valid characters.")
		}
		return nil
	})
	r.print = func(a *Topic) (string, bool) { return a.DisplayName, true }
	return r
}

// fifoTopicValue is FifoTopic, which is listed on FIFO topics only. CheckTopicName compares it with
// the name; that other requests agree with the type is checked here.
func fifoTopicValue() attribute[Topic] {
	return attribute[Topic]{
		takes: takesText(booleanText),
		parse: func(a *Topic, s setting) *refusal.Error {
			if on, ok := ParseBool(s.value); !ok || on != a.FIFO {
				return s.invalid("Must be " + strconv.FormatBool(a.FIFO) + " for a topic of this name.")
			}
			return nil
		},
		print: func(a *Topic) (string, bool) { return strconv.FormatBool(a.FIFO), a.FIFO },
	}
}
