package attributes

import "github.com/seriatimq/seriatim/queue/limits"

// attributeTable has one row for each attribute that can be set, sorted by name.
var attributeTable = [...]attribute{
	row(nameProfile, 1, anyQueue,
		"Presets other attributes as AWS SQS (`aws`), Yandex Message Queue (`ymq`) or Azure Service Bus (`servicebus`) has them.",
		profileValue).asFixed(extensionProfile),
	row("ContentBasedDeduplication", 1, fifoSilent,
		"Takes the SHA-256 of the body as the deduplication id of a message that has none.",
		flag("ContentBasedDeduplication",
			func(a *Queue) *bool { return &a.Deduplication.ContentBased })),
	row(nameContentMode, 1, fifoOnly,
		"With `IdAndContent`, a message is a duplicate if its id or its body repeats. It needs `ContentBasedDeduplication`.",
		either(nameContentMode, word{"IdOverrides", 1}, word{"IdAndContent", 1},
			func(a *Queue) *bool { return &a.Deduplication.IDAndContent })).as(extensionContentMode),
	row(nameDeadLetterKeepsID, 1, fifoOnly,
		"Keeps the deduplication id of a message that moves to the dead-letter queue. Otherwise its id there is its message id.",
		flag(nameDeadLetterKeepsID,
			func(a *Queue) *bool { return &a.Deduplication.DeadLetterKeepsID })).as(extensionDeadLetterID),
	row("DeduplicationEnabled", 1, fifoOnly,
		"With `false`, the queue drops no duplicates.",
		inverseFlag("DeduplicationEnabled",
			func(a *Queue) *bool { return &a.Deduplication.Disabled })).asFixed(extensionEnabled),
	row(nameDeduplicationScope, 1, fifoOnly,
		"Says within which messages an id must not repeat: those of the queue, of the message group, or of the partition key.",
		scopeValue),
	row(nameDeduplicationWindow, 1, fifoOnly,
		"Seconds for which the queue remembers the deduplication id of an accepted message. The lowest value is `minimum-window`.",
		window).as(extensionWindow),
	row("DelaySeconds", 1, anyQueue,
		"Seconds before a new message can be received.",
		number("DelaySeconds", 0, limits.DelaySecondsMax,
			func(a *Queue) *int64 { return &a.DelaySeconds })),
	row(NameFIFO, 1, fifoSilent,
		"Makes a FIFO queue. Its name ends in `.fifo`.",
		fifoValue),
	row(nameThroughputLimit, 1, fifoOnly,
		"Stored and listed for AWS clients. `perMessageGroupId` needs the `DeduplicationScope` `messageGroup`.",
		either(nameThroughputLimit, word{"perQueue", 1}, word{"perMessageGroupId", 1},
			func(a *Queue) *bool { return &a.HighThroughput })),
	row("ImplicitDeadLetterQueue", 1, anyQueue,
		"Gives a queue without a `RedrivePolicy` a dead-letter queue of its own, named `NAME-dlq` or `NAME-dlq.fifo`.",
		flag("ImplicitDeadLetterQueue",
			func(a *Queue) *bool { return &a.ImplicitDeadLetterQueue })).as(extensionImplicitDLQ),
	row("KmsDataKeyReusePeriodSeconds", 1, anyQueue,
		"Stored for AWS clients, and listed unless it is 300.",
		kmsReuseValue),
	row(nameKMSKey, 1, anyQueue,
		"Refused, because there are no keys of KMS. With `accept-kms-keys` it is stored and ignored.",
		kmsKeyValue),
	row("MaxDeduplicationEntries", 1, fifoOnly,
		"The most ids that the queue remembers. At this number it refuses sends. `0` means no limit.",
		number("MaxDeduplicationEntries", 0, entriesMaxMax,
			func(a *Queue) *int64 { return &a.Deduplication.EntriesMax })).as(extensionEntriesMax),
	row(nameGroupMessagesMax, 1, fifoOnly,
		"The most messages of one group that one receive returns.",
		number(nameGroupMessagesMax, 1, limits.ReceiveMessagesMax,
			func(a *Queue) *int64 { return &a.GroupMessagesMax })).as(extensionGroupMessages),
	row("MaximumMessageSize", 1, anyQueue,
		"The most bytes that a message may have.",
		number("MaximumMessageSize", messageSizeMin, limits.MessageBytesMax,
			func(a *Queue) *int64 { return &a.MaximumMessageSize })),
	row("MessageGroupIdMode", 1, fifoOnly,
		"With `Optional`, a message may have no message group. Such messages do not wait for each other.",
		either("MessageGroupIdMode", word{"Required", 1}, word{"Optional", 1},
			func(a *Queue) *bool { return &a.GroupOptional })).asFixed(extensionGroupMode),
	row("MessageRetentionPeriod", 1, anyQueue,
		"Seconds after which a message is deleted. A change applies to existing messages.",
		number("MessageRetentionPeriod", retentionSecondsMin, retentionSecondsMax,
			func(a *Queue) *int64 { return &a.RetentionSeconds })),
	row(NamePolicy, 1, anyQueue,
		"The access policy of the queue, as JSON. An empty value removes it.",
		policyValue),
	row(namePurgeClears, 1, fifoOnly,
		"Forgets the deduplication ids when the queue is purged.",
		inverseFlag(namePurgeClears,
			func(a *Queue) *bool { return &a.Deduplication.PurgeKeepsHistory })).as(extensionPurge),
	row("ReceiveAttemptWindowSeconds", 1, fifoOnly,
		"Seconds for which a receive with the same `ReceiveRequestAttemptId` returns the same messages. The lowest "+
			"value is `minimum-window`.",
		attemptWindow).as(extensionAttemptWindow),
	row(nameReceiveCompatibility, 1, fifoOnly,
		"Says whether attempt ids and old receipt handles behave as in AWS SQS or in Yandex Message Queue.",
		either(nameReceiveCompatibility, word{"aws", 1}, word{"ymq", 1},
			func(a *Queue) *bool { return &a.YMQReceive })).asFixed(extensionReceive),
	row("ReceiveMessageWaitTimeSeconds", 1, anyQueue,
		"Seconds that a receive waits for a message if the request does not say.",
		number("ReceiveMessageWaitTimeSeconds", 0, limits.WaitSecondsMax,
			func(a *Queue) *int64 { return &a.ReceiveWaitSeconds })),
	row(nameRedriveAllowPolicy, 1, anyQueue,
		"Says which queues may use this queue as their dead-letter queue, as JSON. Without it, all may.",
		redriveAllowValue).comparedBy(func(a, b *Queue) bool {
		return a.RedriveAllow.Equal(b.RedriveAllow)
	}),
	row(nameRedrivePolicy, 1, anyQueue,
		"Names the dead-letter queue and the number of receives after which a message moves there, as JSON. An empty value removes it.",
		redriveValue).comparedBy(func(a, b *Queue) bool {
		return a.Redrive.Target == b.Redrive.Target && a.Redrive.MaxReceiveCount == b.Redrive.MaxReceiveCount
	}),
	row("ReservedAttributesEnabled", 1, anyQueue,
		"Gives message attributes such as `seriatim.PartitionKey` their meaning. With `false` they are plain attributes.",
		flag("ReservedAttributesEnabled",
			func(a *Queue) *bool { return &a.ReservedAttributes })).as(extensionReservedEnabled),
	row(nameSQSManaged, 1, anyQueue,
		"Says whether all nodes encrypt data at rest. `true` is refused unless they do.",
		sqsManagedValue),
	row("VisibilityTimeout", 1, anyQueue,
		"Seconds for which a received message stays hidden if the receive does not say.",
		number("VisibilityTimeout", 0, limits.VisibilitySecondsMax,
			func(a *Queue) *int64 { return &a.VisibilitySeconds })),
}

