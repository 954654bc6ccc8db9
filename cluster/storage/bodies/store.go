package bodies

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/seriatimq/seriatim/cluster/storage"
	"github.com/seriatimq/seriatim/cluster/storage/encryption"
	"github.com/seriatimq/seriatim/fsm"
	"github.com/seriatimq/seriatim/queue/message"
)

// Options configure a Store. Zero sizes have defaults.
type Options struct {
	Life   context.Context // ends the goroutines of the Store
	Dir    string          // of the segments; made with the first segment
	Guard  *storage.DiskGuard
	Logger *slog.Logger
	// Keep stores new bodies. Without it, only bodies of earlier runs are read.
	Keep bool
	// ReadOnly changes no file: no body is stored, and no space reclaimed.
	ReadOnly     bool
	KeepMin      int   // shorter bodies stay in memory
	SegmentBytes int64 // of one file
	CacheBytes   int64 // of written bytes kept in memory
	// FreeBytesPerSecond limits the rate of reclaiming space.
	FreeBytesPerSecond int64
	// Keys encrypt new bodies, and decrypt those of earlier runs; nil: new ones are unencrypted.
	Keys *encryption.Keyring
	// Healing is called before a damaged body is rewritten with a key that may differ from that of
	// its segment. It may be nil.
	Healing func(key encryption.KeyID, segment uint32) error
}

// Defaults of Options.
const (
	// DefaultKeepMin is the length below which a body in memory costs about as much as its
	// reference.
	DefaultKeepMin      = 128
	DefaultSegmentBytes = 64 << 20
	// SegmentBytesMax is far below the 4 GiB that the 32 bits of an offset allow.
	SegmentBytesMax   = 1 << 30
	DefaultCacheBytes = 16 << 20
	defaultFreeRate   = 256 << 20
)

func (o Options) withDefaults() Options {
	for _, one := range []struct {
		field *int64
		value int64
	}{{&o.SegmentBytes, DefaultSegmentBytes}, {&o.CacheBytes, DefaultCacheBytes}, {&o.FreeBytesPerSecond, defaultFreeRate}} {
		if *one.field == 0 {
			*one.field = one.value
		}
	}
	if o.KeepMin == 0 {
		o.KeepMin = DefaultKeepMin
	}
	// A record of length zero would look like a hole.
	o.KeepMin = max(o.KeepMin, 1)
	return o
}

// Store keeps the bodies of one node. Made by Open. Read and Stats are safe for concurrent use; see
// fsm.StateBodies for the result of Begin.
type Store struct {
	options Options
	cipher  cipher
	before  map[uint32]int64 // segments of earlier runs with their sizes; read-only
	first   uint32           // first segment of this run

	mu       sync.RWMutex
	changed  *sync.Cond // with mu: a field up to closed changed
	tail     tail
	files    map[uint32]bool // segments that have a file
	asked    uint64          // number of the newest call of Sync
	synced   uint64          // number of the newest completed call
	askedEnd message.Place   // end of the bodies that the newest call covers
	failed   error           // what stopped the writer
	intakes  int             // begun in this run
	intake   *Intake         // the current one; nil: none
	closed   bool

	current  atomic.Pointer[state] // the state in use
	prefetch prefetcher
	reclaim  reclaimer
	healing  healing
	writing  sync.WaitGroup
	counts   counts
}

var _ fsm.BodyStore = (*Store)(nil)

// counts are totals for Stats.
type counts struct {
	fromDisk                 atomic.Int64
	deletedBytes, freedBytes atomic.Int64
	damaged, healed, checked atomic.Int64
}

// Stats are totals of a Store.
type Stats struct {
	Segments    int   // files
	Bodies      int64 // in use
	Bytes       int64 // of their records
	MemoryBytes int64
	DiskReads   int64 // bodies that were not in memory
	FreedBytes  int64 // returned to the file system
	Damaged     int64 // bodies found damaged
	Healed      int64 // damaged bodies rewritten
	Checked     int64 // bytes read by Check
}

// Open opens the segments in a directory.
func Open(options Options) (*Store, error) {
	options = options.withDefaults()
	before, err := listSegments(options.Dir)
	if err != nil {
		return nil, fmt.Errorf("listing the segments of bodies: %w", err)
	}
	s := &Store{options: options, cipher: newCipher(options.Keys), before: before, files: make(map[uint32]bool, len(before))}
	s.changed = sync.NewCond(&s.mu)
	for number := range before {
		s.files[number] = true
		s.tail.segment = max(s.tail.segment, number)
	}
	s.tail.segment++
	switch {
	case options.Keys != nil:
		s.tail.segment = max(s.tail.segment, encryptedSegments)
	case encrypted(s.tail.segment) && !options.ReadOnly:
		return nil, fmt.Errorf("the bodies in %s: %w", options.Dir, encryption.ErrKeyMissing)
	}
	s.first = s.tail.segment
	s.prefetch.bytes = int(min(options.CacheBytes/windowsMax, windowBytes))
	s.reclaim.init(s)
	if !options.ReadOnly {
		s.writing.Go(s.write)
		s.writing.Go(s.reclaim.run)
	}
	return s, nil
}

