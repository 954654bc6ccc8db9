package sealing

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/hpke"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"

	"github.com/seriatimq/seriatim/queue/access"
)

const (
	keyBytes = 32
	idBytes  = 8
)

// errNotAuthentic: a text was changed, or is not what was sealed or wrapped.
var errNotAuthentic = errors.New("it is not what was sealed")

// Key is an opened sealing key. Safe for concurrent use.
type Key struct {
	id   [idBytes]byte
	raw  []byte
	mac  []byte // for nonces
	aead cipher.AEAD
}

func drawKey(random io.Reader) (*Key, error) {
	raw := make([]byte, keyBytes)
	if _, err := io.ReadFull(random, raw); err != nil {
		return nil, fmt.Errorf("drawing a sealing key: %w", err)
	}
	return newKey(raw)
}

func newKey(raw []byte) (*Key, error) {
	k := &Key{raw: raw}
	derive := func(purpose string, length int) []byte {
		derived, err := hkdf.Key(sha256.New, raw, nil, "seriatim "+purpose, length)
		if err != nil {
			panic(err) // the length is a constant
		}
		return derived
	}
	if len(raw) != keyBytes {
		return nil, errNotAuthentic
	}
	copy(k.id[:], derive("sealing key id", idBytes))
	k.mac = derive("nonces of access keys", keyBytes)
	block, err := aes.NewCipher(derive("secrets of access keys", keyBytes))
	if err != nil {
		return nil, err
	}
	k.aead, err = cipher.NewGCM(block)
	return k, err
}

// ID returns the id of the key in the state.
func (k *Key) ID() string { return hex.EncodeToString(k.id[:]) }

// seal encrypts the secret of an access key.
func (k *Key) seal(accessKeyID, secret string) string {
	mac := hmac.New(sha256.New, k.mac)
	fmt.Fprintf(mac, "%d:%s%s", len(accessKeyID), accessKeyID, secret)
	nonce := mac.Sum(nil)[:k.aead.NonceSize()]
	sealed := append(k.id[:len(k.id):len(k.id)], nonce...)
	return string(k.aead.Seal(sealed, nonce, []byte(secret), []byte(accessKeyID)))
}

// open decrypts the secret of an access key.
func (k *Key) open(accessKeyID, sealed string) (string, error) {
	if access.SealedBy(sealed) != k.ID() {
		return "", errNotAuthentic
	}
	nonced := []byte(sealed[idBytes:])
	nonce, text := nonced[:k.aead.NonceSize()], nonced[k.aead.NonceSize():]
	secret, err := k.aead.Open(nil, nonce, text, []byte(accessKeyID))
	if err != nil {
		return "", errNotAuthentic
	}
	return string(secret), nil
}

// wrap encrypts the key for a holder.
func (k *Key) wrap(holder, publicKey string) (access.Wrap, error) {
	public, err := kem.NewPublicKey([]byte(publicKey))
	if err != nil {
		return access.Wrap{}, fmt.Errorf("the public key of %s: %w", holder, err)
	}
	text, err := hpke.Seal(public, hpke.HKDFSHA256(), hpke.AES256GCM(), wrapInfo(k.ID(), holder), k.raw)
	if err != nil {
		return access.Wrap{}, fmt.Errorf("wrapping the sealing key for %s: %w", holder, err)
	}
	return access.Wrap{Holder: holder, PublicKey: publicKey, Text: string(text)}, nil
}

// wrapInfo binds a wrap to its key and its holder.
func wrapInfo(id, holder string) []byte {
	return []byte("seriatim sealing key " + id + " for " + holder)
}
