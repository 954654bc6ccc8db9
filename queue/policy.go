package queue

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// policyBytesMax bounds each policy text: the quota of AWS for a queue policy.
const policyBytesMax = 8192

// policyAccountsMax is the quota of AWS for principals in one policy.
const policyAccountsMax = 50

// policyValue is Policy: a JSON object, stored as sent and returned as stored.
func policyValue() (parseAttribute, printAttribute) {
	parse := func(a *QueueAttributes, value string, _ int64) *Error {
		if value != "" {
			if _, ok := parseObject(value); !ok {
				return invalidAttribute(namePolicy)
			}
		}
		a.Policy = value
		return nil
	}
	return parse, func(a *QueueAttributes) string { return a.Policy }
}

// addPermission adds the statement of c to a policy text and begins the
// policy as AWS does if there is none.
func addPermission(policy string, c *SetQueuePolicy) (string, *Error) {
	if policy == "" {
		policy = `{"Version":"2008-10-17","Id":` + quote(c.QueueARN+"/SQSDefaultPolicy") + `}`
	}
	o, statements, ok := parsePolicy(policy)
	if !ok {
		return "", invalidAttribute(namePolicy)
	}
	if slices.ContainsFunc(statements, func(s string) bool { return statementID(s) == c.Label }) {
		return "", badLabel(c.Label, "Already exists.")
	}
	principals := make([]string, len(c.AccountIDs))
	for i, account := range c.AccountIDs {
		principals[i] = "arn:aws:iam::" + account + ":root"
	}
	actions := make([]string, len(c.Actions))
	for i, action := range c.Actions {
		actions[i] = "SQS:" + action
	}
	statements = append(statements, `{"Sid":`+quote(c.Label)+`,"Effect":"Allow","Principal":{"AWS":`+
		oneOrMany(principals)+`},"Action":`+oneOrMany(actions)+`,"Resource":`+quote(c.QueueARN)+`}`)
	o.set("Statement", "["+strings.Join(statements, ",")+"]")
	text := o.String()
	if len(text) > policyBytesMax {
		return "", errorf(OverLimit, "The policy would be longer than ", strconv.Itoa(policyBytesMax), " bytes.")
	}
	return text, nil
}

// removePermission removes the statement named label; without a statement
// left there is no policy either.
func removePermission(policy, label string) (string, *Error) {
	if policy == "" {
		return "", badLabel(label, "can't find label.")
	}
	o, statements, ok := parsePolicy(policy)
	if !ok {
		return "", invalidAttribute(namePolicy)
	}
	n := len(statements)
	statements = slices.DeleteFunc(statements, func(s string) bool { return statementID(s) == label })
	switch len(statements) {
	case n:
		return "", badLabel(label, "can't find label on existing policy.")
	case 0:
		return "", nil
	}
	o.set("Statement", "["+strings.Join(statements, ",")+"]")
	return o.String(), nil
}

// parsePolicy splits a policy into its members and its statements; IAM allows
// a lone statement without a list.
func parsePolicy(policy string) (object, []string, bool) {
	o, ok := parseObject(policy)
	if !ok {
		return nil, nil, false
	}
	raw, ok := o.get("Statement")
	if !ok {
		return o, nil, true
	}
	if raw[0] != '[' {
		return o, []string{raw}, true
	}
	var elements []json.RawMessage
	if json.Unmarshal([]byte(raw), &elements) != nil {
		return nil, nil, false
	}
	statements := make([]string, len(elements))
	for i, e := range elements {
		statements[i] = string(e)
	}
	return o, statements, true
}

// statementID is the Sid of a statement, "" if it has none.
func statementID(statement string) string {
	o, _ := parseObject(statement)
	raw, _ := o.get("Sid")
	id, _ := jsonString(raw)
	return id
}

func badLabel(label, reason string) *Error { return invalidValue(label, "Label", reason) }

func oneOrMany(values []string) string {
	if len(values) == 1 {
		return quote(values[0])
	}
	quoted := make([]string, len(values))
	for i, v := range values {
		quoted[i] = quote(v)
	}
	return "[" + strings.Join(quoted, ",") + "]"
}

// object is a JSON object whose members keep their order and, apart from
// blanks between tokens, their spelling.
type object []member

type member struct{ name, raw string }

// parseObject reads a JSON object. It refuses a name that occurs twice, since
// readers do not agree on which of the two counts, text that is not UTF-8, and
// text over the bound of a policy.
func parseObject(text string) (object, bool) {
	if len(text) > policyBytesMax || !utf8.ValidString(text) {
		return nil, false
	}
	var compact bytes.Buffer
	if json.Compact(&compact, []byte(text)) != nil || compact.Bytes()[0] != '{' {
		return nil, false
	}
	d := json.NewDecoder(&compact)
	if _, err := d.Token(); err != nil {
		return nil, false
	}
	o := object{}
	for d.More() {
		token, err := d.Token()
		name, ok := token.(string)
		if err != nil || !ok {
			return nil, false
		}
		var raw json.RawMessage
		if d.Decode(&raw) != nil || o.index(name) >= 0 {
			return nil, false
		}
		o = append(o, member{name, string(raw)})
	}
	return o, true
}

func (o object) index(name string) int {
	return slices.IndexFunc(o, func(m member) bool { return m.name == name })
}

// get is the text of a member; null counts as absent.
func (o object) get(name string) (raw string, ok bool) {
	i := o.index(name)
	if i < 0 || o[i].raw == "null" {
		return "", false
	}
	return o[i].raw, true
}

// set replaces a member in its place or adds it at the end.
func (o *object) set(name, raw string) {
	if i := o.index(name); i >= 0 {
		(*o)[i].raw = raw
		return
	}
	*o = append(*o, member{name, raw})
}

// String is the compact JSON text.
func (o object) String() string {
	var text strings.Builder
	text.WriteByte('{')
	for i, m := range o {
		if i > 0 {
			text.WriteByte(',')
		}
		text.WriteString(quote(m.name))
		text.WriteByte(':')
		text.WriteString(m.raw)
	}
	text.WriteByte('}')
	return text.String()
}

// jsonString reads a JSON string; false for any other value.
func jsonString(raw string) (string, bool) {
	if raw == "" || raw[0] != '"' {
		return "", false
	}
	var s string
	if json.Unmarshal([]byte(raw), &s) != nil {
		return "", false
	}
	return s, true
}

// quote writes a JSON string, leaving <, > and & as they are.
func quote(s string) string {
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	if err := e.Encode(s); err != nil {
		panic("queue: a string cannot be written as JSON: " + err.Error())
	}
	return strings.TrimSuffix(text.String(), "\n")
}
