// Package statehash is the keyed hash of state records, and of everything derived from the key
// of the cluster: identifiers, receipt handles, deduplication keys. Kinds keep the uses of the
// key apart.
package statehash

import (
	"encoding/binary"
	"math/bits"

	"github.com/dchest/siphash"

	"github.com/seriatimq/seriatim/queue/logtime"
)

// The state hash is the sum, modulo 2^128, of one keyed hash per record, so
// that adding and removing a record costs one short hash each and the order of
// records does not matter. Equal states have equal hashes; two replicas that
// differ at the same log index are found by comparing 16 bytes.

// Sum is a sum of record hashes modulo 2^128.
type Sum struct{ High, Low uint64 }

// Add adds a record hash, or the sum of some.
func (s *Sum) Add(o Sum) {
	var carry uint64
	s.Low, carry = bits.Add64(s.Low, o.Low, 0)
	s.High, _ = bits.Add64(s.High, o.High, carry)
}

// Sub takes out what was added.
func (s *Sum) Sub(o Sum) {
	var borrow uint64
	s.Low, borrow = bits.Sub64(s.Low, o.Low, 0)
	s.High, _ = bits.Sub64(s.High, o.High, borrow)
}

// Bytes is the sum in the form in which it is stored and compared.
func (s Sum) Bytes() (out [16]byte) {
	binary.BigEndian.PutUint64(out[:8], s.High)
	binary.BigEndian.PutUint64(out[8:], s.Low)
	return out
}

// Key is the cluster's secret for identifiers, handles, deduplication keys
// and the state hash. SipHash is a pseudo-random function: without the key
// nobody can forge a handle or aim for equal deduplication keys.
type Key struct{ k0, k1 uint64 }

// NewKey is the key in the form in which the cluster setting has it.
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
)

// Sum is the hash of a record.
func (k Key) Sum(record []byte) Sum {
	low, high := siphash.Hash128(k.k0, k.k1, record)
	return Sum{High: high, Low: low}
}

// Hash is a short hash, for what is part of a record or seals something.
func (k Key) Hash(data []byte) uint64 { return siphash.Hash(k.k0, k.k1, data) }

// HashText hashes a text, a megabyte at the most, without a copy of it all: in
// pieces, each together with the hash of what came before.
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

// Record appends fields in a form that two different records never share.
type Record []byte

// Num appends a number.
func (r Record) Num(v uint64) Record { return binary.LittleEndian.AppendUint64(r, v) }

// Time appends a point in log time.
func (r Record) Time(t logtime.Timestamp) Record {
	return binary.LittleEndian.AppendUint64(r, uint64(t))
}

// Text appends a text behind its length.
func (r Record) Text(s string) Record {
	r = binary.LittleEndian.AppendUint32(r, uint32(len(s)))
	return append(r, s...)
}

// Flag appends a yes or no.
func (r Record) Flag(v bool) Record {
	if v {
		return append(r, 1)
	}
	return append(r, 0)
}
