package queue

import (
	"slices"
	"strconv"

	"github.com/seriatimq/seriatim/queue/access"
	"github.com/seriatimq/seriatim/queue/attributes"
	"github.com/seriatimq/seriatim/queue/identifier"
	"github.com/seriatimq/seriatim/queue/limits"
	"github.com/seriatimq/seriatim/queue/logtime"
	"github.com/seriatimq/seriatim/queue/message"
	"github.com/seriatimq/seriatim/queue/refusal"
)

// Command is one change of the replicated state: an access.Command, or a command of this package.
// Package fsm/codec holds the number and encoding of each command. A command does not change after
// it is passed to Apply.
type Command interface {
	// Validate checks everything that needs no state: required members, ranges, lengths,
	// characters, policies. Prepare calls it before a node proposes the command, so that bad input
	// writes no log entry.
	Validate() *Error
	// QueueName returns the queue that the command changes, empty for commands about the whole
	// cluster or a move task.
	QueueName() string
}

// applier is a command of this package. Every other Command is an access.Command.
type applier interface {
	// apply changes the state, or refuses after the checks that need state. A refused command
	// changes only the clock and overdue records of the queue.
	apply(b *Broker) (Result, *Error)
}

// Int is an optional integer of a request. Many SQS members distinguish absent from zero.
type Int struct {
	Value int64
	Given bool
}

// Some returns a given Int.
func Some(v int64) Int { return Int{Value: v, Given: true} }

// Or returns the value, or other if it is absent.
func (i Int) Or(other int64) int64 {
	if i.Given {
		return i.Value
	}
	return other
}

// Result is the answer to an accepted command.
type Result interface{ result() }

// Done is the answer to commands without a result.
type Done struct{}

func (Done) result() {}

// EventKind is the kind of an Event.
type EventKind uint8

// Event kinds. The numbers are not stored.
const (
	// MessagesAvailable: a receive on Queue may now return messages.
	MessagesAvailable EventKind = iota + 1
	// QueueDeleted: waiting receives on Queue must end with QueueDoesNotExist.
	QueueDeleted
	// MoveTaskAdded: the leader must run a move task.
	MoveTaskAdded
	// MessagesExpired: Count messages of Queue passed their retention.
	MessagesExpired
	// MessagesDeadLettered: Count messages of Queue moved to its dead-letter queue.
	MessagesDeadLettered
	// TopicDeliveriesDeduplicated: Queue dropped Count messages of Topic as duplicates.
	TopicDeliveriesDeduplicated
	// TopicDeliveriesDeadLettered: Count messages of Topic failed for Queue and went to the
	// subscription's dead-letter queue.
	TopicDeliveriesDeadLettered
	// TopicDeliveriesLost: Count messages of Topic failed for Queue and for a dead-letter queue.
	TopicDeliveriesLost
	// SessionAvailable: a receive in the locked Session of Queue may now return messages, or fail
	// because the lock ended.
	SessionAvailable
	// ReplayAdded: the leader must run a replay.
	ReplayAdded
	// DeliveryAdded: the leader must deliver to Subscription over HTTP.
	DeliveryAdded
	// MessageDeleted: a message of Queue was deleted at Age.
	MessageDeleted
	// IdleDeleted: Queue or Topic was deleted because it was idle.
	IdleDeleted
)

// Event is a side effect for package cluster, such as waking a waiting receive or starting a job.
// Events are not part of the state.
type Event struct {
	Kind  EventKind
	Queue string
	Topic string // for events of topics
	// Session is set for SessionAvailable.
	Session string
	// Subscription is the number of the subscription, set for DeliveryAdded.
	Subscription uint64
	Count        int
	Age          logtime.Duration // of the message, set for MessageDeleted
}