// row makes a row. since is the format version that introduced the attribute, does a sentence for
// the manual.
func row(name string, since uint32, kind attributeKind, does string, value func() (parseAttribute, printAttribute, takes)) attribute {
	parse, show, values := value()
	values.mustSay(name, since)
	if does == "" {
		panic("attributes: the row of " + name + " needs to say what it does")
	}
	return attribute{name: name, since: since, takes: values, kind: kind, does: does, parse: parse, print: show}
}

// Described describes a queue attribute that can be set.
type Described struct {
	Name      string
	FIFO      bool   // only FIFO queues have it
	Fixed     bool   // it can be given at creation only
	Extension bool   // AWS has no such attribute; it is listed only after it was set
	Values    string // the values that it accepts
	Default   string // empty: none
	Since     uint32 // the format version that introduced it
	Does      string
}

// Describe describes all queue attributes that can be set, by name.
func Describe() []Described {
	list := make([]Described, len(attributeTable))
	for i := range attributeTable {
		r, queue := &attributeTable[i], Default(true)
		list[i] = Described{
			Name: r.name, FIFO: r.kind != anyQueue, Fixed: r.fixed || r.name == NameFIFO, Extension: r.extension != 0,
			Values:  r.takes.values(),
			Default: r.print(&queue), Since: r.since, Does: r.does,
		}
		if r.name == NameFIFO {
			list[i].Default = ""
		}
	}
	return list
}

// TopicNames returns the names of the topic attributes that can be set.
func TopicNames() (names []string) {
	for i := range topicTable {
		if !topicTable[i].readOnly {
			names = append(names, topicTable[i].name)
		}
	}
	return names
}

// Unlisted returns the extension attributes that are missing in the list of a queue because they
// were never set, with their defaults.
func Unlisted(fifo bool, listed map[string]string) map[string]string {
	left := map[string]string{}
	for i := range attributeTable {
		r, queue := &attributeTable[i], Default(fifo)
		if _, found := listed[r.name]; found || r.extension == 0 || r.kind != anyQueue && !fifo {
			continue
		}
		left[r.name] = r.print(&queue)
	}
	return left
}
