package attributes

import (
	"github.com/seriatimq/seriatim/queue/policy"
	"github.com/seriatimq/seriatim/queue/refusal"
)

// InvalidPolicy returns the error for an invalid access policy of a queue.
func InvalidPolicy(reason string) *refusal.Error {
	return refusal.New(refusal.InvalidAttributeValue, "Invalid value for the parameter ", NamePolicy, ". Reason: ", reason)
}

// policyValue is the value of Policy: a JSON object, stored and returned as sent.
func policyValue() (parseAttribute, printAttribute, takes) {
	parse := func(a *Queue, value string, _ Assignment) *refusal.Error {
		if value != "" && !policy.IsAccess(value) {
			return Invalid(NamePolicy)
		}
		a.Policy = value
		return nil
	}
	return parse, func(a *Queue) string { return a.Policy }, takesPolicy(policy.AccessGrammar)
}

func redriveValue() (parseAttribute, printAttribute, takes) {
	parse := func(a *Queue, value string, _ Assignment) *refusal.Error {
		p, err := parseRedrivePolicy(value)
		if err != nil {
			return err
		}
		a.Redrive = p
		return nil
	}
	return parse, func(a *Queue) string { return a.Redrive.Text }, takesPolicy(policy.RedriveGrammar)
}

func redriveAllowValue() (parseAttribute, printAttribute, takes) {
	parse := func(a *Queue, value string, _ Assignment) *refusal.Error {
		p, err := parseRedriveAllowPolicy(value)
		if err != nil {
			return err
		}
		a.RedriveAllow = p
		return nil
	}
	return parse, func(a *Queue) string { return a.RedriveAllow.Text }, takesPolicy(policy.RedriveAllowGrammar)
}

func parseRedrivePolicy(text string) (policy.Redrive, *refusal.Error) {
	p, reason := policy.ParseRedrive(text)
	if reason != "" {
		return policy.Redrive{}, badRedrive(text, reason)
	}
	return p, nil
}

func parseRedriveAllowPolicy(text string) (policy.RedriveAllow, *refusal.Error) {
	p, ok := policy.ParseRedriveAllow(text)
	if !ok {
		return policy.RedriveAllow{}, refusal.InvalidValue(text, nameRedriveAllowPolicy,
			"Amazon SQS can't create the redrive allow policy in an unsupported format.")
	}
	return p, nil
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