// Aliases of the types that commands, results and records consist of, so that most callers need
// only this package.
type (
	// Error is the error that a client receives.
	Error = refusal.Error
	// Timestamp is a point in log time.
	Timestamp = logtime.Timestamp

	// Attribute is one attribute of a queue as text, by its SQS name.
	Attribute = attributes.Attribute
	// QueueAttributes are the typed attributes of a queue.
	QueueAttributes = attributes.Queue
	// TopicAttributes are the typed attributes of a topic.
	TopicAttributes = attributes.Topic
	// Tag is one tag of a queue.
	Tag = attributes.Tag

	// Body holds the text of a message.
	Body = message.Body
	// MessageAttribute is a typed user attribute of a message.
	MessageAttribute = message.MessageAttribute
	// Encoded holds the parts of a message that plain text lacks.
	Encoded = message.Encoded
	// PropertyChange sets or removes one property of a stored message.
	PropertyChange = message.Change

	// MessageID identifies a message.
	MessageID = identifier.MessageID
	// SequenceNumber orders the messages of one queue.
	SequenceNumber = identifier.SequenceNumber
	// ReceiptHandle names one delivery of one message.
	ReceiptHandle = identifier.ReceiptHandle
)

// Prepared is a command in its form for the log. Use it once.
type Prepared struct {
	Command  Command
	refusals []*Error // by entry of a batch; nil if none was refused
}

// preparer is a command whose form in the log differs from the request.
type preparer interface{ prepare() (Prepared, *Error) }

// Prepare makes every check and computation that needs no state. The accepting node calls it before
// encoding, so that the log and all replicas have less work. Its errors are those of Validate; pass
// them to View.Refuse.
//
// Refused entries of a batch stay in the log without content, because they count towards limits of
// the whole batch.
func Prepare(cmd Command) (Prepared, *Error) {
	if c, ok := cmd.(preparer); ok {
		return c.prepare()
	}
	return Prepared{Command: cmd}, cmd.Validate()
}

// AccessPolicy is an access policy in a command.
type AccessPolicy struct {
	Queue, Topic string // owner of the policy; both empty: a user
	Text         string
	// Refuse returns an error in the format of the service.
	Refuse func(reason string) *Error
}

// AccessPolicyOf returns the access policy that a command stores, which the accepting node must
// check. The state machine does not check policies.
func AccessPolicyOf(cmd Command) (p AccessPolicy, stores bool) {
	switch c := cmd.(type) {
	case interface{ accessPolicy() (AccessPolicy, bool) }:
		return c.accessPolicy()
	case *access.PutUserPolicy:
		return AccessPolicy{Text: c.Policy, Refuse: access.MalformedPolicy}, c.Policy != ""
	}
	return p, false
}

// Answer adds the refusals of Prepare to the result from the log.
func (p Prepared) Answer(result Result) Result {
	if p.refusals == nil {
		return result
	}
	switch r := result.(type) {
	case MessagesSent:
		r.Entries = slices.Clone(r.Entries)
		for i, err := range p.refusals {
			if err != nil && i < len(r.Entries) {
				r.Entries[i] = SentEntry{Err: err}
			}
		}
		return r
	case EntriesDone:
		r.Errs = slices.Clone(r.Errs)
		for i, err := range p.refusals {
			if err != nil && i < len(r.Errs) {
				r.Errs[i] = err
			}
		}
		return r
	}
	return result
}

// refuser is a command whose refusal depends on its queue.
type refuser interface {
	// refuse returns the answer or the error for this queue. If both are nil, the error is that of
	// Validate.
	refuse(b *Broker, q *Queue) (Result, *Error)
}

var (
	_ refuser = (*SendMessages)(nil)
	_ refuser = (*DeleteMessages)(nil)
	_ refuser = (*ChangeMessageVisibility)(nil)
	_ refuser = (*SetQueueAttributes)(nil)
)

// bounded is a command whose attributes have limits that are cluster settings.
type bounded interface {
	// checkAttributes repeats the checks of Validate with the limits in in.
	checkAttributes(in attributes.Assignment) *Error
}

// RefusedByState reports whether View.Refuse needs the committed state to choose the error of a
// refusal.
func RefusedByState(cmd Command) bool {
	_, ok := cmd.(bounded)
	return cmd.QueueName() != "" || ok && wellFormed(cmd) == nil
}

