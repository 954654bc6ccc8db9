package attributes

import (
	"slices"
	"strconv"
	"strings"

	"github.com/seriatimq/seriatim/queue/deduplication"
	"github.com/seriatimq/seriatim/queue/limits"
	"github.com/seriatimq/seriatim/queue/logtime"
	"github.com/seriatimq/seriatim/queue/policy"
	"github.com/seriatimq/seriatim/queue/refusal"
)

// Attribute is one attribute of a queue, a topic or a subscription as text, by
// the name AWS gives it.
type Attribute struct{ Name, Value string }

// Queue holds the typed attributes of a queue. The zero value is not valid; start from Default. A
// value is replaced as a whole, never changed in place, so snapshots may share copies.
type Queue struct {
	FIFO                    bool
	DelaySeconds            int64
	MaximumMessageSize      int64
	RetentionSeconds        int64
	ReceiveWaitSeconds      int64
	VisibilitySeconds       int64
	Policy                  string
	Redrive                 policy.Redrive
	RedriveAllow            policy.RedriveAllow
	Encryption              Encryption
	Deduplication           deduplication.Rules
	HighThroughput          bool // FifoThroughputLimit=perMessageGroupId
	GroupOptional           bool // MessageGroupIdMode=Optional
	GroupMessagesMax        int64
	AttemptSeconds          int64 // ReceiveAttemptWindowSeconds
	YMQReceive              bool  // ReceiveCompatibility=ymq
	ImplicitDeadLetterQueue bool
	ReservedAttributes      bool // ReservedAttributesEnabled
	DeliveryPaused          bool
	TimeToLiveSeconds       int64 // DefaultTimeToLiveSeconds; 0: RetentionSeconds counts instead
	DeadLetterExpired       bool  // DeadLetterOnExpiration
	Status                  Status
	SizeMegabytesMax        int64  // MaxSizeInMegabytes; 0: no limit
	ForwardTo               string // a queue, or with a prefix a topic; empty: none
	ForwardDeadLetters      string // ForwardDeadLetteredMessagesTo
	AutoDeleteSeconds       int64  // AutoDeleteOnIdleSeconds; 0: never
	Profile                 Profile
	// Extensions records which extension attributes were set, or preset by a profile: only those
	// are listed (decision 20).
	Extensions ExtensionSet
}

// Retention returns the age at which the queue deletes a message that has no time to live of its own;
// 0: never.
func (a *Queue) Retention() logtime.Duration {
	if a.TimeToLiveSeconds > 0 {
		return 0 // each message got a time to live when it was sent
	}
	return logtime.Seconds(a.RetentionSeconds)
}

// timeToLiveMax is about a hundred years. Longer times to live are the same as none.
const timeToLiveMax = 36_525 * 24 * logtime.Hour

// TimeToLive returns the time to live of a message that asks for one, 0: none.
func (a *Queue) TimeToLive(asked logtime.Duration) logtime.Duration {
	if asked = bounded(asked, a.TimeToLiveSeconds); asked >= timeToLiveMax {
		return 0
	}
	return asked
}

// TimeToLive returns the time to live in each queue of a message that asks for one, 0: none.
func (a *Topic) TimeToLive(asked logtime.Duration) logtime.Duration {
	return bounded(asked, a.TimeToLiveSeconds)
}

// bounded returns a time to live of at most a number of seconds. Zero means no time to live.
func bounded(asked logtime.Duration, seconds int64) logtime.Duration {
	if limit := logtime.Seconds(seconds); limit > 0 && (asked == 0 || asked > limit) {
		return limit
	}
	return asked
}

// Status is the EntityStatus of a queue or topic.
type Status uint8

// States; the numbers are stored in snapshots.
const (
	StatusActive          Status = 0
	StatusDisabled        Status = 1
	StatusSendDisabled    Status = 2
	StatusReceiveDisabled Status = 3
)

// RefusesSends reports whether the queue or topic takes no messages from clients.
func (s Status) RefusesSends() bool { return s == StatusDisabled || s == StatusSendDisabled }

// RefusesReceives reports whether receivers can neither get nor remove messages.
func (s Status) RefusesReceives() bool { return s == StatusDisabled || s == StatusReceiveDisabled }

// String returns the value of EntityStatus.
func (s Status) String() string { return statuses[s].text }

// ForwardTarget returns the name of the queue or topic to which ForwardTo forwards, without the account.
func ForwardTarget(forwardTo string) (name string, topic bool) {
	return strings.CutPrefix(forwardTo, topicPrefix)
}

// ForwardValue is the inverse of ForwardTarget.
func ForwardValue(name string, topic bool) string {
	if topic {
		return topicPrefix + name
	}
	return name
}

// Withheld is the reason for which receives from a queue get no messages.
type Withheld uint8

// Reasons, the strongest first.
const (
	NotWithheld Withheld = iota
	WithheldPaused
	WithheldDisabled
	WithheldForwarding
)

