package attributes

import (
	"github.com/seriatimq/seriatim/queue/policy"
	"github.com/seriatimq/seriatim/queue/refusal"
)

// InvalidPolicy returns the error for an invalid access policy of a queue.
func InvalidPolicy(reason string) *refusal.Error {
	return refusal.New(refusal.InvalidAttributeValue, "Invalid value for the parameter ", NamePolicy, ". Reason: ", reason)
}

func badRedrive(text, reason string) *refusal.Error {
	return refusal.InvalidValue(text, nameRedrivePolicy, reason)
}

// RedriveTargetMissing refuses a RedrivePolicy, quoted as sent, whose target does not exist.
func RedriveTargetMissing(text string) *refusal.Error { return badRedrive(text, policy.TargetMissing) }

// RedriveTargetElsewhere refuses a target of another account.
func RedriveTargetElsewhere(text string) *refusal.Error {
	return badRedrive(text, "Dead-letter target owner should be same as the source.")
}

// RedriveTargetWrongType refuses a target of the other queue type. AWS ends
// the text with two full stops.
func RedriveTargetWrongType(text string) *refusal.Error {
	return badRedrive(text, "Dead-letter queue must be same type of queue as the source..")
}

// RedriveNotAllowed refuses a target whose RedriveAllowPolicy does not list the source. The text of
// AWS is unknown.
func RedriveNotAllowed(text string) *refusal.Error {
	return badRedrive(text, "The RedriveAllowPolicy of the dead letter target does not allow this source queue.")
}