// Refuse answers a command that Validate refused, without the log. An unknown queue takes
// precedence over wrong values (sqs.md 1.7), and rules of the queue over general ones. A batch with
// only refused entries gets a result, as if it was applied.
func (v View) Refuse(cmd Command, err *Error) (Result, *Error) {
	if c, ok := cmd.(bounded); ok && wellFormed(cmd) == nil {
		if inForce := c.checkAttributes(v.b.assignment()); inForce != nil {
			err = inForce
		}
	}
	name := cmd.QueueName()
	if name == "" {
		return nil, err
	}
	q, ok := v.b.queues.Get(name)
	if !ok {
		return nil, refusal.NoSuchQueue()
	}
	if c, ok := cmd.(refuser); ok {
		if result, specific := c.refuse(v.b, q); result != nil || specific != nil {
			return result, specific
		}
	}
	return nil, err
}

// wellFormed repeats, when a command is applied, the checks that protect the state machine. All
// other checks of Validate happen before the log only.
func wellFormed(cmd Command) *Error {
	if c, ok := cmd.(interface{ wellFormed() *Error }); ok {
		return c.wellFormed()
	}
	return cmd.Validate()
}

// checkQueueName refuses a name that is too long for any queue.
func checkQueueName(name string) *Error {
	if tooLongName(name) {
		return refusal.NoSuchQueue()
	}
	return nil
}

// tooLongName reports whether a name, possibly qualified, is too long for any queue.
func tooLongName(name string) bool {
	most := limits.QueueNameLengthMax
	if isFIFOName(name) {
		most = limits.FIFONameLengthMax
	}
	return len(name) > most && len(access.PlainName(name)) > most
}

// entryRefusals collects the errors of a batch.
type entryRefusals struct {
	errs  []*Error // nil until the first error
	first *Error
	count int
}

func (r *entryRefusals) add(i, entries int, err *Error) {
	if err == nil {
		return
	}
	if r.errs == nil {
		r.errs, r.first = make([]*Error, entries), err
	}
	r.errs[i] = err
	r.count++
}

// withoutRefused replaces refused entries by blank ones, which keep their content out of the log.
func withoutRefused[E any](entries []E, refused entryRefusals, blank func(E) E) []E {
	if refused.count == 0 {
		return entries
	}
	kept := slices.Clone(entries)
	for i, err := range refused.errs {
		if err != nil {
			kept[i] = blank(entries[i])
		}
	}
	return kept
}

const (
	senderIDLengthMax  = 256 // ours; an IAM principal id with session name is below 100
	clusterIDLengthMax = 64
	receiptKeyLength   = 32
	policyAccountsMax  = 50   // the quota of AWS for principals in one policy
	tagsRemovedMax     = 1000 // ours; a queue has 50
	taskIDLengthMax    = 64
	accountLengthMax   = 64 // AWS: 12 digits, which installations may exceed
)

const nameRule = "Can only include alphanumeric characters, hyphens, or underscores. 1 to 80 in length"

// plainName reports whether name consists of one or more letters, digits, hyphens and underscores.
func plainName(name string) bool {
	for i := range len(name) {
		switch c := name[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '-', c == '_':
		default:
			return false
		}
	}
	return name != ""
}

// CheckEntryCount refuses an empty batch, and one of more than BatchEntriesMax. element is the name
// of an entry in the error text of AWS.
func CheckEntryCount(n int, element string) *Error {
	return checkEntries(n, limits.BatchEntriesMax, element)
}

// entriesMax returns the limit for a command, which may be of a stream.
func entriesMax(streamed bool) int {
	if streamed {
		return limits.StreamEntriesMax
	}
	return limits.BatchEntriesMax
}

// checkEntries is CheckEntryCount with another limit.
func checkEntries(n, entriesMax int, element string) *Error {
	if n == 0 {
		return refusal.New(refusal.EmptyBatchRequest, "There should be at least one ", element, " in the request.")
	}
	if n > entriesMax {
		return refusal.New(refusal.TooManyEntriesInBatchRequest, "Maximum number of entries per request are ",
			strconv.Itoa(entriesMax), ". You have sent ", strconv.Itoa(n), ".")
	}
	return nil
}
