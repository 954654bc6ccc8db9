package reference

import "strconv"

// SendEntry is a message to send; nil means not given.
type SendEntry struct {
	Body       string
	Attributes []Attribute
	Trace      string
	Group      *string
	Dedup      *string
	Delay      *int64
	// EnqueueAt and Partition are options, which need no reserved attributes.
	EnqueueAt *int64
	Partition *string
	// TimeToLive is an option in milliseconds.
	TimeToLive *int64
	// Native selects the rules of the native API for ids and attributes.
	Native    bool
	Parts     Parts
	Published *Publication // of the topic that delivers it; with raw delivery, text and attributes are in the fields above
}

// Sent is the answer to one SendEntry.
type Sent struct {
	Err       *Error
	Message   int
	Number    int // 0 on standard queues
	Duplicate bool
	// Of a duplicate: when the first one was accepted, and whether it is still scheduled.
	FirstAt        int64
	FirstScheduled bool
}

// Send is SendMessage and SendMessageBatch.
func (b *Broker) Send(name, sender string, batch, atomic bool, entries []SendEntry) ([]Sent, *Error) {
	q, err := b.find(name)
	if err != nil {
		return nil, err
	}
	if err := b.refusesSend(q, batch, atomic, entries); err != nil {
		return nil, err
	}
	var answers []Sent
	for _, e := range entries {
		if err := checkEntry(q, e, batch); err != nil {
			answers = append(answers, Sent{Err: err})
			continue
		}
		answers = append(answers, b.accept(q, sender, e))
	}
	return answers, nil
}

// refusesSend returns the error that refuses a send as a whole.
func (b *Broker) refusesSend(q *Queue, batch, atomic bool, entries []SendEntry) *Error {
	b.tidy(&q.history)
	if refuses, _ := statusOf(q.Settings.Status); refuses {
		return disabled()
	}
	if batch {
		if err := checkWholeBatch(q, entries); err != nil {
			return err
		}
	}
	if atomic {
		return b.refusesSome(q, entries)
	}
	return nil
}

// refusesSome refuses a send of which every entry must be stored, now or before. The ids and sizes
// of entries that are no duplicates now count against the limits.
func (b *Broker) refusesSome(q *Queue, entries []SendEntry) *Error {
	count, more := 0, int64(0)
	for _, e := range entries {
		if err := checkEntry(q, e, true); err != nil {
			return err
		}
		v, _ := splitReserved(q.Settings, e)
		v.takeOptions(e)
		id := ""
		if e.Dedup != nil {
			id = *e.Dedup
		} else if q.Settings.ContentBased {
			id = ContentID(e.Body)
		}
		ids := b.deduplicationIDs(&q.history, id, e.Body)
		if !q.FIFO || q.Settings.DeduplicationOff || b.original(&q.history, ids, groupOf(e), v.partition) == nil {
			count += len(ids)
			more += e.size()
		}
	}
	if q.FIFO && !q.Settings.DeduplicationOff && count > 0 && b.historyFull(&q.history, count) {
		return &Error{Code: "OverLimit"}
	}
	return q.full(more)
}

func groupOf(e SendEntry) string {
	if e.Group == nil {
		return ""
	}
	return *e.Group
}

func (q *Queue) needsDedup() bool {
	return q.FIFO && !q.Settings.ContentBased && !q.Settings.DeduplicationOff
}

func (q *Queue) needsGroup() bool { return q.FIFO && !q.Settings.GroupOptional }

const (
	textNoDedup = "The queue should either have ContentBasedDeduplication enabled or MessageDeduplicationId provided explicitly"
	textNoGroup = "The request must contain the parameter MessageGroupId."
	textNotHere = "The request include parameter that is not valid for this queue type."
	batchLimit  = 1 << 20
)

// checkWholeBatch makes the checks of sqs.md 2.8 that refuse the whole request.
func checkWholeBatch(q *Queue, entries []SendEntry) *Error {
	total := int64(0)
	for _, e := range entries {
		if e.Group == nil && q.needsGroup() {
			return &Error{"InvalidParameterValue", textNoGroup}
		}
	}
	for _, e := range entries {
		if e.Dedup == nil && q.needsDedup() {
			return &Error{"InvalidParameterValue", textNoDedup}
		}
	}
	for _, e := range entries {
		total += e.size()
	}
	if total > batchLimit {
		return &Error{
			"BatchRequestTooLong",
			"Batch requests cannot be longer than 1048576 bytes. You have sent " + strconv.FormatInt(total, 10) + " bytes.",
		}
	}
	return nil
}

