package queue

import (
	"encoding/hex"
	"strconv"
	"strings"

	"github.com/seriatimq/seriatim/queue/attributes"
	"github.com/seriatimq/seriatim/queue/limits"
	"github.com/seriatimq/seriatim/queue/message"
	"github.com/seriatimq/seriatim/queue/refusal"
	"github.com/seriatimq/seriatim/queue/statehash"
)

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
