package deduplication

import (
	"encoding/binary"

	"github.com/seriatimq/seriatim/queue/limits"
	"github.com/seriatimq/seriatim/queue/statehash"
)

// IDs are the ids of a message: its own, and with IdAndContent the hash of its content.
type IDs struct {
	Own     string
	Content string // empty unless both ids count
	Group   string
	// Partition is the PartitionKey, used without a group.
	Partition string

	own      Key // key of Own under ownScope, if ownKnown
	ownScope Scope
	ownKnown bool
}

// WithKey returns the ids with a prefetched key, if it belongs to them. It skips keys under
// ScopePartitionKey, which depend on the partition key.
func (ids IDs) WithKey(k *PrefetchedKey) (with IDs, known bool) {
	if k.id == ids.Own && k.group == ids.Group && k.scope != ScopePartitionKey {
		ids.own, ids.ownScope, ids.ownKnown = k.key, k.scope, true
	}
	return ids, ids.ownKnown
}

// PrefetchedKey is the key of an own id that a later send looks up.
type PrefetchedKey struct {
	id, group string
	scope     Scope
	key       Key
}

// Second returns the second id of a message, empty if there is none.
func (ids *IDs) Second() string {
	if ids.Content == ids.Own {
		return ""
	}
	return ids.Content
}

// key hashes an id under a scope. With ScopePartitionKey, the part is the group id, else the
// partition key, else the id itself, as if the id chose the partition (servicebus.md 5.4).
func (ids *IDs) key(k statehash.Key, scope Scope, id string) Key {
	if ids.ownKnown && scope == ids.ownScope && id == ids.Own {
		return ids.own
	}
	part := ""
	switch scope {
	case ScopeQueue: // one part for all ids
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
