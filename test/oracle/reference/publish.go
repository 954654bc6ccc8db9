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
}

// Published is the answer to one PublishEntry.
type Published struct {
	Message    int
	Number     int // 0 on standard topics
	Duplicate  bool
	AcceptedAt int64
}

// Deliveries counts deliveries that did not reach their queue.
type Deliveries struct {
	Arrived int
	// By queue: dropped there as duplicates, moved to a dead-letter queue, lost.
	Deduplicated, DeadLettered, Lost map[string]int
	Filtered                         int
}

func noDeliveries() Deliveries {
	return Deliveries{Deduplicated: map[string]int{}, DeadLettered: map[string]int{}, Lost: map[string]int{}}
}

// Publish implements sns.md 3.5 and 3.6: an error in one entry refuses all.
func (b *Broker) Publish(topic, sender, endpoint string, entries []PublishEntry) ([]Published, Deliveries, *Error) {
	d := noDeliveries()
	for _, e := range entries {
		if err := checkPublish(strings.HasSuffix(topic, ".fifo"), e); err != nil {
			return nil, d, err
		}
	}
	t := b.topics[topic]
	if t == nil {
		return nil, d, topicNotFound()
	}
	for _, e := range entries {
		if t.FIFO && e.Dedup == nil && !t.history.rules.ContentBased {
			return nil, d, invalidTopic("The topic should either have ContentBasedDeduplication enabled or " +
				"MessageDeduplicationId provided explicitly")
		}
	}
	b.tidy(&t.history)
	var answers []Published
	for _, e := range entries {
		answers = append(answers, b.publish(t, sender, endpoint, e, &d))
	}
	return answers, d, nil
}

// checkPublish implements the table of sns.md 3.5, as far as histories need it and without the
// checks that need the topic.
func checkPublish(fifo bool, e PublishEntry) *Error {
	switch {
	case e.Subject != nil && *e.Subject == "":
		return invalidTopic("Subject")
	case e.Message == "":
		return invalidTopic("Empty message")
	case fifo && e.Group == nil:
		return invalidTopic("The MessageGroupId parameter is required for FIFO topics")
	case !fifo && e.Dedup != nil:
		return invalidTopic("MessageDeduplicationId Reason: The request includes MessageDeduplicationId parameter " +
			"that is not valid for this topic type")
	case e.Dedup != nil && !goodID(*e.Dedup):
		return badPublishID("MessageDeduplicationId")
	case e.Group != nil && !goodID(*e.Group):
		return badPublishID("MessageGroupId")
	case !goodText(e.Message):
		return invalidTopic("")
	}
	return nil
}

func badPublishID(name string) *Error {
	return invalidTopic(name + " Reason: can only include alphanumeric and punctuation characters. 1 to 128 in length")
}

// publish accepts a message and delivers it, or returns the first one if it is a duplicate (sns.md
// 4).
func (b *Broker) publish(t *Topic, sender, endpoint string, e PublishEntry, d *Deliveries) Published {
	group, id := orEmpty(e.Group), orEmpty(e.Dedup)
	published := Publication{
		Trace:    e.Trace,
		TopicARN: t.ARN, Subject: orEmpty(e.Subject), Text: e.Message, At: b.now, Attributes: e.Attributes, Endpoint: endpoint,
	}
	var ids []string
	if t.FIFO {
		id = b.publishID(e)
		ids = b.publishIDs(t, e)
		if first := b.original(&t.history, ids, group, ""); first != nil {
			return Published{first.message, first.number, true, first.acceptedAt}
		}
	}
	name := "topic " + t.Name
	b.lastNumber[name]++
	p := Published{Message: b.newMessageID(), Number: b.lastNumber[name], AcceptedAt: b.now}
	if !t.FIFO {
		p.Number = 0
	}
	published.Message, published.Number = p.Message, p.Number
	for _, s := range t.Subscriptions {
		if b.takes(s) {
			b.publishTo(t, s, published, sender, group, id, d)
		}
	}
	t.keep(archived{published, sender, group, id})
	if t.FIFO {
		b.remember(&t.history, ids, group, "", p.Message, p.Number)
	}
	return p
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

// publishTo delivers to a subscription if the message passes its filter, independently of the
// others (sns.md 7).
func (b *Broker) publishTo(t *Topic, s *Subscription, p Publication, sender, group, id string, d *Deliveries) {
	if !s.passes(&p) {
		d.Filtered++
		return
	}
	p.Subscription, p.Raw = s.ID, s.settings.raw
	m := Message{Sender: sender, Group: group, DedupID: id, Sent: SendEntry{Published: &p, Trace: p.Trace}}
	if s.settings.raw {
		m.Sent.Body, m.Sent.Attributes = p.Text, p.Attributes
		if p.Replayed {
			m.Sent.Attributes = markReplayed(p.Attributes)
		}
	}
	// More attributes than SQS accepts are a client-side error (sns.md 6).
	fits := !s.settings.raw || len(p.Attributes) <= 10
	b.deliverTo(t, s, m, fits, d)
}

// markReplayed returns the attributes of a replayed message with raw delivery.
func markReplayed(given []Attribute) []Attribute {
	others := slices.DeleteFunc(slices.Clone(given), func(a Attribute) bool { return a.Name == "Replayed" })
	return append(others, Attribute{Name: "Replayed", Type: "String", Value: "true"})
}

// deliverTo delivers to the queue of a subscription, or else to its dead-letter queue, subject to
// the deduplication of that queue.
func (b *Broker) deliverTo(t *Topic, s *Subscription, m Message, fits bool, d *Deliveries) {
	came := "failed"
	if fits {
		came = b.put(t, s.Queue, m)
	}
	switch {
	case came == "arrived":
		d.Arrived++
	case came == "duplicate":
		d.Deduplicated[s.Queue]++
	case s.settings.deadLetter == "":
		d.Lost[s.Queue]++
	default:
		switch b.put(t, s.settings.deadLetter, m) {
		case "arrived":
			d.DeadLettered[s.Queue]++
		case "duplicate":
			d.Deduplicated[s.settings.deadLetter]++
		default:
			d.Lost[s.Queue]++
		}
	}
}

// put delivers to a queue (sns.md 5). A FIFO queue gets group and effective id, and applies its own
// rules to them, but does not compare contents. A standard queue gets neither of them.
func (b *Broker) put(t *Topic, name string, m Message) string {
	q := b.queues[name]
	if q == nil || q.FIFO && !t.FIFO {
		return "failed"
	}
	if !q.FIFO {
		m.DedupID = ""
		if t.FIFO {
			m.Group = ""
		}
	}
	if m.Grouped = m.Group != ""; m.Grouped {
		m.Sent.Group = &m.Group
	}
	ids := []string{m.DedupID}
	// A replayed delivery is not deduplicated by the queue (sns.md 9).
	deduplicates := q.FIFO && !q.Settings.DeduplicationOff && (!m.Sent.Published.Replayed)
	if deduplicates {
		if b.original(&q.history, ids, m.Group, "") != nil {
			return "duplicate"
		}
		if b.historyFull(&q.history, 1) {
			return "failed"
		}
	}
	m.ID, m.SentAt, m.TimeToLive = b.newMessageID(), b.now, q.timeToLive(0)
	b.place(q, &m, nil, reservedValues{})
	if deduplicates {
		b.remember(&q.history, ids, m.Group, "", m.ID, m.Number)
	}
	return "arrived"
}
