package sigv4

import (
	"crypto/sha256"
	"sync"
)

// signingKeysMax bounds the kept signing keys. A day of a cluster has one for each key,
// region and service in use.
const signingKeysMax = 4096

// signingKeys keeps the signing keys of requests that were accepted. Safe for concurrent
// use.
type signingKeys struct {
	mu   sync.RWMutex
	kept map[scope]signingKey
}

// signingKey is a derived key and the secret it was derived from: an id whose secret was
// replaced has another.
type signingKey struct {
	secret string
	key    [sha256.Size]byte
}

// get returns the signing key of a scope, kept or derived anew.
func (k *signingKeys) get(s scope, secret string) (key [sha256.Size]byte, kept bool) {
	k.mu.RLock()
	found, ok := k.kept[s]
	k.mu.RUnlock()
	if ok && found.secret == secret {
		return found.key, true
	}
	return derive(s, secret), false
}

// keep keeps a signing key. Only an accepted request may ask for it: otherwise strangers
// could fill the cache with scopes of their own.
func (k *signingKeys) keep(s scope, secret string, key [sha256.Size]byte) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.kept == nil || len(k.kept) >= signingKeysMax {
		k.kept = make(map[scope]signingKey) // days pass; what is in use comes back
	}
	k.kept[s.clone()] = signingKey{secret, key}
}

// derive makes the key that signs for a day, a region and a service.
func derive(s scope, secret string) [sha256.Size]byte {
	key := keyed([]byte("AWS4"+secret), []byte(s.day))
	key = keyed(key[:], []byte(s.region))
	key = keyed(key[:], []byte(s.service))
	return keyed(key[:], []byte(termination))
}
