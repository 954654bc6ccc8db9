package attributes

import (
	"strconv"
	"unicode/utf8"

	"github.com/seriatimq/seriatim/queue/content"
	"github.com/seriatimq/seriatim/queue/deduplication"
	"github.com/seriatimq/seriatim/queue/limits"
	"github.com/seriatimq/seriatim/queue/policy"
)

// Names of the topic attributes that rules mention beside their row; those that
// queues have, too, are with the rows of queues.
const (
	nameArchivePolicy = "ArchivePolicy"
	nameContentBased  = "ContentBasedDeduplication"
	// NameDataProtection is the DataProtectionPolicy, which SNS has actions of its own
	// for: it is set like an attribute and never listed as one.
	NameDataProtection   = "DataProtectionPolicy"
	nameDeliveryPolicy   = "DeliveryPolicy"
	nameDisplayName      = "DisplayName"
	nameFIFOTopic        = "FifoTopic"
	nameSignatureVersion = "SignatureVersion"
	nameThroughputScope  = "FifoThroughputScope"
	nameTracing          = "TracingConfig"
)

// Values that rules mention beside their row.
const (
	wholeTopic         = "Topic"
	perGroup           = "MessageGroup"
	tracingPassThrough = "PassThrough"
	tracingActive      = "Active"
)

// contentModes are the values of ContentDeduplicationMode.
var contentModes = [...]string{"IdOverrides", "IdAndContent"}

// topicTable has one row per settable attribute of a topic, sorted by name. It is
// never changed.
var topicTable = sorted(append(feedbackRows(), settables[Topic]{
	archiveRow(),
	settableFlag(nameContentBased, func(a *Topic) *bool { return &a.Deduplication.ContentBased }).onFIFO(),
	contentModeRow(),
	dataProtectionRow(),
	topicWindowRow(),
	topicTextRow(nameDeliveryPolicy, func(a *Topic) *string { return &a.DeliveryPolicy }, func(value string) string {
		if reason := policy.ParseTopicDelivery(value); reason != "" {
			return nameDeliveryPolicy + ": " + reason
		}
		return ""
	}),
	displayNameRow(),
	throughputScopeRow(),
	fifoTopicRow(),
	topicTextRow(nameKMSKey, func(a *Topic) *string { return &a.KMSMasterKeyID }, func(value string) string {
		if len(value) > kmsKeyIDLengthMax || !utf8.ValidString(value) {
			return badValue(nameKMSKey, value, "Must be at most "+strconv.Itoa(kmsKeyIDLengthMax)+" bytes of UTF-8.")
		}
		return ""
	}),
	topicTextRow(NamePolicy, func(a *Topic) *string { return &a.Policy }, func(value string) string {
		if !policy.IsAccess(value) {
			return "Policy Error: null" // AWS, also of empty text
		}
		return ""
	}),
	signatureRow(),
	tracingRow(),
}...))

// topicTextRow is a text that is stored as sent and listed unless it is empty.
func topicTextRow(name string, field func(*Topic) *string, check func(value string) (reason string)) settable[Topic] {
	return settable[Topic]{
		name: name,
		parse: func(a *Topic, value string, _ Assignment) string {
			if reason := check(value); reason != "" {
				return reason
			}
			*field(a) = value
			return ""
		},
		print: func(a *Topic) (string, bool) { return *field(a), *field(a) != "" },
	}
}

// archiveRow is ArchivePolicy, which {} removes. The number of days may be a
// string or a number.
func archiveRow() settable[Topic] {
	return settable[Topic]{
		name: nameArchivePolicy,
		parse: func(a *Topic, value string, _ Assignment) string {
			p, reason := policy.ParseArchive(value)
			if reason != "" {
				return nameArchivePolicy + ": " + reason
			}
			a.Archive = p
			return ""
		},
		print: func(a *Topic) (string, bool) { return a.Archive.Text, a.Archive.Text != "" },
	}.onFIFO().comparedBy(func(a, b *Topic) bool { return a.Archive.Days == b.Archive.Days })
}

// contentModeRow is ContentDeduplicationMode, an extension with the meaning it has
// on queues.
func contentModeRow() settable[Topic] {
	return settable[Topic]{
		name: nameContentMode,
		parse: func(a *Topic, value string, _ Assignment) string {
			if value != contentModes[0] && value != contentModes[1] {
				return badChoice(nameContentMode, value, contentModes[0], contentModes[1])
			}
			a.Deduplication.IDAndContent = value == contentModes[1]
			a.Extensions |= extensionContentMode
			return ""
		},
		print: func(a *Topic) (string, bool) {
			mode := contentModes[0]
			if a.Deduplication.IDAndContent {
				mode = contentModes[1]
			}
			return mode, a.Extensions&extensionContentMode != 0
		},
	}.onFIFO()
}

