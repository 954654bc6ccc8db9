package queue

import (
	"errors"
	"fmt"

	"github.com/seriatimq/seriatim/queue/access"
	"github.com/seriatimq/seriatim/queue/arn"
	"github.com/seriatimq/seriatim/queue/attributes"
	"github.com/seriatimq/seriatim/queue/deduplication"
	"github.com/seriatimq/seriatim/queue/filter"
	"github.com/seriatimq/seriatim/queue/limits"
	"github.com/seriatimq/seriatim/queue/notification"
	"github.com/seriatimq/seriatim/queue/outbox"
	"github.com/seriatimq/seriatim/queue/policy"
	"github.com/seriatimq/seriatim/queue/rules"
	"github.com/seriatimq/seriatim/queue/topic"
)

// TopicRecord is a topic without its subscriptions.
type TopicRecord struct {
	Name         string
	ARN          string
	Incarnation  uint64
	Attributes   TopicAttributes
	Tags         []Tag // sorted by key
	CreatedAt    Timestamp
	ModifiedAt   Timestamp
	LastSequence uint64 // the highest number used
	Unsubscribed uint64
	DeadBefore   Timestamp // deduplication records accepted by then are expired
	// ArchivedSince is at or before every publication that can be replayed, zero without an
	// archive.
	ArchivedSince Timestamp
	ForgotAt      Timestamp // last time an id was forgotten by command, zero: never
	UsedAt        Timestamp // last use by a client, see NoteUse
}

// SubscriptionRecord is one subscription of a topic. The filter is stored as text.
type SubscriptionRecord struct {
	Number       uint64
	ID           MessageID
	Endpoint     string
	QueueOwner   string // account of the queue, empty for the cluster's own
	Owner        string
	Principal    string
	RawDelivery  bool
	FilterPolicy string
	FilterScope  filter.Scope
	DeadLetter   policy.DeadLetter
	DropFaulty   bool // DeadLetterOnFilterError=false
	OwnRules     bool // RuleRecords follow; otherwise it has the default rule
	Replay       policy.Replay
	ReplayStatus attributes.ReplayStatus
	ReplayNext   uint64 // next number of a replay in progress
	// Set for URLs only. DeliveryPolicy is a text.
	Protocol       attributes.Protocol
	DeliveryPolicy string
	Confirmation   Confirmation
}

// RuleRecord is one rule of a subscription.
type RuleRecord struct {
	Subscription uint64 // number
	Definition   rules.Definition
	CreatedAt    Timestamp
}

// OutboxRecord is one pending HTTP delivery.
type OutboxRecord struct {
	Subscription  uint64 // number of the subscription
	Number        uint64 // number of the publication in its topic; zero: a request to confirm
	PublicationID MessageID
	// Content is the publication, nil for a request to confirm. It must be set unless an earlier
	// record refers to the publication.
	Content  *notification.Notification
	Attempts uint32
	DueAt    Timestamp
}

// Confirmation is the state of a URL's confirmation.
type Confirmation = topic.Confirmation

// ArchivedRecord is one publication in the archive of a topic.
type ArchivedRecord struct {
	PublicationID MessageID
	// Content is the publication. It must be set unless a message record refers to the publication.
	Content *notification.Notification
}

// ScheduledRecord is one message that a topic publishes later. Its Timestamp is the time at which it is
// due. No other record refers to the publication.
type ScheduledRecord struct {
	PublicationID MessageID
	Content       *notification.Notification
}

// Topics visits the topics in order of name.
func (f *Frozen) Topics(yield func(FrozenTopic) bool) {
	f.topics.Scan(func(t *topic.Topic) bool { return yield(FrozenTopic{t, f.outbox}) })
}

// FrozenTopic is one topic of a Frozen state.
type FrozenTopic struct {
	t      *topic.Topic
	outbox outbox.Frozen
}

// Record returns the topic without its subscriptions.
func (f FrozenTopic) Record() TopicRecord {
	t := f.t
	return TopicRecord{
		Name: t.Name, ARN: t.ARN, Incarnation: t.Incarnation, Attributes: t.Attributes, Tags: t.Tags,
		CreatedAt: t.CreatedAt, ModifiedAt: t.ModifiedAt,
		LastSequence: t.LastSequence, Unsubscribed: t.Unsubscribed, DeadBefore: t.Deduplication.DeadBefore(),
		ArchivedSince: t.ArchivedSince(), ForgotAt: t.ForgotAt, UsedAt: t.UsedAt,
	}
}

