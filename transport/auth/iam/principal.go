package iam

import (
	"slices"
	"strings"

	"github.com/seriatimq/seriatim/queue/access"
	"github.com/seriatimq/seriatim/queue/jsontext"
)

// principals selects the callers of a statement. The zero principals are those of a policy of a user.
type principals struct {
	given   bool
	negated bool
	anyone  bool
	names   []string // accounts and ARNs
}

const kindAWS, kindService = "AWS", "Service"

func readPrincipals(kind Kind, path string, members map[string]jsontext.Value, deny bool) (p principals, err error) {
	name := "Principal"
	value, given := members[name]
	negated, givenNegated := members["NotPrincipal"]
	switch {
	case kind == UserPolicy && (given || givenNegated):
		return p, problem(path, "the policy of a user has no principal: it is about that user")
	case kind == UserPolicy:
		return p, nil
	case given && givenNegated:
		return p, problem(path, "it has both Principal and NotPrincipal")
	case givenNegated && !deny:
		return p, problem(path+".NotPrincipal", "it would permit everybody else: name the Principal")
	case givenNegated:
		name, value, p.negated = "NotPrincipal", negated, true
	case !given:
		return p, problem(path, `Principal is missing: it says for whom the statement is, such as {"AWS":"111111111111"}`)
	}
	p.given = true
	path += "." + name
	if value.Kind() == jsontext.KindString {
		if p.anyone = value.Text() == "*"; !p.anyone {
			return p, problem(path, `must be * or an object such as {"AWS":"111111111111"}`)
		}
	} else if err := p.readKinds(path, value); err != nil {
		return p, err
	}
	switch {
	case p.negated && p.anyone:
		return p, problem(path, "it never applies: it excludes every caller")
	case deny && !p.negated && !p.anyone && len(p.names) == 0:
		return p, problem(path, "no service calls this server, so that this denies nothing")
	}
	return p, nil
}

// readKinds reads principals by kind.
func (p *principals) readKinds(path string, value jsontext.Value) error {
	kinds, err := readObject(path, value, "kind of principal", []string{kindAWS, kindService})
	if err != nil {
		return err
	}
	if len(kinds) == 0 {
		return problem(path, "it names no principal")
	}
	if list, given := kinds[kindAWS]; given {
		if p.names, err = readTexts(path+"."+kindAWS, list, false, checkPrincipal); err != nil {
			return err
		}
		p.anyone = slices.Contains(p.names, "*")
	}
	if list, given := kinds[kindService]; given {
		// Policies for AWS permit services to send. Here no request matches such a statement: topics
		// deliver without a permission.
		_, err = readTexts(path+"."+kindService, list, false, checkService)
	}
	return err
}

const (
	arnPrefix = "arn:aws:iam::"
	rootEnd   = ":root"
	userBegin = ":user/"
)

// checkPrincipal refuses all but accounts and users. Wildcards, roles, and paths of users are not
// supported.
func checkPrincipal(path, text string) error {
	if text == "*" || access.IsAccountID(text) {
		return nil
	}
	if rest, ok := strings.CutPrefix(text, arnPrefix); ok {
		const digits = len("111111111111")
		if len(rest) > digits && access.IsAccountID(rest[:digits]) {
			if rest[digits:] == rootEnd {
				return nil
			}
			if name, ok := strings.CutPrefix(rest[digits:], userBegin); ok && isUserName(name) {
				return nil
			}
		}
	}
	return problem(path, "must be *, an account id of 12 digits, %s<account>%s or %s<account>%s<name>", arnPrefix, rootEnd, arnPrefix,
		userBegin)
}

func isUserName(name string) bool {
	const lengthMax = 64
	for i := range len(name) {
		c := name[i]
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && !strings.ContainsRune("_+=,.@-", rune(c)) {
			return false
		}
	}
	return name != "" && len(name) <= lengthMax
}

// checkService refuses text that is no service of AWS.
func checkService(path, text string) error {
	name, ok := strings.CutSuffix(text, ".amazonaws.com")
	plain := func(r rune) bool { return r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-' || r == '.' }
	if !ok || name == "" || strings.ContainsFunc(name, func(r rune) bool { return !plain(r) }) {
		return problem(path, "must be the name of a service, such as sns.amazonaws.com")
	}
	return nil
}

// match reports whether the principals include a caller.
func (p principals) match(c Caller) bool {
	if !p.given {
		return true
	}
	found := p.anyone || slices.ContainsFunc(p.names, c.is)
	return found != p.negated
}

// Caller is the identity that makes a request. The zero Caller is anonymous.
type Caller struct {
	Account string // twelve digits
	User    string // name; empty: the account itself
}

// ARN returns the ARN of the caller, empty for an anonymous one.
func (c Caller) ARN() string {
	switch {
	case c.Account == "":
		return ""
	case c.User == "":
		return rootOf(c.Account)
	}
	return arnPrefix + c.Account + userBegin + c.User
}

func rootOf(account string) string { return arnPrefix + account + rootEnd }

// is reports whether a name in a policy is the caller or its account.
func (c Caller) is(name string) bool {
	return c.Account != "" && (name == c.Account || name == rootOf(c.Account) || name == c.ARN())
}
