package sas

import (
	"context"
	"crypto/hmac"
	"net/http"
	"time"

	"github.com/seriatimq/seriatim/transport/auth"
)

// Service is the service of callers with a token.
const Service = "servicebus"

// Keys provides access keys. Safe for concurrent use.
type Keys interface {
	// Secret returns the secret of an active access key. The error is an *auth.Error if the secret is
	// not available at the moment.
	Secret(id string) (secret string, known bool, err error)
}

// Authenticator identifies the caller of a token. Safe for concurrent use. The error is an *auth.Error if
// the caller is refused.
type Authenticator interface {
	VerifyToken(ctx context.Context, text string) (auth.Identity, Token, error)
}

// Codes of refusals.
const (
	Malformed    = "MalformedToken"
	UnknownKey   = "UnknownKey"
	WrongMAC     = "InvalidSignature"
	Expired      = "ExpiredToken"
	OutsideScope = "InvalidAudience"
)

// Verifier accepts tokens that are signed with a known key. Safe for concurrent use.
type Verifier struct {
	keys Keys
	now  func() time.Time
}

// New returns a Verifier that compares the end of tokens with the clock now.
func New(keys Keys, now func() time.Time) *Verifier { return &Verifier{keys: keys, now: now} }

// Verify returns the caller and the content of a token. A refusal is an *auth.Error.
func (v *Verifier) Verify(text string) (auth.Identity, Token, error) {
	t, ok := parse(text)
	if !ok {
		return auth.Identity{}, Token{}, refuse(Malformed, "Malformed authorization token.")
	}
	secret, known, err := v.keys.Secret(t.KeyName)
	if err != nil {
		return auth.Identity{}, Token{}, err
	}
	if !known {
		return auth.Identity{}, Token{}, refuse(UnknownKey, "Invalid authorization token signature: the key "+t.KeyName+" is unknown.")
	}
	if !hmac.Equal(sign(t.signed, secret), t.signature) {
		return auth.Identity{}, Token{}, refuse(WrongMAC, "Invalid authorization token signature.")
	}
	if !v.now().Before(t.Expires) {
		return auth.Identity{}, Token{}, refuse(Expired, "The authorization token expired at "+t.Expires.UTC().Format(time.RFC3339)+".")
	}
	return auth.Identity{AccessKeyID: t.KeyName, Service: Service}, t, nil
}

// CheckCovers refuses a token whose audience does not cover an entity.
func CheckCovers(t *Token, path string) error {
	if t.Covers(path) {
		return nil
	}
	return refuse(OutsideScope, "The audience of the authorization token, "+t.Audience+", does not cover "+path+".")
}

func refuse(code, message string) error {
	return &auth.Error{Code: code, Status: http.StatusUnauthorized, Message: message}
}

// AcceptAll is an Authenticator that accepts every token, and any other text, as the identity that it
// claims.
type AcceptAll struct{}

// VerifyToken never fails. The token covers everything and never expires.
func (AcceptAll) VerifyToken(_ context.Context, text string) (auth.Identity, Token, error) {
	t, _ := parse(text)
	return auth.Identity{AccessKeyID: t.KeyName, Service: Service}, Token{KeyName: t.KeyName}, nil
}