// Subscriptions visits the subscriptions in order of number.
func (f FrozenTopic) Subscriptions(yield func(SubscriptionRecord) bool) {
	f.t.ScanSubscriptions(func(s *topic.Subscription) bool {
		a := &s.Attributes
		return yield(SubscriptionRecord{
			Number: s.Number, ID: s.ID, Endpoint: s.Endpoint, QueueOwner: access.OwnerOf(s.Queue), Owner: s.Owner, Principal: s.Principal,
			RawDelivery: a.RawDelivery, FilterPolicy: a.Filter.Text(), FilterScope: a.FilterScope,
			DeadLetter: a.DeadLetter, DropFaulty: a.DropFaulty, OwnRules: s.Rules != nil,
			Replay: a.Replay, ReplayStatus: a.ReplayStatus, ReplayNext: s.ReplayNext,
			Protocol: a.Ends.Protocol, DeliveryPolicy: a.Delivery.Text, Confirmation: s.Confirmation,
		})
	})
}

// Rules visits the rules of the subscriptions that have not only the default, by subscription and name.
func (f FrozenTopic) Rules(yield func(RuleRecord) bool) {
	f.t.ScanSubscriptions(func(s *topic.Subscription) bool {
		if s.Rules == nil {
			return true
		}
		for _, r := range s.Rules.All() {
			if !yield(RuleRecord{Subscription: s.Number, Definition: r.Definition, CreatedAt: r.CreatedAt}) {
				return false
			}
		}
		return true
	})
}

// Deduplication visits the remembered ids in order of acceptance.
func (f FrozenTopic) Deduplication(yield func(DeduplicationRecord) bool) {
	f.t.Deduplication.Scan(func(r deduplication.Record) bool { return yield(deduplicationRecord(r)) })
}

// Archive visits the archived publications in order of number.
func (f FrozenTopic) Archive(yield func(ArchivedRecord) bool) {
	f.t.ScanArchive(0, func(p *topic.Publication) bool {
		return yield(ArchivedRecord{PublicationID: p.Content().MessageID, Content: p.Content()})
	})
}

// Outbox visits pending HTTP deliveries, by subscription and number.
func (f FrozenTopic) Outbox(yield func(OutboxRecord) bool) {
	more := true
	f.t.ScanSubscriptions(func(s *topic.Subscription) bool {
		f.outbox.Scan(s.Number, func(i *outbox.Item) bool {
			r := OutboxRecord{Subscription: i.Subscription, Number: i.Number, Attempts: i.Attempts, DueAt: i.DueAt}
			if i.Publication != nil {
				r.Content = i.Publication.Content()
				r.PublicationID = r.Content.MessageID
			}
			more = yield(r)
			return more
		})
		return more
	})
}

// Scheduled visits the scheduled messages in order of number.
func (f FrozenTopic) Scheduled(yield func(ScheduledRecord) bool) {
	f.t.ScanScheduled(0, func(p *topic.Publication) bool {
		return yield(ScheduledRecord{PublicationID: p.Content().MessageID, Content: p.Content()})
	})
}

// AddTopic adds a topic. Later calls add records to it.
func (r *Restorer) AddTopic(rec TopicRecord) error {
	if _, known := r.b.topics.Get(rec.Name); known || rec.Name == "" {
		return fmt.Errorf("topic %q is nameless or appears twice", rec.Name)
	}
	if rec.Incarnation == 0 || rec.Incarnation > r.b.nextIncarnation {
		return fmt.Errorf("topic %q has the incarnation %d, the newest is %d", rec.Name, rec.Incarnation, r.b.nextIncarnation)
	}
	if name, ok := arn.Topic(rec.ARN); !ok || name != access.PlainName(rec.Name) || rec.Attributes.FIFO != isFIFOName(rec.Name) {
		return fmt.Errorf("topic %q has the wrong type or the wrong ARN for its name", rec.Name)
	}
	if rec.ArchivedSince != 0 && rec.Attributes.Archive.Days == 0 {
		return fmt.Errorf("topic %q has an archive without a policy", rec.Name)
	}
	t := topic.New(rec.Name, rec.ARN, rec.Incarnation, rec.Attributes, r.b.keptOf(rec.Name))
	t.SetArchivedSince(rec.ArchivedSince)
	t.Tags, t.CreatedAt, t.ModifiedAt = rec.Tags, rec.CreatedAt, rec.ModifiedAt
	t.LastSequence, t.Unsubscribed, t.ForgotAt, t.UsedAt = rec.LastSequence, rec.Unsubscribed, rec.ForgotAt, rec.UsedAt
	t.Deduplication.SetDeadBefore(rec.DeadBefore)
	r.b.addTopic(t)
	r.t = t
	return nil
}

