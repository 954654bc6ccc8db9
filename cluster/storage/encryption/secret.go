package encryption

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
)

// secretPurpose names the derived keys of sealed secrets.
const secretPurpose = "seriatim access-key secret"

// SealSecret encrypts the secret of an access key for a prefix that the caller puts in front. The same secret of the same access key is
// sealed alike, so that a repeated command is the same command: the random bytes of other
// records are a keyed hash here.
func (r *Keyring) SealSecret(accessKeyID, secret string) string {
	id := r.Active()
	mac := hmac.New(sha256.New, r.keys[id])
	_, _ = fmt.Fprintf(mac, "%s\x00%d\x00%s\x00%s", secretPurpose, len(accessKeyID), accessKeyID, secret) // a hash takes all
	salt := [saltBytes]byte(mac.Sum(nil))
	aead, err := r.derive(derivation{id, salt, secretPurpose})
	if err != nil {
		panic(err) // see draw
	}
	head := append(id[:], salt[:]...)
	sealed := aead.Seal(head, make([]byte, nonceBytes), []byte(secret), []byte(accessKeyID))
	return base64.RawStdEncoding.EncodeToString(sealed)
}

// OpenSecret is the inverse of SealSecret.
func (r *Keyring) OpenSecret(accessKeyID, sealed string) (string, error) {
	record, err := base64.RawStdEncoding.DecodeString(sealed)
	if err != nil || len(record) < keyIDBytes+saltBytes+tagBytes {
		return "", ErrNotAuthentic
	}
	aead, err := r.derive(derivation{KeyID(record[:keyIDBytes]), [saltBytes]byte(record[keyIDBytes:]), secretPurpose})
	if err != nil {
		return "", err
	}
	secret, err := aead.Open(nil, make([]byte, nonceBytes), record[keyIDBytes+saltBytes:], []byte(accessKeyID))
	if err != nil {
		return "", ErrNotAuthentic
	}
	return string(secret), nil
}

// SecretKey is the key that a secret is sealed with.
func SecretKey(sealed string) (id KeyID, err error) {
	record, err := base64.RawStdEncoding.DecodeString(sealed)
	if err != nil || len(record) < keyIDBytes {
		return KeyID{}, ErrNotAuthentic
	}
	return KeyID(record[:keyIDBytes]), nil
}
