package deduplication

import (
	"encoding/binary"

	"github.com/seriatimq/seriatim/queue/limits"
	"github.com/seriatimq/seriatim/queue/statehash"
)

// IDs are the ids a message is compared under: its own, and with IdAndContent also
// the hash of its content.
type IDs struct {
	Own     string
	Content string // empty unless it is a second key
	Group   string
	// Partition is the PartitionKey, used if there is no group.
	Partition string
}

// Second is the other id that a message is recorded under, empty if there is none.
func (ids *IDs) Second() string {
	if ids.Content == ids.Own {
		return ""
	}
	return ids.Content
}

// key hashes one id under one scope. For partitionKey the part is the group id if
// given, else the partition key, else the id itself (servicebus.md 5.4: the id then
// chooses the partition, and detection is complete).
func (ids *IDs) key(k statehash.Key, scope Scope, id string) Key {
	part := ""
	switch scope {
	case ScopeQueue: // one part for all
	case ScopeMessageGroup:
		part = ids.Group
	case ScopePartitionKey:
		if part = ids.Group; part == "" {
			part = ids.Partition
		}
		if part == "" {
			part = id
		}
	}
	var buf [2*limits.IDLengthMax + 16]byte
	r := append(statehash.Record(buf[:0]), statehash.KindDeduplication, byte(scope))
	r = binary.LittleEndian.AppendUint32(r, uint32(len(part)))
	r = append(append(r, part...), id...)
	s := k.Sum(r)
	return Key{High: s.High, Low: s.Low}
}