// AddSubscription adds a subscription to the last topic.
func (r *Restorer) AddSubscription(rec SubscriptionRecord) error {
	t := r.t
	if t == nil {
		return errors.New("subscription without a topic")
	}
	ends, name, ok := endsOf(t.Attributes.FIFO, rec.Protocol, rec.Endpoint)
	if !rec.Protocol.Web() {
		name = access.Qualify(rec.QueueOwner, name)
	}
	key := name
	if rec.Protocol.Web() {
		key = rec.Endpoint
	}
	if _, taken := t.SubscriptionOf(key); !ok || taken || t.Subscriptions() >= limits.SubscriptionsMax {
		return fmt.Errorf("topic %q: subscription %d has an invalid endpoint: %q", t.Name, rec.Number, rec.Endpoint)
	}
	if rec.QueueOwner != "" && (rec.Protocol.Web() || !access.IsAccountID(rec.QueueOwner)) {
		return fmt.Errorf("topic %q: subscription %d has a queue of an invalid account: %q", t.Name, rec.Number, rec.QueueOwner)
	}
	if _, known := t.Subscription(rec.ID.String()); known || r.b.topics.SubscriptionKnown(rec.Number) || rec.Number == 0 ||
		rec.Number > r.b.nextIncarnation {
		return fmt.Errorf("topic %q: subscription %d is out of order or appears twice", t.Name, rec.Number)
	}
	if rec.FilterScope > filter.MessageBody || rec.ReplayStatus > attributes.ReplayFailed {
		return fmt.Errorf("topic %q: subscription %d has an unknown filter scope or replay status", t.Name, rec.Number)
	}
	if rec.Protocol.Web() && (rec.OwnRules || rec.DropFaulty) {
		return fmt.Errorf("topic %q: subscription %d of a URL has rules", t.Name, rec.Number)
	}
	if !rec.Protocol.Web() && (rec.Confirmation != topic.Confirmation{} || rec.DeliveryPolicy != "") {
		return fmt.Errorf("topic %q: subscription %d of a queue has fields for URLs", t.Name, rec.Number)
	}
	if !replayCanBe(t, &rec) {
		return fmt.Errorf("topic %q: the replay of subscription %d contradicts itself or the topic", t.Name, rec.Number)
	}
	delivery, reason := policy.ParseDelivery(rec.DeliveryPolicy)
	if reason != "" {
		return fmt.Errorf("topic %q: the delivery policy of subscription %d: %s", t.Name, rec.Number, reason)
	}
	compiled, err := filter.Parse(rec.FilterPolicy, rec.FilterScope)
	if err != nil {
		return fmt.Errorf("topic %q: the filter of subscription %d: %w", t.Name, rec.Number, err)
	}
	var own *rules.Set
	if rec.OwnRules {
		own = rules.NewSet(r.b.key, nil)
	}
	r.b.topics.Put(r.b.key, t, &topic.Subscription{
		Rules:  own,
		Number: rec.Number, ID: rec.ID, ARN: t.NewARN(rec.ID), Endpoint: rec.Endpoint, Queue: name,
		Owner: rec.Owner, Principal: rec.Principal,
		Attributes: attributes.Subscription{
			Ends: ends, RawDelivery: rec.RawDelivery, Filter: compiled, FilterScope: rec.FilterScope,
			DeadLetter: rec.DeadLetter, DropFaulty: rec.DropFaulty, Delivery: delivery, Replay: rec.Replay, ReplayStatus: rec.ReplayStatus,
		},
		ReplayNext: rec.ReplayNext, Confirmation: rec.Confirmation,
	})
	return nil
}

// AddRule adds a rule to a subscription of the last topic.
func (r *Restorer) AddRule(rec RuleRecord) error {
	t, s, ok := r.b.topics.SubscriptionOfNumber(rec.Subscription)
	if !ok || t != r.t || s.Rules == nil {
		return fmt.Errorf("rule %q has no matching subscription", rec.Definition.Name)
	}
	if _, twice := s.Rules.Get(rec.Definition.Name); twice || t.Rules() >= limits.RulesMax {
		return fmt.Errorf("topic %q: rule %q of subscription %d appears twice or exceeds the limit", t.Name, rec.Definition.Name,
			rec.Subscription)
	}
	rule, err := rules.NewRule(r.b.key, rec.Definition, rec.CreatedAt)
	if err != nil {
		return fmt.Errorf("topic %q: rule %q of subscription %d: %w", t.Name, rec.Definition.Name, rec.Subscription, err)
	}
	r.b.topics.Put(r.b.key, t, s.WithRules(s.Rules.Restored(rule)))
	return nil
}

