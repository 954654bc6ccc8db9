package identifier

import (
	"encoding/binary"
	"encoding/hex"

	"github.com/seriatimq/seriatim/queue/statehash"
)

// ConfirmationToken proves that a subscriber got the request to confirm a subscription:
// number of the subscription (8 bytes), log time of the request (8), sealed with a keyed
// hash over them and the epoch of the state (16).
type ConfirmationToken [32]byte

// String is the text form that clients see: 64 lower-case hex digits.
func (t ConfirmationToken) String() string { return hex.EncodeToString(t[:]) }

// NewConfirmationToken makes the token of a request.
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

// OpenConfirmationToken reads what a token names. It reports false unless the token was
// made in this epoch.
func OpenConfirmationToken(text string, k statehash.Key, epoch uint32) (subscription, made uint64, ok bool) {
	var t ConfirmationToken
	if len(text) != hex.EncodedLen(len(t)) {
		return 0, 0, false
	}
	if _, err := hex.Decode(t[:], []byte(text)); err != nil || t.String() != text || [16]byte(t[16:]) != confirmationSeal(k, epoch, t[:16]) {
		return 0, 0, false
	}
	return binary.BigEndian.Uint64(t[0:]), binary.BigEndian.Uint64(t[8:]), true
}
