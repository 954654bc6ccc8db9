package attributes

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/seriatimq/seriatim/queue/content"
	"github.com/seriatimq/seriatim/queue/deduplication"
	"github.com/seriatimq/seriatim/queue/limits"
	"github.com/seriatimq/seriatim/queue/refusal"
)

// Names of queue attributes that are used outside of their rows.
const (
	nameContentMode          = "ContentDeduplicationMode"
	nameDeadLetterKeepsID    = "DeadLetterKeepsDeduplicationId"
	nameDeduplicationScope   = "DeduplicationScope"
	nameDeduplicationWindow  = "DeduplicationWindowSeconds"
	NameFIFO                 = "FifoQueue"
	nameGroupMessagesMax     = "MaxMessagesPerGroupPerReceive"
	nameKMSKey               = "KmsMasterKeyId"
	NamePolicy               = "Policy"
	nameProfile              = "CompatibilityProfile"
	namePurgeClears          = "PurgeClearsDeduplicationHistory"
	nameReceiveCompatibility = "ReceiveCompatibility"
	nameRedriveAllowPolicy   = "RedriveAllowPolicy"
	nameRedrivePolicy        = "RedrivePolicy"
	nameSQSManaged           = "SqsManagedSseEnabled"
	nameThroughputLimit      = "FifoThroughputLimit"
)

// Bounds that only the rows use.
const (
	messageSizeMin      = 1024
	retentionSecondsMin = 60
	retentionSecondsMax = 1_209_600
	kmsReuseSecondsMin  = 60
	kmsReuseSecondsMax  = 86_400
	kmsKeyIDLengthMax   = 2048 // AWS KMS
	// entriesMaxMax is more than any node can remember. It prevents overflows in computations with
	// the limit.
	entriesMaxMax = 1_000_000_000_000
)

// attributeKind says which queues have an attribute. It also selects the error of AWS for the
// others: older FIFO attributes are unknown on standard queues, the text for newer ones mentions
// FifoQueue.
type attributeKind uint8

const (
	anyQueue attributeKind = iota
	fifoSilent
	fifoOnly
)

// attribute is the row of one attribute that can be set on a queue.
type attribute struct {
	name      string
	since     uint32 // the format version that introduced it
	takes     takes
	kind      attributeKind
	does      string       // for the manual, in sentences
	fixed     bool         // it can be set at creation only
	extension ExtensionSet // its bit; zero for attributes of AWS
	parse     parseAttribute
	print     printAttribute // "" if the attribute has no value
	// same compares values that may print differently but mean the same; nil compares the printed
	// values.
	same func(a, b *Queue) bool
}

// Assignment holds the parameters for parsing the value of an attribute.
type Assignment struct {
	MinimumWindow int64 // lower bound of the window attributes in seconds
}

// AnyWindow returns parameters for checks without the cluster's settings: every window that some
// cluster may permit is valid.
func AnyWindow() Assignment { return Assignment{MinimumWindow: 1} }

type (
	parseAttribute func(a *Queue, value string, in Assignment) *refusal.Error
	printAttribute func(a *Queue) string
)

// NameMessagesDeferred is the attribute with the number of deferred messages. It is an extension,
// listed only if there are any.
const NameMessagesDeferred = "ApproximateNumberOfMessagesDeferred"

// readOnlyAttributes can be requested, but not set. Sorted.
var readOnlyAttributes = [...]string{
	"All",
	"ApproximateNumberOfMessages",
	NameMessagesDeferred,
	"ApproximateNumberOfMessagesDelayed",
	"ApproximateNumberOfMessagesNotVisible",
	"CreatedTimestamp",
	"LastModifiedTimestamp",
	"QueueArn",
}

// Known reports whether GetQueueAttributes can request an attribute.
func Known(name string) bool {
	if findAttribute(name) != nil {
		return true
	}
	_, found := slices.BinarySearch(readOnlyAttributes[:], name)
	return found
}

// findAttribute returns the row of an attribute that can be set, nil if there is none.
func findAttribute(name string) *attribute {
	i, found := slices.BinarySearchFunc(attributeTable[:], name, func(r attribute, name string) int {
		return strings.Compare(r.name, name)
	})
	if !found {
		return nil
	}
	return &attributeTable[i]
}

func (r attribute) as(bit ExtensionSet) attribute {
	r.extension = bit
	return r
}

