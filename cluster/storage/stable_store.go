package storage

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"

	"github.com/hashicorp/raft"
	raftboltdb "github.com/hashicorp/raft-boltdb/v2"

	"github.com/seriatimq/seriatim/cluster/fault"
)

// foundingTerm is the term the library gives to the first entry of a log; no
// leader ever has it.
const foundingTerm = 1

// The keys under which the consensus library keeps term and vote.
const (
	keyCurrentTerm  = "CurrentTerm"
	keyLastVoteTerm = "LastVoteTerm"
	keyLastVoteCand = "LastVoteCand"
)

// stableBackend is a key-value store of a library.
type stableBackend interface {
	Set(key, value []byte) error
	Get(key []byte) ([]byte, error)
	io.Closer
}

// StableStore keeps term and vote: raft-boltdb behind the disk guard, with a
// CRC-32C over key and value. All keys are written when the store is made, so
// that a missing one means damage and not a vote that was never given. It has a
// file of its own, so that votes do not wait for appends. Safe for concurrent
// use.
type StableStore struct {
	backend stableBackend
	path    string
	guard   *DiskGuard
	// firstWrite is called after each write until it was durable once.
	firstWrite func() error
	writeName  string
}

var _ raft.StableStore = (*StableStore)(nil)

// OpenStableStore opens the term and the vote of a group. A directory that once
// had them and has them no more ends the node.
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
		// It never confirmed anything. A power cut while it was made may have
		// left its name without its content, so it is made again.
		if err := guard.Write("begin "+path+" again", func() error { return os.Remove(path) }); err != nil {
			return nil, err
		}
	}
	backend, err := openStableBackend(path)
	if err != nil {
		return nil, guard.Fail(fault.ExitChecksum, fmt.Errorf("open the term and vote store %s: %w; %s", path, err, ReplaceNode))
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

// openStableBackend opens a library's store, which may panic on a damaged file.
func openStableBackend(path string) (backend stableBackend, err error) {
	defer func() {
		if broken := recover(); broken != nil {
			err = fmt.Errorf("%w: %v", ErrDamaged, broken)
		}
	}()
	if err := checkBolt(path); err != nil {
		return nil, err
	}
	return raftboltdb.New(raftboltdb.Options{Path: path, BoltOptions: boltOptions(0)})
}

// initialize writes the keys of a store that never confirmed anything. After
// a crash in the middle it is simply done again.
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

// verify reads every key. A node that stopped while it wrote the first entry of
// a new cluster has the term of that entry and no log; the library would neither
// start from that nor found again. It voted for nobody, so the term is taken back.
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
	if term == foundingTerm && voted == 0 && !hasLog {
		return s.SetUint64([]byte(keyCurrentTerm), 0)
	}
	return nil
}

// Set stores a value durably.
func (s *StableStore) Set(key, value []byte) error {
	sealed := append(make([]byte, 0, len(value)+crc32.Size), value...)
	sealed = binary.LittleEndian.AppendUint32(sealed, valueChecksum(key, value))
	return s.guard.Write(s.writeName, func() error {
		if err := s.backend.Set(key, sealed); err != nil {
			return err
		}
		return s.firstWrite()
	})
}

// Get reads a value. Any error is the end of the node.
func (s *StableStore) Get(key []byte) (value []byte, err error) {
	defer func() {
		if broken := recover(); broken != nil {
			err = s.damaged(fmt.Errorf("%s: %w (%v)", key, ErrDamaged, broken))
		}
	}()
	sealed, err := s.backend.Get(key)
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
	return s.guard.Fail(fault.ExitChecksum, fmt.Errorf("the term and vote store %s cannot be used: %w; %s", s.path, err, ReplaceNode))
}

// Close closes the file.
func (s *StableStore) Close() error { return s.backend.Close() }

func valueChecksum(key, value []byte) uint32 {
	return crc32.Update(crc32.Checksum(key, castagnoli), castagnoli, value)
}
