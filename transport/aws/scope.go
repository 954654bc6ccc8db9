package aws

import (
	"net/http"
	"strings"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/access"
	"github.com/seriatimq/seriatim/queue/account"
	"github.com/seriatimq/seriatim/queue/refusal"
	"github.com/seriatimq/seriatim/transport/auth"
	"github.com/seriatimq/seriatim/transport/auth/rate"
)

// Scope says what names in a request mean: whose queues and topics they are.
//
// The caller's account is that of its key. Where signatures are not verified, it is what
// the request names, if there is such an account, else that of the cluster. There any
// other account in a URL or an ARN stands for the caller's, too: a client moved here from
// elsewhere keeps its URLs. Where they are verified, an account is what it says.
type Scope struct {
	names    Names
	accounts *access.Table
	verified bool
	caller   string // as the state calls it
}

// NewScope is that of a caller. named is the account that a request without a verified
// signature names, empty if none.
func NewScope(names Names, accounts *access.Table, verified bool, caller auth.Identity, named string) Scope {
	s := Scope{names: names, accounts: accounts, verified: verified}
	if verified {
		s.caller = names.owner(caller.Account)
	} else if s.exists(named) {
		s.caller = names.owner(named)
	}
	return s
}

func (s *Scope) exists(id string) bool {
	if id == "" || s.accounts == nil || s.accounts.AccountCount() == 0 {
		return false
	}
	_, known := s.accounts.Account(id)
	return known
}

// Caller is the account that the caller acts for, as the state calls it.
func (s *Scope) Caller() string { return s.caller }

// CallerID is the number of the caller's account.
func (s *Scope) CallerID() string { return s.names.ID(s.caller) }

// Own is what the state calls something of the caller's account.
func (s *Scope) Own(name string) string { return account.Qualify(s.caller, name) }

// Of is what the state calls something of the account that a URL or an ARN names, empty if
// it names none.
func (s *Scope) Of(id, name string) string {
	switch {
	case id == s.names.Account:
		return account.Qualify("", name)
	case account.IsID(id) && (s.verified || s.exists(id)):
		return account.Qualify(id, name)
	}
	return s.Own(name)
}

// Elsewhere is that of Names.
func (s *Scope) Elsewhere(text string) bool { return s.names.Elsewhere(text) }

// Foreign reports whether something is not of the caller's account.
func (s *Scope) Foreign(qualified string) bool { return account.OwnerOf(qualified) != s.caller }

// Charged is whom a request about a resource counts for: the account of the caller, or, if
// nobody has shown a key, that of the resource; where keys are verified, those who have none
// do not count for the account itself.
func (s *Scope) Charged(caller auth.Identity, about Resource) rate.Payer {
	payer := rate.Payer{Account: s.caller, Strangers: s.verified && caller.Account == ""}
	if qualified := about.Name + about.Topic; qualified != "" && caller.Account == "" { // of which one is empty
		payer.Account = account.OwnerOf(qualified)
	}
	return payer
}

// Throttled refuses a request because its account has made too many, in the words of SQS.
func Throttled() *queue.Error {
	return refusal.New(refusal.RequestThrottled, "The account makes more requests a second than its quota allows at this node. Nothing was done, retry later.")
}

// Subscriber is who owns a subscription to a topic that the caller makes, by number, and
// the ARN of the caller. Who does not show a key acts for the account of the topic.
func (s *Scope) Subscriber(caller auth.Identity, topic string) (id, principal string) {
	if id = caller.Account; id == "" {
		id = s.names.ID(account.OwnerOf(topic))
	}
	if caller.User != "" {
		return id, "arn:aws:iam::" + id + ":user/" + caller.User
	}
	return id, "arn:aws:iam::" + id + ":root"
}

// AccountInPath is the account that the path of a request names, empty if none.
func AccountInPath(r *http.Request) string {
	if len(r.URL.Path) < 2 {
		return ""
	}
	first, _, _ := strings.Cut(r.URL.Path[1:], "/")
	if !account.IsID(first) {
		return ""
	}
	return first
}
