package attributes

import (
	"strings"

	"github.com/seriatimq/seriatim/queue/deduplication"
	"github.com/seriatimq/seriatim/queue/limits"
	"github.com/seriatimq/seriatim/queue/policy"
	"github.com/seriatimq/seriatim/queue/refusal"
)

// Topic holds the typed attributes of a topic. The zero value is not valid; start from
// DefaultTopic. A value is replaced as a whole, never changed in place, so snapshots may share
// copies.
type Topic struct {
	FIFO             bool
	DisplayName      string
	Policy           string // "": policy.DefaultTopicAccess
	DeliveryPolicy   string // "": none
	KMSMasterKeyID   string
	DataProtection   string // DataProtectionPolicy; "": none
	SignatureVersion SignatureVersion
	Tracing          Tracing
	// Deduplication uses ScopeQueue for the scope of the whole topic.
	Deduplication      deduplication.Rules
	Archive            policy.Archive
	Feedback           [feedbackCount]Feedback
	GroupOptional      bool  // MessageGroupIdMode=Optional
	ReservedAttributes bool  // ReservedAttributesEnabled
	ServiceBus         bool  // CompatibilityProfile=servicebus
	TimeToLiveSeconds  int64 // DefaultTimeToLiveSeconds; 0: as the queues say
	Status             Status
	SizeMegabytesMax   int64 // MaxSizeInMegabytes; 0: no limit
	AutoDeleteSeconds  int64 // AutoDeleteOnIdleSeconds; 0: never
	// Extensions records which extension attributes were set: only those are listed, as on queues.
	Extensions ExtensionSet
}

// SizeMax returns the most bytes that the subscribed queues may hold when a message is published; 0: no
// limit.
func (a *Topic) SizeMax() int64 { return a.SizeMegabytesMax << megabyteShift }

// SignatureVersion selects the signature of notifications. It is stored and returned only, because
// notifications are not signed.
type SignatureVersion uint8

// Signature versions; snapshots contain the numbers. Version 1 (SHA-1) is the default of AWS, which
// lists it only after it was set.
const (
	SignatureUnset  SignatureVersion = 0
	SignatureSHA1   SignatureVersion = 1
	SignatureSHA256 SignatureVersion = 2
)

// Tracing is the TracingConfig of a topic, which is stored and returned only.
type Tracing uint8

// Tracing modes; snapshots contain the numbers. PassThrough is the default of AWS, which lists it
// only after it was set.
const (
	TracingUnset       Tracing = 0
	TracingPassThrough Tracing = 1
	TracingActive      Tracing = 2
)

// DefaultTopic returns the attributes of a topic that was created without any.
func DefaultTopic(fifo bool) Topic {
	return Topic{FIFO: fifo, Deduplication: deduplication.Rules{WindowSeconds: deduplicationSecondsDefault}}
}

// CheckTopicName checks the name of a topic, and that FifoTopic, if given, agrees with it. SNS has
// one text for all these errors.
func CheckTopicName(name string, given []Attribute) *refusal.Error {
	value, isGiven := ValueOf(given, NameFIFOTopic)
	wanted, _ := ParseBool(value)
	stem, fifo := strings.CutSuffix(name, ".fifo")
	most := limits.TopicNameLengthMax
	if fifo {
		most = limits.FIFONameLengthMax
	}
	if isGiven && wanted != fifo || !isTopicName(stem) || len(name) > most {
		return badTopicName()
	}
	return nil
}

// CheckSNSTopicName refuses the name of a FIFO topic that is too long for SNS.
func CheckSNSTopicName(name string) *refusal.Error {
	if len(name) > limits.TopicNameLengthMax {
		return badTopicName()
	}
	return nil
}

// CheckNewTopicName makes a check for new topics only: a name of a FIFO topic requires FifoTopic. A
// request for an existing topic may omit it.
func CheckNewTopicName(name string, given []Attribute) *refusal.Error {
	if _, isGiven := ValueOf(given, NameFIFOTopic); !isGiven && strings.HasSuffix(name, ".fifo") {
		return badTopicName()
	}
	return nil
}

func badTopicName() *refusal.Error {
	return refusal.New(refusal.SNSInvalidParameter, "Invalid parameter: Topic Name")
}

// isTopicName reports whether a name, without .fifo, is not empty and has only characters that SNS
// permits.
func isTopicName(stem string) bool {
	const characters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-"
	return stem != "" && strings.Trim(stem, characters) == ""
}

