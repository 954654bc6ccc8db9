// Package refusal holds the errors of requests. Each protocol maps the codes to its own form.
package refusal

import "unicode/utf8"

// Code is the number of an error.
type Code uint16

// Codes of SQS and of the cluster. Numbers are sent between nodes and never reused.
const (
	QueueDoesNotExist            Code = 1
	QueueNameExists              Code = 2
	QueueDeletedRecently         Code = 3
	PurgeQueueInProgress         Code = 4
	ReceiptHandleIsInvalid       Code = 5
	MessageNotInflight           Code = 6
	OverLimit                    Code = 7
	InvalidAttributeName         Code = 8
	InvalidAttributeValue        Code = 9
	InvalidMessageContents       Code = 10
	EmptyBatchRequest            Code = 11
	TooManyEntriesInBatchRequest Code = 12
	BatchEntryIDsNotDistinct     Code = 13
	InvalidBatchEntryID          Code = 14
	BatchRequestTooLong          Code = 15
	UnsupportedOperation         Code = 16
	ResourceNotFound             Code = 17
	InvalidParameterValue        Code = 18
	MissingRequiredParameter     Code = 19
	RequestThrottled             Code = 20
	InvalidFormatVersion         Code = 21
	InvalidClusterSetting        Code = 22
)

// Codes of SNS. On the wire, SNSInvalidParameter is InvalidParameter, and SNSResourceNotFound is
// ResourceNotFound.
const (
	SNSInvalidParameter       Code = 23
	TagLimitExceeded          Code = 24
	NotFound                  Code = 25
	SNSResourceNotFound       Code = 26
	InvalidState              Code = 27
	TopicLimitExceeded        Code = 28
	SubscriptionLimitExceeded Code = 29
	ParameterValueInvalid     Code = 30
	ReplayLimitExceeded       Code = 31
	Throttled                 Code = 32
	AuthorizationError        Code = 33
	RuleAlreadyExists         Code = 34 // Azure Service Bus, as the next two
	RuleNotFound              Code = 35
	RuleLimitExceeded         Code = 36
)

// Codes for scheduled and deferred messages, sessions, deduplication ids, and the status and size of
// queues and topics.
const (
	MessageNotFound        Code = 40
	MessageLockLost        Code = 41
	SessionCannotBeLocked  Code = 42
	SessionLockLost        Code = 43
	DeduplicationIDUnknown Code = 44
	MessageInFlight        Code = 45
	EntityDisabled         Code = 46
	QuotaExceeded          Code = 47
)

// Codes of IAM, for access keys, user policies and accounts.
const (
	NoSuchEntity            Code = 50
	EntityAlreadyExists     Code = 51
	MalformedPolicyDocument Code = 52
	LimitExceeded           Code = 53
	IAMInvalidInput         Code = 54
	DeleteConflict          Code = 55
)

// Error is an error of a request: a code and the text for the client. It is part of a replicated
// answer, so it wraps no cause.
type Error struct {
	Code    Code
	Message string
}

// Error returns the message.
func (e *Error) Error() string { return e.Message }

// New returns an error whose message is the concatenation of parts.
func New(code Code, parts ...string) *Error {
	n := 0
	for _, p := range parts {
		n += len(p)
	}
	text := make([]byte, 0, n)
	for _, p := range parts {
		text = append(text, p...)
	}
	return &Error{Code: code, Message: string(text)}
}

// EchoBytesMax bounds a value that an error quotes.
const EchoBytesMax = 1024

// Echo returns a value for an error text, shortened to EchoBytesMax.
func Echo(value string) string {
	if len(value) <= EchoBytesMax {
		return value
	}
	end := EchoBytesMax
	for end > 0 && !utf8.RuneStart(value[end]) {
		end--
	}
	return value[:end] + "..."
}

// InvalidParameter returns an error about a parameter; its message is the concatenation of parts.
func InvalidParameter(parts ...string) *Error { return New(InvalidParameterValue, parts...) }

// InvalidValue returns an error with the usual text of AWS, which quotes the value. reason is a
// sentence.
func InvalidValue(value, name, reason string) *Error {
	return InvalidParameter("Value ", Echo(value), " for parameter ", name, " is invalid. Reason: ", reason)
}

// MissingParameter returns the error for a missing parameter.
func MissingParameter(name string) *Error {
	return New(MissingRequiredParameter, "The request must contain the parameter ", name, ".")
}

// UnknownAttribute returns the error for an unknown queue or message attribute.
func UnknownAttribute(name string) *Error {
	return New(InvalidAttributeName, "Unknown Attribute ", Echo(name), ".")
}

// NoSuchQueue returns the error for a missing queue.
func NoSuchQueue() *Error {
	return New(QueueDoesNotExist, "The specified queue does not exist.")
}

// NoSuchResource returns the error for an ARN in a parameter of a move task.
func NoSuchResource(parameter string) *Error {
	return New(ResourceNotFound, "The resource that you specified for the ", parameter, " parameter doesn't exist.")
}

// SNSInvalid returns an error of SNS whose message is "Invalid parameter: " and the concatenation
// of parts.
func SNSInvalid(parts ...string) *Error {
	return New(SNSInvalidParameter, append([]string{"Invalid parameter: "}, parts...)...)
}

// NoSuchTopic returns the error for a missing topic.
func NoSuchTopic() *Error { return New(NotFound, "Topic does not exist") }

// NoSuchSubscription returns the error for a missing subscription.
func NoSuchSubscription() *Error { return New(NotFound, "Subscription does not exist") }
