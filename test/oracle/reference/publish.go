package reference

import (
	"slices"
	"strings"
)

// PublishEntry is a message to publish; nil means not given.
type PublishEntry struct {
	Message    string
	Subject    *string
	Attributes []Attribute
	Group      *string
	Dedup      *string
	Trace      string
	// EnqueueAt and Partition are options, which need no reserved attributes.
	EnqueueAt  *int64
	Partition  *string
	TimeToLive *int64
	Hops       int // times that it was forwarded
}

// Publication is an accepted publish (sns.md 6). Queues with raw delivery get its text and
// attributes, other queues get an envelope.
type Publication struct {
	TopicARN     string
	Message      int // that of the topic
	Number       int // that of the topic, 0 in standard topics
	Subject      string
	Trace        string
	Text         string
	At           int64
	Attributes   []Attribute
	Endpoint     string
	Subscription int
	Raw          bool
	Replayed     bool
	Partition    string
	TimeToLive   int64 // in the queues; 0: not asked for
	Hops         int
}

// Published is the answer to one PublishEntry.
type Published struct {
	Message    int
	Number     int // 0 on standard topics
	Duplicate  bool
	AcceptedAt int64
	// FirstScheduled tells of a duplicate that the first message is still scheduled.
	FirstScheduled bool
}

// Deliveries counts deliveries that did not reach their queue.
type Deliveries struct {
	Arrived int
	// By queue: dropped there as duplicates, moved to a dead-letter queue, lost.
	Deduplicated, DeadLettered, Lost map[string]int
	Filtered                         int
	Scheduled                        int // messages that were published because they were due
	Changed, Failed                  int // copies by rules with actions; messages for which a rule failed
}

func noDeliveries() Deliveries {
	return Deliveries{Deduplicated: map[string]int{}, DeadLettered: map[string]int{}, Lost: map[string]int{}}
}

// Deliveries returns those of all publishes and replays since the last Advance, which may have
// published scheduled messages.
func (b *Broker) Deliveries() Deliveries { return b.deliveries }

// Publish implements sns.md 3.5 and 3.6: an error in one entry refuses all.
func (b *Broker) Publish(topic, sender, endpoint string, entries []PublishEntry) ([]Published, *Error) {
	for _, e := range entries {
		if err := checkPublish(strings.HasSuffix(topic, ".fifo"), e); err != nil {
			return nil, err
		}
	}
	t := b.topics[topic]
	if t == nil {
		return nil, topicNotFound()
	}
	if err := b.refusesPublish(t, entries); err != nil {
		return nil, err
	}
	var answers []Published
	t.usedAt = b.now
	for _, e := range entries {
		answers = append(answers, b.publish(t, sender, endpoint, e))
	}
	return answers, nil
}

// refusesPublish makes the checks that need the topic.
func (b *Broker) refusesPublish(t *Topic, entries []PublishEntry) *Error {
	if refuses, _ := statusOf(t.settings.status); refuses {
		return disabled()
	}
	for _, e := range entries {
		if err := t.check(e); err != nil {
			return err
		}
	}
	b.tidy(&t.history)
	if err := b.topicFull(t, entries); err != nil {
		return err
	}
	if b.tooManyIDs(t, entries) {
		return &Error{Code: "Throttled"}
	}
	return nil
}

