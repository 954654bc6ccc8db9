package attributes

import (
	"strconv"
	"unicode/utf8"

	"github.com/seriatimq/seriatim/queue/content"
	"github.com/seriatimq/seriatim/queue/deduplication"
	"github.com/seriatimq/seriatim/queue/limits"
	"github.com/seriatimq/seriatim/queue/policy"
)

// Names of topic attributes that are used outside of their rows. Names that queues have, too, are
// with the queue attributes.
const (
	nameArchivePolicy = "ArchivePolicy"
	nameContentBased  = "ContentBasedDeduplication"
	// NameDataProtection is DataProtectionPolicy. SNS has separate actions to read and write it: it
	// can be set like an attribute, but is never listed as one.
	NameDataProtection   = "DataProtectionPolicy"
	nameDeliveryPolicy   = "DeliveryPolicy"
	nameDisplayName      = "DisplayName"
	nameFIFOTopic        = "FifoTopic"
	nameSignatureVersion = "SignatureVersion"
	nameThroughputScope  = "FifoThroughputScope"
	nameTracing          = "TracingConfig"
)

// Values that are used outside of their rows.
const (
	wholeTopic         = "Topic"
	perGroup           = "MessageGroup"
	tracingPassThrough = "PassThrough"
	tracingActive      = "Active"
)

// Values, with the format version that introduced them.
var (
	contentModes     = words{{"IdOverrides", 1}, {"IdAndContent", 1}}
	throughputScopes = words{{wholeTopic, 1}, {perGroup, 1}}
	signatures       = words{{"1", 1}, {"2", 1}}                          // index 0 is SignatureSHA1
	tracings         = words{{tracingPassThrough, 1}, {tracingActive, 1}} // index 0 is TracingPassThrough
)

// topicTable has one row for each attribute of a topic, sorted by name.
var topicTable = sorted(append(feedbackRows(), settables[Topic]{
	archiveRow(),
	settableFlag(nameContentBased, 1, func(a *Topic) *bool { return &a.Deduplication.ContentBased }).onFIFO(),
	contentModeRow(),
	dataProtectionRow(),
	topicWindowRow(),
	topicTextRow(nameDeliveryPolicy, 1, takesPolicy(policy.DeliveryGrammar), func(a *Topic) *string { return &a.DeliveryPolicy },
		func(value string) string {
			if reason := policy.ParseTopicDelivery(value); reason != "" {
				return nameDeliveryPolicy + ": " + reason
			}
			return ""
		}),
	displayNameRow(),
	throughputScopeRow(),
	fifoTopicRow(),
	topicTextRow(nameKMSKey, 1, takesText("text"), func(a *Topic) *string { return &a.KMSMasterKeyID }, func(value string) string {
		if len(value) > kmsKeyIDLengthMax || !utf8.ValidString(value) {
			return badValue(nameKMSKey, value, "Must be at most "+strconv.Itoa(kmsKeyIDLengthMax)+" bytes of UTF-8.")
		}
		return ""
	}),
	topicTextRow(NamePolicy, 1, takesPolicy(policy.AccessGrammar), func(a *Topic) *string { return &a.Policy }, func(value string) string {
		if !policy.IsAccess(value) {
			return "Policy Error: null" // the text of AWS, even for empty text
		}
		return ""
	}),
	signatureRow(),
	tracingRow(),
}...))

// topicTextRow returns the row of a text that is stored as sent, and listed unless it is empty.
func topicTextRow(name string, since uint32, values takes, field func(*Topic) *string,
	check func(value string) (reason string)) settable[Topic] {
	return settable[Topic]{
		name: name, since: since, takes: values,
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

// archiveRow is ArchivePolicy. The value {} removes the policy. The number of days may be a string
// or a number.
func archiveRow() settable[Topic] {
	return settable[Topic]{
		name: nameArchivePolicy, since: 1, takes: takesPolicy(policy.ArchiveGrammar),
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

// contentModeRow is ContentDeduplicationMode, an extension with the same meaning as on queues.
func contentModeRow() settable[Topic] {
	return settable[Topic]{
		name: nameContentMode, since: 1, takes: takesWords(contentModes),
		parse: func(a *Topic, value string, _ Assignment) string {
			i := contentModes.index(value)
			if i < 0 {
				return badChoice(nameContentMode, value, contentModes)
			}
			a.Deduplication.IDAndContent = i == 1
			a.Extensions |= extensionContentMode
			return ""
		},
		print: func(a *Topic) (string, bool) {
			mode := contentModes[0]
			if a.Deduplication.IDAndContent {
				mode = contentModes[1]
			}
			return mode.text, a.Extensions&extensionContentMode != 0
		},
	}.onFIFO()
}

// dataProtectionRow is DataProtectionPolicy, which is stored and returned only.
func dataProtectionRow() settable[Topic] {
	return settable[Topic]{
		name: NameDataProtection, since: 1, takes: takesText("text"),
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

// topicWindowRow is DeduplicationWindowSeconds, an extension with the same bounds as on queues.
func topicWindowRow() settable[Topic] {
	return settable[Topic]{
		name: nameDeduplicationWindow, since: 1,
		takes: takesText("the least window to " + strconv.FormatInt(limits.DeduplicationSecondsMax, 10)),
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

// displayNameRow is DisplayName, which SNS lists even if it is empty.
func displayNameRow() settable[Topic] {
	return settable[Topic]{
		name: nameDisplayName, since: 1, takes: takesText("text"),
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
		name: nameThroughputScope, since: 1, takes: takesWords(throughputScopes),
		parse: func(a *Topic, value string, _ Assignment) string {
			i := throughputScopes.index(value)
			if i < 0 {
				return badChoice(nameThroughputScope, value, throughputScopes)
			}
			a.Deduplication.Scope = [...]deduplication.Scope{deduplication.ScopeQueue, deduplication.ScopeMessageGroup}[i]
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

// fifoTopicRow is FifoTopic, which only FIFO topics list. CheckTopicName compares it with the name
// of a new topic. The row refuses a value that disagrees with the type in other requests.
func fifoTopicRow() settable[Topic] {
	return settable[Topic]{
		name: nameFIFOTopic, since: 1, takes: takesText("true or false"),
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

func signatureRow() settable[Topic] {
	return settable[Topic]{
		name: nameSignatureVersion, since: 1, takes: takesWords(signatures),
		parse: func(a *Topic, value string, _ Assignment) string {
			i := signatures.index(value)
			if i < 0 {
				return badChoice(nameSignatureVersion, value, signatures)
			}
			a.SignatureVersion = SignatureSHA1 + SignatureVersion(i)
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

func tracingRow() settable[Topic] {
	return settable[Topic]{
		name: nameTracing, since: 1, takes: takesWords(tracings),
		parse: func(a *Topic, value string, _ Assignment) string {
			i := tracings.index(value)
			if i < 0 {
				return badChoice(nameTracing, value, tracings)
			}
			a.Tracing = TracingPassThrough + Tracing(i)
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
