package sigv4

import (
	"crypto/subtle"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/seriatimq/seriatim/transport/auth"
)

// SkewMax bounds the difference between the date of a request and the server's clock (AWS).
const SkewMax = 15 * time.Minute

// Keys provides access keys. Safe for concurrent use.
type Keys interface {
	// Secret returns the secret of an active access key. The error is an *auth.Error if the secret is
	// not available at the moment.
	Secret(id string) (secret string, known bool, err error)
}

// Verifier accepts requests that are signed with a known key. Safe for concurrent use.
type Verifier struct {
	keys    Keys
	now     func() time.Time
	signing signingKeys
	lists   headerLists
}

// New returns a Verifier that compares dates with the clock now.
func New(keys Keys, now func() time.Time) *Verifier {
	return &Verifier{keys: keys, now: now}
}

// Verify returns the caller of a signed request, and its body without the encoding aws-chunked. A refusal
// is an *auth.Error.
func (v *Verifier) Verify(r *http.Request, body string) (auth.Identity, string, error) {
	var s signature
	signed, err := s.read(r, &v.lists)
	if err != nil {
		return auth.Identity{}, "", err
	}
	if !signed {
		return auth.Identity{}, "", missingToken()
	}
	secret, known, err := v.keys.Secret(s.scope.keyID)
	if err != nil {
		return auth.Identity{}, "", err
	}
	if !known {
		return auth.Identity{}, "", unknownKey()
	}
	if err := s.check(r, v.now()); err != nil {
		return auth.Identity{}, "", err
	}
	var room [signatureLength]byte
	content, err := appendPayload(room[:0], r, body)
	if err != nil {
		return auth.Identity{}, "", err
	}
	key, kept := v.signing.get(s.scope, secret)
	want := key.sign(&s, r, content)
	if subtle.ConstantTimeCompare(want[:], []byte(s.digits)) != 1 {
		return auth.Identity{}, "", wrongSignature()
	}
	if !kept {
		v.signing.keep(s.scope, key)
	}
	v.lists.keep(s.signed)
	if string(content) == signedChunks || string(content) == unsignedChunks {
		c := chunks{signature: &s, key: key, signed: string(content) == signedChunks, before: s.digits}
		if body, err = c.read(body); err != nil {
			return auth.Identity{}, "", err
		}
	}
	return auth.Identity{AccessKeyID: s.scope.keyID, Service: s.scope.service}, body, nil
}

// check refuses requests that are invalid with any signature.
func (s *signature) check(r *http.Request, now time.Time) error {
	if err := s.checkTime(now.UTC()); err != nil {
		return err
	}
	return s.checkSigned(r)
}

// checkTime refuses requests that are too old, or from the future.
func (s *signature) checkTime(now time.Time) error {
	if earliest := now.Add(SkewMax); s.date.After(earliest) {
		return expired("Signature not yet current: " + s.stamp + " is still later than " + earliest.Format(dateFormat) +
			" (" + now.Format(dateFormat) + " + 15 min.)")
	}
	if s.query {
		if end := s.date.Add(s.expires); now.After(end) {
			return expired("Signature expired: " + end.Format(dateFormat) + " is now earlier than " + now.Format(dateFormat))
		}
		return nil
	}
	if earliest := now.Add(-SkewMax); s.date.Before(earliest) {
		return expired("Signature expired: " + s.stamp + " is now earlier than " + earliest.Format(dateFormat) +
			" (" + now.Format(dateFormat) + " - 15 min.)")
	}
	return nil
}

// checkSigned refuses requests with an unsigned part that decides their meaning, or without a signed header.
func (s *signature) checkSigned(r *http.Request) error {
	if !s.signed.covers("host") {
		return mismatch("'Host' must be a 'SignedHeader' in the request.")
	}
	if !s.query && r.Header["X-Amz-Date"] == nil && !s.signed.covers("date") {
		return mismatch("'Date' must be a 'SignedHeader' in the request.")
	}
	for name := range r.Header {
		if strings.HasPrefix(name, "X-Amz-") && !slices.Contains(s.signed.canonical, name) {
			return mismatch("'" + name + "' must be a 'SignedHeader' in the request.")
		}
	}
	for i, name := range s.signed.names {
		if !hasHeader(r, name, s.signed.canonical[i]) {
			return wrongSignature()
		}
	}
	return nil
}
