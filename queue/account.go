package queue

import (
	"encoding/hex"
	"strconv"
	"strings"

	"github.com/seriatimq/seriatim/queue/access"
	"github.com/seriatimq/seriatim/queue/attributes"
	"github.com/seriatimq/seriatim/queue/deduplication"
	"github.com/seriatimq/seriatim/queue/limits"
	"github.com/seriatimq/seriatim/queue/message"
	"github.com/seriatimq/seriatim/queue/notification"
	"github.com/seriatimq/seriatim/queue/refusal"
	"github.com/seriatimq/seriatim/queue/statehash"
	"github.com/seriatimq/seriatim/queue/topic"
)

// applyAccess applies a command of package access.
func (b *Broker) applyAccess(c access.Command) (Result, *Error) {
	next, err := c.Apply(b.access, b.accessContext())
	if err != nil {
		return nil, err
	}
	b.access = next
	return Done{}, nil
}

func (b *Broker) accessContext() access.Context {
	return access.Context{Hash: b.key, Now: b.now, Usage: b.usage}
}

// Access returns the access keys, user policies and accounts.
func (v View) Access() *access.Table { return v.b.access }

// AddAccess adds an access key, a user policy, an account or the sealing key.
func (r *Restorer) AddAccess(record access.Record) error {
	next, err := record.Restore(r.b.access, r.b.accessContext())
	if err == nil {
		r.b.access = next
	}
	return err
}

// UseSealingKey replaces the sealing key, or removes it if s is nil. It is not a command: like
// BeginEpoch, it adapts a state to another cluster.
func (b *Broker) UseSealingKey(s *access.SealingKey) { b.access = b.access.WithSealingKey(b.key, s) }

// UseAccessKeys replaces all access keys with those of another state. It is not a command, see
// UseSealingKey.
func (b *Broker) UseAccessKeys(of *access.Table) { b.access = b.access.WithKeysOf(b.key, of) }

// roomForQueues refuses n new queues that exceed the account's quota. It counts the implicit
// queues that attributes a would create.
func (b *Broker) roomForQueues(name string, n int64, a *QueueAttributes) *Error {
	for _, implicit := range implicitQueues(name, a) {
		if _, exists := b.queues.Get(implicit); !exists {
			n++
		}
	}
	owner := access.OwnerOf(name)
	if err := b.access.RefuseUnknown(owner, owner != ""); err != nil {
		return refusal.InvalidParameter(err.Message)
	}
	if u := b.usage.Of(owner); n > 0 && !u.HasRoomForQueues(n) {
		return refusal.New(refusal.OverLimit, "The account has ", strconv.FormatInt(u.Queues, 10), " queues, and its quota is ",
			strconv.FormatInt(u.Quota.Queues, 10), ".")
	}
	return nil
}

// roomForTopic refuses a new topic that exceeds the account's quota.
func (b *Broker) roomForTopic(name string) *Error {
	owner := access.OwnerOf(name)
	if err := b.access.RefuseUnknown(owner, owner != ""); err != nil {
		return refusal.SNSInvalid(err.Message)
	}
	if u := b.usage.Of(owner); !u.HasRoomForTopic() {
		return refusal.New(refusal.TopicLimitExceeded, "The account has ", strconv.FormatInt(u.Topics, 10), " topics, and its quota is ",
			strconv.FormatInt(u.Quota.Topics, 10), ".")
	}
	return nil
}

// roomFor refuses a message that exceeds the size of the queue or the quota of its account.
func (b *Broker) roomFor(q *Queue, s *sending) *Error {
	return b.roomForMessages(q, 1, message.Size(s.entry.Body, s.placing.attributes)+s.encoded.Size())
}

func (b *Broker) roomForMessages(q *Queue, messages, bytes int64) *Error {
	if err := q.roomForBytes(bytes); err != nil {
		return err
	}
	u := q.sums.usage
	has := u.Counted()
	if u.Quota.HasRoomForMessages(has, messages, bytes) {
		return nil
	}
	return overQuota(refusal.OverLimit, has)
}

// roomForBytes refuses messages that exceed the size of the queue.
func (q *Queue) roomForBytes(bytes int64) *Error {
	limit := q.attributes.SizeMax()
	if limit == 0 || q.sums.contentBytes+bytes <= limit {
		return nil
	}
	return refusal.New(refusal.QuotaExceeded, "The queue holds ", strconv.FormatInt(q.sums.contentBytes, 10),
		" bytes of messages, and its MaxSizeInMegabytes allows ", strconv.FormatInt(limit, 10),
		". Nothing was stored: retry when some were deleted.")
}

