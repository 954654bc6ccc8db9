package peernet

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"maps"
	"sync"

	"github.com/seriatimq/seriatim/cluster/storage"
	"github.com/seriatimq/seriatim/cluster/wakeup"
)

// AddressBook records the last known address of each node, also across restarts. It is only a hint
// for dialing: the handshake proves the identity. Safe for concurrent use.
type AddressBook struct {
	path   string
	logger *slog.Logger

	mu       sync.Mutex
	entries  map[string]addressEntry
	modified wakeup.Signal
}

// addressEntry is an address and the number of the node's start that announced it. A later start
// wins.
type addressEntry struct {
	Address string `json:"address"`
	Boot    uint64 `json:"boot"`
}

// OpenAddressBook reads the file. A missing or damaged file is an empty book.
func OpenAddressBook(path string, logger *slog.Logger) *AddressBook {
	book := &AddressBook{path: path, logger: logger, entries: map[string]addressEntry{}, modified: wakeup.NewSignal()}
	if err := storage.ReadRecord(path, &book.entries); err != nil && !errors.Is(err, fs.ErrNotExist) {
		logger.Warn("the addresses of the other nodes are lost; gossip will find them again", "error", err)
		book.entries = map[string]addressEntry{}
	}
	return book
}

// Note records the address that a node announced at its boot-th start. It ignores announcements of
// earlier starts.
func (b *AddressBook) Note(nodeID, address string, boot uint64) {
	entry := addressEntry{Address: address, Boot: boot}
	b.mu.Lock()
	known := b.entries[nodeID]
	newer := boot >= known.Boot && entry != known
	if newer {
		b.entries[nodeID] = entry
	}
	b.mu.Unlock()
	if newer {
		b.modified.Notify()
	}
}

// Lookup returns the address of a node as host:port, empty if unknown.
func (b *AddressBook) Lookup(nodeID string) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.entries[nodeID].Address
}

// run writes changes to the file until ctx ends.
func (b *AddressBook) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-b.modified:
		}
		b.mu.Lock()
		entries := maps.Clone(b.entries)
		b.mu.Unlock()
		if err := storage.WriteRecord(b.path, entries); err != nil {
			b.logger.Warn("writing the addresses of the other nodes failed", "error", err)
		}
	}
}