// dataProtectionRow is the DataProtectionPolicy, which is stored and returned only.
func dataProtectionRow() settable[Topic] {
	return settable[Topic]{
		name: NameDataProtection,
		parse: func(a *Topic, value string, _ Assignment) string {
			if utf8.RuneCountInString(value) > limits.DataProtectionMax || content.BadCharacter(value) {
				return NameDataProtection + " Reason: Must be at most " + strconv.Itoa(limits.DataProtectionMax) + " valid characters."
			}
			a.DataProtection = value
			return ""
		},
		print: func(a *Topic) (string, bool) { return a.DataProtection, false },
	}
}

// topicWindowRow is DeduplicationWindowSeconds, an extension with the bounds it has
// on queues.
func topicWindowRow() settable[Topic] {
	return settable[Topic]{
		name: nameDeduplicationWindow,
		parse: func(a *Topic, value string, in Assignment) string {
			n, ok := content.ParseNumber(value)
			if !ok || n < in.MinimumWindow || n > limits.DeduplicationSecondsMax {
				return badValue(nameDeduplicationWindow, value, "Must be between "+strconv.FormatInt(in.MinimumWindow, 10)+
					" and "+strconv.FormatInt(limits.DeduplicationSecondsMax, 10)+".")
			}
			a.Deduplication.WindowSeconds = n
			a.Extensions |= extensionWindow
			return ""
		},
		print: func(a *Topic) (string, bool) {
			return strconv.FormatInt(a.Deduplication.WindowSeconds, 10), a.Extensions&extensionWindow != 0
		},
	}.onFIFO()
}

// displayNameRow is DisplayName, which SNS lists also when it is empty.
func displayNameRow() settable[Topic] {
	return settable[Topic]{
		name: nameDisplayName,
		parse: func(a *Topic, value string, _ Assignment) string {
			if content.BadCharacter(value) || utf8.RuneCountInString(value) > limits.TopicDisplayNameMax {
				return badValue(nameDisplayName, value, "Must be at most "+strconv.Itoa(limits.TopicDisplayNameMax)+" valid characters.")
			}
			a.DisplayName = value
			return ""
		},
		print: func(a *Topic) (string, bool) { return a.DisplayName, true },
	}
}

// throughputScopeRow is FifoThroughputScope, the scope of deduplication.
func throughputScopeRow() settable[Topic] {
	return settable[Topic]{
		name: nameThroughputScope,
		parse: func(a *Topic, value string, _ Assignment) string {
			switch value {
			case wholeTopic:
				a.Deduplication.Scope = deduplication.ScopeQueue
			case perGroup:
				a.Deduplication.Scope = deduplication.ScopeMessageGroup
			default:
				return badChoice(nameThroughputScope, value, wholeTopic, perGroup)
			}
			return ""
		},
		print: func(a *Topic) (string, bool) {
			if a.Deduplication.Scope == deduplication.ScopeMessageGroup {
				return perGroup, true
			}
			return wholeTopic, true
		},
	}.onFIFO()
}

// fifoTopicRow is FifoTopic, which is listed on FIFO topics only. CheckTopicName
// compares it with the name; that other requests agree with the type is checked
// here.
func fifoTopicRow() settable[Topic] {
	return settable[Topic]{
		name:  nameFIFOTopic,
		fixed: true,
		parse: func(a *Topic, value string, _ Assignment) string {
			if on, ok := ParseBool(value); !ok || on != a.FIFO {
				return badValue(nameFIFOTopic, value, "Must be "+strconv.FormatBool(a.FIFO)+" for a topic of this name.")
			}
			return ""
		},
		print: func(a *Topic) (string, bool) { return strconv.FormatBool(a.FIFO), a.FIFO },
	}
}

// signatureRow is SignatureVersion.
func signatureRow() settable[Topic] {
	return settable[Topic]{
		name: nameSignatureVersion,
		parse: func(a *Topic, value string, _ Assignment) string {
			switch value {
			case "1":
				a.SignatureVersion = SignatureSHA1
			case "2":
				a.SignatureVersion = SignatureSHA256
			default:
				return badChoice(nameSignatureVersion, value, "1", "2")
			}
			return ""
		},
		print: func(a *Topic) (string, bool) {
			if a.SignatureVersion == SignatureSHA256 {
				return "2", true
			}
			return "1", a.SignatureVersion != SignatureUnset
		},
	}
}

// tracingRow is TracingConfig.
func tracingRow() settable[Topic] {
	return settable[Topic]{
		name: nameTracing,
		parse: func(a *Topic, value string, _ Assignment) string {
			switch value {
			case tracingPassThrough:
				a.Tracing = TracingPassThrough
			case tracingActive:
				a.Tracing = TracingActive
			default:
				return badChoice(nameTracing, value, tracingPassThrough, tracingActive)
			}
			return ""
		},
		print: func(a *Topic) (string, bool) {
			if a.Tracing == TracingActive {
				return tracingActive, true
			}
			return tracingPassThrough, a.Tracing != TracingUnset
		},
	}
}
