package policies

import (
	"net"
	"regexp"
	"strings"
	"time"
)

// request contains the action, the resource, and the caller.
type request struct {
	account, user string // of the caller; no account: anonymous
	action        string
	resource      string
	owner         string              // of the resource
	keys          map[string][]string // in lower case
}

// effect is the decision of a policy.
type effect int

const (
	silent effect = iota
	allows
	denies
)

// evaluate returns the decision of a policy about a request.
func (p *policy) evaluate(r *request) effect {
	said := silent
	for _, s := range p.statements {
		if !s.speaksOf(r) {
			continue
		}
		if s.effect == "Deny" {
			return denies
		}
		said = allows
	}
	return said
}

func (s *statement) speaksOf(r *request) bool {
	if s.principals != nil {
		named := false
		for _, name := range s.principals {
			named = named || names(name, r)
		}
		if named == s.exceptPrincipals {
			return false
		}
	}
	if listed(s.actions, strings.ToLower(r.action), r, true) == s.exceptActions {
		return false
	}
	if listed(s.resources, r.resource, r, false) == s.exceptResources {
		return false
	}
	for _, c := range s.conditions {
		if !c.holds(r) {
			return false
		}
	}
	return true
}

func names(principal string, r *request) bool {
	switch {
	case principal == "*":
		return true
	case r.account == "":
		return false
	case principal == r.account, principal == "arn:aws:iam::"+r.account+":root":
		return true
	}
	return r.user != "" && principal == "arn:aws:iam::"+r.account+":user/"+r.user
}

func listed(patterns []string, text string, r *request, lower bool) bool {
	for _, p := range patterns {
		if lower {
			p = strings.ToLower(p)
		}
		if glob(p, text, r) {
			return true
		}
	}
	return false
}

// glob matches with a regular expression.
func glob(pattern, text string, r *request) bool {
	var expression strings.Builder
	for pattern != "" {
		switch {
		case strings.HasPrefix(pattern, "${"):
			end := strings.IndexByte(pattern, '}')
			values := r.keys[strings.ToLower(pattern[2:end])]
			if len(values) != 1 {
				return false
			}
			expression.WriteString(regexp.QuoteMeta(values[0]))
			pattern = pattern[end:]
		case pattern[0] == '*':
			expression.WriteString("(?s:.*)")
		case pattern[0] == '?':
			expression.WriteString("(?s:.)")
		default:
			expression.WriteString(regexp.QuoteMeta(pattern[:1]))
		}
		pattern = pattern[1:]
	}
	return regexp.MustCompile("^" + expression.String() + "$").MatchString(text)
}

func (c condition) holds(r *request) bool {
	got := r.keys[strings.ToLower(c.key)]
	if c.operator == "Null" {
		for _, v := range c.values {
			if (v == "true") == (len(got) == 0) {
				return true
			}
		}
		return false
	}
	operator, ifExists := strings.CutSuffix(c.operator, "IfExists")
	positive := strings.Replace(strings.Replace(operator, "NotIp", "Ip", 1), "Not", "", 1)
	negated := positive != operator
	if len(got) == 0 {
		return ifExists || negated
	}
	for _, g := range got {
		for _, v := range c.values {
			if compare(positive, g, v, r) {
				return !negated
			}
		}
	}
	return negated
}

func compare(operator, got, wanted string, r *request) bool {
	switch operator {
	case "StringEquals":
		return got == wanted
	case "StringEqualsIgnoreCase", "Bool":
		return strings.EqualFold(got, wanted)
	case "StringLike", "ArnLike", "ArnEquals":
		return glob(wanted, got, r)
	case "IpAddress":
		if !strings.Contains(wanted, "/") {
			return net.ParseIP(wanted).Equal(net.ParseIP(got))
		}
		_, network, err := net.ParseCIDR(wanted)
		return err == nil && network.Contains(net.ParseIP(got))
	}
	a, errA := time.Parse(time.RFC3339, got)
	b, errB := time.Parse(time.RFC3339, wanted)
	if errA != nil || errB != nil {
		return false
	}
	switch operator {
	case "DateLessThan":
		return a.Before(b)
	case "DateLessThanEquals":
		return !a.After(b)
	case "DateGreaterThan":
		return a.After(b)
	case "DateGreaterThanEquals":
		return !a.Before(b)
	}
	return a.Equal(b)
}

// decide reports whether the policies of the caller and of the resource permit a request; nil
// stands for no policy.
func decide(r *request, ofCaller, ofResource *policy) bool {
	caller, resource := silent, silent
	if ofCaller != nil {
		caller = ofCaller.evaluate(r)
	}
	if ofResource != nil {
		resource = ofResource.evaluate(r)
	}
	switch {
	case caller == denies || resource == denies:
		return false
	case r.account == "":
		return resource == allows
	case r.account == r.owner:
		return r.user == "" || caller == allows || resource == allows
	case r.user == "":
		return resource == allows
	}
	return caller == allows && resource == allows
}
