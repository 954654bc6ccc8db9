package iam

import "strings"

// Request is what is to be decided.
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

// Effect is what policies say of a request.
type Effect uint8

const (
	// Unspecified is the effect of policies that do not speak of a request.
	Unspecified Effect = iota
	// Allowed is that of policies that permit it.
	Allowed
	// Denied is that of policies that forbid it, whatever others say.
	Denied
)

// Evaluate is what one policy says of a request. A nil Document says nothing.
func (d *Document) Evaluate(r *Request) Effect {
	effect := Unspecified
	if d == nil {
		return effect
	}
	action := strings.ToLower(r.Action)
	for i := range d.statements {
		s := &d.statements[i]
		if !s.match(action, r) {
			continue
		}
		if s.deny {
			return Denied
		}
		effect = Allowed
	}
	return effect
}

func (s *statement) match(action string, r *Request) bool {
	if !s.principals.match(r.Caller) || !s.actions.match(action, r) || !s.resources.match(r.Resource, r) {
		return false
	}
	if s.unknown && !s.deny {
		return false
	}
	for i := range s.conditions {
		if !s.conditions[i].match(r) {
			return false
		}
	}
	return true
}

// Permitted decides by the policies of the caller and by the one of the resource, which
// may be nil. Within one account either permission is enough; a caller of another account
// needs both. The account itself may do everything with what is its own.
func Permitted(r *Request, ofCaller []*Document, ofResource *Document) bool {
	identity := Unspecified
	for _, d := range ofCaller {
		identity = max(identity, d.Evaluate(r))
	}
	resource := ofResource.Evaluate(r)
	if identity == Denied || resource == Denied {
		return false
	}
	switch {
	case r.Caller.Account == "": // anonymous: only the resource can permit
		return resource == Allowed
	case r.Caller.Account != r.Account:
		return resource == Allowed && (identity == Allowed || r.Caller.User == "")
	}
	return identity == Allowed || resource == Allowed || r.Caller.User == ""
}
