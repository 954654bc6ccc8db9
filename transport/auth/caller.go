package auth

import (
	"context"
	"crypto/sha256"
	"encoding/base32"
)

// Identity identifies the caller of a request.
type Identity struct {
	// AccessKeyID is the key in the signature of the request, empty if unsigned.
	AccessKeyID string
	// Service is the service in the signature, such as sqs, empty if unsigned.
	Service string
	// Account and User own the key, where signatures are verified. A caller without an account is
	// anonymous. An empty User means the account itself.
	Account, User string
}

// PrincipalID returns the public id of the caller: the number of the account, or an id derived from
// the name of the user in the form of IAM. It is empty if the account is unknown.
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

// Error refuses a caller in the words of the common AWS errors.
type Error struct {
	Code    string // such as InvalidClientTokenId
	Status  int    // HTTP status
	Message string
}

// Error returns the code and the message.
func (e *Error) Error() string { return e.Code + ": " + e.Message }

// Connection describes the origin of a call, for the condition keys of policies.
type Connection struct {
	Address   string // of the client, with the port
	Encrypted bool   // by TLS
	UserAgent string // empty if the client gives none
}

// Permission describes the action and the resource that a caller asks for.
type Permission struct {
	Action   string // such as sqs:SendMessage
	Resource string // ARN, or * for actions on no single resource
	// Account is the number of the account of the resource; empty: the caller's.
	Account string
	// Policy reads the policy of the resource that this node has applied, empty if there is
	// none; nil for resources that cannot have one.
	Policy func() string
}

// Authorizer decides what callers may do. Safe for concurrent use.
type Authorizer interface {
	// Authorize refuses, with an *Error, a caller without the permission.
	Authorize(ctx context.Context, from *Connection, caller Identity, to Permission) error
	// Revoked refuses a caller whose key was revoked after its request was verified.
	Revoked(caller Identity) error
	// RefuseAnonymous refuses a caller without a key. Protocols answer with this error instead of
	// any other, which could reveal something.
	RefuseAnonymous(caller Identity) error
}
