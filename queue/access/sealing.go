package access

import (
	"encoding/hex"
	"slices"
	"strings"

	"github.com/seriatimq/seriatim/queue/statehash"
)

// SealingKey is the key that encrypts the secrets of access keys, itself encrypted for each of its
// holders. It is immutable.
type SealingKey struct {
	ID    string // 16 hexadecimal digits: a hash of the key
	Wraps []Wrap // sorted by holder
}

// Wrap is a sealing key, encrypted for one holder.
type Wrap struct {
	Holder    string // id of a node, or name of a key in an encryption key file
	PublicKey string // of the holder, in bytes
	Text      string // in bytes
}

const (
	// sealingIDBytes is the length of the key's id, the beginning of a sealed secret.
	sealingIDBytes = 8
	// SealedBytesMin is the length of the shortest sealed secret: key id, nonce, 16 bytes, tag.
	SealedBytesMin = sealingIDBytes + 12 + 16 + 16
	// sealedBytesMax is the length of the longest sealed secret, of 128 bytes.
	sealedBytesMax = SealedBytesMin - 16 + 128
)

// isSealingID reports whether a text can be the id of a sealing key.
func isSealingID(id string) bool {
	raw, err := hex.DecodeString(id)
	return err == nil && len(raw) == sealingIDBytes && id == strings.ToLower(id)
}

// SealedBy returns the id of the sealing key of a secret, empty if the text is no sealed secret.
func SealedBy(sealed string) string {
	if len(sealed) < SealedBytesMin || len(sealed) > sealedBytesMax {
		return ""
	}
	return hex.EncodeToString([]byte(sealed[:sealingIDBytes]))
}

// For returns the wrap of a holder for a public key.
func (s *SealingKey) For(holder, publicKey string) (Wrap, bool) {
	at, has := s.find(holder)
	if !has || s.Wraps[at].PublicKey != publicKey {
		return Wrap{}, false
	}
	return s.Wraps[at], true
}

func (s *SealingKey) find(holder string) (at int, has bool) {
	return slices.BinarySearchFunc(s.Wraps, holder, func(w Wrap, holder string) int { return strings.Compare(w.Holder, holder) })
}

// With returns the key with changed holders. A wrap for the same public key stays.
func (s *SealingKey) With(wraps []Wrap, drop []string) *SealingKey {
	next := &SealingKey{ID: s.ID, Wraps: slices.Clone(s.Wraps)}
	for _, holder := range drop {
		if at, has := next.find(holder); has {
			next.Wraps = slices.Delete(next.Wraps, at, at+1)
		}
	}
	for _, w := range wraps {
		at, has := next.find(w.Holder)
		switch {
		case !has:
			next.Wraps = slices.Insert(next.Wraps, at, w)
		case next.Wraps[at].PublicKey != w.PublicKey:
			next.Wraps[at] = w
		}
	}
	return next
}

func (s *SealingKey) sum(h statehash.Key) statehash.Sum {
	r := append(statehash.Record(nil), statehash.KindSealingKey).Text(s.ID)
	for _, w := range s.Wraps {
		r = r.Text(w.Holder).Text(w.PublicKey).Text(w.Text)
	}
	return h.Sum(r)
}

func (s *SealingKey) bytes() int64 {
	n := int64(recordBytes + len(s.ID))
	for _, w := range s.Wraps {
		n += int64(len(w.Holder) + len(w.PublicKey) + len(w.Text))
	}
	return n
}

// SealingKey returns the sealing key, nil if there is none.
func (t *Table) SealingKey() *SealingKey { return t.sealing }

// WithSealingKey returns the table with another sealing key, nil for none.
func (t *Table) WithSealingKey(h statehash.Key, s *SealingKey) *Table {
	next := *t
	if next.sealing != nil {
		next.sum.Sub(next.sealing.sum(h))
		next.bytes -= next.sealing.bytes()
	}
	if next.sealing = s; s != nil {
		next.sum.Add(s.sum(h))
		next.bytes += s.bytes()
	}
	return &next
}

// WithKeysOf returns the table with the keys and the sealing key of o. It omits keys of accounts
// that exist only in o.
func (t *Table) WithKeysOf(h statehash.Key, o *Table) *Table {
	next := t.WithSealingKey(h, o.sealing)
	t.Keys(func(k Key) bool {
		next = next.WithoutKey(h, k.ID)
		return true
	})
	o.Keys(func(k Key) bool {
		_, there := o.Account(k.User.Account)
		if _, here := t.Account(k.User.Account); here || !there {
			next = next.WithKey(h, k)
		}
		return true
	})
	return next
}
