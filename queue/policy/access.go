package policy

import (
	"errors"
	"slices"
	"strings"

	"github.com/seriatimq/seriatim/queue/jsontext"
)

// BytesMax bounds each policy text: the quota of AWS for a queue policy.
const BytesMax = 8192

// Errors of changing an access policy.
var (
	ErrMalformed     = errors.New("the policy is not a JSON object with statements")
	ErrTooLong       = errors.New("the policy would be too long")
	ErrLabelExists   = errors.New("a statement has this label")
	ErrLabelNotFound = errors.New("no statement has this label")
	ErrNoPolicy      = errors.New("there is no policy")
)

// Statement is the statement that AddPermission adds.
type Statement struct {
	Label    string // Sid
	Service  string // prefix of the actions: SQS or SNS
	Resource string // ARN of the queue or the topic
	Accounts []string
	Actions  []string // without the prefix
}

// parseObject reads a policy or a part of one, up to BytesMax.
func parseObject(text string) (jsontext.Object, bool) {
	if len(text) > BytesMax {
		return nil, false
	}
	return jsontext.ParseObject(text)
}

// IsAccess reports whether text can be an access policy: a JSON object.
func IsAccess(text string) bool {
	_, ok := parseObject(text)
	return ok
}

// Add adds a statement to an access policy. An empty policy begins as AWS's for a queue.
func Add(policy string, s Statement) (string, error) {
	if policy == "" {
		policy = `{"Version":"2008-10-17","Id":` + jsontext.Quote(s.Resource+"/SQSDefaultPolicy") + `}`
	}
	o, statements, ok := parseAccess(policy)
	if !ok {
		return "", ErrMalformed
	}
	if slices.ContainsFunc(statements, func(text string) bool { return labelOf(text) == s.Label }) {
		return "", ErrLabelExists
	}
	o.Set("Statement", "["+strings.Join(append(statements, s.text()), ",")+"]")
	text := o.String()
	if len(text) > BytesMax {
		return "", ErrTooLong
	}
	return text, nil
}

// Remove removes the statement with a label. It returns an empty policy if none remains.
func Remove(policy, label string) (string, error) {
	if policy == "" {
		return "", ErrNoPolicy
	}
	o, statements, ok := parseAccess(policy)
	if !ok {
		return "", ErrMalformed
	}
	n := len(statements)
	statements = slices.DeleteFunc(statements, func(text string) bool { return labelOf(text) == label })
	switch len(statements) {
	case n:
		return "", ErrLabelNotFound
	case 0:
		return "", nil
	}
	o.Set("Statement", "["+strings.Join(statements, ",")+"]")
	return o.String(), nil
}

// parseAccess splits a policy into members and statements. IAM permits a single statement without a
// list.
func parseAccess(policy string) (jsontext.Object, []string, bool) {
	o, ok := parseObject(policy)
	if !ok {
		return nil, nil, false
	}
	raw, ok := o.Get("Statement")
	if !ok {
		return o, nil, true
	}
	if raw[0] != '[' {
		return o, []string{raw}, true
	}
	statements, ok := jsontext.ParseList(raw)
	return o, statements, ok
}

// labelOf returns the Sid of a statement, "" if it has none.
func labelOf(statement string) string {
	o, _ := parseObject(statement)
	raw, _ := o.Get("Sid")
	label, _ := jsontext.StringOf(raw)
	return label
}

func (s Statement) text() string {
	principals := make([]string, len(s.Accounts))
	for i, account := range s.Accounts {
		principals[i] = "arn:aws:iam::" + account + ":root"
	}
	actions := make([]string, len(s.Actions))
	for i, action := range s.Actions {
		actions[i] = s.Service + ":" + action
	}
	return `{"Sid":` + jsontext.Quote(s.Label) + `,"Effect":"Allow","Principal":{"AWS":` + oneOrMany(principals) +
		`},"Action":` + oneOrMany(actions) + `,"Resource":` + jsontext.Quote(s.Resource) + `}`
}

func oneOrMany(values []string) string {
	if len(values) == 1 {
		return jsontext.Quote(values[0])
	}
	quoted := make([]string, len(values))
	for i, v := range values {
		quoted[i] = jsontext.Quote(v)
	}
	return "[" + strings.Join(quoted, ",") + "]"
}
