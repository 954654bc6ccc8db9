package filter

import (
	"errors"
	"strconv"
	"strings"

	"github.com/seriatimq/seriatim/queue/jsontext"
)

// Limits of a policy, from the Amazon SNS developer guide.
const (
	BytesMax        = 256 << 10
	KeysMax         = 5
	CombinationsMax = 150
)

// ValuesMax is the number of values per path that count in a message. It bounds the comparisons of
// a publish.
const ValuesMax = 10_000

// depthMax bounds the nesting of policies and bodies, as SNS's JSON reader does.
const depthMax = 1000

// Scope is the part of a message that a policy matches.
type Scope uint8

// Scopes; the default is MessageAttributes.
const (
	MessageAttributes Scope = iota
	MessageBody
)

// scopeNames are the values of FilterPolicyScope.
var scopeNames = [...]string{MessageAttributes: "MessageAttributes", MessageBody: "MessageBody"}

// ParseScope reads a FilterPolicyScope. The error has the text of SNS.
func ParseScope(text string) (Scope, error) {
	for s, name := range scopeNames {
		if text == name {
			return Scope(s), nil
		}
	}
	return 0, refusal("FilterPolicyScope: Invalid value [" + shortened(text) + "]. Please use either MessageBody or MessageAttributes")
}

// String returns the value of FilterPolicyScope.
func (s Scope) String() string {
	if int(s) < len(scopeNames) {
		return scopeNames[s]
	}
	return "Scope(" + strconv.Itoa(int(s)) + ")"
}

// Policy is a compiled, immutable filter policy, safe for concurrent use. A nil Policy accepts
// every message.
type Policy struct {
	text  string
	scope Scope
	names []string // paths with conditions, at most KeysMax
	root  clause
}

// clause is an object in a policy: it requires all terms, and one alternative of each list.
type clause struct {
	terms        []term
	alternatives [][]clause
}

// term is a path with alternative conditions.
type term struct {
	name       int // index in Policy.names
	conditions conditions
}

// Parse compiles a policy. Empty text and {} return nil: SNS uses both to remove a policy. Errors
// have the text of SNS, which nearly always begins with "FilterPolicy: ".
func Parse(text string, scope Scope) (*Policy, error) {
	if strings.Trim(text, " \t\r\n") == "" {
		return nil, nil
	}
	if len(text) > BytesMax {
		return nil, errTooLong
	}
	root, err := jsontext.Parse(text, depthMax)
	if syntax, ok := errors.AsType[*jsontext.SyntaxError](err); ok {
		return nil, located(text, min(syntax.Offset+1, len(text)), "failed to parse JSON.")
	}
	if root.Kind() != jsontext.KindObject {
		return nil, located(text, behindNext(root), "Filter is not an object")
	}
	if isEmpty(root) {
		return nil, nil
	}
	c := compiler{text: text, scope: scope}
	policy, _, err := c.object(root)
	if err != nil {
		return nil, err
	}
	return &Policy{text: text, scope: scope, names: c.names, root: policy}, nil
}

// Text returns the policy as set, "" for nil.
func (p *Policy) Text() string {
	if p == nil {
		return ""
	}
	return p.text
}

// Scope returns the scope of the policy, the default for nil.
func (p *Policy) Scope() Scope {
	if p == nil {
		return MessageAttributes
	}
	return p.scope
}
