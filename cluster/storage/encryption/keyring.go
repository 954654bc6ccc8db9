package encryption

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"sync"
)

const (
	keyBytes   = 32
	keyIDBytes = 8
	saltBytes  = 16
	// tagBytes is the length of the GCM tag.
	tagBytes = 16
)

// ErrKeyMissing: the data is encrypted with a key that the key file lacks.
var ErrKeyMissing = errors.New("it is encrypted with a key that is not in the encryption key file")

// ErrNotAuthentic: the data was changed, or is not what was encrypted.
var ErrNotAuthentic = errors.New("it is not what was encrypted")

// KeyID is a hash of a key.
type KeyID [keyIDBytes]byte

// String returns the id in hexadecimal digits.
func (id KeyID) String() string { return hex.EncodeToString(id[:]) }

// ParseKeyID parses the result of String.
func ParseKeyID(text string) (id KeyID, err error) {
	if n, err := hex.Decode(id[:], []byte(text)); len(text) != 2*keyIDBytes || err != nil || n != keyIDBytes {
		return KeyID{}, fmt.Errorf("%q is not the id of a key: it has %d hexadecimal digits", text, 2*keyIDBytes)
	}
	return id, nil
}

// Keyring holds the keys of a key file. The first one encrypts, all of them decrypt. A nil Keyring
// has no keys. Safe for concurrent use.
type Keyring struct {
	random io.Reader

	mu      sync.RWMutex
	ids     []KeyID          // of the current file; the slice is never changed
	keys    map[KeyID][]byte // of the current and of earlier files, see Replace
	derived map[derivation]cipher.AEAD
}

// derivation identifies a derived key.
type derivation struct {
	id      KeyID
	salt    [saltBytes]byte
	purpose string
}

// derivedMax bounds the number of cached derived keys.
const derivedMax = 1024

// DrawKey returns a new random key.
func DrawKey(random io.Reader) ([]byte, error) {
	key := make([]byte, keyBytes)
	_, err := io.ReadFull(random, key)
	return key, err
}

// KeyLine returns the line for a key in a key file.
func KeyLine(key []byte) string {
	return idOf(key).String() + " " + base64.StdEncoding.EncodeToString(key) + "\n"
}

func idOf(key []byte) (id KeyID) {
	sum, err := hkdf.Key(sha256.New, key, nil, "seriatim key id", keyIDBytes)
	if err != nil {
		panic(err) // the length is a constant
	}
	copy(id[:], sum)
	return id
}

// NewKeyring makes a Keyring; the first key encrypts. random must be unpredictable and never fail.
func NewKeyring(random io.Reader, keys ...[]byte) (*Keyring, error) {
	r := &Keyring{random: random, keys: map[KeyID][]byte{}, derived: map[derivation]cipher.AEAD{}}
	for _, key := range keys {
		if len(key) != keyBytes {
			return nil, fmt.Errorf("a key has %d bytes, not %d", keyBytes, len(key))
		}
		id := idOf(key)
		if r.keys[id] != nil {
			return nil, fmt.Errorf("the key %s is there twice", id)
		}
		r.ids, r.keys[id] = append(r.ids, id), bytes.Clone(key)
	}
	if len(r.ids) == 0 {
		return nil, errors.New("there is no key in it; make one with seriatim encryption-key create")
	}
	return r, nil
}

// keyFileBytesMax bounds the size of a key file.
const keyFileBytesMax = 64 << 10

// ReadKeyFile reads a key file. Other users must not have access; the group may read it, because
// Kubernetes mounts secrets for a group.
func ReadKeyFile(path string, random io.Reader) (*Keyring, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // it was only read
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if mode := info.Mode(); !mode.IsRegular() || mode.Perm()&0o037 != 0 {
		return nil, fmt.Errorf("%s has mode %v: only its owner may write it, and only its owner and group read it; run chmod 600 %s", path,
			mode, path)
	}
	text, err := io.ReadAll(io.LimitReader(file, keyFileBytesMax))
	if err != nil {
		return nil, err
	}
	r, err := ParseKeyFile(string(text), random)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return r, nil
}

// ParseKeyFile parses a key file: one line per key, with its id and the base64 of its 32 bytes.
// Empty lines and lines that begin with # are ignored. No error contains a key.
func ParseKeyFile(text string, random io.Reader) (*Keyring, error) {
	var keys [][]byte
	for i, line := range strings.Split(text, "\n") {
		fields := strings.Fields(line)
		if len(fields) == 0 || strings.HasPrefix(fields[0], "#") {
			continue
		}
		if len(fields) != 2 {
			return nil, fmt.Errorf("line %d is not the id of a key and the key", i+1)
		}
		id, err := ParseKeyID(fields[0])
		if err != nil {
			return nil, fmt.Errorf("line %d does not begin with the id of a key, %d hexadecimal digits", i+1, 2*keyIDBytes)
		}
		key, err := base64.StdEncoding.DecodeString(fields[1])
		if err != nil || len(key) != keyBytes {
			return nil, fmt.Errorf("line %d: the key %s is not the base64 of %d bytes", i+1, id, keyBytes)
		}
		if idOf(key) != id {
			return nil, fmt.Errorf("line %d: the key does not have the id %s: the line was changed or damaged", i+1, id)
		}
		keys = append(keys, key)
	}
	return NewKeyring(random, keys...)
}

// WriteKeyFile writes a new key file. It never replaces a file.
func WriteKeyFile(path, text string) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s exists, and data that it encrypts cannot be read without it; use another name: %w", path, err)
	}
	if err != nil {
		return err
	}
	_, err = file.WriteString(text)
	return errors.Join(err, file.Sync(), file.Close())
}

// IDs returns the ids of the current file; the first is the active one.
func (r *Keyring) IDs() []KeyID {
	if r == nil {
		return nil
	}
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.ids
}

// Active returns the id of the key that encrypts.
func (r *Keyring) Active() KeyID { return r.IDs()[0] }

// Has reports whether a key is present.
func (r *Keyring) Has(id KeyID) bool { return r.key(id) != nil }

func (r *Keyring) key(id KeyID) []byte {
	if r == nil {
		return nil
	}
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.keys[id]
}

// Replace switches to the keys of another file: its first key encrypts from now on. Earlier keys
// still decrypt, because files that are being written or read may need them.
func (r *Keyring) Replace(with *Keyring) {
	ids := with.IDs()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ids = ids
	for _, id := range ids {
		r.keys[id] = with.key(id)
	}
}

// Derive returns a key for a purpose, derived from a key of the file.
func (r *Keyring) Derive(id KeyID, purpose string) ([]byte, error) {
	key := r.key(id)
	if key == nil {
		return nil, fmt.Errorf("%w: key %s", ErrKeyMissing, id)
	}
	return hkdf.Key(sha256.New, key, nil, purpose, keyBytes)
}

// derive returns the cipher for a derived key.
func (r *Keyring) derive(d derivation) (cipher.AEAD, error) {
	own := r.key(d.id)
	if own == nil {
		return nil, fmt.Errorf("%w: key %s", ErrKeyMissing, d.id)
	}
	r.mu.RLock()
	aead := r.derived[d]
	r.mu.RUnlock()
	if aead != nil {
		return aead, nil
	}
	key, err := hkdf.Key(sha256.New, own, d.salt[:], d.purpose, keyBytes)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	if aead, err = cipher.NewGCM(block); err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.derived) >= derivedMax {
		clear(r.derived)
	}
	r.derived[d] = aead
	return aead, nil
}