func (r attribute) asFixed(bit ExtensionSet) attribute {
	r.extension, r.fixed = bit, true
	return r
}

func (r attribute) comparedBy(same func(a, b *Queue) bool) attribute {
	r.same = same
	return r
}

func (r *attribute) equal(a, b *Queue) bool {
	if r.same != nil {
		return r.same(a, b)
	}
	return r.print(a) == r.print(b)
}

// number is the value of an attribute that is an integer from lowest to highest.
func number(name string, lowest, highest int64, field func(*Queue) *int64) func() (parseAttribute, printAttribute, takes) {
	return func() (parseAttribute, printAttribute, takes) {
		parse := func(a *Queue, value string, _ Assignment) *refusal.Error {
			n, ok := content.ParseNumber(value)
			if !ok || n < lowest || n > highest {
				return Invalid(name)
			}
			*field(a) = n
			return nil
		}
		return parse, func(a *Queue) string { return strconv.FormatInt(*field(a), 10) }, takesNumber(lowest, highest)
	}
}

// flag is the value of a boolean attribute. It is parsed in any letter case and printed in lower
// case, as AWS does.
func flag(name string, field func(*Queue) *bool) func() (parseAttribute, printAttribute, takes) {
	return boolean(name, false, field)
}

// inverseFlag is a flag whose field has the opposite meaning, so that the zero value of the field
// is the default.
func inverseFlag(name string, field func(*Queue) *bool) func() (parseAttribute, printAttribute, takes) {
	return boolean(name, true, field)
}

func boolean(name string, inverse bool, field func(*Queue) *bool) func() (parseAttribute, printAttribute, takes) {
	return func() (parseAttribute, printAttribute, takes) {
		parse := func(a *Queue, value string, _ Assignment) *refusal.Error {
			on, ok := ParseBool(value)
			if !ok {
				return Invalid(name)
			}
			*field(a) = on != inverse
			return nil
		}
		return parse, func(a *Queue) string { return strconv.FormatBool(*field(a) != inverse) }, takesText("true or false")
	}
}

// either is a value that is one of two words, compared exactly. The field is true for second.
func either(name string, first, second word, field func(*Queue) *bool) func() (parseAttribute, printAttribute, takes) {
	return func() (parseAttribute, printAttribute, takes) {
		parse := func(a *Queue, value string, _ Assignment) *refusal.Error {
			if value != first.text && value != second.text {
				return Invalid(name)
			}
			*field(a) = value == second.text
			return nil
		}
		return parse, func(a *Queue) string {
			if *field(a) {
				return second.text
			}
			return first.text
		}, takesWords(words{first, second})
	}
}

// ParseBool parses true and false in any letter case.
func ParseBool(text string) (on, ok bool) {
	switch {
	case strings.EqualFold(text, "true"):
		return true, true
	case strings.EqualFold(text, "false"):
		return false, true
	}
	return false, false
}

func profileValue() (parseAttribute, printAttribute, takes) {
	parse := func(a *Queue, value string, _ Assignment) *refusal.Error {
		p, ok := parseProfile(value)
		if !ok {
			return Invalid(nameProfile)
		}
		a.Profile = p
		return nil
	}
	return parse, func(a *Queue) string { return profiles[a.Profile].text }, takesWords(profiles[:])
}

var profiles = [...]word{ProfileAWS: {"aws", 1}, ProfileYMQ: {"ymq", 1}, ProfileServiceBus: {"servicebus", 1}}

func parseProfile(text string) (Profile, bool) {
	i := words(profiles[:]).index(text)
	return Profile(max(i, 0)), i >= 0
}

var scopes = [...]word{deduplication.ScopeQueue: {"queue", 1}, deduplication.ScopeMessageGroup: {"messageGroup", 1},
	deduplication.ScopePartitionKey: {"partitionKey", 1}}

// ScopeName returns the value of DeduplicationScope for a scope.
func ScopeName(s deduplication.Scope) string { return scopes[s].text }

func scopeValue() (parseAttribute, printAttribute, takes) {
	parse := func(a *Queue, value string, _ Assignment) *refusal.Error {
		i := words(scopes[:]).index(value)
		if i < 0 {
			return Invalid(nameDeduplicationScope)
		}
		a.Deduplication.Scope = deduplication.Scope(i)
		return nil
	}
	return parse, func(a *Queue) string { return scopes[a.Deduplication.Scope].text }, takesWords(scopes[:])
}

