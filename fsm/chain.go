package fsm

import (
	"crypto/sha256"
	"encoding/binary"

	"github.com/cespare/xxhash/v2"
)

// fastChainVersion is the format version from which on the chain has a fast hash of each
// entry instead of the entry. SHA-256 over all of an entry was 15 % of applying batches,
// and an eighth of what a node does for bodies of 1 MiB.
const fastChainVersion uint32 = 4

// nextChainHash continues the log hash chain under the format version in force before the
// entry, c(i) = H(c(i-1), term, index, XXH64(entry)): two nodes compare all commands they
// have applied with one value. H is SHA-256 cut to 16 bytes. Entries without commands are
// not part of it.
//
// The chain is there to find mistakes, of programs and of disks, not to keep off somebody
// who wants two entries to be taken for one: 64 bits of an entry are enough for that.
func nextChainHash(version uint32, last [16]byte, term, index uint64, entry []byte) [16]byte {
	numbers := make([]byte, 0, 40)
	numbers = append(numbers, last[:]...)
	numbers = binary.LittleEndian.AppendUint64(numbers, term)
	numbers = binary.LittleEndian.AppendUint64(numbers, index)
	var sum [sha256.Size]byte
	if version >= fastChainVersion {
		sum = sha256.Sum256(binary.LittleEndian.AppendUint64(numbers, xxhash.Sum64(entry)))
	} else {
		h := sha256.New()
		h.Write(numbers)
		h.Write(entry)
		h.Sum(sum[:0])
	}
	return [16]byte(sum[:16])
}
