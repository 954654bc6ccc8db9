package storage

import (
	"sync"

	"github.com/hashicorp/raft"
)

// logCache keeps the newest log entries in memory, bounded in bytes, for applying and for followers
// that lag a little. The library's own cache counts entries: with entries of 256 KiB it pins
// gigabytes. Safe for concurrent use.
type logCache struct {
	limit int

	mu      sync.RWMutex
	entries []raft.Log // contiguous; those below head are dropped
	head    int
	bytes   int
}

// entryOverhead approximates the memory of an entry without its data, in bytes.
const entryOverhead = 128

// EntryBytes approximates the size of an entry in memory, in bytes.
func EntryBytes(entry *raft.Log) int { return len(entry.Data) + len(entry.Extensions) + entryOverhead }

// add appends entries that were just stored.
func (c *logCache) add(entries []*raft.Log) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, entry := range entries {
		if n := len(c.entries); n > c.head && c.entries[n-1].Index+1 != entry.Index {
			c.clear()
		}
		c.entries = append(c.entries, *entry)
		c.bytes += EntryBytes(entry)
	}
	for c.bytes > c.limit && c.head < len(c.entries) {
		c.bytes -= EntryBytes(&c.entries[c.head])
		c.entries[c.head] = raft.Log{}
		c.head++
	}
	// Moving the remaining entries costs at most one copy per dropped entry.
	if c.head > len(c.entries)-c.head {
		kept := copy(c.entries, c.entries[c.head:])
		clear(c.entries[kept:])
		c.entries, c.head = c.entries[:kept], 0
	}
}

// get copies the cached entry at index to entry.
func (c *logCache) get(index uint64, entry *raft.Log) bool {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if c.head == len(c.entries) {
		return false
	}
	first := c.entries[c.head].Index
	if index < first || index-first >= uint64(len(c.entries)-c.head) {
		return false
	}
	*entry = c.entries[c.head+int(index-first)]
	return true
}

// forget drops all entries.
func (c *logCache) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.clear()
}

func (c *logCache) clear() { c.entries, c.head, c.bytes = nil, 0, 0 }