func overQuota(code refusal.Code, has access.Amount) *Error {
	return refusal.New(code, "The quota of the account is exhausted: it has ", strconv.FormatInt(has.Messages, 10), " messages of ",
		strconv.FormatInt(has.Bytes, 10), " bytes. Nothing was stored: retry when some were deleted.")
}

// roomForPublish refuses a publish that exceeds MaxDeduplicationEntries of the topic, or the quota of
// its account. Each message counts once for each copy that the topic itself stores, and at least once.
// Deliveries to queues are not checked: an accepted message goes to every subscription.
func (b *Broker) roomForPublish(t *topic.Topic, entries []publishing) *Error {
	u, idsMax := b.usage.Of(access.OwnerOf(t.Name)), t.Attributes.Deduplication.EntriesMax
	if u.Quota.Messages == 0 && u.Quota.Bytes == 0 && idsMax == 0 && t.Attributes.SizeMax() == 0 {
		return nil
	}
	var sent deduplication.Batch
	messages, bytes, ids, once := int64(0), int64(0), int64(0), int64(0)
	for i := range entries {
		p := &entries[i]
		if t.Deduplicates() {
			added := t.Deduplication.Adds(b.key, p.ids, &sent, b.now)
			if ids += added; added == 0 {
				continue
			}
		}
		copies := max(1, b.copiesKept(t, p))
		messages += copies
		bytes += copies * p.size()
		once += p.size()
	}
	if err := b.topicFull(t, once); err != nil {
		return err
	}
	if idsMax > 0 && ids > 0 && t.Deduplication.CountLive(b.now)+ids > idsMax {
		return refusal.New(refusal.Throttled, "The topic remembers as many deduplication ids as MaxDeduplicationEntries allows. "+
			"Nothing was published: raise the limit, shorten the window, or retry when ids have expired.")
	}
	has := u.Counted()
	if messages == 0 || u.Quota.HasRoomForMessages(has, messages, bytes) {
		return nil
	}
	return overQuota(refusal.Throttled, has)
}

// topicFull refuses messages with which the queues of a topic would hold more than its
// MaxSizeInMegabytes. No bytes are never too many: all messages are duplicates.
func (b *Broker) topicFull(t *topic.Topic, bytes int64) *Error {
	limit := t.Attributes.SizeMax()
	if limit == 0 || bytes == 0 || b.usage.Bytes()+bytes <= limit { // most topics need no look at their queues
		return nil
	}
	held := int64(0)
	t.ScanSubscriptions(func(s *topic.Subscription) bool {
		if q, ok := b.queues.Get(s.Queue); ok {
			held += q.sums.contentBytes
		}
		return true
	})
	if held+bytes <= limit {
		return nil
	}
	return refusal.New(refusal.QuotaExceeded, "The queues of the topic hold ", strconv.FormatInt(held, 10),
		" bytes of messages, and its MaxSizeInMegabytes allows ", strconv.FormatInt(limit, 10),
		". Nothing was published: retry when some were deleted.")
}

// copiesKept counts the copies that a topic stores itself: one in its archive, and one for each
// HTTP subscriber. If the outbox is full, that copy goes to a dead-letter queue of the same
// account. A scheduled message has one copy until it is published.
func (b *Broker) copiesKept(t *topic.Topic, p *publishing) (copies int64) {
	if p.placing.scheduledAt > b.now {
		return 1
	}
	if t.Attributes.Archive.Days > 0 {
		copies++
	}
	n := &notification.Notification{
		Message: message.NewBody(p.entry.Message), Attributes: p.placing.attributes, Encoded: p.entry.Encoded, Timestamp: b.now,
	}
	var in filterInput
	t.ScanSubscriptions(func(s *topic.Subscription) bool {
		if s.Attributes.Ends.Protocol.Web() && in.reaches(s, n) {
			copies++
		}
		return true
	})
	return copies
}

// Usage returns the usage that counts against the quota of an account. Owner is empty for the
// cluster's own account.
func (v View) Usage(owner string) access.Amount {
	return v.b.usage.Counted(owner)
}

