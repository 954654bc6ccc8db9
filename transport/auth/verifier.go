package auth

import (
	"crypto/sha256"
	"encoding/base32"
	"net/http"
	"strings"
)

// Identity is the caller of a request.
type Identity struct {
	// AccessKeyID is what the request was signed with, empty if unsigned.
	AccessKeyID string
	// Service is what the signature is for, such as sqs, empty if unsigned.
	Service string
	// Account and User are whose key it is, where signatures are verified; a caller without
	// an account is anonymous. An empty User is the account itself.
	Account, User string
}

// PrincipalID is the id of the caller, which others may see: the number of the account, or an
// id made of the name of the user in the form that IAM gives out. Empty for a caller whose
// account is not known.
func (i Identity) PrincipalID() string {
	if i.User == "" {
		return i.Account
	}
	sum := sha256.Sum256([]byte(i.Account + "/" + i.User))
	const prefix, length = "AIDA", 21
	return (prefix + base32.StdEncoding.EncodeToString(sum[:]))[:length]
}

// Anonymous is the principal id of callers without a key where signatures are verified.
const Anonymous = "anonymous"

// Error is a refusal to serve a caller, in the words of the common AWS errors.
type Error struct {
	Code    string // such as InvalidClientTokenId
	Status  int    // HTTP status
	Message string
}

// Error is the code and the message.
func (e *Error) Error() string { return e.Code + ": " + e.Message }

// Verifier finds out who a request comes from. It is safe for concurrent use.
// The error is an *Error if the caller is refused.
type Verifier interface {
	// Verify examines the header and the URL of r and its body, which was read
	// already. It returns the body as it is meant: the encoding aws-chunked is
	// part of a signature.
	Verify(r *http.Request, body string) (Identity, string, error)
}

// Permission is what a caller asks to be permitted.
type Permission struct {
	Action   string // such as sqs:SendMessage
	Resource string // ARN, or * for what is about no single resource
	// Account is the number of the one that the resource belongs to; empty: the caller's.
	Account string
	// Policy reads the policy of the resource as far as this node knows it, empty if there
	// is none; nil for what has none.
	Policy func() string
}

// Authorizer decides what callers may do. It is safe for concurrent use.
type Authorizer interface {
	// Authorize refuses, with an *Error, a caller who may not.
	Authorize(r *http.Request, caller Identity, to Permission) error
	// Revoked is the refusal of a caller whose key was taken away since its request was
	// verified, nil for all others.
	Revoked(caller Identity) error
	// Stranger is the refusal of a caller who showed no key, nil for all others. It takes
	// the place of any other error, which could tell something.
	Stranger(caller Identity) error
}

// AcceptAll accepts every request as the identity it claims.
type AcceptAll struct{}

// Verify never fails.
func (AcceptAll) Verify(r *http.Request, body string) (Identity, string, error) {
	return identityOf(claimedScope(r)), body, nil
}

const algorithm = "AWS4-HMAC-SHA256"

// accessKeyLengthMax is the longest access key id that IAM gives out.
const accessKeyLengthMax = 128

// claimedScope is the credential scope, which reads key/yyyymmdd/region/sqs/aws4_request,
// from the header or, in presigned requests, from the query string.
func claimedScope(r *http.Request) string {
	if scheme, rest, ok := strings.Cut(r.Header.Get("Authorization"), " "); ok && strings.HasPrefix(scheme, algorithm) {
		for rest != "" {
			var field string
			field, rest, _ = strings.Cut(rest, ",")
			if scope, ok := strings.CutPrefix(strings.TrimSpace(field), "Credential="); ok {
				return scope
			}
		}
		return ""
	}
	if strings.Contains(r.URL.RawQuery, "X-Amz-Credential=") {
		return r.URL.Query().Get("X-Amz-Credential")
	}
	return ""
}

// identityOf reads a credential scope. The identity is empty for anything malformed.
func identityOf(scope string) Identity {
	key, rest, ok := strings.Cut(scope, "/")
	if !ok || len(key) > accessKeyLengthMax {
		return Identity{}
	}
	for i := range len(key) {
		c := key[i]
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '_' && c != '-' {
			return Identity{}
		}
	}
	caller := Identity{AccessKeyID: key}
	if _, rest, ok = strings.Cut(rest, "/"); ok { // the date
		if _, rest, ok = strings.Cut(rest, "/"); ok { // the region
			caller.Service, _, _ = strings.Cut(rest, "/")
		}
	}
	return caller
}