// Withheld returns why receives get no messages.
func (a *Queue) Withheld() Withheld {
	switch {
	case a.DeliveryPaused:
		return WithheldPaused
	case a.Status.RefusesReceives():
		return WithheldDisabled
	case a.ForwardTo != "":
		return WithheldForwarding
	}
	return NotWithheld
}

// SizeMax returns the most bytes of messages that sends may fill; 0: no limit.
func (a *Queue) SizeMax() int64 { return a.SizeMegabytesMax << megabyteShift }

// Encryption holds the SSE attributes, which are stored and returned only.
type Encryption struct {
	KMSMasterKeyID  string
	KMSReuseSeconds int64 // not listed while it has the default, 300
	SQSManaged      bool
}

// Profile is the CompatibilityProfile with which a queue was created.
type Profile uint8

// Profiles; the numbers are stored in snapshots.
const (
	ProfileAWS        Profile = 0
	ProfileYMQ        Profile = 1
	ProfileServiceBus Profile = 2
)

// ExtensionSet is a bit set over the extension attributes.
type ExtensionSet uint32

// Bits of the extension attributes. Snapshots contain them, so a number is never reused for another
// attribute.
const (
	extensionWindow          ExtensionSet = 1 << 0
	extensionEnabled         ExtensionSet = 1 << 1
	extensionContentMode     ExtensionSet = 1 << 2
	extensionGroupMode       ExtensionSet = 1 << 3
	extensionGroupMessages   ExtensionSet = 1 << 4
	extensionEntriesMax      ExtensionSet = 1 << 5
	extensionImplicitDLQ     ExtensionSet = 1 << 6
	extensionReceive         ExtensionSet = 1 << 7
	extensionPurge           ExtensionSet = 1 << 8
	extensionDeadLetterID    ExtensionSet = 1 << 9
	extensionAttemptWindow   ExtensionSet = 1 << 10
	extensionReservedEnabled ExtensionSet = 1 << 11
	extensionProfile         ExtensionSet = 1 << 12
	extensionDeliveryPaused  ExtensionSet = 1 << 13
	extensionTimeToLive      ExtensionSet = 1 << 14
	extensionDeadLetterTTL   ExtensionSet = 1 << 15
	extensionTopicScope      ExtensionSet = 1 << 16 // DeduplicationScope, which is no extension on queues
	extensionStatus          ExtensionSet = 1 << 17
	extensionSizeMax         ExtensionSet = 1 << 18
	extensionForwardTo       ExtensionSet = 1 << 19
	extensionForwardDead     ExtensionSet = 1 << 20
	extensionAutoDelete      ExtensionSet = 1 << 21
)

// Defaults. MaximumMessageSize is that of AWS since August 2025; the windows are the five minutes
// of AWS.
const (
	retentionSecondsDefault     = 345_600
	visibilitySecondsDefault    = 30
	kmsReuseSecondsDefault      = 300
	deduplicationSecondsDefault = 300
	attemptSecondsDefault       = 300
	groupMessagesDefault        = limits.ReceiveMessagesMax
)

// Default returns the attributes of a queue that was created without any.
func Default(fifo bool) Queue {
	return Queue{
		FIFO:               fifo,
		MaximumMessageSize: limits.MessageBytesMax,
		RetentionSeconds:   retentionSecondsDefault,
		VisibilitySeconds:  visibilitySecondsDefault,
		Encryption:         Encryption{KMSReuseSeconds: kmsReuseSecondsDefault, SQSManaged: true},
		Deduplication:      deduplication.Rules{WindowSeconds: deduplicationSecondsDefault},
		GroupMessagesMax:   groupMessagesDefault,
		AttemptSeconds:     attemptSecondsDefault,
	}
}

// presets returns the attributes that a CompatibilityProfile sets at creation, before those of the
// request. A profile lists only its differences from aws, and the values that Yandex documents as
// fixed.
func (p Profile) presets() []Attribute {
	switch p {
	case ProfileAWS:
	case ProfileYMQ:
		return []Attribute{
			{nameContentMode, "IdOverrides"},
			{nameDeadLetterKeepsID, "true"},
			{nameDeduplicationScope, "queue"},
			{nameDeduplicationWindow, "300"},
			{nameGroupMessagesMax, "1"},
			{namePurgeClears, "false"},
			{nameReceiveCompatibility, "ymq"},
		}
	case ProfileServiceBus:
		return []Attribute{
			{nameDeadLetterKeepsID, "true"},
			{nameDeduplicationWindow, strconv.Itoa(serviceBusWindow)},
			{namePurgeClears, "false"},
		}
	}
	return nil
}

// Create returns the attributes of a new queue: the defaults, changed by the presets of the
// requested profile, and then by the request.
func Create(fifo bool, given []Attribute, in Assignment) (Queue, *refusal.Error) {
	a := Default(fifo)
	if profile, ok := ValueOf(given, nameProfile); ok {
		if err := a.preset(profile); err != nil {
			return Queue{}, err
		}
	}
	for _, g := range given {
		if err := a.assign(g, in); err != nil {
			return Queue{}, err
		}
	}
	if err := a.consistent(given); err != nil {
		return Queue{}, err
	}
	return a, nil
}

