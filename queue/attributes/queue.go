package attributes

import (
	"slices"

	"github.com/seriatimq/seriatim/queue/deduplication"
	"github.com/seriatimq/seriatim/queue/limits"
	"github.com/seriatimq/seriatim/queue/policy"
	"github.com/seriatimq/seriatim/queue/refusal"
)

// Attribute is one attribute of a queue, a topic or a subscription as text, by
// the name AWS gives it.
type Attribute struct{ Name, Value string }

// Queue are the typed attributes of a queue. The zero value means
// nothing; start from Default. A value is replaced as a whole,
// never changed in place, so copies may be shared with snapshots.
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
	Profile                 Profile
	// Extensions records which extension attributes were set or preset by
	// a profile, since only those are listed (decision 20).
	Extensions ExtensionSet
}

// Encryption holds the SSE attributes, which are stored and returned only.
type Encryption struct {
	KMSMasterKeyID  string
	KMSReuseSeconds int64 // 300 is the default and not listed
	SQSManaged      bool
}

// Profile is the CompatibilityProfile a queue was created with.
type Profile uint8

// Profiles; the numbers are stored in snapshots.
const (
	ProfileAWS        Profile = 0
	ProfileYMQ        Profile = 1
	ProfileServiceBus Profile = 2
)

// ExtensionSet is a bit set over the extension attributes.
type ExtensionSet uint32

// Bits of the extension attributes. They are stored in snapshots, so a number
// is never given to another attribute.
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
)

// Defaults of the attributes. MaximumMessageSize is that of AWS since August
// 2025; the windows are the five minutes of AWS.
const (
	retentionSecondsDefault     = 345_600
	visibilitySecondsDefault    = 30
	kmsReuseSecondsDefault      = 300
	deduplicationSecondsDefault = 300
	attemptSecondsDefault       = 300
	groupMessagesDefault        = limits.ReceiveMessagesMax
)

// Default are the attributes of a queue created without any.
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

// presets are the attributes that a CompatibilityProfile sets at creation,
// before those of the request. Each profile lists only where it differs from
// aws, plus what Yandex fixes explicitly.
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
			{nameDeduplicationWindow, "600"},
			{namePurgeClears, "false"},
		}
	}
	return nil
}

// Create are the attributes of a new queue: the defaults, then the
// presets of the requested profile, then what the request gives.
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

// preset applies the presets of a profile. Those that only a FIFO queue has
// are left out on a standard queue.
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

// WithChanges are the attributes after SetQueueAttributes. One bad attribute
// refuses them all.
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

// assign sets one attribute, after the checks of its name against the queue
// type and of its value.
func (a *Queue) assign(g Attribute, in Assignment) *refusal.Error {
	r, err := queueTable.settable(g.Name, a.FIFO)
	if err != nil {
		return err
	}
	return queueTable.set(a, r, g.Value, in, &a.Extensions)
}

// consistent checks the rules between attributes after given was assigned.
func (a *Queue) consistent(given []Attribute) *refusal.Error {
	if a.HighThroughput && a.Deduplication.Scope != deduplication.ScopeMessageGroup {
		return Invalid(nameThroughputLimit)
	}
	if a.Deduplication.IDAndContent && !a.Deduplication.ContentBased {
		return Invalid(nameContentMode)
	}
	// AWS refuses the two kinds of encryption in one request, with the
	// code for a bad name; asked for one after the other, the later wins.
	if key, _ := ValueOf(given, nameKMSKey); key != "" {
		managed, _ := ValueOf(given, nameSQSManaged)
		if on, _ := ParseBool(managed); on {
			return refusal.New(refusal.InvalidAttributeName, "You can use one type of server-side encryption (SSE) at one time. "+
				"You can either enable KMS SSE or SQS SSE.")
		}
	}
	return nil
}

// Differs names the first requested attribute whose value is not the current
// one, "" if there is none: what decides whether CreateQueue on an existing
// queue succeeds. The request must be valid by itself first.
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

// Check checks what needs no state: that the attributes of a
// queue of this type exist, and have a value that a queue may have.
func Check(fifo bool, given []Attribute, in Assignment) *refusal.Error {
	a := Default(fifo)
	for _, g := range given {
		if err := a.assign(g, in); err != nil {
			return err
		}
	}
	return nil
}

// ValueOf is the value given to a name.
func ValueOf(attrs []Attribute, name string) (string, bool) {
	for i := range attrs {
		if attrs[i].Name == name {
			return attrs[i].Value, true
		}
	}
	return "", false
}

// Invalid refuses the value of an attribute.
func Invalid(name string) *refusal.Error {
	return refusal.New(refusal.InvalidAttributeValue, "Invalid value for the parameter ", name, ".")
}
