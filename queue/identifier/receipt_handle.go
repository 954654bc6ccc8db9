package identifier

import (
	"encoding/binary"
	"encoding/hex"

	"github.com/seriatimq/seriatim/queue/statehash"
)

// A receipt handle is incarnation (8 bytes), sequence (8), delivery count (4)
// and a 64-bit keyed hash over them and the epoch of the state (8). A restore
// from backup raises the epoch, so older handles are refused.

// ReceiptHandle names one delivery of one message: queue incarnation,
// sequence number and delivery count, sealed with a keyed hash.
type ReceiptHandle [28]byte

// String is the text form that clients see: 56 lower-case hex digits.
func (h ReceiptHandle) String() string { return hex.EncodeToString(h[:]) }

// NewReceiptHandle makes the handle of a delivery.
func NewReceiptHandle(k statehash.Key, epoch uint32, incarnation, sequence uint64, count uint32) (h ReceiptHandle) {
	binary.BigEndian.PutUint64(h[0:], incarnation)
	binary.BigEndian.PutUint64(h[8:], sequence)
	binary.BigEndian.PutUint32(h[16:], count)
	binary.BigEndian.PutUint64(h[20:], handleSeal(k, epoch, h[:20]))
	return h
}

func handleSeal(k statehash.Key, epoch uint32, named []byte) uint64 {
	var buf [25]byte
	r := append(statehash.Record(buf[:0]), statehash.KindHandle)
	r = binary.BigEndian.AppendUint32(r, epoch)
	return k.Hash(append(r, named...))
}

// Receipt is what a valid handle names.
type Receipt struct {
	Sequence uint64
	Count    uint32 // of deliveries, the named one included
}

// Open reports false unless the handle was issued, in this epoch, for a delivery of
// the queue with this incarnation.
func (h *ReceiptHandle) Open(k statehash.Key, epoch uint32, incarnation uint64) (Receipt, bool) {
	if binary.BigEndian.Uint64(h[20:]) != handleSeal(k, epoch, h[:20]) ||
		binary.BigEndian.Uint64(h[0:]) != incarnation {
		return Receipt{}, false
	}
	return Receipt{
		Sequence: binary.BigEndian.Uint64(h[8:]),
		Count:    binary.BigEndian.Uint32(h[16:]),
	}, true
}

// ParseReceiptHandle reports whether text has the form of a handle. Whether it was
// ever issued is for the state to say.
func ParseReceiptHandle(text string) (h ReceiptHandle, ok bool) {
	if len(text) != hex.EncodedLen(len(h)) {
		return h, false
	}
	var buf [2 * len(h)]byte
	copy(buf[:], text)
	if _, err := hex.Decode(h[:], buf[:]); err != nil {
		return h, false
	}
	// Upper-case digits decode, too, but were never issued.
	var canonical [2 * len(h)]byte
	hex.Encode(canonical[:], h[:])
	if canonical != buf {
		return h, false
	}
	return h, true
}
