package queue

import (
	"encoding/binary"
	"encoding/hex"
)

// A receipt handle is incarnation (8 bytes), sequence (8), delivery count (4)
// and a 64-bit keyed hash over them and the epoch of the state (8). A restore
// from backup raises the epoch, so older handles are refused.

func (k keyed) handle(epoch uint32, incarnation, sequence uint64, count uint32) (h ReceiptHandle) {
	binary.BigEndian.PutUint64(h[0:], incarnation)
	binary.BigEndian.PutUint64(h[8:], sequence)
	binary.BigEndian.PutUint32(h[16:], count)
	binary.BigEndian.PutUint64(h[20:], k.handleSeal(epoch, h[:20]))
	return h
}

func (k keyed) handleSeal(epoch uint32, named []byte) uint64 {
	var buf [25]byte
	r := append(record(buf[:0]), kindHandle)
	r = binary.BigEndian.AppendUint32(r, epoch)
	return k.hash(append(r, named...))
}

// receipt is what a valid handle names.
type receipt struct {
	sequence uint64
	count    uint32
}

// openHandle reads a handle that a client sent. It reports false unless the
// text is, character by character, a handle issued for a delivery of q.
func (b *Broker) openHandle(q *Queue, text string) (receipt, bool) {
	h, ok := parseHandle(text)
	if !ok {
		return receipt{}, false
	}
	if binary.BigEndian.Uint64(h[20:]) != b.key.handleSeal(b.epoch, h[:20]) ||
		binary.BigEndian.Uint64(h[0:]) != q.incarnation {
		return receipt{}, false
	}
	return receipt{
		sequence: binary.BigEndian.Uint64(h[8:]),
		count:    binary.BigEndian.Uint32(h[16:]),
	}, true
}

// parseHandle reports whether text has the form of a handle. Whether it was
// ever issued is for the state to say.
func parseHandle(text string) (h ReceiptHandle, ok bool) {
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
