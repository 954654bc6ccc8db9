package reference

import (
	"maps"
	"slices"
	"strings"
)

// Topic is one topic with its subscriptions (sns.md 3, 4).
type Topic struct {
	Name          string
	ARN           string
	FIFO          bool
	Tags          map[string]string
	history       history
	settings      topicSettings
	Subscriptions []*Subscription // in the order of their creation
	archive       []archived      // in the order of publication
	scheduled     []archived      // in the order of acceptance; At is the time of publication
	archivedSince int64           // nothing before it may be replayed
	changedAt     int64
	usedAt        int64 // by a client
}

// topicSettings contains the attributes of a topic that have rules, and the texts of the others.
type topicSettings struct {
	Deduplication
	archiveDays             int64 // 0: no archive
	timeToLive              int64 // seconds; 0: as the queues say
	groupOptional, reserved bool
	profile, status         string
	maxMegabytes            int64 // 0: no limit
	autoDelete              int64 // seconds; 0: never
	inert                   map[string]string
}

func topicNotFound() *Error { return &Error{"NotFound", "Topic does not exist"} }

func invalidTopic(text string) *Error {
	if text == "" {
		return &Error{Code: "InvalidParameter"}
	}
	return &Error{"InvalidParameter", "Invalid parameter: " + text}
}

// inertTopicAttributes are only stored and returned.
var inertTopicAttributes = []string{
	"DisplayName", "Policy", "DeliveryPolicy", "KmsMasterKeyId", "SignatureVersion", "TracingConfig",
}

// assignTopic sets all attributes or none. Its errors have fewer texts than the product's, since
// sns.md contains few of them.
func (b *Broker) assignTopic(s topicSettings, fifo, change bool, given map[string]string) (topicSettings, *Error) {
	s.inert = maps.Clone(s.inert)
	before := s
	for _, name := range attributesOrder(given) {
		value := given[name]
		if slices.Contains(inertTopicAttributes, name) {
			s.inert[name] = value
			continue
		}
		if name == "FifoTopic" && !change {
			continue
		}
		if name == "CompatibilityProfile" && (value == "aws" || value == "servicebus") {
			s.profile = value
			continue
		}
		if assignEntity(&s, name, value) {
			continue
		}
		if !fifo || name == "FifoTopic" || !assignTopicRule(&s, name, value, b.minimumWindow()) {
			return s, invalidTopic("")
		}
	}
	if s.IDAndContent && !s.ContentBased {
		return s, invalidTopic("")
	}
	// Two names of one setting must not contradict each other.
	scope, throughput := given["DeduplicationScope"], given["FifoThroughputScope"]
	if scope != "" && throughput != "" && (scope == scopeGroup) != (throughput == "MessageGroup") {
		return s, invalidTopic("")
	}
	if change && !s.follows(before) {
		return s, invalidTopic("")
	}
	return s, nil
}

// follows reports whether a topic may change from other settings to these.
func (s topicSettings) follows(before topicSettings) bool {
	// sns.md 3.1: it can change from Topic to MessageGroup, but not back.
	if before.Scope == scopeGroup && s.Scope != scopeGroup {
		return false
	}
	// servicebus.md 5.2: these are given at creation only.
	return s.DeduplicationOff == before.DeduplicationOff && s.groupOptional == before.groupOptional && s.profile == before.profile
}

// assignEntity sets an attribute that all topics have.
func assignEntity(s *topicSettings, name, value string) (ok bool) {
	switch name {
	case "EntityStatus":
		s.status, ok = value, value == "Active" || value == "Disabled" || value == "SendDisabled"
	case "MaxSizeInMegabytes":
		s.maxMegabytes, ok = wholeNumber(value)
		ok = ok && s.maxMegabytes >= 0 && s.maxMegabytes <= 1<<20
	case "AutoDeleteOnIdleSeconds":
		s.autoDelete, ok = wholeNumber(value)
		ok = ok && (s.autoDelete == 0 || s.autoDelete >= 300 && s.autoDelete <= 3_155_760_000)
	}
	return ok
}

func assignTopicRule(s *topicSettings, name, value string, least int64) (ok bool) {
	switch name {
	case "ContentBasedDeduplication":
		s.ContentBased, ok = truth(value)
	case "ContentDeduplicationMode":
		s.IDAndContent, ok = value == "IdAndContent", value == "IdAndContent" || value == "IdOverrides"
	case "DeduplicationWindowSeconds":
		s.Window, ok = wholeNumber(value)
		ok = ok && s.Window >= least && s.Window <= 604_800
	case "FifoThroughputScope":
		ok = value == "MessageGroup" || value == "Topic"
		if value == "MessageGroup" {
			s.Scope = scopeGroup
		} else if s.Scope == scopeGroup {
			s.Scope = scopeQueue
		}
	case "DeduplicationScope":
		s.Scope, ok = value, value == scopeQueue || value == scopeGroup || value == scopePartition
	case "DeduplicationEnabled":
		s.DeduplicationOff, ok = truth(value)
		s.DeduplicationOff = !s.DeduplicationOff
	case "MessageGroupIdMode":
		s.groupOptional, ok = value == "Optional", value == "Optional" || value == "Required"
	case "MaxDeduplicationEntries":
		s.MaxEntries, ok = wholeNumber(value)
		ok = ok && s.MaxEntries >= 0
	case "ReservedAttributesEnabled":
		s.reserved, ok = truth(value)
	case "DefaultTimeToLiveSeconds":
		s.timeToLive, ok = wholeNumber(value)
		ok = ok && s.timeToLive >= 0 && s.timeToLive <= 922_337_203_685
	case "ArchivePolicy":
		s.archiveDays, ok = archivePolicy(value)
	}
	return ok
}