// checkPublish implements the table of sns.md 3.5, as far as histories need it and without the
// checks that need the topic.
func checkPublish(fifo bool, e PublishEntry) *Error {
	switch {
	case e.Subject != nil && *e.Subject == "":
		return invalidTopic("Subject")
	case e.Message == "":
		return invalidTopic("Empty message")
	case !fifo && (e.EnqueueAt != nil || e.Partition != nil || e.TimeToLive != nil):
		return &Error{Code: "UnsupportedOperation"}
	case !fifo && e.Dedup != nil:
		return invalidTopic("MessageDeduplicationId Reason: The request includes MessageDeduplicationId parameter " +
			"that is not valid for this topic type")
	case e.Dedup != nil && !goodID(*e.Dedup):
		return badPublishID("MessageDeduplicationId")
	case e.Group != nil && !goodID(*e.Group):
		return badPublishID("MessageGroupId")
	case e.EnqueueAt != nil && *e.EnqueueAt < 0, e.TimeToLive != nil && *e.TimeToLive < 0,
		e.Partition != nil && (!goodID(*e.Partition) || e.Group != nil && *e.Group != *e.Partition):
		return invalidTopic("")
	case !goodText(e.Message):
		return invalidTopic("")
	}
	return nil
}

func badPublishID(name string) *Error {
	return invalidTopic(name + " Reason: can only include alphanumeric and punctuation characters. 1 to 128 in length")
}

// check makes the checks that need the topic.
func (t *Topic) check(e PublishEntry) *Error {
	rules := &t.settings
	switch {
	case t.FIFO && !rules.groupOptional && e.Group == nil:
		return invalidTopic("The MessageGroupId parameter is required for FIFO topics")
	case t.FIFO && e.Dedup == nil && !rules.ContentBased && !rules.DeduplicationOff:
		return invalidTopic("The topic should either have ContentBasedDeduplication enabled or " +
			"MessageDeduplicationId provided explicitly")
	}
	if _, err := t.values(e); err != nil {
		return &Error{Code: "ParameterValueInvalid"}
	}
	return nil
}

// values returns the scheduled time, the partition key and the other attributes of an entry.
func (t *Topic) values(e PublishEntry) (reservedValues, *Error) {
	v, err := splitReserved(Settings{Reserved: t.settings.reserved}, SendEntry{Attributes: e.Attributes, Group: e.Group})
	v.takeOptions(SendEntry{EnqueueAt: e.EnqueueAt, Partition: e.Partition, TimeToLive: e.TimeToLive})
	if limit := t.settings.timeToLive * 1000; limit > 0 && (v.timeToLive == 0 || limit < v.timeToLive) {
		v.timeToLive = limit
	}
	return v, err
}

// tooManyIDs reports whether a publish would exceed MaxDeduplicationEntries.
func (b *Broker) tooManyIDs(t *Topic, entries []PublishEntry) bool {
	if t.settings.DeduplicationOff || t.settings.MaxEntries == 0 {
		return false
	}
	added := 0
	trial := b.eachNew(t, entries, func(PublishEntry) { added++ })
	return added > 0 && b.liveCount(&trial) > t.settings.MaxEntries
}

// eachNew visits the entries that are no duplicates. It tries on a copy what they add, and returns it.
func (b *Broker) eachNew(t *Topic, entries []PublishEntry, visit func(PublishEntry)) history {
	trial := t.history
	trial.accepted = slices.Clone(trial.accepted)
	for _, e := range entries {
		if !t.FIFO || t.settings.DeduplicationOff {
			visit(e)
			continue
		}
		v, _ := t.values(e)
		ids, group := b.publishIDs(t, e), orEmpty(e.Group)
		if b.original(&trial, ids, group, v.partition) == nil {
			b.remember(&trial, ids, group, v.partition, 0, 0)
			visit(e)
		}
	}
	return trial
}