// First returns the first segment that this run may append to.
func (s *Store) First() uint32 { return s.first }

// Tail returns the segment that is appended to.
func (s *Store) Tail() uint32 {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.tail.segment
}

// ReplaceKeys replaces the keys of the Store and begins a segment, which it returns. So earlier
// keys are not needed for later bodies.
func (s *Store) ReplaceKeys(with *encryption.Keyring) (segment uint32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.options.Keys.Replace(with)
	s.tail.endSegment()
	return s.tail.segment
}

// Segments returns the segments that have a file or will have one, in order: with encrypted bodies,
// and with unencrypted ones.
func (s *Store) Segments() (sealed, plain []uint32) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	all := maps.Clone(s.files)
	for _, c := range s.tail.unwritten {
		all[c.segment] = true
	}
	for _, segment := range slices.Sorted(maps.Keys(all)) {
		if encrypted(segment) {
			sealed = append(sealed, segment)
		} else {
			plain = append(plain, segment)
		}
	}
	return sealed, plain
}

// InUse reports whether a state may have bodies here.
func (s *Store) InUse() bool { return s.options.Keep || len(s.before) > 0 }

// Close stops the goroutines of the Store. The log has the bodies that are not yet on disk.
func (s *Store) Close() {
	s.mu.Lock()
	s.closed = true
	s.changed.Broadcast()
	s.mu.Unlock()
	s.reclaim.cancel()
	s.writing.Wait()
}

// Stats returns the totals.
func (s *Store) Stats() Stats {
	stats := Stats{
		DiskReads: s.counts.fromDisk.Load(), FreedBytes: s.counts.freedBytes.Load(),
		Damaged: s.counts.damaged.Load(), Healed: s.counts.healed.Load(), Checked: s.counts.checked.Load(),
	}
	s.mu.RLock()
	stats.Segments, stats.MemoryBytes = len(s.files), s.tail.bytes
	s.mu.RUnlock()
	if state := s.current.Load(); state != nil {
		stats.Bodies, stats.Bytes = state.inUse()
	}
	return stats
}

// append stores a text at the end. takenIn marks a body of the Intake.
func (s *Store) append(text string, digest uint64, takenIn bool) message.Body {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.tail.waiting > unwrittenMax && s.failed == nil && !s.closed {
		s.changed.Wait()
	}
	c, at := s.tail.room(recordSize(s.tail.segment, len(text)), s.options.SegmentBytes)
	c.data = s.cipher.appendRecord(c.data, at, text, digest)
	if s.intake != nil && !takenIn {
		s.intake.shared[at.Segment] = true
	}
	if len(s.tail.unwritten) > 1 {
		s.changed.Broadcast()
	}
	return message.StoredBody(at, uint32(len(text)), digest)
}

// ErrGone: no message has the body, and its space was reclaimed.
var ErrGone = errors.New("the body was deleted meanwhile")

// Read returns a stored body in memory, and reads it from disk if necessary.
func (s *Store) Read(body message.Body) (message.Body, error) {
	read, err := s.look(body)
	switch {
	case err == nil || storage.Exhausted(err):
		return read, err
	case !s.needs(body):
		return message.Body{}, ErrGone
	}
	return message.Body{}, s.damaged(body, err)
}

// look reads a body, and leaves the handling of damage to the caller.
func (s *Store) look(body message.Body) (message.Body, error) {
	if !body.Stored() {
		return body, nil
	}
	s.mu.RLock()
	record, found := s.tail.find(body)
	s.mu.RUnlock()
	if !found { // a record never changes, so no lock is needed from here on
		s.counts.fromDisk.Add(1)
		if text, found := s.prefetch.find(body, s.cipher); found {
			return message.NewBody(text), nil
		}
		var err error
		if record, err = s.readDisk(body); err != nil {
			return message.Body{}, err
		}
	}
	text, err := s.cipher.textOf(record, body)
	if err != nil {
		return message.Body{}, err
	}
	return message.NewBody(text), nil
}

// ReadAt reads the body with this place, length and digest.
func (s *Store) ReadAt(segment, offset, size uint32, digest uint64) (text string, err error) {
	body, err := s.Read(message.StoredBody(message.Place{Segment: segment, Offset: offset}, size, digest))
	if err != nil {
		return "", err
	}
	return body.String(), nil
}

// needs reports whether the state may have a body: its space is reclaimed only if one of its blocks
// is empty.
func (s *Store) needs(body message.Body) bool {
	state := s.current.Load()
	return state == nil || state.counts.covers(body)
}

// Begin returns the body storage for a new state.
func (s *Store) Begin() fsm.StateBodies {
	state := newState(s)
	state.adopted = s.current.CompareAndSwap(nil, state) // the first state of a node without a snapshot
	return state
}

// open opens the file of a segment for writing, and creates it if there is none.
func (s *Store) open(segment uint32) (*os.File, error) {
	if err := os.MkdirAll(s.options.Dir, 0o700); err != nil {
		return nil, err
	}
	return os.OpenFile(s.path(segment), os.O_RDWR|os.O_CREATE, 0o600)
}
