// Package statehash is the keyed hash for state records, identifiers, receipt handles and
// deduplication keys. Kinds separate these uses of the cluster's key.
package statehash

import (
	"encoding/binary"
	"math/bits"

	"github.com/dchest/siphash"

	"github.com/seriatimq/seriatim/queue/logtime"
)

// The state hash is the sum, modulo 2^128, of one keyed hash per record. Adding or removing a
// record costs one short hash, in any order. Replicas compare their states by 16 bytes.

// Sum is a sum of record hashes modulo 2^128.
type Sum struct{ High, Low uint64 }

// Add adds a record hash or a sum.
func (s *Sum) Add(o Sum) {
	var carry uint64
	s.Low, carry = bits.Add64(s.Low, o.Low, 0)
	s.High, _ = bits.Add64(s.High, o.High, carry)
}

// Sub subtracts a record hash or a sum.
func (s *Sum) Sub(o Sum) {
	var borrow uint64
	s.Low, borrow = bits.Sub64(s.Low, o.Low, 0)
	s.High, _ = bits.Sub64(s.High, o.High, borrow)
}

// Bytes returns the stored form of the sum.
func (s Sum) Bytes() (out [16]byte) {
	binary.BigEndian.PutUint64(out[:8], s.High)
	binary.BigEndian.PutUint64(out[8:], s.Low)
	return out
}

// Key is the cluster's secret key. SipHash is a pseudo-random function: without the key, clients
// can forge no handle and construct no equal deduplication keys.
type Key struct{ k0, k1 uint64 }

// NewKey returns the key for the secret in the cluster setting.
func NewKey(secret [16]byte) Key {
	return Key{binary.LittleEndian.Uint64(secret[:]), binary.LittleEndian.Uint64(secret[8:])}
}

// Kinds separate the uses of the one key.
const (
	KindBroker         = 'B'
	KindContent        = 'C'
	KindDeduplication  = 'D'
	KindHandle         = 'H'
	KindMessageID      = 'I'
	KindMessage        = 'M'
	KindHeader         = 'Q'
	KindCounters       = 'N'
	KindAttempt        = 'A'
	KindTask           = 'T'
	KindTaskID         = 'U'
	KindTombstone      = 'X'
	KindTopic          = 'O'
	KindTopicCounters  = 'G'
	KindSubscription   = 'S'
	KindSubscriptionID = 'V'
	KindPublication    = 'P'
	KindPublicationID  = 'J'
	KindArchived       = 'K'
	KindSession        = 'E'
	KindSessionToken   = 'L'
	KindConfirmation   = 'F'
	KindDelivery       = 'W'
	KindAccessKey      = 'Y'
	KindUserPolicy     = 'Z'
	KindAccount        = 'R'
	KindSealingKey     = 'y'
	KindEncoded        = 'e'
	KindScheduled      = 'k'
	KindRule           = 'r'
	KindRuleID         = 'u'
	KindRuleChanges    = 'c'
	KindHops           = 'h'
)

// Sum returns the hash of a record.
func (k Key) Sum(record []byte) Sum {
	low, high := siphash.Hash128(k.k0, k.k1, record)
	return Sum{High: high, Low: low}
}

// Hash returns a short hash, for a part of a record or a seal.
func (k Key) Hash(data []byte) uint64 { return siphash.Hash(k.k0, k.k1, data) }

// HashText hashes a text without copying all of it: in pieces, each with the hash of the previous
// ones.
func (k Key) HashText(text string) uint64 {
	var buf [8 + 504]byte
	sum := uint64(len(text))
	for {
		binary.LittleEndian.PutUint64(buf[:], sum)
		n := copy(buf[8:], text)
		sum = k.Hash(buf[:8+n])
		if text = text[n:]; text == "" {
			return sum
		}
	}
}

// Record builds the input of a hash. Different fields give different records.
type Record []byte

// Num appends a number.
func (r Record) Num(v uint64) Record { return binary.LittleEndian.AppendUint64(r, v) }

// Time appends a timestamp.
func (r Record) Time(t logtime.Timestamp) Record {
	return binary.LittleEndian.AppendUint64(r, uint64(t))
}

// Text appends the length of a text and the text.
func (r Record) Text(s string) Record {
	r = binary.LittleEndian.AppendUint32(r, uint32(len(s)))
	return append(r, s...)
}

// Flag appends a boolean.
func (r Record) Flag(v bool) Record {
	if v {
		return append(r, 1)
	}
	return append(r, 0)
}