// window is the value of DeduplicationWindowSeconds. Only its error includes the bounds, because
// the lower one is a setting of the cluster.
func window() (parseAttribute, printAttribute, takes) {
	parse := func(a *Queue, value string, in Assignment) *refusal.Error {
		n, ok := content.ParseNumber(value)
		if !ok || n < in.MinimumWindow || n > limits.DeduplicationSecondsMax {
			return refusal.New(refusal.InvalidAttributeValue, "Invalid value for the parameter ", nameDeduplicationWindow,
				". Reason: must be between ", strconv.FormatInt(in.MinimumWindow, 10), " and ",
				strconv.FormatInt(limits.DeduplicationSecondsMax, 10), ".")
		}
		a.Deduplication.WindowSeconds = n
		return nil
	}
	return parse, func(a *Queue) string { return strconv.FormatInt(a.Deduplication.WindowSeconds, 10) },
		takesText("the least window to " + strconv.FormatInt(limits.DeduplicationSecondsMax, 10))
}

func attemptWindow() (parseAttribute, printAttribute, takes) {
	parse := func(a *Queue, value string, in Assignment) *refusal.Error {
		n, ok := content.ParseNumber(value)
		if !ok || n < in.MinimumWindow || n > limits.AttemptSecondsMax {
			return Invalid("ReceiveAttemptWindowSeconds")
		}
		a.AttemptSeconds = n
		return nil
	}
	return parse, func(a *Queue) string { return strconv.FormatInt(a.AttemptSeconds, 10) },
		takesText("the least window to " + strconv.FormatInt(limits.AttemptSecondsMax, 10))
}

// fifoValue is the value of FifoQueue. Only FIFO queues have the row: AWS accepts true without
// effect, and answers false with an error about the type.
func fifoValue() (parseAttribute, printAttribute, takes) {
	parse := func(_ *Queue, value string, _ Assignment) *refusal.Error {
		on, ok := ParseBool(value)
		if !ok {
			return Invalid(NameFIFO)
		}
		if !on {
			return refusal.New(refusal.InvalidAttributeValue,
				"Invalid value for the parameter FifoQueue. Reason: Modifying queue type is not supported.")
		}
		return nil
	}
	return parse, func(*Queue) string { return "true" }, takesText("true or false")
}

// kmsKeyValue is the value of KmsMasterKeyId. Setting a key turns SqsManagedSseEnabled off;
// removing the key does not turn it on again (both recorded on AWS).
func kmsKeyValue() (parseAttribute, printAttribute, takes) {
	parse := func(a *Queue, value string, _ Assignment) *refusal.Error {
		if len(value) > kmsKeyIDLengthMax || !utf8.ValidString(value) {
			return Invalid(nameKMSKey)
		}
		a.Encryption.KMSMasterKeyID = value
		if value != "" {
			a.Encryption.SQSManaged = false
		}
		return nil
	}
	return parse, func(a *Queue) string { return a.Encryption.KMSMasterKeyID }, takesText("text")
}

// kmsReuseValue is the value of KmsDataKeyReusePeriodSeconds, which AWS does not list while it has
// its default.
func kmsReuseValue() (parseAttribute, printAttribute, takes) {
	parse, show, values := number("KmsDataKeyReusePeriodSeconds", kmsReuseSecondsMin, kmsReuseSecondsMax,
		func(a *Queue) *int64 { return &a.Encryption.KMSReuseSeconds })()
	return parse, func(a *Queue) string {
		if a.Encryption.KMSReuseSeconds == kmsReuseSecondsDefault {
			return ""
		}
		return show(a)
	}, values
}

// sqsManagedValue is the value of SqsManagedSseEnabled. Setting it removes the KMS key, because a
// queue has one kind of encryption at a time.
func sqsManagedValue() (parseAttribute, printAttribute, takes) {
	parse := func(a *Queue, value string, _ Assignment) *refusal.Error {
		on, ok := ParseBool(value)
		if !ok {
			return Invalid(nameSQSManaged)
		}
		a.Encryption.SQSManaged = on
		if on {
			a.Encryption.KMSMasterKeyID = ""
		}
		return nil
	}
	return parse, func(a *Queue) string { return strconv.FormatBool(a.Encryption.SQSManaged) }, takesText("true or false")
}