// CreateTopic returns the attributes of a new topic: the defaults, changed by the request.
func CreateTopic(fifo bool, given []Attribute, in Assignment) (Topic, *refusal.Error) {
	a := DefaultTopic(fifo)
	if profile, _ := ValueOf(given, nameProfile); fifo && profile == serviceBus {
		a.Deduplication.WindowSeconds, a.Extensions = serviceBusWindow, extensionWindow
	}
	err := a.assign(given, in, false)
	if err == nil {
		err = a.consistent(given)
	}
	if err != nil {
		return Topic{}, snsError(prefixCreate, err)
	}
	return a, nil
}

// WithChanges returns the attributes after SetTopicAttributes. One invalid attribute refuses the
// whole request.
func (a Topic) WithChanges(given []Attribute, in Assignment) (Topic, *refusal.Error) {
	b := a
	err := b.assign(given, in, true)
	if err == nil {
		err = a.keepsFixed(given, &b)
	}
	if err == nil {
		err = b.consistent(given)
	}
	if err != nil {
		return Topic{}, snsError(prefixSet, err)
	}
	return b, nil
}

// keepsFixed refuses a change to b of an attribute that can only be given at creation, and of a scope
// from which there is no way back.
func (a *Topic) keepsFixed(given []Attribute, b *Topic) *refusal.Error {
	for _, g := range given {
		if r := topicTable.find(g.Name); r.fixed && !r.equal(a, b) {
			return badValue(g.Name, g.Value, "Cannot be changed after creation.")
		}
	}
	if a.Deduplication.Scope != deduplication.ScopeMessageGroup || b.Deduplication.Scope == a.Deduplication.Scope {
		return nil
	}
	if scope, named := ValueOf(given, nameDeduplicationScope); named {
		return badValue(nameDeduplicationScope, scope, "Cannot be changed from "+ScopeName(deduplication.ScopeMessageGroup)+".")
	}
	// The rule is that of AWS, whose text is not known.
	return badValue(nameThroughputScope, wholeTopic, "Cannot be changed from "+perGroup+" to "+wholeTopic+".")
}

// CheckTopicChanges makes the checks of a change that need no state: a topic of this type has the
// attributes, and permits their values.
func CheckTopicChanges(fifo bool, given []Attribute, in Assignment) *refusal.Error {
	a := DefaultTopic(fifo)
	return snsError(prefixSet, a.assign(given, in, true))
}

// assign sets the attributes of a request; change reports that the topic exists.
func (a *Topic) assign(given []Attribute, in Assignment, change bool) *refusal.Error {
	return topicTable.assign(a, request{given, in, a.FIFO, change}, &a.Extensions)
}

// consistent refuses attributes that exclude each other: the rules of queues for the shared
// attributes, two scopes in one request, and X-Ray for standard topics only.
func (a *Topic) consistent(given []Attribute) *refusal.Error {
	scope, scoped := ValueOf(given, nameDeduplicationScope)
	throughput, both := ValueOf(given, nameThroughputScope)
	switch {
	case scoped && both && (scope == ScopeName(deduplication.ScopeMessageGroup)) != (throughput == perGroup):
		return badValue(nameThroughputScope, throughput, "Contradicts "+nameDeduplicationScope+"="+scope+".")
	case a.Deduplication.IDAndContent && !a.Deduplication.ContentBased:
		return badValue(nameContentMode, contentModes[1].text, "Requires "+nameContentBased+".")
	case a.FIFO && a.Tracing == TracingActive:
		return badValue(nameTracing, tracingActive, "A FIFO topic can only have "+tracingPassThrough+".")
	}
	return nil
}

// Matches refuses CreateTopic on an existing topic if a requested attribute differs from the
// current one. It does not compare the others. It returns an error for an invalid request.
func (a Topic) Matches(given []Attribute, in Assignment) *refusal.Error {
	wanted, err := CreateTopic(a.FIFO, given, in)
	if err != nil {
		return err
	}
	if !topicTable.equal(&a, &wanted, given) {
		return refusal.New(refusal.SNSInvalidParameter, prefixCreate, "Topic already exists with different attributes")
	}
	return nil
}

// List returns the settable attributes that GetTopicAttributes lists, sorted by name. The default
// Policy is not among them, because it names the topic.
func (a Topic) List() []Attribute { return topicTable.list(&a, a.FIFO, a.Extensions) }

// NameMessagesScheduled counts the scheduled messages of a topic. It is an extension, listed if
// there are any.
const NameMessagesScheduled = "ApproximateNumberOfMessagesScheduled"