// replayCanBe reports whether a subscription of the topic can have this replay.
func replayCanBe(t *topic.Topic, rec *SubscriptionRecord) bool {
	switch {
	case rec.ReplayNext != 0 && (rec.ReplayStatus != attributes.ReplayInProgress || rec.ReplayNext > t.LastSequence+1):
		return false
	case (rec.Replay.Text == "") != (rec.ReplayStatus == attributes.ReplayNone):
		return false
	}
	return !rec.ReplayStatus.Running() || t.Attributes.Archive.Days > 0 && t.Replays() < limits.ReplaysMax
}

// AddArchived adds a publication to the archive of the last topic.
func (r *Restorer) AddArchived(rec ArchivedRecord) error {
	t := r.t
	if t == nil || t.Attributes.Archive.Days == 0 {
		return errors.New("an archived publication without an archive")
	}
	p, err := r.publication(rec.PublicationID, rec.Content)
	if err != nil {
		return fmt.Errorf("topic %q: the archive: %w", t.Name, err)
	}
	n, last := p.Content(), t.LastArchived()
	if n.SequenceNumber == 0 || uint64(n.SequenceNumber) > t.LastSequence || n.TopicARN != t.ARN ||
		last != nil && (n.SequenceNumber <= last.Content().SequenceNumber || n.Timestamp < last.Content().Timestamp) {
		return fmt.Errorf("topic %q: the archived publication %s is out of order or of another topic", t.Name, rec.PublicationID)
	}
	t.Archive(r.b.key, p)
	return nil
}

// AddOutbox adds an HTTP delivery to a subscription of the last topic.
func (r *Restorer) AddOutbox(rec OutboxRecord) error {
	t, s, ok := r.b.topics.SubscriptionOfNumber(rec.Subscription)
	if !ok || t != r.t || !s.Attributes.Ends.Protocol.Web() || rec.Number > t.LastSequence || s.Pending() != (rec.Number == 0) {
		return fmt.Errorf("delivery %d has no matching subscription", rec.Number)
	}
	if _, twice := r.b.outbox.Get(rec.Subscription, rec.Number); twice || r.b.outbox.LenOf(rec.Subscription) >= limits.OutboxMax {
		return fmt.Errorf("topic %q: delivery %d of subscription %d appears twice or exceeds the limit", t.Name, rec.Number,
			rec.Subscription)
	}
	i := &outbox.Item{Subscription: rec.Subscription, Number: rec.Number, Attempts: rec.Attempts, DueAt: rec.DueAt}
	if rec.Number != 0 {
		p, err := r.publication(rec.PublicationID, rec.Content)
		if err != nil {
			return fmt.Errorf("topic %q: delivery %d of subscription %d: %w", t.Name, rec.Number, rec.Subscription, err)
		}
		if p.Content().TopicARN != t.ARN {
			return fmt.Errorf("topic %q: delivery %d of subscription %d is of another topic", t.Name, rec.Number, rec.Subscription)
		}
		r.publications[rec.PublicationID] = p
		i.Publication = p
		t.Keep(1, p.SentBytes())
	}
	r.b.outbox.Put(r.b.key, i)
	return nil
}

// AddScheduled adds a scheduled message to the last topic.
func (r *Restorer) AddScheduled(rec ScheduledRecord) error {
	t := r.t
	if t == nil || !t.Attributes.FIFO {
		return errors.New("scheduled message without a FIFO topic")
	}
	p, err := r.publication(rec.PublicationID, rec.Content)
	if err != nil {
		return fmt.Errorf("topic %q: %w", t.Name, err)
	}
	n := p.Content()
	number := uint64(n.SequenceNumber)
	if number == 0 || number > t.LastSequence || t.Scheduled(number, 0) != nil || n.Timestamp <= 0 || n.TopicARN != t.ARN {
		return fmt.Errorf("topic %q: scheduled message %d is out of order, appears twice or is of another topic", t.Name, number)
	}
	t.Schedule(r.b.key, p)
	return nil
}

// AddTopicDeduplication adds remembered ids to the last topic.
func (r *Restorer) AddTopicDeduplication(list []DeduplicationRecord) error {
	if r.t == nil {
		return errors.New("deduplication record without a topic")
	}
	if err := r.remember(&r.t.Deduplication, r.t.LastSequence, list); err != nil {
		return fmt.Errorf("topic %q: %w", r.t.Name, err)
	}
	return nil
}
