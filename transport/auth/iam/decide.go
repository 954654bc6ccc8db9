package iam

import "strings"

// Request describes the request to decide.
type Request struct {
	Caller   Caller
	Action   string // such as sqs:SendMessage
	Resource string // its ARN
	// Account is the one that the resource belongs to.
	Account string
	// Keys are the values of condition keys, under their names in lower case. A key that
	// is missing has no value.
	Keys map[string][]string
}

// Effect is the decision of a policy about a request.
type Effect uint8

const (
	// Unspecified is the effect of policies that do not speak of a request.
	Unspecified Effect = iota
	// Allowed is that of policies that permit it.
	Allowed
	// Denied is that of policies that forbid it, whatever others say.
	Denied
)

// String is the effect in a word, empty for Unspecified.
func (e Effect) String() string {
	return [...]string{Unspecified: "", Allowed: "allow", Denied: "deny"}[e]
}

// Verdict is the decision of one policy, with the statement that made it.
type Verdict struct {
	Effect Effect
	// Statement is the number, from 1, of the first statement that says so; 0: none does.
	Statement int
	Sid       string // of the statement, empty if it has none
}

// Evaluate returns the decision of one policy. A nil Document decides nothing.
func (d *Document) Evaluate(r *Request) (v Verdict) {
	if d == nil {
		return v
	}
	action := strings.ToLower(r.Action)
	for i := range d.statements {
		s := &d.statements[i]
		if (v.Effect == Allowed && !s.deny) || !s.match(action, r) {
			continue
		}
		v = Verdict{Allowed, s.number, s.sid}
		if s.deny {
			v.Effect = Denied
			return v
		}
	}
	return v
}

func (s *statement) match(action string, r *Request) bool {
	if !s.principals.match(r.Caller) || !s.actions.match(action, s.deny, r) || !s.resources.match(r.Resource, s.deny, r) {
		return false
	}
	for i := range s.conditions {
		if !s.conditions[i].match(r) {
			return false
		}
	}
	return true
}

// Source is the origin of a decision.
type Source uint8

const (
	// Nothing permits the request, so that it is refused.
	Nothing Source = iota
	// OfCaller is the policy of the caller.
	OfCaller
	// OfResource is the policy of the resource.
	OfResource
	// OfBoth are the two together: a user of another account needs both.
	OfBoth
	// Ownership lets an account do everything with what is its own.
	Ownership
)

// String is the source in words.
func (s Source) String() string {
	return [...]string{
		Nothing: "no policy", OfCaller: "user policy", OfResource: "resource policy", OfBoth: "both policies", Ownership: "ownership",
	}[s]
}

// Decision is the decision about a request, with its reasons.
type Decision struct {
	Allowed bool
	By      Source
	// Caller and Resource are the decisions of the two policies.
	Caller, Resource Verdict
}

// Decide decides by the policy of the caller and by the one of the resource, each of which
// may be nil. Within one account either permission is enough; a caller of another account
// needs both. The account itself may do everything with what is its own.
func Decide(r *Request, ofCaller, ofResource *Document) Decision {
	d := Decision{Caller: ofCaller.Evaluate(r), Resource: ofResource.Evaluate(r)}
	byCaller, byResource := d.Caller.Effect == Allowed, d.Resource.Effect == Allowed
	switch {
	case d.Caller.Effect == Denied:
		d.By = OfCaller
		return d
	case d.Resource.Effect == Denied:
		d.By = OfResource
		return d
	case r.Caller.Account == "": // anonymous: only the resource can permit
		byCaller = false
	case r.Caller.Account != r.Account && r.Caller.User != "":
		if byCaller && byResource {
			d.By = OfBoth
		}
		d.Allowed = d.By == OfBoth
		return d
	case r.Caller.Account != r.Account:
		byCaller = false
	}
	switch {
	case byCaller:
		d.By = OfCaller
	case byResource:
		d.By = OfResource
	case r.Caller.User == "" && r.Caller.Account != "" && r.Caller.Account == r.Account:
		d.By = Ownership
	}
	d.Allowed = d.By != Nothing
	return d
}