// CreateTopic implements sns.md 3.1. A topic that is created again remembers no ids, but its
// numbers continue.
func (b *Broker) CreateTopic(name, arn string, given, tags map[string]string) *Error {
	fifo := strings.HasSuffix(name, ".fifo")
	wantsFIFO, _ := truth(given["FifoTopic"])
	if fifo != wantsFIFO {
		return invalidTopic("Topic Name")
	}
	s := topicSettings{
		Deduplication: Deduplication{Scope: scopeQueue, Window: 300}, profile: "aws", status: "Active", inert: map[string]string{},
	}
	if given["CompatibilityProfile"] == "servicebus" {
		s.Window = 600
	}
	wanted, err := b.assignTopic(s, fifo, false, given)
	if err != nil {
		return err
	}
	if t := b.topics[name]; t != nil {
		return t.confirm(given, tags, wanted)
	}
	t := &Topic{Name: name, ARN: arn, FIFO: fifo, Tags: map[string]string{}, settings: wanted, changedAt: b.now, usedAt: b.now}
	t.history.rules = &t.settings.Deduplication
	maps.Copy(t.Tags, tags)
	t.archivedSince = b.now
	b.topics[name] = t
	return nil
}

func (t *Topic) confirm(given, tags map[string]string, wanted topicSettings) *Error {
	for _, name := range attributesOrder(given) {
		if wanted.text(name) != t.settings.text(name) {
			return invalidTopic("Attributes Reason: Topic already exists with different attributes")
		}
	}
	for key, value := range tags {
		if had, ok := t.Tags[key]; !ok || had != value {
			return invalidTopic("Tags Reason: Topic already exists with different tags")
		}
	}
	return nil
}

// text returns an attribute in a comparable form.
func (s topicSettings) text(name string) string {
	switch name {
	case "ContentBasedDeduplication":
		return pick(s.ContentBased, "true", "false")
	case "ContentDeduplicationMode":
		return pick(s.IDAndContent, "both", "one")
	case "DeduplicationWindowSeconds":
		return messageIDText(int(s.Window))
	case "FifoThroughputScope":
		return pick(s.Scope == scopeGroup, "MessageGroup", "Topic")
	case "DeduplicationScope":
		return s.Scope
	case "DeduplicationEnabled":
		return pick(s.DeduplicationOff, "false", "true")
	case "MessageGroupIdMode":
		return pick(s.groupOptional, "Optional", "Required")
	case "MaxDeduplicationEntries":
		return messageIDText(int(s.MaxEntries))
	case "ReservedAttributesEnabled":
		return pick(s.reserved, "true", "false")
	case "CompatibilityProfile":
		return s.profile
	case "DefaultTimeToLiveSeconds":
		return messageIDText(int(s.timeToLive))
	case "EntityStatus":
		return s.status
	case "MaxSizeInMegabytes":
		return messageIDText(int(s.maxMegabytes))
	case "AutoDeleteOnIdleSeconds":
		return messageIDText(int(s.autoDelete))
	case "ArchivePolicy":
		return messageIDText(int(s.archiveDays))
	}
	return s.inert[name]
}

// SetTopicAttributes implements sns.md 3.2, with the rule for windows of servicebus.md 5.4.
func (b *Broker) SetTopicAttributes(name string, given map[string]string) *Error {
	t := b.topics[name]
	if t == nil {
		return topicNotFound()
	}
	wanted, err := b.assignTopic(t.settings, t.FIFO, true, given)
	if err != nil {
		return err
	}
	window := wanted.Window
	wanted.Window = t.settings.Window
	b.changeArchive(t, wanted.archiveDays)
	t.settings, t.changedAt, t.usedAt = wanted, b.now, b.now
	if window != t.settings.Window {
		b.changeWindow(&t.history, window)
	}
	return nil
}

// DeleteTopic implements sns.md 3.2: it is idempotent, and deletes the subscriptions.
func (b *Broker) DeleteTopic(name string) *Error {
	t := b.topics[name]
	if t != nil && t.settings.archiveDays > 0 {
		return &Error{"InvalidState", "Invalid state: Cannot delete a topic with an ArchivePolicy"}
	}
	delete(b.topics, name)
	return nil
}

// SetTopicTags implements TagResource and UntagResource.
func (b *Broker) SetTopicTags(name string, set map[string]string, remove []string) *Error {
	t := b.topics[name]
	if t == nil {
		return &Error{"ResourceNotFound (SNS)", "Resource does not exist"}
	}
	maps.Copy(t.Tags, set)
	for _, key := range remove {
		delete(t.Tags, key)
	}
	t.usedAt = b.now
	return nil
}

// ChangeTopic records a change of a topic for which the model has no rule.
func (b *Broker) ChangeTopic(name string) {
	if t := b.topics[name]; t != nil {
		t.changedAt, t.usedAt = b.now, b.now
	}
}

// Topics returns the topics by name.
func (b *Broker) Topics() (all []*Topic) {
	for _, name := range slices.Sorted(maps.Keys(b.topics)) {
		all = append(all, b.topics[name])
	}
	return all
}

// Topic finds a topic, nil if there is none.
func (b *Broker) Topic(name string) *Topic { return b.topics[name] }

// TopicRemembers reports whether a topic still knows all ids that it accepted at a time or later.
func (b *Broker) TopicRemembers(name string, since int64) bool {
	t := b.topics[name]
	return t != nil && t.changedAt < since && b.live(&t.history, remembered{acceptedAt: since})
}