// Names of cluster settings, on which all nodes must agree. The leader proposes them with
// SetClusterSetting.
const (
	// SettingClusterID identifies the cluster; set once.
	SettingClusterID = "cluster-id"
	// SettingReceiptKey is the key of identifiers, handles and the state
	// hash: 32 lower-case hex digits, set once.
	SettingReceiptKey = "receipt-key"
	// SettingMinimumWindow is the lower bound in seconds of
	// DeduplicationWindowSeconds and ReceiveAttemptWindowSeconds, 1..20.
	SettingMinimumWindow = "minimum-window-seconds"
	// SettingAWSCooldowns is "true" if DeleteQueue and PurgeQueue have AWS's cool-offs of 60
	// seconds.
	SettingAWSCooldowns = "aws-cooldowns"
)

// SetClusterSetting sets a cluster setting.
type SetClusterSetting struct{ Name, Value string }

// QueueName implements Command.
func (*SetClusterSetting) QueueName() string { return "" }

// Validate checks the value against the rule of its setting.
func (c *SetClusterSetting) Validate() *Error {
	ok, rule := false, ""
	switch c.Name {
	case SettingClusterID:
		ok = c.Value != "" && len(c.Value) <= clusterIDLengthMax && !message.BadCharacter(c.Value)
		rule = "must have 1 to 64 characters"
	case SettingReceiptKey:
		ok = len(c.Value) == receiptKeyLength && strings.Trim(c.Value, "0123456789abcdef") == ""
		rule = "must be 32 lower-case hexadecimal digits"
	case SettingMinimumWindow:
		n, isNumber := message.ParseNumber(c.Value)
		ok = isNumber && n >= 1 && n <= limits.DeduplicationSecondsMin
		rule = "must be between 1 and 20"
	case SettingAWSCooldowns:
		ok = c.Value == "true" || c.Value == "false"
		rule = "must be true or false"
	default:
		return refusal.New(refusal.InvalidClusterSetting, "there is no cluster setting ", c.Name)
	}
	if !ok {
		return refusal.New(refusal.InvalidClusterSetting, "cluster setting ", c.Name, " ", rule)
	}
	return nil
}

func (c *SetClusterSetting) apply(b *Broker) (Result, *Error) {
	old, known := b.settings.Get(c.Name)
	once := c.Name == SettingClusterID || c.Name == SettingReceiptKey
	if once && known && old != c.Value {
		return nil, refusal.New(refusal.InvalidClusterSetting, "The setting ", c.Name, " was set already and never changes.")
	}
	if c.Name == SettingReceiptKey && !known && b.queues.Len()+b.topics.Len() > 0 {
		return nil, refusal.New(refusal.InvalidClusterSetting, "The setting ", c.Name, " must be set before the first queue is created.")
	}
	b.settings.Set(c.Name, c.Value)
	b.useSettings()
	return Done{}, nil
}

// useSettings caches the key, which most commands need.
func (b *Broker) useSettings() {
	text, _ := b.settings.Get(SettingReceiptKey)
	if raw, err := hex.DecodeString(text); err == nil && len(raw) == 16 {
		b.key = statehash.NewKey([16]byte(raw))
	}
}

func (b *Broker) minimumWindow() int64 {
	text, _ := b.settings.Get(SettingMinimumWindow)
	if seconds, err := strconv.ParseInt(text, 10, 64); err == nil {
		return seconds
	}
	return limits.DeduplicationSecondsMin
}

// assignment returns the context for parsing attributes of a command.
func (b *Broker) assignment() attributes.Assignment {
	return attributes.Assignment{MinimumWindow: b.minimumWindow()}
}

func (b *Broker) cooldowns() bool {
	text, _ := b.settings.Get(SettingAWSCooldowns)
	return text == "true"
}

// SetFormatVersion raises the version of commands and snapshots that the cluster may write. It
// never falls.
//
// A rule that changes with a version checks Broker.formatVersion and keeps both branches: replicas
// of different releases must reach the same state from the same log.
type SetFormatVersion struct{ Version uint32 }

// QueueName implements Command.
func (*SetFormatVersion) QueueName() string { return "" }

// Validate refuses version 0, that of a new state.
func (c *SetFormatVersion) Validate() *Error {
	if c.Version == 0 {
		return refusal.New(refusal.InvalidFormatVersion, "the format version must be above 0")
	}
	return nil
}

func (c *SetFormatVersion) apply(b *Broker) (Result, *Error) {
	if c.Version < b.formatVersion {
		return nil, refusal.New(refusal.InvalidFormatVersion, "The format version never goes down: it is ",
			strconv.FormatUint(uint64(b.formatVersion), 10), ".")
	}
	b.formatVersion = c.Version
	return Done{}, nil
}
