package queue

import (
	"crypto/sha256"
	"slices"
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
	refuse(q *Queue) (Result, *Error)
}

// Refuse answers a command that Validate refuses, without the log. An unknown
// queue comes before wrong values (sqs.md 1.7), and what the attributes of the
// queue rule out before what every queue does. A batch whose entries are all
// refused has a result, as if it had been applied.
func (v View) Refuse(cmd Command, refusal *Error) (Result, *Error) {
	name := cmd.QueueName()
	if name == "" {
		return nil, refusal
	}
	q, ok := v.b.queues.Get(name)
	if !ok {
		return nil, noSuchQueue()
	}
	if c, ok := cmd.(refuser); ok {
		if result, err := c.refuse(q); result != nil || err != nil {
			return result, err
		}
	}
	return nil, refusal
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
	if len(name) > QueueNameLengthMax {
		return noSuchQueue()
	}
	return nil
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

// check is what needs no state: the refusals of single entries, and that of
// the whole command, which is refused if every entry is.
func (c *SendMessages) check() (entries entryRefusals, whole *Error) {
	if err := c.wellFormed(); err != nil {
		return entries, err
	}
	if err := checkQueueName(c.Queue); err != nil {
		return entries, err
	}
	if err := checkBatchBytes(c); err != nil {
		return entries, err
	}
	rules := rulesOfName(c.Queue)
	for i := range c.Entries {
		entries.add(i, len(c.Entries), rules.check(&c.Entries[i], c.Batch))
	}
	if entries.count == len(c.Entries) {
		return entries, entries.first
	}
	return entries, nil
}

func (c *SendMessages) prepare() (Prepared, *Error) {
	refused, err := c.check()
	if err != nil {
		return Prepared{}, err
	}
	if refused.count > 0 {
		slim := *c
		slim.Entries = slices.Clone(c.Entries)
		for i, err := range refused.errs {
			if err != nil {
				e := &c.Entries[i]
				slim.Entries[i] = SendEntry{GroupIDGiven: e.GroupIDGiven, DeduplicationIDGiven: e.DeduplicationIDGiven}
			}
		}
		c = &slim
	}
	if isFIFOName(c.Queue) {
		c.hashContents()
	}
	return Prepared{Command: c, refusals: refused.errs}, nil
}

// hashContents computes the content hashes that a FIFO queue may deduplicate
// by, so that the state machine of every node need not.
func (c *SendMessages) hashContents() {
	for i := range c.Entries {
		if e := &c.Entries[i]; !e.DeduplicationIDGiven && e.ContentHash == nil && e.Body != "" {
			sum := sha256.Sum256([]byte(e.Body))
			e.ContentHash = sum[:]
		}
	}
}

func (c *SendMessages) refuse(q *Queue) (Result, *Error) {
	if err := c.wellFormed(); err != nil {
		return nil, err
	}
	if err := checkSendBatch(&q.attributes, c); err != nil {
		return nil, err
	}
	out := MessagesSent{Entries: make([]SentEntry, len(c.Entries))}
	for i := range c.Entries {
		err := checkSend(&q.attributes, &c.Entries[i], c.Batch)
		if !c.Batch || err == nil {
			return nil, err
		}
		out.Entries[i].Err = err
	}
	return out, nil
}

// check is what needs no state.
func (c *DeleteMessages) check() (entries entryRefusals, whole *Error) {
	if err := c.wellFormed(); err != nil {
		return entries, err
	}
	if err := checkQueueName(c.Queue); err != nil {
		return entries, err
	}
	for i, handle := range c.Handles {
		if _, ok := parseHandle(handle); !ok {
			entries.add(i, len(c.Handles), invalidHandle(handle))
		}
	}
	if entries.count == len(c.Handles) {
		return entries, entries.first
	}
	return entries, nil
}

func (c *DeleteMessages) prepare() (Prepared, *Error) {
	refused, err := c.check()
	if err != nil {
		return Prepared{}, err
	}
	if refused.count > 0 {
		slim := *c
		slim.Handles = slices.Clone(c.Handles)
		for i, err := range refused.errs {
			if err != nil {
				slim.Handles[i] = ""
			}
		}
		c = &slim
	}
	return Prepared{Command: c, refusals: refused.errs}, nil
}

func (c *DeleteMessages) refuse(*Queue) (Result, *Error) {
	refused, err := c.check()
	if !c.Batch || refused.count == 0 {
		return nil, err
	}
	return EntriesDone{Errs: refused.errs}, nil
}

// check is what needs no state.
func (c *ChangeMessageVisibility) check() (entries entryRefusals, whole *Error) {
	if err := c.wellFormed(); err != nil {
		return entries, err
	}
	if err := checkQueueName(c.Queue); err != nil {
		return entries, err
	}
	for i, e := range c.Entries {
		err := checkVisibility(e.VisibilityTimeout)
		if _, ok := parseHandle(e.Handle); !ok && err == nil {
			err = invalidHandle(e.Handle)
		}
		entries.add(i, len(c.Entries), err)
	}
	if entries.count == len(c.Entries) {
		return entries, entries.first
	}
	return entries, nil
}

func (c *ChangeMessageVisibility) prepare() (Prepared, *Error) {
	refused, err := c.check()
	if err != nil {
		return Prepared{}, err
	}
	if refused.count > 0 {
		slim := *c
		slim.Entries = slices.Clone(c.Entries)
		for i, err := range refused.errs {
			if err != nil {
				slim.Entries[i] = VisibilityEntry{}
			}
		}
		c = &slim
	}
	return Prepared{Command: c, refusals: refused.errs}, nil
}

func (c *ChangeMessageVisibility) refuse(*Queue) (Result, *Error) {
	refused, err := c.check()
	if !c.Batch || refused.count == 0 {
		return nil, err
	}
	return EntriesDone{Errs: refused.errs}, nil
}

// prepare leaves out what a standard queue ignores.
func (c *ReceiveMessages) prepare() (Prepared, *Error) {
	if err := c.Validate(); err != nil {
		return Prepared{}, err
	}
	if c.AttemptIDGiven && !isFIFOName(c.Queue) {
		plain := *c
		plain.AttemptID, plain.AttemptIDGiven = "", false
		c = &plain
	}
	return Prepared{Command: c}, nil
}

func (c *CreateQueue) prepare() (Prepared, *Error) {
	if err := c.Validate(); err != nil {
		return Prepared{}, err
	}
	ready := *c
	ready.Policies = parsePolicies(c.Attributes)
	return Prepared{Command: &ready}, nil
}

func (c *SetQueueAttributes) prepare() (Prepared, *Error) {
	if err := c.Validate(); err != nil {
		return Prepared{}, err
	}
	ready := *c
	ready.Policies = parsePolicies(c.Attributes)
	return Prepared{Command: &ready}, nil
}

func (c *SetQueueAttributes) refuse(q *Queue) (Result, *Error) {
	_, err := q.attributes.withChanges(c.Attributes, assignment{minimumWindow: 1})
	return nil, err
}
