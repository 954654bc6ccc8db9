package identifier

import (
	"encoding/binary"
	"encoding/hex"

	"github.com/seriatimq/seriatim/queue/statehash"
)

// ReceiptHandle identifies one delivery of a message: incarnation (8 bytes), sequence (8), delivery
// count (4), and a keyed hash over these and the epoch (8). A restore from backup raises the epoch,
// so older handles are refused.
type ReceiptHandle [28]byte

// String returns the text for clients: 56 lower-case hex digits.
func (h ReceiptHandle) String() string { return hex.EncodeToString(h[:]) }

// NewReceiptHandle returns the handle of a delivery.
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

// Receipt is the content of a valid handle.
type Receipt struct {
	Sequence uint64
	Count    uint32 // deliveries up to this one
}

// Open verifies a handle. ok is false unless it was issued in this epoch for the queue with this
// incarnation.
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

// ParseReceiptHandle reads the text of a handle. Use Open to verify it.
func ParseReceiptHandle(text string) (h ReceiptHandle, ok bool) {
	if len(text) != hex.EncodedLen(len(h)) {
		return h, false
	}
	var buf [2 * len(h)]byte
	copy(buf[:], text)
	if _, err := hex.Decode(h[:], buf[:]); err != nil {
		return h, false
	}
	// Upper-case digits decode, but are never issued.
	var canonical [2 * len(h)]byte
	hex.Encode(canonical[:], h[:])
	if canonical != buf {
		return h, false
	}
	return h, true
}
