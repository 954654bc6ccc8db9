package storage

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"sync"

	"github.com/hashicorp/raft"
	"go.etcd.io/bbolt"

	"github.com/seriatimq/seriatim/cluster/fault"
)

// initialTerm is the term of the first entry of a log. No leader ever has it.
const initialTerm = 1

// The keys under which the consensus library keeps term and vote.
const (
	keyCurrentTerm  = "CurrentTerm"
	keyLastVoteTerm = "LastVoteTerm"
	keyLastVoteCand = "LastVoteCand"
)

// stableBackend is a key-value store that is stored durably.
type stableBackend interface {
	Set(pairs ...stablePair) error // all of them or none
	Get(key []byte) ([]byte, error)
	io.Closer
}

// stablePair is a key with its value and the checksum.
type stablePair struct{ key, sealed []byte }

// StableStore keeps term and vote in a bbolt file with the layout of raft-boltdb, with a DiskGuard
// and a CRC-32C over key and value. It writes all keys when the file is made, so that a missing key
// means damage and not a vote that was never given. Safe for concurrent use.
//
// The library writes a vote in two steps, the term and then the candidate, and answers after the
// second. Both are written as one: an election needs half the syncs, and no crash leaves the term
// of one vote beside the candidate of another. TestExploitVote tests the order of the library.
type StableStore struct {
	backend stableBackend
	path    string
	guard   *DiskGuard
	// firstWrite runs after each write, and does its work once.
	firstWrite func() error
	writeName  string

	mu       sync.Mutex
	voteTerm []byte // with its checksum, until its candidate is written; nil: none
}

var _ raft.StableStore = (*StableStore)(nil)

// OpenStableStore opens term and vote of a group. If they existed and are missing now, it ends the
// node.
func OpenStableStore(dir *GroupDir, guard *DiskGuard) (*StableStore, error) {
	path := dir.file(StableName)
	found, err := exists(path)
	if err != nil {
		return nil, err
	}
	if !found && (dir.voteWritten.made.Load() || dir.HasLog()) {
		return nil, guard.Fail(fault.ExitLostData, fmt.Errorf("the term and vote store %s is gone: %w; %s", path, ErrLostData, ReplaceNode))
	}
	if found && !dir.voteWritten.made.Load() && !dir.HasLog() {
		// It never confirmed anything. A power cut during creation may have left the name without
		// the content.
		if err := guard.Write("begin "+path+" again", func() error { return os.Remove(path) }); err != nil {
			return nil, err
		}
	}
	backend, err := openStableBackend(path)
	if err != nil {
		return nil, guard.FailRead(fmt.Errorf("open the term and vote store %s: %w", path, err))
	}
	s := &StableStore{
		backend:    backend,
		path:       path,
		guard:      guard,
		firstWrite: dir.markVote,
		writeName:  "write term or vote to " + path,
	}
	if !dir.voteWritten.made.Load() {
		err = s.initialize()
	} else {
		err = s.verify(dir.HasLog())
	}
	if err != nil {
		return nil, errors.Join(err, backend.Close())
	}
	return s, nil
}

// openStableBackend opens the file. bbolt may panic if it is damaged.
func openStableBackend(path string) (backend stableBackend, err error) {
	defer func() {
		if broken := recover(); broken != nil {
			err = fmt.Errorf("%w: %v", ErrDamaged, broken)
		}
	}()
	if err := checkBolt(path); err != nil {
		return nil, err
	}
	db, err := bbolt.Open(path, stableMode, boltOptions(0))
	if err != nil {
		return nil, err
	}
	err = db.Update(func(tx *bbolt.Tx) error {
		if tx.Bucket(stableBucket) != nil {
			return nil
		}
		_, err := tx.CreateBucket(stableBucket)
		return err
	})
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return boltPairs{db}, nil
}

// stableBucket is the bucket of raft-boltdb.
var stableBucket = []byte("conf")

const stableMode = 0o600

// boltPairs is the key-value store in such a file.
type boltPairs struct{ *bbolt.DB }

// Set stores all pairs durably, or none.
func (b boltPairs) Set(pairs ...stablePair) error {
	return b.Update(func(tx *bbolt.Tx) error {
		var failed error
		for _, p := range pairs {
			failed = errors.Join(failed, tx.Bucket(stableBucket).Put(p.key, p.sealed))
		}
		return failed
	})
}