// checkEntry makes the checks of sqs.md 2.7 in their order.
func checkEntry(q *Queue, e SendEntry, batch bool) *Error {
	s := q.Settings
	invalid := func(value, parameter, reason string) *Error {
		return &Error{"InvalidParameterValue", "Value " + value + " for parameter " + parameter + " is invalid. Reason: " + reason}
	}
	if e.Body == "" && e.Parts.Format == "" {
		return &Error{"MissingRequiredParameter", "The request must contain the parameter MessageBody."}
	}
	if e.size() > s.MaxSize {
		return &Error{
			"InvalidParameterValue",
			"One or more parameters " + pick(batch, "cannot be validated", "are invalid") +
				". Reason: Message must be shorter than " + strconv.FormatInt(s.MaxSize, 10) + " bytes.",
		}
	}
	if e.Parts.Format == "amqp" && e.Body == "" && e.Parts.Sections == "" {
		return &Error{Code: "InvalidParameterValue"}
	}
	if e.Parts.Format == "" && !goodText(e.Body) {
		return &Error{
			"InvalidMessageContents",
			"Invalid characters found. Valid unicode characters are #x9 | #xA | #xD | #x20 to #xD7FF | #xE000 to " +
				"#xFFFD | #x10000 to #x10FFFF",
		}
	}
	if err := checkAttributes(s, e); err != nil {
		return err
	}
	if e.Native && (e.Dedup != nil && !goodNative(*e.Dedup, false) || e.Group != nil && !goodNative(*e.Group, true)) {
		return &Error{Code: "InvalidParameterValue"}
	}
	if !e.Native && e.Dedup != nil && !goodID(*e.Dedup) {
		return badID("MessageDeduplicationId", *e.Dedup)
	}
	if !e.Native && e.Group != nil && !goodID(*e.Group) {
		return badID("MessageGroupId", *e.Group)
	}
	if err := checkOptions(q, e); err != nil {
		return err
	}
	if e.Delay != nil && (*e.Delay < 0 || *e.Delay > 900) {
		return invalid(strconv.FormatInt(*e.Delay, 10), "DelaySeconds", "DelaySeconds must be >= 0 and <= 900.")
	}
	if q.FIFO && e.Delay != nil && *e.Delay > 0 {
		return invalid(strconv.FormatInt(*e.Delay, 10), "DelaySeconds", textNotHere)
	}
	if q.needsGroup() && e.Group == nil {
		return &Error{"MissingRequiredParameter", textNoGroup}
	}
	if q.needsDedup() && e.Dedup == nil {
		return &Error{"InvalidParameterValue", textNoDedup}
	}
	if !q.FIFO && e.Dedup != nil {
		return invalid(*e.Dedup, "MessageDeduplicationId", textNotHere)
	}
	return nil
}

// checkAttributes makes those checks of sqs.md 3.4 that were recorded. For the others, only the
// codes are compared.
func checkAttributes(s Settings, e SendEntry) *Error {
	v, err := splitReserved(s, e)
	if err != nil {
		return err
	}
	if e.Native {
		return nil // histories have only valid ones
	}
	if len(v.rest) > 10 {
		return &Error{
			"InvalidParameterValue",
			"Number of message attributes [" + strconv.Itoa(len(v.rest)) + "] exceeds the allowed maximum [10].",
		}
	}
	for _, a := range v.rest {
		if a.Value == "" {
			return &Error{
				"InvalidParameterValue",
				"Message (user) attribute '" + a.Name + "' must contain a non-empty value of type 'String'.",
			}
		}
		if a.Type != "Binary" && !goodText(a.Value) {
			return &Error{Code: "InvalidParameterValue"}
		}
	}
	return nil
}

// accept stores a valid message, unless it is a duplicate.
func (b *Broker) accept(q *Queue, sender string, e SendEntry) Sent {
	v, _ := splitReserved(q.Settings, e)
	v.takeOptions(e)
	m := &Message{Sent: e, Sender: sender, SentAt: b.now, TimeToLive: q.timeToLive(or(e.TimeToLive, 0))}
	m.Sent.Attributes, m.Partition = v.rest, v.partition
	if e.Group != nil {
		m.Group, m.Grouped = *e.Group, true
	}
	if e.Dedup != nil {
		m.DedupID = *e.Dedup
	} else if q.FIFO && q.Settings.ContentBased && !q.Settings.DeduplicationOff {
		m.DedupID = ContentID(e.Body)
	}
	deduplicate := q.FIFO && !q.Settings.DeduplicationOff
	var ids []string
	if deduplicate {
		ids = b.deduplicationIDs(&q.history, m.DedupID, e.Body)
		if first := b.original(&q.history, ids, m.Group, v.partition); first != nil {
			return Sent{
				Message: first.message, Number: first.number, Duplicate: true,
				FirstAt: first.acceptedAt, FirstScheduled: b.isScheduled(q, first.number),
			}
		}
		if !b.committing && b.historyFull(&q.history, len(ids)) {
			return Sent{Err: &Error{Code: "OverLimit"}}
		}
	}
	if err := q.full(m.bytes()); err != nil && !b.committing {
		return Sent{Err: err}
	}
	m.ID = b.newMessageID()
	b.place(q, m, e.Delay, v)
	if deduplicate {
		b.remember(&q.history, ids, m.Group, v.partition, m.ID, m.Number)
	}
	sent := Sent{Message: m.ID}
	if q.FIFO {
		sent.Number = m.Number
	}
	return sent
}

// place adds a new message to the queue: at once, delayed or scheduled.
func (b *Broker) place(q *Queue, m *Message, delay *int64, v reservedValues) {
	m.StartDelay = q.Settings.Delay * 1000
	if delay != nil && !q.FIFO {
		m.StartDelay = *delay * 1000
	}
	// A scheduled time in the past is ignored (servicebus.md 8, 22). One in the future replaces the
	// delay.
	if v.scheduled && v.dueAt > b.now {
		m.StartDelay = 0
		m.Scheduled, m.DueAt = true, v.dueAt
	}
	b.insert(q, m)
}
