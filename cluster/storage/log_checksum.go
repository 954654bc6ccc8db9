package storage

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"

	"github.com/hashicorp/raft"
)

// A stored entry carries a CRC-32C over its index, term, type, data and
// extensions. Neither log store has one that is checked when an entry is read:
// bbolt checks only its own meta pages and returns a flipped bit as data, and
// the wal checks only the end of the log when it recovers (faults.md 13.3).
//
// The checksum travels in the entry's Extensions, which both stores keep and
// nothing else here uses: appending it to Data would copy every entry. It is
// added below the cache and taken off above the store, so that neither the
// state machine nor another node ever sees it.
const (
	sealFormat = 1
	sealBytes  = 1 + crc32.Size // format, checksum
)

// sealEntries returns copies of the entries as they are stored.
func sealEntries(entries []*raft.Log) []*raft.Log {
	copies := make([]raft.Log, len(entries))
	sealed := make([]*raft.Log, len(entries))
	for i, entry := range entries {
		copies[i] = *entry
		extensions := make([]byte, 0, len(entry.Extensions)+sealBytes)
		extensions = append(extensions, entry.Extensions...)
		extensions = append(extensions, sealFormat)
		copies[i].Extensions = binary.LittleEndian.AppendUint32(extensions, entryChecksum(entry))
		sealed[i] = &copies[i]
	}
	return sealed
}

// unsealEntry checks an entry read from the store at index and restores it.
func unsealEntry(index uint64, entry *raft.Log) error {
	if entry.Index != index {
		return fmt.Errorf("entry %d is stored at index %d: %w", entry.Index, index, ErrDamaged)
	}
	n := len(entry.Extensions) - sealBytes
	if n < 0 || entry.Extensions[n] != sealFormat {
		return fmt.Errorf("entry %d has no checksum: %w", index, ErrDamaged)
	}
	want := binary.LittleEndian.Uint32(entry.Extensions[n+1:])
	if entry.Extensions = entry.Extensions[:n:n]; n == 0 {
		entry.Extensions = nil
	}
	if entryChecksum(entry) != want {
		return fmt.Errorf("entry %d: %w", index, ErrDamaged)
	}
	return nil
}

func entryChecksum(entry *raft.Log) uint32 {
	var head [33]byte
	binary.LittleEndian.PutUint64(head[0:], entry.Index)
	binary.LittleEndian.PutUint64(head[8:], entry.Term)
	binary.LittleEndian.PutUint64(head[16:], uint64(len(entry.Data)))
	binary.LittleEndian.PutUint64(head[24:], uint64(len(entry.Extensions)))
	head[32] = byte(entry.Type)
	sum := crc32.Update(0, castagnoli, head[:])
	sum = crc32.Update(sum, castagnoli, entry.Data)
	return crc32.Update(sum, castagnoli, entry.Extensions)
}
