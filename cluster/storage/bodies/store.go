package bodies

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/seriatimq/seriatim/cluster/storage"
	"github.com/seriatimq/seriatim/cluster/storage/encryption"
	"github.com/seriatimq/seriatim/fsm"
	"github.com/seriatimq/seriatim/queue/content"
)

// Options are what a Store works with. Sizes that are zero have a default.
type Options struct {
	Life   context.Context // ends what the Store does by itself
	Dir    string          // of the segments; made with the first of them
	Guard  *storage.DiskGuard
	Logger *slog.Logger
	// Keep has new bodies stored. Without it only those of earlier runs are read.
	Keep bool
	// ReadOnly leaves the files as they are: nothing is stored, and no space given back.
	ReadOnly     bool
	KeepMin      int   // shorter bodies stay in memory
	SegmentBytes int64 // of one file
	CacheBytes   int64 // of what was written last, kept in memory
	// FreeBytesPerSecond is the pace at which space is given back.
	FreeBytesPerSecond int64
	// Keys encrypt new bodies, and decrypt those of earlier runs; nil: new ones are plain.
	Keys *encryption.Keyring
	// Healing is called before a damaged body of a segment is written anew with a key, which
	// may be another than that of the segment; nil: nothing is called.
	Healing func(key encryption.KeyID, segment uint32) error
}

// Defaults of Options.
const (
	// DefaultKeepMin is a length below which a body costs about as much in memory as
	// what has to be remembered of it otherwise, and more on disk.
	DefaultKeepMin      = 128
	DefaultSegmentBytes = 64 << 20
	// SegmentBytesMax is far below what an offset in a segment can say, which has 32 bits.
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
	// A zero in place of a length is a hole.
	o.KeepMin = max(o.KeepMin, 1)
	return o
}

// Store has the bodies of one node. Made by Open. Read and Stats are safe for concurrent
// use; see fsm.StateBodies for what Begin returns.
type Store struct {
	options Options
	cipher  cipher
	before  map[uint32]int64 // segments of earlier runs with their sizes; never changes
	first   uint32           // segment of this run

	mu       sync.RWMutex
	changed  *sync.Cond // with mu: something up to closed is another
	tail     tail
	files    map[uint32]bool // segments that have a file
	asked    uint64          // number of the newest call of Sync
	synced   uint64          // number of the newest call that is done
	askedEnd content.Place   // up to where the newest call wants it
	failed   error           // what ended the writing
	intakes  int             // that began in this run
	intake   *Intake         // the one that goes on, if any
	closed   bool

	current atomic.Pointer[state] // whose bodies count
	ahead   readAhead
	giving  giving
	healing healing
	writing sync.WaitGroup
	counts  counts
}

var _ fsm.BodyStore = (*Store)(nil)

// counts of what a Store did.
type counts struct {
	fromDisk                 atomic.Int64
	deletedBytes, freedBytes atomic.Int64
	damaged, healed, checked atomic.Int64
}

// Stats are what a Store has.
type Stats struct {
	Segments    int   // files
	Bodies      int64 // in use
	Bytes       int64 // of these, with their records
	MemoryBytes int64
	DiskReads   int64 // bodies that were not in memory
	FreedBytes  int64 // given back to the file system
	Damaged     int64 // bodies that were found damaged
	Healed      int64 // of these, written anew
	Checked     int64 // bytes that Check read
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
	s.ahead.bytes = int(min(options.CacheBytes/aheadWindows, aheadBytes))
	s.giving.init(s)
	if !options.ReadOnly {
		s.writing.Go(s.write)
		s.writing.Go(s.giving.run)
	}
	return s, nil
}

// First is the first segment that this run may append to.
func (s *Store) First() uint32 { return s.first }

// Tail is the segment that is appended to.
func (s *Store) Tail() uint32 {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.tail.segment
}

// ReplaceKeys has other keys take the place of those of the Store, and begins a segment, which it
// returns: the bodies in earlier ones are encrypted with earlier keys, so that those keys are
// not needed for later bodies that stay.
func (s *Store) ReplaceKeys(with *encryption.Keyring) (segment uint32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.options.Keys.Replace(with)
	s.tail.endSegment()
	return s.tail.segment
}

// Segments lists the segments that have a file or will have one, sorted: those with encrypted
// bodies, and those in clear text.
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

// InUse reports whether a state can have bodies here.
func (s *Store) InUse() bool { return s.options.Keep || len(s.before) > 0 }

// Close ends the goroutines of the Store. What is not on disk by then is in the log.
func (s *Store) Close() {
	s.mu.Lock()
	s.closed = true
	s.changed.Broadcast()
	s.mu.Unlock()
	s.giving.cancel()
	s.writing.Wait()
}

// Stats counts what there is.
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

// append copies a text behind the last one. takenIn says that it is for the Intake.
func (s *Store) append(text string, digest uint64, takenIn bool) content.Body {
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
	return content.StoredBody(at, uint32(len(text)), digest)
}

// ErrGone says that nobody has the body any more, and that its space was given back.
var ErrGone = errors.New("the body was deleted meanwhile")

// Read returns a stored body in memory, from the disk if need be.
func (s *Store) Read(body content.Body) (content.Body, error) {
	read, err := s.look(body)
	switch {
	case err == nil || storage.Exhausted(err):
		return read, err
	case !s.needs(body):
		return content.Body{}, ErrGone
	}
	return content.Body{}, s.damaged(body, err)
}

// look is Read that leaves it to the caller what to do about a body that cannot be read.
func (s *Store) look(body content.Body) (content.Body, error) {
	if !body.Stored() {
		return body, nil
	}
	s.mu.RLock()
	record, found := s.tail.find(body)
	s.mu.RUnlock()
	if !found { // bytes of a record never change, so no lock is needed from here on
		s.counts.fromDisk.Add(1)
		if text, found := s.ahead.find(body, s.cipher); found {
			return content.NewBody(text), nil
		}
		var err error
		if record, err = s.readDisk(body); err != nil {
			return content.Body{}, err
		}
	}
	text, err := s.cipher.textOf(record, body)
	if err != nil {
		return content.Body{}, err
	}
	return content.NewBody(text), nil
}

// ReadAt reads the body with that place, length and digest.
func (s *Store) ReadAt(segment, offset, size uint32, digest uint64) (text string, err error) {
	body, err := s.Read(content.StoredBody(content.Place{Segment: segment, Offset: offset}, size, digest))
	if err != nil {
		return "", err
	}
	return body.String(), nil
}

// needs reports whether the state may have a body: the space of one goes only when
// nothing is counted in a block of it.
func (s *Store) needs(body content.Body) bool {
	state := s.current.Load()
	return state == nil || state.counts.covers(body)
}

// Begin returns what a new state keeps its bodies in.
func (s *Store) Begin() fsm.StateBodies {
	state := newState(s)
	state.adopted = s.current.CompareAndSwap(nil, state) // that of a node without a snapshot
	return state
}

// open opens the file of a segment for writing, and makes it if there is none.
func (s *Store) open(segment uint32) (*os.File, error) {
	if err := os.MkdirAll(s.options.Dir, 0o700); err != nil {
		return nil, err
	}
	return os.OpenFile(s.path(segment), os.O_RDWR|os.O_CREATE, 0o600)
}

func syncDir(path string) error {
	dir, err := os.Open(filepath.Clean(path))
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}
