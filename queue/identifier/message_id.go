// Package identifier derives message ids, sequence numbers, receipt handles and task ids from the
// cluster's key and counters of the state. Every replica derives the same ones, and clients cannot
// forge them.
package identifier

import (
	"encoding/hex"

	"github.com/seriatimq/seriatim/queue/statehash"
)

// MessageID identifies a message. Its text is a UUID.
type MessageID [16]byte

// String returns the UUID.
func (id MessageID) String() string {
	out := id.text()
	return string(out[:])
}

// Append appends the UUID to b without allocating.
func (id MessageID) Append(b []byte) []byte {
	out := id.text()
	return append(b, out[:]...)
}

func (id MessageID) text() (out [36]byte) {
	hex.Encode(out[0:8], id[0:4])
	out[8] = '-'
	hex.Encode(out[9:13], id[4:6])
	out[13] = '-'
	hex.Encode(out[14:18], id[6:8])
	out[18] = '-'
	hex.Encode(out[19:23], id[8:10])
	out[23] = '-'
	hex.Encode(out[24:36], id[10:16])
	return out
}

// NewMessageID derives the MessageId of a message from its queue's incarnation and its sequence
// number.
func NewMessageID(k statehash.Key, incarnation, sequence uint64) MessageID {
	return newUUID(k, statehash.KindMessageID, incarnation, sequence)
}

// NewTaskID derives the id of a move task. The epoch makes it unique after a restore.
func NewTaskID(k statehash.Key, number uint64, epoch uint32) string {
	return newUUID(k, statehash.KindTaskID, number, uint64(epoch)).String()
}

// NewPublicationID derives the MessageId of a publication. Each queue gives the delivered message
// an id of its own.
func NewPublicationID(k statehash.Key, incarnation, sequence uint64) MessageID {
	return newUUID(k, statehash.KindPublicationID, incarnation, sequence)
}

// NewSubscriptionID derives the last part of a subscription's ARN. The epoch makes it unique after
// a restore.
func NewSubscriptionID(k statehash.Key, number uint64, epoch uint32) MessageID {
	return newUUID(k, statehash.KindSubscriptionID, number, uint64(epoch))
}

// NewConfirmationID derives the MessageId of a request to confirm a subscription.
func NewConfirmationID(k statehash.Key, subscription, made uint64) MessageID {
	return newUUID(k, statehash.KindConfirmation, subscription, made)
}

// NewRuleID derives the n-th value of newid() in a rule of a subscription for a publication.
func NewRuleID(k statehash.Key, publication MessageID, subscription uint64, rule string, n int) MessageID {
	var buf [256]byte
	r := append(append(statehash.Record(buf[:0]), statehash.KindRuleID), publication[:]...)
	return uuid(k, r.Num(subscription).Text(rule).Num(uint64(n)))
}

func newUUID(k statehash.Key, kind byte, a, b uint64) MessageID {
	var buf [17]byte
	return uuid(k, append(statehash.Record(buf[:0]), kind).Num(a).Num(b))
}

func uuid(k statehash.Key, r statehash.Record) MessageID {
	id := MessageID(k.Sum(r).Bytes())
	id[6] = id[6]&0x0f | 0x40 // version 4
	id[8] = id[8]&0x3f | 0x80 // variant of RFC 9562
	return id
}
