package iam

import "strings"

// Request describes the request to decide.
type Request struct {
	Caller   Caller
	Action   string // such as sqs:SendMessage
	Resource string // its ARN
	// Account owns the resource.
	Account string
	// Keys has the values of condition keys, by their names in lower case.
	Keys map[string][]string
}

// Effect is the decision of a policy about a request.
type Effect uint8

const (
	// Unspecified is the effect of policies without a matching statement.
	Unspecified Effect = iota
	// Allowed is the effect of policies that permit the request.
	Allowed
	// Denied is the effect of policies that deny the request. It overrides Allowed.
	Denied
)

// String returns the effect in a word, empty for Unspecified.
func (e Effect) String() string {
	return [...]string{Unspecified: "", Allowed: "allow", Denied: "deny"}[e]
}

// Verdict is the decision of one policy, with the statement that made it.
type Verdict struct {
	Effect Effect
	// Statement is the number, from 1, of the first statement with the effect; 0: none.
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
	// Nothing permits the request.
	Nothing Source = iota
	// OfCaller is the policy of the caller.
	OfCaller
	// OfResource is the policy of the resource.
	OfResource
	// OfBoth means both policies: a user of another account needs both.
	OfBoth
	// Ownership permits an account everything on its resources.
	Ownership
)

// String returns the source in words.
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

// Decide decides by the policies of the caller and the resource, which may be nil. Within one account
// either permission suffices; a caller of another account needs both. An account itself may do everything
// with its resources.
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