// Get reads a value, or returns errNoKey.
func (b boltPairs) Get(key []byte) (value []byte, err error) {
	err = b.View(func(tx *bbolt.Tx) error {
		bucket := tx.Bucket(stableBucket)
		if bucket == nil {
			return errNoKey
		}
		if value = bytes.Clone(bucket.Get(key)); value == nil {
			return errNoKey
		}
		return nil
	})
	return value, err
}

var errNoKey = errors.New("not found")

// initialize writes the keys of a store that never confirmed anything. After a crash it runs again.
func (s *StableStore) initialize() error {
	firstWrite := s.firstWrite
	s.firstWrite = func() error { return nil }
	zero := make([]byte, 8)
	err := errors.Join(
		s.Set([]byte(keyCurrentTerm), zero),
		s.Set([]byte(keyLastVoteTerm), zero),
		s.Set([]byte(keyLastVoteCand), nil),
	)
	s.firstWrite = firstWrite
	return err
}

// verify reads every key. A node that stopped while writing the first entry of a new cluster has
// the term of that entry and no log; the library can neither start nor bootstrap from that. It gave
// no vote, so the term is reset.
func (s *StableStore) verify(hasLog bool) error {
	term, err := s.GetUint64([]byte(keyCurrentTerm))
	if err != nil {
		return err
	}
	voted, err := s.GetUint64([]byte(keyLastVoteTerm))
	if err != nil {
		return err
	}
	if _, err := s.Get([]byte(keyLastVoteCand)); err != nil {
		return err
	}
	if term == initialTerm && voted == 0 && !hasLog {
		return s.SetUint64([]byte(keyCurrentTerm), 0)
	}
	return nil
}

// Set stores a value durably. The term of a vote is stored with the candidate that follows.
func (s *StableStore) Set(key, value []byte) error {
	sealed := append(make([]byte, 0, len(value)+crc32.Size), value...)
	sealed = binary.LittleEndian.AppendUint32(sealed, valueChecksum(key, value))
	pairs := []stablePair{{key, sealed}}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch string(key) {
	case keyLastVoteTerm:
		s.voteTerm = sealed
		return nil
	case keyLastVoteCand:
		if s.voteTerm != nil {
			pairs = append(pairs, stablePair{[]byte(keyLastVoteTerm), s.voteTerm})
		}
	}
	err := s.guard.Write(s.writeName, func() error {
		if err := s.backend.Set(pairs...); err != nil {
			return err
		}
		return s.firstWrite()
	})
	if err == nil && len(pairs) > 1 {
		s.voteTerm = nil
	}
	return err
}

// written returns the stored value with its checksum.
func (s *StableStore) written(key []byte) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if string(key) == keyLastVoteTerm && s.voteTerm != nil {
		return bytes.Clone(s.voteTerm), nil
	}
	return s.backend.Get(key)
}

// Get reads a value. Every error ends the node.
func (s *StableStore) Get(key []byte) (value []byte, err error) {
	defer func() {
		if broken := recover(); broken != nil {
			err = s.damaged(fmt.Errorf("%s: %w (%v)", key, ErrDamaged, broken))
		}
	}()
	sealed, err := s.written(key)
	if err != nil {
		return nil, s.damaged(fmt.Errorf("%s: %w", key, err))
	}
	n := len(sealed) - crc32.Size
	if n < 0 || binary.LittleEndian.Uint32(sealed[n:]) != valueChecksum(key, sealed[:n]) {
		return nil, s.damaged(fmt.Errorf("%s: %w", key, ErrDamaged))
	}
	return sealed[:n:n], nil
}

// SetUint64 stores a number durably.
func (s *StableStore) SetUint64(key []byte, value uint64) error {
	return s.Set(key, binary.BigEndian.AppendUint64(nil, value))
}

// GetUint64 reads a number.
func (s *StableStore) GetUint64(key []byte) (uint64, error) {
	value, err := s.Get(key)
	if err != nil {
		return 0, err
	}
	if len(value) != 8 {
		return 0, s.damaged(fmt.Errorf("%s has %d bytes: %w", key, len(value), ErrDamaged))
	}
	return binary.BigEndian.Uint64(value), nil
}

func (s *StableStore) damaged(err error) error {
	return s.guard.FailRead(fmt.Errorf("the term and vote store %s cannot be used: %w", s.path, err))
}

// Close closes the file.
func (s *StableStore) Close() error { return s.backend.Close() }

func valueChecksum(key, value []byte) uint32 {
	return crc32.Update(crc32.Checksum(key, castagnoli), castagnoli, value)
}
