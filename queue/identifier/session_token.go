package identifier

import (
	"encoding/binary"
	"encoding/hex"

	"github.com/seriatimq/seriatim/queue/statehash"
)

// SessionToken identifies one lock of a session: queue incarnation (8 bytes), number of the lock
// (8), and a keyed hash over both and the epoch (8).
type SessionToken [24]byte

// String returns the text for clients: 48 lower-case hex digits.
func (t SessionToken) String() string { return hex.EncodeToString(t[:]) }

// Seal returns the keyed hash.
func (t SessionToken) Seal() uint64 { return binary.BigEndian.Uint64(t[16:]) }

// NewSessionToken returns the token of a lock.
func NewSessionToken(k statehash.Key, epoch uint32, incarnation, lock uint64) (t SessionToken) {
	binary.BigEndian.PutUint64(t[0:], incarnation)
	binary.BigEndian.PutUint64(t[8:], lock)
	binary.BigEndian.PutUint64(t[16:], tokenSeal(k, epoch, t[:16]))
	return t
}

func tokenSeal(k statehash.Key, epoch uint32, named []byte) uint64 {
	var buf [21]byte
	r := append(statehash.Record(buf[:0]), statehash.KindSessionToken)
	r = binary.BigEndian.AppendUint32(r, epoch)
	return k.Hash(append(r, named...))
}

// Open verifies a token and returns the number of the lock. ok is false unless it was issued in
// this epoch for the queue with this incarnation.
func (t *SessionToken) Open(k statehash.Key, epoch uint32, incarnation uint64) (lock uint64, ok bool) {
	if t.Seal() != tokenSeal(k, epoch, t[:16]) || binary.BigEndian.Uint64(t[0:]) != incarnation {
		return 0, false
	}
	return binary.BigEndian.Uint64(t[8:]), true
}

// ParseSessionToken reads the text of a token. Use Open to verify it.
func ParseSessionToken(text string) (t SessionToken, ok bool) {
	if len(text) != hex.EncodedLen(len(t)) {
		return t, false
	}
	if _, err := hex.Decode(t[:], []byte(text)); err != nil {
		return t, false
	}
	return t, t.String() == text
}
