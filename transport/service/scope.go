package service

import (
	"strings"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/access"
	"github.com/seriatimq/seriatim/queue/refusal"
	"github.com/seriatimq/seriatim/transport/auth"
	"github.com/seriatimq/seriatim/transport/auth/rate"
)

// Scope resolves the names of queues and topics in a request to accounts.
//
// With verified signatures, the caller's account is that of its key, and an account in a URL or an
// ARN means that account. Without them, the caller's account is the one that the request names, if
// it exists, else that of the cluster. An unknown account in a URL or an ARN then means the
// caller's: a client that was moved here from elsewhere keeps its URLs.
type Scope struct {
	names    Names
	accounts *access.Table
	verified bool
	caller   string // name of the account in the state
}

// NewScope makes the Scope of a caller. named is the account that a request without a verified
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

// Caller returns the caller's account by its name in the state.
func (s *Scope) Caller() string { return s.caller }

// CallerID returns the number of the caller's account.
func (s *Scope) CallerID() string { return s.names.ID(s.caller) }

// Own qualifies a name by the caller's account.
func (s *Scope) Own(name string) string { return access.Qualify(s.caller, name) }

// Of qualifies a name by the account in a URL or an ARN; id is empty if it has none.
func (s *Scope) Of(id, name string) string {
	switch {
	case id == s.names.Account:
		return access.Qualify("", name)
	case access.IsAccountID(id) && (s.verified || s.exists(id)):
		return access.Qualify(id, name)
	}
	return s.Own(name)
}

// Elsewhere calls Names.Elsewhere.
func (s *Scope) Elsewhere(text string) bool { return s.names.Elsewhere(text) }

// Foreign reports whether a resource belongs to another account than the caller's.
func (s *Scope) Foreign(qualified string) bool { return access.OwnerOf(qualified) != s.caller }

// Charged returns the account whose quota a request counts against: the account of the caller, or
// that of the resource if the caller has no key. Where keys are verified, calls without a key have a
// quota of their own.
func (s *Scope) Charged(caller auth.Identity, about Resource) rate.Payer {
	payer := rate.Payer{Account: s.caller, Anonymous: s.verified && caller.Account == ""}
	if qualified := about.Name + about.Topic; qualified != "" && caller.Account == "" { // of which one is empty
		payer.Account = access.OwnerOf(qualified)
	}
	return payer
}

// KeepCaller copies the name of the caller's account, which may be part of the text of a request.
func (s *Scope) KeepCaller() { s.caller = strings.Clone(s.caller) }

// Throttled refuses a request of an account that has used up its quota, in the words of SQS.
func Throttled() *queue.Error {
	return refusal.New(refusal.RequestThrottled, "The account makes more requests a second than its quota allows at this node. Nothing "+
		"was done, retry later.")
}

// Subscriber returns the number of the account that will own a new subscription of the caller, and
// the ARN of the caller. A caller without a key acts for the account of the topic.
func (s *Scope) Subscriber(caller auth.Identity, topic string) (id, principal string) {
	if id = caller.Account; id == "" {
		id = s.names.ID(access.OwnerOf(topic))
	}
	if caller.User != "" {
		return id, "arn:aws:iam::" + id + ":user/" + caller.User
	}
	return id, "arn:aws:iam::" + id + ":root"
}
