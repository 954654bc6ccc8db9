package deduplication

import (
	"crypto/sha256"
	"encoding/hex"
)

// Scope says what a deduplication id is unique within.
type Scope uint8

// Scopes; the numbers are stored in snapshots and hashed into record keys.
const (
	ScopeQueue        Scope = 0
	ScopeMessageGroup Scope = 1
	ScopePartitionKey Scope = 2
)

// Rules are the attributes that steer the deduplication engine.
type Rules struct {
	Disabled          bool // DeduplicationEnabled=false
	ContentBased      bool
	IDAndContent      bool // ContentDeduplicationMode=IdAndContent
	Scope             Scope
	WindowSeconds     int64
	EntriesMax        int64 // MaxDeduplicationEntries, 0: no cap
	PurgeKeepsHistory bool  // PurgeClearsDeduplicationHistory=false
	DeadLetterKeepsID bool
}

// ReadsContent reports whether WithContent goes by the body.
func (r *Rules) ReadsContent(ids IDs) bool {
	return r.ContentBased && !r.Disabled && (ids.Own == "" || r.IDAndContent)
}

// WithContent adds what a message is remembered under if its content counts: the
// SHA-256 of the body in lower-case hex takes the place of an id that was not given,
// and with IdAndContent both count. hash is the SHA-256 if it is known already.
func (r *Rules) WithContent(ids IDs, body string, hash []byte) IDs {
	if !r.ReadsContent(ids) {
		return ids
	}
	if len(hash) != sha256.Size {
		sum := sha256.Sum256([]byte(body))
		hash = sum[:]
	}
	content := hex.EncodeToString(hash)
	if ids.Own == "" {
		ids.Own = content
	}
	if r.IDAndContent {
		ids.Content = content
	}
	return ids
}
