package sigv4

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/seriatimq/seriatim/transport/auth"
)

// SkewMax is how far the date of a request may be from the server's clock, as of AWS.
const SkewMax = 15 * time.Minute

// Keys are the access keys that the server knows. Safe for concurrent use.
type Keys interface {
	// Secret returns the secret of an access key id that may be used now.
	Secret(id string) (secret string, known bool)
}

// Verifier accepts requests that are signed with a known key. Safe for concurrent use.
type Verifier struct {
	keys    Keys
	now     func() time.Time
	signing signingKeys
}

// New makes a Verifier that compares dates with the clock now.
func New(keys Keys, now func() time.Time) *Verifier {
	return &Verifier{keys: keys, now: now}
}

// Verify returns the key that a request is signed with, and its body without the encoding
// aws-chunked. A refusal is an *auth.Error.
func (v *Verifier) Verify(r *http.Request, body string) (auth.Identity, string, error) {
	s, err := readSignature(r)
	if err != nil {
		return auth.Identity{}, "", err
	}
	if s == nil {
		return auth.Identity{}, "", missingToken()
	}
	secret, known := v.keys.Secret(s.keyID)
	if !known {
		return auth.Identity{}, "", unknownKey()
	}
	if err := s.check(r, v.now()); err != nil {
		return auth.Identity{}, "", err
	}
	content, err := payload(r, body)
	if err != nil {
		return auth.Identity{}, "", err
	}
	key, kept := v.signing.get(s.scope, secret)
	want := s.compute(key, r, content)
	if subtle.ConstantTimeCompare(want[:], []byte(s.digits)) != 1 {
		return auth.Identity{}, "", wrongSignature()
	}
	if !kept {
		v.signing.keep(s.scope, secret, key)
	}
	if content == signedChunks || content == unsignedChunks {
		c := chunks{signature: s, key: key, signed: content == signedChunks, before: s.digits}
		if body, err = c.read(body); err != nil {
			return auth.Identity{}, "", err
		}
	}
	return auth.Identity{AccessKeyID: s.keyID, Service: s.service}, body, nil
}

// compute is the signature that a request should have.
func (s *signature) compute(key [sha256.Size]byte, r *http.Request, content string) [signatureLength]byte {
	var space [1024]byte
	request := sha256.Sum256(s.appendRequest(space[:0], r, content))
	text := append(space[:0], algorithm+"\n"...)
	text = append(append(text, s.stamp...), '\n')
	text = append(append(text, s.scope.String()...), '\n')
	text = hex.AppendEncode(text, request[:])
	var digits [signatureLength]byte
	sum := keyed(key[:], text)
	hex.Encode(digits[:], sum[:])
	return digits
}

func keyed(key, text []byte) (sum [sha256.Size]byte) {
	mac := hmac.New(sha256.New, key)
	mac.Write(text)
	mac.Sum(sum[:0])
	return sum
}

// check refuses what no signature makes right.
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

// checkSigned refuses requests of which something that decides what they do is not
// signed, or of which something that is signed is missing.
func (s *signature) checkSigned(r *http.Request) error {
	if !s.covers("host") {
		return mismatch("'Host' must be a 'SignedHeader' in the request.")
	}
	if !s.query && r.Header["X-Amz-Date"] == nil && !s.covers("date") {
		return mismatch("'Date' must be a 'SignedHeader' in the request.")
	}
	for name := range r.Header {
		if strings.HasPrefix(name, "X-Amz-") && !s.covers(strings.ToLower(name)) {
			return mismatch("'" + name + "' must be a 'SignedHeader' in the request.")
		}
	}
	for _, name := range s.signed {
		if headerValues(r, name) == nil {
			return wrongSignature()
		}
	}
	return nil
}

func (s *signature) covers(name string) bool {
	_, found := slices.BinarySearch(s.signed, name)
	return found
}
