// Package refusal holds the errors with which the domain refuses a request. Code numbers are
// never reused. The texts are those of AWS. Each protocol maps the codes to its own form.
package refusal

import "unicode/utf8"

// Code is the stable machine name of a domain error. Its text is the AWS JSON
// error type without namespace.
type Code uint16

// Codes of SQS and of the cluster. Package transport/sqs maps each to its wire
// form; the numbers are used between nodes and in the log of answers and are never
// reused.
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

// Codes of SNS, numbered on from those of SQS. No action of SQS is refused with
// one. SNSInvalidParameter is InvalidParameter on the wire, where SQS says
// InvalidParameterValue; SNSResourceNotFound is ResourceNotFound, where SQS says
// ResourceNotFoundException.
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
)

// Codes of what SQS and SNS do not have: scheduled and deferred messages, sessions.
const (
	MessageNotFound        Code = 40
	MessageLockLost        Code = 41
	SessionCannotBeLocked  Code = 42
	SessionLockLost        Code = 43
	DeduplicationIDUnknown Code = 44
)

// Codes of IAM, for access keys and the policies of users.
const (
	NoSuchEntity            Code = 50
	EntityAlreadyExists     Code = 51
	MalformedPolicyDocument Code = 52
	LimitExceeded           Code = 53
	IAMInvalidInput         Code = 54
	DeleteConflict          Code = 55
)

// Error is a refusal by a rule of the domain: a code and the exact text that
// the client sees. It is part of the replicated answer, so it holds no cause.
type Error struct {
	Code    Code
	Message string
}

// Error is the message.
func (e *Error) Error() string { return e.Message }

// New refuses with a code, in the words of parts, put together.
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

// EchoBytesMax bounds what an error repeats of a request.
const EchoBytesMax = 1024

// Echo is what an error repeats of a value: all of it, or its beginning.
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

// InvalidParameter refuses a bad value in the words of parts, put together.
func InvalidParameter(parts ...string) *Error { return New(InvalidParameterValue, parts...) }

// InvalidValue refuses a bad value of a parameter in the usual words of AWS, which
// repeat the value, or its beginning if it is long. reason is a sentence.
func InvalidValue(value, name, reason string) *Error {
	return InvalidParameter("Value ", Echo(value), " for parameter ", name, " is invalid. Reason: ", reason)
}

// MissingParameter refuses a request without a required parameter.
func MissingParameter(name string) *Error {
	return New(MissingRequiredParameter, "The request must contain the parameter ", name, ".")
}

// UnknownAttribute refuses the name of a queue or message attribute that does not
// exist.
func UnknownAttribute(name string) *Error {
	return New(InvalidAttributeName, "Unknown Attribute ", Echo(name), ".")
}

// NoSuchQueue refuses a request about a queue that does not exist.
func NoSuchQueue() *Error {
	return New(QueueDoesNotExist, "The specified queue does not exist.")
}

// NoSuchResource refuses the ARN in a parameter of the actions of move tasks.
func NoSuchResource(parameter string) *Error {
	return New(ResourceNotFound, "The resource that you specified for the ", parameter, " parameter doesn't exist.")
}

// SNSInvalid refuses a parameter of SNS in the words of parts, put together behind how
// SNS begins them.
func SNSInvalid(parts ...string) *Error {
	return New(SNSInvalidParameter, append([]string{"Invalid parameter: "}, parts...)...)
}

// NoSuchTopic refuses a request about a topic that does not exist.
func NoSuchTopic() *Error { return New(NotFound, "Topic does not exist") }

// NoSuchSubscription refuses a request about a subscription that does not exist.
func NoSuchSubscription() *Error { return New(NotFound, "Subscription does not exist") }
