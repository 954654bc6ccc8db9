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

	own      Key // of Own under ownScope, if it is known
	ownScope Scope
	ownKnown bool
}

// WithKey are the ids with the key of the own one, if it is for them. With a partition key
// it could be another one.
func (ids IDs) WithKey(k *SoughtKey) (with IDs, known bool) {
	if k.id == ids.Own && k.group == ids.Group && k.scope != ScopePartitionKey {
		ids.own, ids.ownScope, ids.ownKnown = k.key, k.scope, true
	}
	return ids, ids.ownKnown
}

// SoughtKey is the key of an own id that will be looked for.
type SoughtKey struct {
	id, group string
	scope     Scope
	key       Key
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
	if ids.ownKnown && scope == ids.ownScope && id == ids.Own {
		return ids.own
	}
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
