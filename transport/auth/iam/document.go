package iam

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/seriatimq/seriatim/queue/jsontext"
)

// Document is a parsed policy. It is immutable.
type Document struct {
	statements []statement
}

// statement permits or denies.
type statement struct {
	number     int // from 1
	sid        string
	deny       bool
	principals principals
	actions    patterns // lower case
	resources  patterns
	conditions []condition
}

// patterns match a text if one of them does or, if negated, none does.
type patterns struct {
	texts   []string
	negated bool
}

// Kind says whether a document is the policy of a user, a queue or a topic.
type Kind uint8

const (
	// UserPolicy belongs to a user: it names no principal, and actions of both services.
	UserPolicy Kind = iota
	// QueuePolicy belongs to a queue: it names principals, and actions of SQS.
	QueuePolicy
	// TopicPolicy belongs to a topic: it names principals, and actions of SNS.
	TopicPolicy
)

// Problem describes an error in a policy.
type Problem struct {
	Path   string // such as Statement[0].Condition, empty: the document
	Reason string
}

// Error returns the path and the reason.
func (p *Problem) Error() string {
	if p.Path == "" {
		return p.Reason
	}
	return p.Path + ": " + p.Reason
}

func problem(path, format string, values ...any) error {
	return &Problem{shown(path), shown(fmt.Sprintf(format, values...))}
}

// shown returns text from a policy in a form that is safe in an error.
func shown(text string) string {
	const bytesMax = 300
	if len(text) > bytesMax {
		text = text[:bytesMax] + "..."
	}
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == unicode.ReplacementChar {
			return '?'
		}
		return r
	}, text)
}

// depthMax bounds the nesting of policies: a list of values in a condition is the sixth level.
const depthMax = 6

const (
	memberStatement = "Statement"
	memberEffect    = "Effect"
	effectAllow     = "Allow"
	effectDeny      = "Deny"
)

var (
	documentMembers  = []string{"Version", "Id", memberStatement}
	statementMembers = []string{
		"Sid", memberEffect, "Principal", "NotPrincipal", "Action", "NotAction", "Resource", "NotResource", "Condition",
	}
	versions = []string{"2012-10-17", "2008-10-17"}
)

// Parse parses a policy. The error is a [Problem] and names the first invalid member.
func Parse(kind Kind, text string) (*Document, error) {
	d, _, err := read(kind, "", text)
	return d, err
}

// Check refuses a policy that Parse refuses, or with a statement that cannot apply to its queue or topic,
// whose ARN is own.
func Check(kind Kind, own, text string) error {
	_, _, err := read(kind, own, text)
	return err
}

// Stored reads a policy that may have been stored under other rules. If Parse refuses it, it permits
// nothing: its denials stay, and a malformed statement that may be a denial denies everything.
func Stored(kind Kind, text string) *Document {
	d, kept, err := read(kind, "", text)
	if err != nil {
		return kept
	}
	return d
}

// denial denies everything to all callers.
var denial = statement{deny: true, principals: principals{given: true, anyone: true}, actions: patterns{texts: []string{"*"}},
	resources: patterns{texts: []string{"*"}}}

// read parses a policy. If it is refused, kept holds its denials.
func read(kind Kind, own, text string) (d, kept *Document, err error) {
	kept = &Document{[]statement{denial}}
	value, err := jsontext.Parse(text, depthMax)
	if err != nil {
		return nil, kept, problem("", "the policy is malformed: %v", err)
	}
	members, err := readObject("", value, "member", documentMembers)
	if err != nil {
		return nil, kept, err
	}
	if version, given := members["Version"]; given && !contains(versions, version.Text()) {
		return nil, kept, problem("Version", "must be one of %s", strings.Join(versions, ", "))
	}
	if id, given := members["Id"]; given && id.Kind() != jsontext.KindString {
		return nil, kept, problem("Id", "must be a string")
	}
	list, paths, err := readStatements(members)
	if err != nil {
		return nil, kept, err
	}
	d, kept = &Document{}, &Document{}
	for i, value := range list {
		s, wrong := readStatement(kind, own, paths[i], value)
		s.number = i + 1
		d.statements = append(d.statements, s)
		switch {
		case wrong == nil && s.deny:
			kept.statements = append(kept.statements, s)
		case wrong != nil && !onlyAllows(value):
			s = denial
			s.number = i + 1
			kept.statements = append(kept.statements, s)
		}
		if err == nil {
			err = wrong
		}
	}
	if err != nil {
		return nil, kept, err
	}
	return d, kept, nil
}

