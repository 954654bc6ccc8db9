package storage

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"maps"
	"slices"
	"sync"

	"github.com/hashicorp/raft"

	"github.com/seriatimq/seriatim/cluster/storage/encryption"
)

// A stored entry carries a CRC-32C over its index, term, type, data and extensions. Neither log
// store checks an entry when reading it: bbolt checks only its meta pages, and the wal only the end
// of the log during recovery (faults.md 13.3).
//
// The checksum is appended to Extensions, which both stores keep and nothing else here uses;
// appending it to Data would copy every entry. It is added below the cache and removed above the
// store, so the state machine and other nodes never see it.
//
// With a key file the data is encrypted below the cache as well. Other nodes receive it in clear
// and encrypt it themselves. The checksum covers the encrypted data, so damage can be distinguished
// from a missing key.
const (
	plainFormat     = 1
	encryptedFormat = 2                // the encryption head stands before the format byte
	sealBytes       = 1 + crc32.Size   // format, checksum
	entryPurpose    = "seriatim entry" // for derived keys
)

// entrySealer converts entries to their stored form and back. seal has one caller at a time; unseal
// is safe for concurrent use.
type entrySealer struct {
	keys   *encryption.Keyring // nil: nothing is encrypted
	sealer *encryption.Sealer
	buffer []byte // encrypted data; the stores copy it
	used   entryKeys
}

// entryKeys records the last entry that is encrypted with each key. Safe for concurrent use.
type entryKeys struct {
	mu   sync.Mutex
	last map[encryption.KeyID]uint64
}

// note records an entry. The caller holds mu.
func (k *entryKeys) note(id encryption.KeyID, index uint64) {
	if k.last == nil {
		k.last = map[encryption.KeyID]uint64{}
	}
	k.last[id] = max(k.last[id], index)
}

// since returns the keys of the entries from first on, each with its last entry. first is 0 if the
// log is empty.
func (k *entryKeys) since(first uint64) map[encryption.KeyID]uint64 {
	k.mu.Lock()
	defer k.mu.Unlock()
	maps.DeleteFunc(k.last, func(_ encryption.KeyID, last uint64) bool { return last < first })
	return maps.Clone(k.last)
}

// entryBufferMax bounds the buffer that is kept for later entries, in bytes.
const entryBufferMax = 4 << 20

// seal returns copies of the entries in stored form, valid until the next call.
func (s *entrySealer) seal(entries []*raft.Log) []*raft.Log {
	copies := make([]raft.Log, len(entries))
	sealed := make([]*raft.Log, len(entries))
	if s.sealer != nil {
		s.makeRoom(entries)
		// The lock is held so that an entry is recorded before another key becomes visible as
		// active.
		s.used.mu.Lock()
		defer s.used.mu.Unlock()
	}
	for i, entry := range entries {
		copies[i] = *entry
		sealed[i] = &copies[i]
		format := byte(plainFormat)
		extensions := make([]byte, 0, len(entry.Extensions)+encryption.HeadBytes+sealBytes)
		extensions = append(extensions, entry.Extensions...)
		if s.sealer != nil && len(entry.Data) > 0 {
			begin := len(s.buffer)
			s.buffer = s.sealer.Seal(s.buffer, entry.Data, tiedTo(entry))
			record := s.buffer[begin:]
			extensions = append(extensions, record[:encryption.HeadBytes]...)
			copies[i].Data, format = record[encryption.HeadBytes:], encryptedFormat
			s.used.note(encryption.KeyOf(record), entry.Index)
		}
		copies[i].Extensions = extensions
		sum := entryChecksum(&copies[i])
		copies[i].Extensions = binary.LittleEndian.AppendUint32(append(extensions, format), sum)
	}
	return sealed
}

// makeRoom grows the buffer so that it does not move while entries are added.
func (s *entrySealer) makeRoom(entries []*raft.Log) {
	need := 0
	for _, entry := range entries {
		need += len(entry.Data) + encryption.RecordBytes
	}
	if cap(s.buffer) > entryBufferMax {
		s.buffer = nil
	}
	s.buffer = slices.Grow(s.buffer[:0], need)
}

// tiedTo returns the additional data that binds an encrypted entry to its place in the log.
func tiedTo(entry *raft.Log) []byte {
	tied := binary.LittleEndian.AppendUint64(make([]byte, 0, 17), entry.Index)
	return append(binary.LittleEndian.AppendUint64(tied, entry.Term), byte(entry.Type))
}

// unseal checks an entry read from the store at index and restores its original form.
func (s *entrySealer) unseal(index uint64, entry *raft.Log) error {
	if entry.Index != index {
		return fmt.Errorf("entry %d is stored at index %d: %w", entry.Index, index, ErrDamaged)
	}
	n := len(entry.Extensions) - sealBytes
	if n < 0 || entry.Extensions[n] != plainFormat && entry.Extensions[n] != encryptedFormat {
		return fmt.Errorf("entry %d has no checksum: %w", index, ErrDamaged)
	}
	format, want := entry.Extensions[n], binary.LittleEndian.Uint32(entry.Extensions[n+1:])
	if entry.Extensions = entry.Extensions[:n:n]; n == 0 {
		entry.Extensions = nil
	}
	if entryChecksum(entry) != want {
		return fmt.Errorf("entry %d: %w", index, ErrDamaged)
	}
	if format == encryptedFormat {
		return s.decrypt(entry)
	}
	return nil
}

// decrypt decrypts an entry whose checksum is correct.
func (s *entrySealer) decrypt(entry *raft.Log) error {
	n := len(entry.Extensions) - encryption.HeadBytes
	if n < 0 {
		return fmt.Errorf("entry %d lacks its encryption head: %w", entry.Index, ErrDamaged)
	}
	s.used.mu.Lock()
	s.used.note(encryption.KeyOf(entry.Extensions[n:]), entry.Index)
	s.used.mu.Unlock()
	data, err := s.keys.OpenParts(nil, entry.Extensions[n:], entry.Data, tiedTo(entry), entryPurpose)
	if err != nil {
		return fmt.Errorf("entry %d: %w", entry.Index, err)
	}
	if entry.Data, entry.Extensions = data, entry.Extensions[:n:n]; n == 0 {
		entry.Extensions = nil
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
