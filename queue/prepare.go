package queue

import (
	"slices"
	"strconv"

	"github.com/seriatimq/seriatim/queue/account"
	"github.com/seriatimq/seriatim/queue/attributes"
	"github.com/seriatimq/seriatim/queue/limits"
	"github.com/seriatimq/seriatim/queue/refusal"
)

// Prepared is a command in the form in which it goes into the log. Used once.
type Prepared struct {
	Command  Command
	refusals []*Error // by entry of a batch; nil if none was refused yet
}

// preparer is a command that has another form in the log than the one it was
// made in.
type preparer interface{ prepare() (Prepared, *Error) }

// Prepare checks what needs no state and computes once what follows from the
// command alone, so that the log and the state machines have less to do: the
// node that accepts a command calls it before encoding. A refusal is
// that of Validate; View.Refuse knows how to put it.
//
// Entries of a batch that are refused already go into the log without their
// contents: they still count where the batch is judged as a whole.
func Prepare(cmd Command) (Prepared, *Error) {
	if c, ok := cmd.(preparer); ok {
		return c.prepare()
	}
	return Prepared{Command: cmd}, cmd.Validate()
}

// AccessPolicy is an access policy that a command stores.
type AccessPolicy struct {
	Queue, Topic string // whose policy it is; neither: that of a user
	Text         string
	// Refuse says what is wrong with it in the words of the service.
	Refuse func(reason string) *Error
}

// AccessPolicyOf is the access policy that a command stores, for the node that accepts the
// command to check. What is in the log is applied whatever it says.
func AccessPolicyOf(cmd Command) (p AccessPolicy, stores bool) {
	if c, ok := cmd.(interface{ accessPolicy() (AccessPolicy, bool) }); ok {
		return c.accessPolicy()
	}
	return p, false
}

// Answer puts the refusals that never went into the log into the result.
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
	// refuse is the answer, nil and nil for that of Validate.
	refuse(b *Broker, q *Queue) (Result, *Error)
}

var (
	_ refuser = (*SendMessages)(nil)
	_ refuser = (*DeleteMessages)(nil)
	_ refuser = (*ChangeMessageVisibility)(nil)
	_ refuser = (*SetQueueAttributes)(nil)
)

// bounded is a command whose attributes have bounds that are settings of the cluster.
type bounded interface {
	// checkAttributes checks what Validate checks, with these bounds.
	checkAttributes(in attributes.Assignment) *Error
}

// RefusedByState reports whether the text of a refusal depends on the state: then
// View.Refuse has to know what is committed.
func RefusedByState(cmd Command) bool {
	_, ok := cmd.(bounded)
	return cmd.QueueName() != "" || ok && wellFormed(cmd) == nil
}

// Refuse answers a command that Validate refuses, without the log. An unknown
// queue comes before wrong values (sqs.md 1.7), and what the attributes of the
// queue rule out before what every queue does. Bounds in the text are those in
// force. A batch whose entries are all refused has a result, as if it had been
// applied.
func (v View) Refuse(cmd Command, err *Error) (Result, *Error) {
	if c, ok := cmd.(bounded); ok && wellFormed(cmd) == nil {
		if inForce := c.checkAttributes(v.b.assignment(Policies{})); inForce != nil {
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

// wellFormed checks again, when a command is applied, what the state machine
// relies on. The rest of Validate need not be repeated, and must not be: what
// older programs put into the log is applied as they applied it.
func wellFormed(cmd Command) *Error {
	if c, ok := cmd.(interface{ wellFormed() *Error }); ok {
		return c.wellFormed()
	}
	return cmd.Validate()
}

// checkQueueName refuses the name of no queue before it is encoded.
func checkQueueName(name string) *Error {
	if tooLongName(name) {
		return refusal.NoSuchQueue()
	}
	return nil
}

// tooLongName reports whether no queue can have a name, which may be qualified.
func tooLongName(name string) bool {
	return len(name) > limits.QueueNameLengthMax && len(account.PlainName(name)) > limits.QueueNameLengthMax
}

// entryRefusals collects the refusals of a batch.
type entryRefusals struct {
	errs  []*Error // nil until one is refused
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

// withoutRefused replaces the refused entries by what blank makes of them: nothing of
// them goes into the log.
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
	accountLengthMax   = 64 // AWS: 12 digits, which a private installation need not follow
)

const nameRule = "Can only include alphanumeric characters, hyphens, or underscores. 1 to 80 in length"

// plainName reports whether name has one or more letters, digits, hyphens and
// underscores.
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

// CheckEntryCount refuses a batch of no entries, or of more than BatchEntriesMax.
// element is the name of an entry in the error text of AWS.
func CheckEntryCount(n int, element string) *Error { return checkEntries(n, false, element) }

// checkEntries is CheckEntryCount also for commands of streams, which may have more.
func checkEntries(n int, streamed bool, element string) *Error {
	entriesMax := limits.BatchEntriesMax
	if streamed {
		entriesMax = limits.StreamEntriesMax
	}
	if n == 0 {
		return refusal.New(refusal.EmptyBatchRequest, "There should be at least one ", element, " in the request.")
	}
	if n > entriesMax {
		return refusal.New(refusal.TooManyEntriesInBatchRequest, "Maximum number of entries per request are ",
			strconv.Itoa(entriesMax), ". You have sent ", strconv.Itoa(n), ".")
	}
	return nil
}
