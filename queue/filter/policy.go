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

// ValuesMax is how many values of a message count at one path, the first ones. Each
// may have to be compared with each condition, for each subscription, while a
// message is published.
const ValuesMax = 10_000

// depthMax is how deep policies and bodies may nest, as in the JSON reader that
// SNS uses.
const depthMax = 1000

// Scope is the part of a message that a policy looks at.
type Scope uint8

// The scopes; attributes are the default.
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

// String is the value of FilterPolicyScope.
func (s Scope) String() string {
	if int(s) < len(scopeNames) {
		return scopeNames[s]
	}
	return "Scope(" + strconv.Itoa(int(s)) + ")"
}

// Policy is a compiled filter policy. A nil policy is none: it lets every message
// pass. It never changes and is safe for concurrent use.
type Policy struct {
	text  string
	scope Scope
	names []string // the paths that have conditions, at most KeysMax
	root  clause
}

// clause is an object in a policy: all terms have to be met, and of each list of
// alternatives one.
type clause struct {
	terms        []term
	alternatives [][]clause
}

// term is a path and the conditions of which one has to be met.
type term struct {
	name       int // in Policy.names
	conditions conditions
}

// Parse compiles a policy. Empty text and {} are no policy: SNS takes both to
// remove one. The error has the text of SNS, from "FilterPolicy: " on where there is
// one: a single text of SNS has none.
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

// Text is the policy as it was given, "" for none.
func (p *Policy) Text() string {
	if p == nil {
		return ""
	}
	return p.text
}

// Scope is the part of a message that the policy looks at, the default for none.
func (p *Policy) Scope() Scope {
	if p == nil {
		return MessageAttributes
	}
	return p.scope
}
