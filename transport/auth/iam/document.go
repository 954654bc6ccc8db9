package iam

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// Document is a policy that was read. It is immutable.
type Document struct {
	statements []statement
}

// statement permits or denies.
type statement struct {
	sid        string
	deny       bool
	principals principals
	actions    patterns // lower case
	resources  patterns
	conditions []condition
	// unknown says that the statement has a condition that is not understood.
	unknown bool
}

// patterns match if one of them does, or if negated and none does. Without any the zero
// patterns match everything.
type patterns struct {
	texts   []string
	negated bool
}

// ErrMalformed is what is wrong with text that is no policy; it is wrapped with the place.
var ErrMalformed = errors.New("the policy is malformed")

// object is a JSON object whose members are read later.
type object map[string]json.RawMessage

// Parse reads a policy document. The error wraps ErrMalformed.
func Parse(text string) (*Document, error) {
	var outer object
	if err := json.Unmarshal([]byte(text), &outer); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	raw := outer["Statement"]
	var list []object
	if strings.HasPrefix(strings.TrimSpace(string(raw)), "{") {
		list = make([]object, 1)
		if err := json.Unmarshal(raw, &list[0]); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrMalformed, err)
		}
	} else if err := json.Unmarshal(raw, &list); raw != nil && err != nil {
		return nil, fmt.Errorf("%w: Statement: %w", ErrMalformed, err)
	}
	d := &Document{}
	for i, o := range list {
		s, err := parseStatement(o)
		if err != nil {
			return nil, fmt.Errorf("%w: statement %d: %w", ErrMalformed, i+1, err)
		}
		d.statements = append(d.statements, s)
	}
	return d, nil
}

func parseStatement(o object) (s statement, err error) {
	var effect string
	if err := json.Unmarshal(o["Effect"], &effect); err != nil || effect != "Allow" && effect != "Deny" {
		return s, errors.New("Effect must be Allow or Deny")
	}
	s.deny = effect == "Deny"
	// A Sid decides nothing: one that is no text is as good as none.
	_ = json.Unmarshal(o["Sid"], &s.sid)
	if s.principals, err = parsePrincipals(o); err != nil {
		return s, err
	}
	if s.actions, err = o.patterns("Action"); err != nil {
		return s, err
	}
	if s.actions.texts == nil {
		return s, errors.New("it has neither Action nor NotAction")
	}
	for i, action := range s.actions.texts {
		s.actions.texts[i] = strings.ToLower(action)
	}
	if s.resources, err = o.patterns("Resource"); err != nil {
		return s, err
	}
	s.conditions, s.unknown, err = parseConditions(o["Condition"])
	return s, err
}

// patterns reads a member that may stand in its negated form, as Action and NotAction.
func (o object) patterns(name string) (p patterns, err error) {
	raw, given := o[name]
	negated, givenNegated := o["Not"+name]
	switch {
	case given && givenNegated:
		return p, fmt.Errorf("it has both %s and Not%s", name, name)
	case givenNegated:
		raw, p.negated = negated, true
	case !given:
		return p, nil
	}
	p.texts, err = parseTexts(raw)
	if err == nil && len(p.texts) == 0 {
		err = errors.New("the list is empty")
	}
	if err != nil {
		return p, fmt.Errorf("%s: %w", name, err)
	}
	return p, nil
}

// parseTexts reads a text or a list of them. Numbers and truth values stand for their text,
// as conditions may have them.
func parseTexts(raw json.RawMessage) ([]string, error) {
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) != nil {
		list = []json.RawMessage{raw}
	}
	texts := make([]string, 0, len(list))
	for _, element := range list {
		var value any
		if err := json.Unmarshal(element, &value); err != nil {
			return nil, err
		}
		switch v := value.(type) {
		case string:
			texts = append(texts, v)
		case bool, float64:
			texts = append(texts, strings.TrimSpace(string(element)))
		default:
			return nil, errors.New("it is neither a text nor a list of texts")
		}
	}
	return texts, nil
}
