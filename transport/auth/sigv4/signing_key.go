package sigv4

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"net/http"
	"sync"
)

// signingKeysMax bounds the cached signing keys. A day needs one for each key, region and service.
const signingKeysMax = 4096

// signingKeys caches the signing keys of accepted requests. Safe for concurrent use.
type signingKeys struct {
	mu   sync.RWMutex
	kept map[scope]*signingKey
}

// signingKey is a derived key with its secret, which may be replaced under the same id. Safe for
// concurrent use.
type signingKey struct {
	secret string
	key    [sha256.Size]byte
	macs   sync.Pool // of *mac
}

// mac computes signatures with one key. It is reused, because preparing an HMAC takes half as long as
// using it.
type mac struct {
	hash.Hash
	text []byte
	sum  [sha256.Size]byte
}

// macTextMax bounds the text whose memory is kept for later requests.
const macTextMax = 4 << 10

// get returns the signing key of a scope, cached or newly derived.
func (k *signingKeys) get(s scope, secret string) (key *signingKey, kept bool) {
	k.mu.RLock()
	found := k.kept[s]
	k.mu.RUnlock()
	if found != nil && found.secret == secret {
		return found, true
	}
	return newSigningKey(s, secret), false
}

// keep caches a signing key. Call it for accepted requests only: otherwise unauthenticated callers could
// fill the cache.
func (k *signingKeys) keep(s scope, key *signingKey) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.kept == nil || len(k.kept) >= signingKeysMax {
		k.kept = make(map[scope]*signingKey) // keys of past days go, those in use are derived again
	}
	k.kept[s.clone()] = key
}

func newSigningKey(s scope, secret string) *signingKey {
	return &signingKey{secret: secret, key: derive(s, secret)}
}

// derive derives the signing key for a day, a region and a service.
func derive(s scope, secret string) [sha256.Size]byte {
	key := keyed([]byte("AWS4"+secret), []byte(s.day))
	key = keyed(key[:], []byte(s.region))
	key = keyed(key[:], []byte(s.service))
	return keyed(key[:], []byte(termination))
}

func keyed(key, text []byte) (sum [sha256.Size]byte) {
	h := hmac.New(sha256.New, key)
	h.Write(text)
	h.Sum(sum[:0])
	return sum
}

// sign returns the expected signature of a request, in hexadecimal digits.
func (k *signingKey) sign(s *signature, r *http.Request, payload []byte) (digits [signatureLength]byte) {
	m, _ := k.macs.Get().(*mac)
	if m == nil {
		m = &mac{Hash: hmac.New(sha256.New, k.key[:])}
	}
	m.text = s.appendRequest(m.text[:0], r, payload)
	request := sha256.Sum256(m.text)
	text := append(m.text[:0], algorithm+"\n"...)
	text = append(append(text, s.stamp...), '\n')
	text = append(s.scope.appendTo(text), '\n')
	m.text = hex.AppendEncode(text, request[:])
	m.Reset()
	m.Write(m.text)
	hex.Encode(digits[:], m.Sum(m.sum[:0]))
	if cap(m.text) <= macTextMax {
		k.macs.Put(m)
	}
	return digits
}
