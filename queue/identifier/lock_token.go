package identifier

import (
	"encoding/binary"
	"encoding/hex"

	"github.com/seriatimq/seriatim/queue/statehash"
)

// LockToken is a receipt handle in the 16 bytes that Service Bus has for one: sequence (8), delivery
// count (4), and the first bytes of the handle's keyed hash (4). It is valid for one queue, and
// needs the same permission as the handle. Any node can open it.
type LockToken [16]byte

// LockToken returns the token of a delivery.
func (h ReceiptHandle) LockToken() (t LockToken) {
	copy(t[:], h[8:24])
	return t
}

// String returns the text for commands: 32 lower-case hex digits.
func (t LockToken) String() string { return hex.EncodeToString(t[:]) }

// Open verifies a token as ReceiptHandle.Open does.
func (t LockToken) Open(k statehash.Key, epoch uint32, incarnation uint64) (Receipt, bool) {
	r := Receipt{Sequence: binary.BigEndian.Uint64(t[0:]), Count: binary.BigEndian.Uint32(t[8:])}
	h := NewReceiptHandle(k, epoch, incarnation, r.Sequence, r.Count)
	return r, h.LockToken() == t
}

// ParseLockToken reads the text of a token. Use Open to verify it.
func ParseLockToken(text string) (t LockToken, ok bool) {
	if len(text) != hex.EncodedLen(len(t)) {
		return t, false
	}
	_, err := hex.Decode(t[:], []byte(text))
	return t, err == nil && t.String() == text
}
