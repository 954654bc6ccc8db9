package deduplication

import (
	"crypto/sha256"
	"encoding/hex"
)

// Scope is the range within which a deduplication id is unique.
type Scope uint8

// Scopes. Snapshots and record keys contain the numbers.
const (
	ScopeQueue        Scope = 0
	ScopeMessageGroup Scope = 1
	ScopePartitionKey Scope = 2
)

// Rules are the attributes of the deduplication engine.
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

// ReadsContent reports whether WithContent reads the body.
func (r *Rules) ReadsContent(ids IDs) bool {
	return r.ContentBased && !r.Disabled && (ids.Own == "" || r.IDAndContent)
}

// WithContent adds the SHA-256 of the body, in lower-case hex, if content counts: it replaces a
// missing id, and with IdAndContent both ids count. hash is the SHA-256 if already known.
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
