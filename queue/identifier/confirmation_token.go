package identifier

import (
	"encoding/binary"
	"encoding/hex"

	"github.com/seriatimq/seriatim/queue/statehash"
)

// ConfirmationToken proves that a subscriber received a request to confirm. It holds the
// subscription's number (8 bytes), the log time of the request (8), and a keyed hash over both and
// the epoch (16).
type ConfirmationToken [32]byte

// String returns the text for clients: 64 lower-case hex digits.
func (t ConfirmationToken) String() string { return hex.EncodeToString(t[:]) }

// NewConfirmationToken returns the token of a request that was made at a log time.
func NewConfirmationToken(k statehash.Key, epoch uint32, subscription, made uint64) (t ConfirmationToken) {
	binary.BigEndian.PutUint64(t[0:], subscription)
	binary.BigEndian.PutUint64(t[8:], made)
	seal := confirmationSeal(k, epoch, t[:16])
	copy(t[16:], seal[:])
	return t
}

func confirmationSeal(k statehash.Key, epoch uint32, named []byte) [16]byte {
	var buf [21]byte
	r := append(statehash.Record(buf[:0]), statehash.KindConfirmation)
	r = binary.BigEndian.AppendUint32(r, epoch)
	return k.Sum(append(r, named...)).Bytes()
}

// OpenConfirmationToken reads a token. ok is false unless it was issued in this epoch.
func OpenConfirmationToken(text string, k statehash.Key, epoch uint32) (subscription, made uint64, ok bool) {
	var t ConfirmationToken
	if len(text) != hex.EncodedLen(len(t)) {
		return 0, 0, false
	}
	if _, err := hex.Decode(t[:], []byte(text)); err != nil || t.String() != text ||
		[16]byte(t[16:]) != confirmationSeal(k, epoch, t[:16]) {
		return 0, 0, false
	}
	return binary.BigEndian.Uint64(t[0:]), binary.BigEndian.Uint64(t[8:]), true
}