// publish accepts a message and delivers or schedules it, or returns the first one if it is a
// duplicate (sns.md 4, servicebus.md 4).
func (b *Broker) publish(t *Topic, sender, endpoint string, e PublishEntry) Published {
	v, _ := t.values(e)
	a := archived{sender: sender, group: orEmpty(e.Group), id: orEmpty(e.Dedup)}
	a.Publication = Publication{
		Trace: e.Trace, Partition: v.partition, TimeToLive: v.timeToLive, Hops: e.Hops,
		TopicARN: t.ARN, Subject: orEmpty(e.Subject), Text: e.Message, At: b.now, Attributes: v.rest, Endpoint: endpoint,
	}
	var ids []string
	if t.FIFO && !t.settings.DeduplicationOff {
		a.id = b.publishID(e)
		ids = b.publishIDs(t, e)
		if first := b.original(&t.history, ids, a.group, v.partition); first != nil {
			return Published{first.message, first.number, true, first.acceptedAt, t.scheduledAt(first.number) >= 0}
		}
	}
	p := Published{Message: b.newMessageID(), Number: b.nextNumber(t), AcceptedAt: b.now}
	a.Message, a.Number = p.Message, p.Number
	b.remember(&t.history, ids, a.group, v.partition, p.Message, p.Number)
	if v.scheduled && v.dueAt > b.now {
		a.At = v.dueAt
		t.scheduled = append(t.scheduled, a)
		return p
	}
	b.distribute(t, a)
	return p
}

// nextNumber returns the next number of a topic, 0 in standard topics.
func (b *Broker) nextNumber(t *Topic) int {
	if !t.FIFO {
		return 0
	}
	b.lastNumber["topic "+t.Name]++
	return b.lastNumber["topic "+t.Name]
}

// distribute delivers a message and keeps it in the archive.
func (b *Broker) distribute(t *Topic, a archived) {
	for _, s := range t.Subscriptions {
		if b.takes(s) {
			b.publishTo(t, s, a.Publication, a.sender, a.group, a.id, &b.deliveries)
		}
	}
	t.keep(a)
}

// publishID returns the id of an entry in a FIFO topic. publishIDs returns the ids that the topic
// compares.
func (b *Broker) publishID(e PublishEntry) string {
	if orEmpty(e.Dedup) != "" {
		return *e.Dedup
	}
	return ContentID(e.Message)
}

func (b *Broker) publishIDs(t *Topic, e PublishEntry) []string {
	return b.deduplicationIDs(&t.history, b.publishID(e), e.Message)
}

func orEmpty(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}

// publishTo delivers the copies that the rules of a subscription select, if the message passes its
// filter, independently of other subscriptions (sns.md 7).
func (b *Broker) publishTo(t *Topic, s *Subscription, p Publication, sender, group, id string, d *Deliveries) {
	if !s.passes(&p) {
		d.Filtered++
		return
	}
	p.Subscription, p.Raw = s.ID, s.settings.raw
	original := ruleCopy{published: p, group: group, partition: p.Partition, timeToLive: p.TimeToLive}
	copies, why := s.copies(t.FIFO, original, id)
	for _, c := range copies {
		if c.changes != nil {
			d.Changed++
		}
	}
	if why != nil {
		d.Failed++
	}
	o := outgoing{b: b, topic: t, to: s, original: original, sender: sender, id: id, d: d}
	first, firstDead := "", ""
	for _, c := range copies {
		// More attributes than SQS accepts are a client-side error (sns.md 6).
		came := "failed"
		if !s.settings.raw || len(p.Attributes) <= 10 {
			came = b.put(t, s.Queue, o.message(c), c.due, false, &first)
		}
		switch came {
		case "arrived":
			d.Arrived++
		case "duplicate":
			d.Deduplicated[s.Queue]++
		case "ungrouped":
			o.failed(reasons("Session id is null.", "Session enabled entity doesn't allow a message whose session identifier is null."))
		default:
			o.deadLetter(s.settings.deadLetter, c, &firstDead)
		}
	}
	if why != nil && s.settings.dropFaulty {
		d.Lost[s.Queue]++
	} else if why != nil {
		o.failed(why)
	}
}

// outgoing is a publication on its way to a subscription.
type outgoing struct {
	b          *Broker
	topic      *Topic
	to         *Subscription
	original   ruleCopy
	sender, id string
	d          *Deliveries
}

