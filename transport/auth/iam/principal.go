package iam

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// principals are whom a statement is about. The zero principals are those of a policy
// that belongs to a caller: it is about nobody else.
type principals struct {
	given   bool
	negated bool
	anyone  bool
	names   []string // accounts and ARNs
}

func parsePrincipals(o object) (p principals, err error) {
	raw, given := o["Principal"]
	negated, givenNegated := o["NotPrincipal"]
	switch {
	case given && givenNegated:
		return p, errors.New("it has both Principal and NotPrincipal")
	case givenNegated:
		raw, p.negated = negated, true
	case !given:
		return p, nil
	}
	p.given = true
	var text string
	if json.Unmarshal(raw, &text) == nil {
		p.anyone = text == "*"
		if !p.anyone {
			return p, errors.New("a Principal that is a text must be *")
		}
		return p, nil
	}
	var kinds object
	if err := json.Unmarshal(raw, &kinds); err != nil {
		return p, fmt.Errorf("the Principal: %w", err)
	}
	for kind, list := range kinds {
		texts, err := parseTexts(list)
		if err != nil {
			return p, fmt.Errorf("the Principal: %w", err)
		}
		if kind != "AWS" {
			continue // services and federations do not call this server
		}
		p.names = append(p.names, texts...)
		p.anyone = p.anyone || slices.Contains(texts, "*")
	}
	return p, nil
}

// match reports whether a statement is about a caller.
func (p principals) match(c Caller) bool {
	if !p.given {
		return true
	}
	found := p.anyone || slices.ContainsFunc(p.names, c.is)
	return found != p.negated
}

// Caller is who makes a request. The zero Caller is anonymous.
type Caller struct {
	Account string // twelve digits
	User    string // name; empty: the account itself
}

// ARN is the caller as policies name it, empty for an anonymous one.
func (c Caller) ARN() string {
	switch {
	case c.Account == "":
		return ""
	case c.User == "":
		return rootOf(c.Account)
	}
	return "arn:aws:iam::" + c.Account + ":user/" + c.User
}

func rootOf(account string) string { return "arn:aws:iam::" + account + ":root" }

// is reports whether a name in a policy means the caller: itself or its account.
func (c Caller) is(name string) bool {
	if c.Account == "" {
		return false
	}
	return name == c.Account || name == rootOf(c.Account) || strings.EqualFold(name, c.ARN())
}
