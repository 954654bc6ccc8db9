package encryption

import (
	"crypto/cipher"
	"encoding/binary"
	"fmt"
	"io"
	"sync"
)

const (
	// HeadBytes precede an encrypted record: the id of the key, 16 random bytes, a counter.
	HeadBytes = keyIDBytes + saltBytes + 8
	// RecordBytes is the overhead of an encrypted record, in bytes.
	RecordBytes = HeadBytes + tagBytes

	nonceBytes = 12

	// A Sealer derives a new key after so many records or bytes.
	sealerRecordsMax = 1 << 32
	sealerBytesMax   = 64 << 30
)

// Sealer encrypts records for one purpose. Safe for concurrent use.
type Sealer struct {
	keys    *Keyring
	purpose string

	mu    sync.Mutex
	key   KeyID // that aead is derived from
	aead  cipher.AEAD
	salt  [saltBytes]byte
	count uint64
	bytes int64
}

// NewSealer returns a Sealer for the active key. A nil Keyring returns a nil Sealer.
func (r *Keyring) NewSealer(purpose string) *Sealer {
	if r == nil {
		return nil
	}
	return &Sealer{keys: r, purpose: purpose}
}

// next returns the cipher and the head for the next record.
func (s *Sealer) next(size int) (aead cipher.AEAD, head [HeadBytes]byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if active := s.keys.Active(); s.aead == nil || s.key != active || s.count >= sealerRecordsMax || s.bytes >= sealerBytesMax {
		s.key = active
		s.aead, s.salt = s.keys.draw(active, s.purpose)
		s.count, s.bytes = 0, 0
	}
	copy(head[:], s.key[:])
	copy(head[keyIDBytes:], s.salt[:])
	binary.BigEndian.PutUint64(head[keyIDBytes+saltBytes:], s.count)
	s.count++
	s.bytes += int64(size)
	return s.aead, head
}

// draw derives a new key.
func (r *Keyring) draw(id KeyID, purpose string) (aead cipher.AEAD, salt [saltBytes]byte) {
	if _, err := io.ReadFull(r.random, salt[:]); err != nil {
		panic(err) // as crypto/rand does: nothing can be encrypted without random bytes
	}
	aead, err := r.derive(derivation{id, salt, purpose})
	if err != nil {
		panic(err) // the key is present, and all lengths are constants
	}
	return aead, salt
}

// Seal appends an encrypted record of the text, RecordBytes longer than it. Open needs the same
// tied, which is not stored. dst must not overlap text.
func (s *Sealer) Seal(dst, text, tied []byte) []byte {
	aead, head := s.next(len(text))
	nonce := counterNonce(head[keyIDBytes+saltBytes:])
	return aead.Seal(append(dst, head[:]...), nonce[:], text, tied)
}

// Open appends the text of a record that a Sealer for that purpose made.
func (r *Keyring) Open(dst, record, tied []byte, purpose string) ([]byte, error) {
	if len(record) < RecordBytes {
		return nil, fmt.Errorf("%w: it has %d bytes", ErrNotAuthentic, len(record))
	}
	return r.OpenParts(dst, record[:HeadBytes], record[HeadBytes:], tied, purpose)
}

// OpenParts opens a record whose head is stored separately.
func (r *Keyring) OpenParts(dst, head, sealed, tied []byte, purpose string) ([]byte, error) {
	d := derivation{id: KeyID(head[:keyIDBytes]), salt: [saltBytes]byte(head[keyIDBytes:]), purpose: purpose}
	aead, err := r.derive(d)
	if err != nil {
		return nil, err
	}
	nonce := counterNonce(head[keyIDBytes+saltBytes:])
	text, err := aead.Open(dst, nonce[:], sealed, tied)
	if err != nil {
		return nil, ErrNotAuthentic
	}
	return text, nil
}

// KeyOf returns the key id of a record or of its head.
func KeyOf(record []byte) KeyID { return KeyID(record[:keyIDBytes]) }

func counterNonce(counter []byte) (nonce [nonceBytes]byte) {
	copy(nonce[nonceBytes-8:], counter)
	return nonce
}
