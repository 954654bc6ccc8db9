package fsm

import (
	"crypto/sha256"
	"encoding/binary"
)

// nextChainHash continues the log hash chain, c(i) = H(c(i-1), term, index,
// entry): two nodes compare all commands they have applied with one value. H
// is SHA-256 cut to 16 bytes. Entries without commands are not part of it.
func nextChainHash(last [16]byte, term, index uint64, entry []byte) [16]byte {
	h := sha256.New()
	var numbers [32]byte
	copy(numbers[:16], last[:])
	binary.LittleEndian.PutUint64(numbers[16:], term)
	binary.LittleEndian.PutUint64(numbers[24:], index)
	h.Write(numbers[:])
	h.Write(entry)
	var sum [sha256.Size]byte
	h.Sum(sum[:0])
	return [16]byte(sum[:16])
}