// readStatements returns the statements of a document with their paths.
func readStatements(members map[string]jsontext.Value) (list []jsontext.Value, paths []string, err error) {
	given, has := members[memberStatement]
	switch {
	case !has:
		return nil, nil, problem("", "%s is missing", memberStatement)
	case given.Kind() == jsontext.KindObject:
		return []jsontext.Value{given}, []string{memberStatement}, nil
	case given.Kind() != jsontext.KindArray:
		return nil, nil, problem(memberStatement, "must be a list of statements")
	}
	for e := range given.Elements() {
		paths = append(paths, fmt.Sprintf("%s[%d]", memberStatement, len(list)))
		list = append(list, e)
	}
	return list, paths, nil
}

// onlyAllows reports whether a malformed statement is certainly no denial.
func onlyAllows(value jsontext.Value) bool {
	effects := 0
	for name, v := range value.Members() {
		if strings.EqualFold(name.Text(), memberEffect) {
			if effects++; v.Text() != effectAllow {
				return false
			}
		}
	}
	return effects == 1
}

func readStatement(kind Kind, own, path string, value jsontext.Value) (s statement, err error) {
	members, err := readObject(path, value, "member", statementMembers)
	if err != nil {
		return s, err
	}
	effect, given := members[memberEffect]
	switch {
	case !given:
		return s, problem(path, "%s is missing", memberEffect)
	case effect.Text() != effectAllow && effect.Text() != effectDeny:
		return s, problem(path+"."+memberEffect, "must be %s or %s", effectAllow, effectDeny)
	}
	s.deny = effect.Text() == effectDeny
	if sid, given := members["Sid"]; given {
		if sid.Kind() != jsontext.KindString {
			return s, problem(path+".Sid", "must be a string")
		}
		s.sid = sid.Text()
	}
	if s.principals, err = readPrincipals(kind, path, members, s.deny); err != nil {
		return s, err
	}
	if s.actions, err = readPatterns(path, "Action", members,
		func(path, text string) error { return checkAction(kind, path, text) }); err != nil {
		return s, err
	}
	for i, action := range s.actions.texts {
		s.actions.texts[i] = strings.ToLower(action)
	}
	if s.resources, err = readPatterns(path, "Resource", members,
		func(path, text string) error { return checkResource(kind, path, text) }); err != nil {
		return s, err
	}
	if s.conditions, err = readConditions(path, members, s.deny); err != nil {
		return s, err
	}
	return s, s.checkApplies(kind, path, own)
}

// readObject reads the members of an object, which must be known ones; what names them in errors.
func readObject(path string, value jsontext.Value, what string, known []string) (map[string]jsontext.Value, error) {
	if value.Kind() != jsontext.KindObject {
		if path == "" {
			return nil, problem("", "the policy is malformed: it must be a JSON object")
		}
		return nil, problem(path, "must be an object")
	}
	members := map[string]jsontext.Value{}
	for name, v := range value.Members() {
		at := name.Text()
		if path != "" {
			at = path + "." + at
		}
		if !contains(known, name.Text()) {
			return nil, problem(at, "there is no such %s%s", what, suggest(name.Text(), known))
		}
		if _, twice := members[name.Text()]; twice {
			return nil, problem(at, "the %s is there twice", what)
		}
		members[name.Text()] = v
	}
	return members, nil
}

// readPatterns reads a member or its negated form, such as Action and NotAction.
func readPatterns(path, name string, members map[string]jsontext.Value, check func(path, text string) error) (p patterns, err error) {
	value, given := members[name]
	negated, givenNegated := members["Not"+name]
	switch {
	case given && givenNegated:
		return p, problem(path, "it has both %s and Not%s", name, name)
	case givenNegated:
		value, p.negated, name = negated, true, "Not"+name
	case !given:
		return p, problem(path, "%s is missing", name)
	}
	p.texts, err = readTexts(path+"."+name, value, false, check)
	return p, err
}

// readTexts reads a string or a list of strings. With scalars it also accepts numbers and booleans.
func readTexts(path string, value jsontext.Value, scalars bool, check func(path, text string) error) (texts []string, err error) {
	list, paths := []jsontext.Value{value}, []string{path}
	if value.Kind() == jsontext.KindArray {
		list, paths = nil, nil
		for e := range value.Elements() {
			paths = append(paths, fmt.Sprintf("%s[%d]", path, len(list)))
			list = append(list, e)
		}
		if len(list) == 0 {
			return nil, problem(path, "the list is empty")
		}
	}
	for i, e := range list {
		var text string
		switch e.Kind() {
		case jsontext.KindString:
			text = e.Text()
		case jsontext.KindNumber, jsontext.KindTrue, jsontext.KindFalse:
			text = e.Raw()
			if !scalars {
				return nil, problem(paths[i], "must be a string")
			}
		default:
			return nil, problem(paths[i], "must be a string or a list of strings")
		}
		if strings.ContainsFunc(text, unicode.IsControl) {
			return nil, problem(paths[i], "has a control character")
		}
		if err := check(paths[i], text); err != nil {
			return nil, err
		}
		texts = append(texts, text)
	}
	return texts, nil
}
