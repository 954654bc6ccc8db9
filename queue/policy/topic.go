package policy

import (
	"strconv"

	"github.com/seriatimq/seriatim/queue/arn"
	"github.com/seriatimq/seriatim/queue/jsontext"
	"github.com/seriatimq/seriatim/queue/limits"
	"github.com/seriatimq/seriatim/queue/logtime"
)

// DefaultTopicAccess returns the access policy of a new topic on AWS, which permits everything to
// the owner. It is not stored.
func DefaultTopicAccess(topicARN, account string) string {
	return `{"Version":"2008-10-17","Id":"__default_policy_ID","Statement":[{"Effect":"Allow","Sid":"__default_statement_ID",` +
		`"Principal":{"AWS":"*"},"Action":["SNS:GetTopicAttributes","SNS:SetTopicAttributes","SNS:AddPermission",` +
		`"SNS:RemovePermission","SNS:DeleteTopic","SNS:Subscribe","SNS:ListSubscriptionsByTopic","SNS:Publish"],` +
		`"Resource":` + jsontext.Quote(topicARN) + `,"Condition":{"StringEquals":{"AWS:SourceOwner":` + jsontext.Quote(account) + `}}}]}`
}

// IsDefaultTopicAccess reports whether a policy equals DefaultTopicAccess, with members in any
// order: tools sort them.
func IsDefaultTopicAccess(text, topicARN, account string) bool {
	given, ok := parseObject(text)
	usual := DefaultTopicAccess(topicARN, account)
	if !ok || len(given.String()) != len(usual) {
		return false
	}
	const depth = 8 // exceeds that of the default
	a, errGiven := jsontext.Parse(given.String(), depth)
	b, errUsual := jsontext.Parse(usual, depth)
	return errGiven == nil && errUsual == nil && jsontext.Equal(a, b)
}

// EmptyTopicAccess is the access policy after the last statement was removed.
const EmptyTopicAccess = `{"Version":"2008-10-17","Id":"__default_policy_ID","Statement":[]}`

// Archive is an ArchivePolicy. Text is the value for GetTopicAttributes, empty if there is no
// policy.
type Archive struct {
	Text string
	Days int64
}

// ParseArchive reads an ArchivePolicy. reason is the error text of AWS. {} means no policy; empty
// text and null are refused, as AWS does.
func ParseArchive(text string) (p Archive, reason string) {
	o, ok := parseObject(text)
	if !ok {
		return Archive{}, "Unable to parse JSON"
	}
	if len(o) == 0 {
		return Archive{}, ""
	}
	raw, ok := o.Get("MessageRetentionPeriod")
	if !ok {
		return Archive{}, missingFields
	}
	if written, ok := jsontext.StringOf(raw); ok {
		raw = written
	}
	days, err := strconv.ParseUint(raw, 10, 32)
	if err != nil || days < 1 || days > limits.ArchiveDaysMax {
		return Archive{}, "MessageRetentionPeriod value is invalid"
	}
	return Archive{Text: o.String(), Days: int64(days)}, ""
}

const missingFields = "JSON is missing required fields"

// DeadLetter is the RedrivePolicy of a subscription. Text is the value for
// GetSubscriptionAttributes, empty if there is no policy.
type DeadLetter struct {
	Text   string
	Target string // queue name, the last segment of deadLetterTargetArn
}

// ParseDeadLetter reads the RedrivePolicy of a subscription. reason is the error text of AWS. Empty
// text and {} mean no policy.
func ParseDeadLetter(text string) (p DeadLetter, reason string) {
	if text == "" {
		return DeadLetter{}, ""
	}
	o, ok := parseObject(text)
	if !ok {
		return DeadLetter{}, "failed to parse JSON."
	}
	if len(o) == 0 {
		return DeadLetter{}, ""
	}
	raw, _ := o.Get("deadLetterTargetArn")
	written, _ := jsontext.StringOf(raw)
	target, ok := arn.Queue(written)
	if !ok {
		return DeadLetter{}, "deadLetterTargetArn is an invalid arn"
	}
	return DeadLetter{Text: o.String(), Target: target}, ""
}

// Replay is a ReplayPolicy. Text is the value for GetSubscriptionAttributes, empty if there is no
// policy.
type Replay struct {
	Text  string
	Start logtime.Timestamp
	End   logtime.Timestamp // if Ends
	Ends  bool
}

// ParseReplay reads a ReplayPolicy. reason describes an error in the style of ArchivePolicy,
// because AWS's texts are unknown. Empty text and {} mean no policy.
func ParseReplay(text string) (p Replay, reason string) {
	if text == "" {
		return Replay{}, ""
	}
	o, ok := parseObject(text)
	if !ok {
		return Replay{}, "Unable to parse JSON"
	}
	if len(o) == 0 {
		return Replay{}, ""
	}
	raw, ok := o.Get("PointType")
	if !ok {
		return Replay{}, missingFields
	}
	if kind, _ := jsontext.StringOf(raw); kind != "Timestamp" {
		return Replay{}, "PointType value is invalid"
	}
	start, given, ok := pointOf(o, "StartingPoint")
	switch {
	case !given:
		return Replay{}, missingFields
	case !ok:
		return Replay{}, "StartingPoint value is invalid"
	}
	end, ends, ok := pointOf(o, "EndingPoint")
	if ends && (!ok || end < start) {
		return Replay{}, "EndingPoint value is invalid"
	}
	return Replay{Text: o.String(), Start: start, End: end, Ends: ends}, ""
}

// pointOf reads an optional time.
func pointOf(o jsontext.Object, name string) (at logtime.Timestamp, given, ok bool) {
	raw, given := o.Get(name)
	if !given {
		return 0, false, false
	}
	written, ok := jsontext.StringOf(raw)
	if !ok {
		return 0, true, false
	}
	at, ok = logtime.ParseRFC3339(written)
	return at, true, ok
}