// message returns the message of a copy.
func (o *outgoing) message(c ruleCopy) Message {
	p := c.published
	m := Message{Sender: o.sender, Group: c.group, DedupID: o.id, Partition: c.partition, Source: c.source, Hops: p.Hops}
	m.Sent = SendEntry{Published: &p, Trace: p.Trace}
	if p.Raw {
		m.Sent.Body, m.Sent.Attributes = p.Text, o.original.published.Attributes
		m.Sent.Parts, _ = Parts{}.with(c.changes)
		if p.Replayed {
			m.Sent.Attributes = markReplayed(m.Sent.Attributes)
		}
	}
	for _, a := range c.why {
		m.Sent.Attributes = withAttribute(m.Sent.Attributes, a.Name, a.Value)
	}
	m.TimeToLive = c.timeToLive
	return m
}

// failed delivers the message to a dead-letter queue with a reason: that of the subscription, or else
// that of its queue.
func (o *outgoing) failed(why []Attribute) {
	target := o.to.settings.deadLetter
	if q := o.b.queues[o.to.Queue]; q != nil && target == "" {
		if own := o.b.queues[q.redrive().Target]; own != nil && own != q && own.FIFO == q.FIFO {
			target = own.Name
		}
	}
	c := o.original
	c.why, c.timeToLive = why, 0
	if target != o.to.Queue {
		c.source = o.to.Queue
	}
	first := ""
	o.deadLetter(target, c, &first)
}

func (o *outgoing) deadLetter(target string, c ruleCopy, first *string) {
	came := "failed"
	if target != "" {
		came = o.b.put(o.topic, target, o.message(c), c.due, true, first)
	}
	switch came {
	case "arrived":
		o.d.DeadLettered[o.to.Queue]++
	case "duplicate":
		o.d.Deduplicated[target]++
	default:
		o.d.Lost[o.to.Queue]++
	}
}

// markReplayed returns the attributes of a replayed message with raw delivery.
func markReplayed(given []Attribute) []Attribute {
	others := slices.DeleteFunc(slices.Clone(given), func(a Attribute) bool { return a.Name == "Replayed" })
	return append(others, Attribute{Name: "Replayed", Type: "String", Value: "true"})
}

// put delivers to a queue (sns.md 5). A FIFO queue gets group, partition key and effective id, and
// applies its own rules to them, but does not compare contents: once for all copies of a publication,
// of which first tells what became. A standard queue gets none of them. A queue that needs a group takes
// a message without one only as a dead letter.
func (b *Broker) put(t *Topic, name string, m Message, v reservedValues, dead bool, first *string) string {
	q := b.queues[name]
	switch {
	case q == nil || q.FIFO && !t.FIFO:
		return "failed"
	case q.needsGroup() && m.Group == "" && !dead:
		return "ungrouped"
	case *first == "duplicate":
		return *first
	}
	b.begin(q)
	if !q.FIFO {
		m.DedupID, m.Partition, v = "", "", reservedValues{}
		if t.FIFO {
			m.Group = ""
		}
	}
	v.partition = m.Partition
	if m.Grouped = m.Group != ""; m.Grouped {
		m.Sent.Group = &m.Group
	}
	ids := []string{m.DedupID}
	// A replayed delivery is not deduplicated by the queue (sns.md 9).
	deduplicates := q.FIFO && !q.Settings.DeduplicationOff && !m.Sent.Published.Replayed && m.DedupID != "" && *first == ""
	if deduplicates {
		if b.original(&q.history, ids, m.Group, v.partition) != nil {
			*first = "duplicate"
			return *first
		}
		if b.historyFull(&q.history, 1) {
			return "failed"
		}
	}
	*first = "arrived"
	m.ID, m.SentAt, m.TimeToLive = b.newMessageID(), b.now, q.timeToLive(m.TimeToLive)
	b.place(q, &m, nil, v)
	if deduplicates {
		b.remember(&q.history, ids, m.Group, v.partition, m.ID, m.Number)
	}
	return *first
}