// preset applies the presets of a profile. It omits those for FIFO queues on a standard queue.
func (a *Queue) preset(profile string) *refusal.Error {
	i := profiles.index(profile)
	if i < 0 {
		return Invalid(nameProfile)
	}
	for _, g := range Profile(i).presets() {
		if queueTable.find(g.Name).kind != onAny && !a.FIFO {
			continue
		}
		if err := a.assign(g, AnyWindow()); err != nil {
			return err
		}
	}
	return nil
}

// WithChanges returns the attributes after SetQueueAttributes. One invalid attribute refuses the
// whole request.
func (a Queue) WithChanges(given []Attribute, in Assignment) (Queue, *refusal.Error) {
	b := a
	for _, g := range given {
		if err := b.assign(g, in); err != nil {
			return Queue{}, err
		}
		if r := queueTable.find(g.Name); r.fixed && !r.equal(&a, &b) {
			return Queue{}, refusal.New(refusal.InvalidAttributeValue, "Invalid value for the parameter ", g.Name,
				". Reason: the attribute cannot be changed after creation.")
		}
	}
	if err := b.consistent(given); err != nil {
		return Queue{}, err
	}
	return b, nil
}

// assign checks name and value of one attribute for the queue type, and sets it.
func (a *Queue) assign(g Attribute, in Assignment) *refusal.Error {
	r, err := queueTable.settable(g.Name, a.FIFO)
	if err != nil {
		return err
	}
	return queueTable.set(a, r, g.Value, in, &a.Extensions)
}

// consistent checks the rules between attributes, after those in given were set.
func (a *Queue) consistent(given []Attribute) *refusal.Error {
	if a.HighThroughput && a.Deduplication.Scope != deduplication.ScopeMessageGroup {
		return Invalid(nameThroughputLimit)
	}
	if a.Deduplication.IDAndContent && !a.Deduplication.ContentBased {
		return Invalid(nameContentMode)
	}
	if a.ForwardDeadLetters != "" && a.Redrive.Target == "" && !a.ImplicitDeadLetterQueue {
		return refusal.New(refusal.InvalidAttributeValue, "Invalid value for the parameter ", NameForwardDeadLetters,
			". Reason: the queue needs a RedrivePolicy or ImplicitDeadLetterQueue.")
	}
	// AWS refuses both kinds of encryption in one request with the code for an invalid name. If
	// they are requested one after the other, the later one applies.
	if key, _ := ValueOf(given, nameKMSKey); key != "" {
		managed, _ := ValueOf(given, nameSQSManaged)
		if on, _ := ParseBool(managed); on {
			return refusal.New(refusal.InvalidAttributeName, "You can use one type of server-side encryption (SSE) at one time. "+
				"You can either enable KMS SSE or SQS SSE.")
		}
	}
	return nil
}

// Differs returns the first requested attribute whose value differs from the current one, "" if
// there is none. CreateQueue on an existing queue succeeds only without a difference. It returns an
// error for an invalid request.
func (a Queue) Differs(requested []Attribute, in Assignment) (string, *refusal.Error) {
	if _, err := Create(a.FIFO, requested, in); err != nil {
		return "", err
	}
	for _, g := range requested {
		b := a
		if err := b.assign(g, in); err != nil {
			return "", err
		}
		if !queueTable.find(g.Name).equal(&a, &b) {
			return g.Name, nil
		}
	}
	return "", nil
}

// List returns the settable attributes that have a value, sorted by name. Extension attributes
// appear only if they were set or preset.
func (a Queue) List() []Attribute { return queueTable.list(&a, a.FIFO, a.Extensions) }

// NameMessagesDeferred counts the deferred messages of a queue. It is an extension, listed
// if there are any.
const NameMessagesDeferred = "ApproximateNumberOfMessagesDeferred"

// readOnlyAttributes are known to GetQueueAttributes only.
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

// Known reports whether GetQueueAttributes may ask for name.
func Known(name string) bool {
	return queueTable.find(name) != nil || slices.Contains(readOnlyAttributes[:], name)
}

// Check makes the checks that need no state: a queue of this type has the attributes, and permits
// their values.
func Check(fifo bool, given []Attribute, in Assignment) *refusal.Error {
	a := Default(fifo)
	for _, g := range given {
		if err := a.assign(g, in); err != nil {
			return err
		}
	}
	return nil
}

// ValueOf returns the value of an attribute in a list.
func ValueOf(attrs []Attribute, name string) (string, bool) {
	for i := range attrs {
		if attrs[i].Name == name {
			return attrs[i].Value, true
		}
	}
	return "", false
}

// Invalid returns the error for an invalid value of an attribute.
func Invalid(name string) *refusal.Error {
	return refusal.New(refusal.InvalidAttributeValue, "Invalid value for the parameter ", name, ".")
}
