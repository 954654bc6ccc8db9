package queue

import (
	"encoding/binary"
	"math/bits"

	"github.com/dchest/siphash"
)

// The state hash is the sum, modulo 2^128, of one keyed hash per record, so
// that adding and removing a record costs one short hash each and the order of
// records does not matter. Equal states have equal hashes; two replicas that
// differ at the same log index are found by comparing 16 bytes.

// sum128 is a sum of record hashes modulo 2^128.
type sum128 struct{ high, low uint64 }

func (s *sum128) add(o sum128) {
	var carry uint64
	s.low, carry = bits.Add64(s.low, o.low, 0)
	s.high, _ = bits.Add64(s.high, o.high, carry)
}

func (s *sum128) sub(o sum128) {
	var borrow uint64
	s.low, borrow = bits.Sub64(s.low, o.low, 0)
	s.high, _ = bits.Sub64(s.high, o.high, borrow)
}

func (s sum128) bytes() (out [16]byte) {
	binary.BigEndian.PutUint64(out[:8], s.high)
	binary.BigEndian.PutUint64(out[8:], s.low)
	return out
}

// keyed is the cluster's secret for identifiers, handles, deduplication keys
// and the state hash. SipHash is a pseudo-random function: without the key
// nobody can forge a handle or aim for equal deduplication keys.
type keyed struct{ k0, k1 uint64 }

// Kinds separate the uses of the one key.
const (
	kindBroker        = 'B'
	kindContent       = 'C'
	kindDeduplication = 'D'
	kindHandle        = 'H'
	kindMessageID     = 'I'
	kindMessage       = 'M'
	kindHeader        = 'Q'
	kindCounters      = 'N'
	kindAttempt       = 'A'
	kindTask          = 'T'
	kindTaskID        = 'U'
	kindTombstone     = 'X'
)

func (k keyed) sum(record []byte) sum128 {
	low, high := siphash.Hash128(k.k0, k.k1, record)
	return sum128{high: high, low: low}
}

func (k keyed) hash(data []byte) uint64 { return siphash.Hash(k.k0, k.k1, data) }

// hashText hashes a text, a megabyte at the most, without a copy of it all: in
// pieces, each together with the hash of what came before.
func (k keyed) hashText(text string) uint64 {
	var buf [8 + 504]byte
	sum := uint64(len(text))
	for {
		binary.LittleEndian.PutUint64(buf[:], sum)
		n := copy(buf[8:], text)
		sum = k.hash(buf[:8+n])
		if text = text[n:]; text == "" {
			return sum
		}
	}
}

// record appends fields in a form that two different records never share.
type record []byte

func (r record) num(v uint64) record { return binary.LittleEndian.AppendUint64(r, v) }
func (r record) time(t Timestamp) record {
	return binary.LittleEndian.AppendUint64(r, uint64(t))
}

func (r record) text(s string) record {
	r = binary.LittleEndian.AppendUint32(r, uint32(len(s)))
	return append(r, s...)
}

func (r record) flag(v bool) record {
	if v {
		return append(r, 1)
	}
	return append(r, 0)
}

// Audit lets the replicas compare themselves. It changes nothing but the
// clock: what matters is its place in the log, where every replica notes the
// hash of its state, and the hashes it carries, which the replicas noted at an
// earlier Audit (faults.md 9).
type Audit struct {
	// HashVersion is the definition of the hashes in Reports; a replica
	// that computes another one has nothing to compare.
	HashVersion uint32
	Index       uint64        // of the Audit the reports are about; 0 if there are none
	Reports     []AuditReport // sorted by node id
}

// AuditReport is what one replica noted at an Audit.
type AuditReport struct {
	NodeID string
	State  [16]byte
	Chain  [16]byte // over the log up to there
}

// QueueName implements Command.
func (*Audit) QueueName() string { return "" }

// Validate has nothing to check: only a leader makes this command.
func (*Audit) Validate() *Error { return nil }

func (*Audit) apply(*Broker) (Result, *Error) { return Done{}, nil }
