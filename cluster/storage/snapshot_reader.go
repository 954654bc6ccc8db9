package storage

import (
	"bufio"
	"errors"
	"io"
	"os"
	"path/filepath"

	"github.com/hashicorp/raft"

	"github.com/seriatimq/seriatim/cluster/storage/encryption"
)

// Open opens a snapshot after the library checked all of it.
func (s *SnapshotStore) Open(id string) (*raft.SnapshotMeta, io.ReadCloser, error) {
	path := filepath.Join(s.path, id, SnapshotStateName)
	meta, content, err := s.inner.Open(id)
	if err != nil {
		if !s.retains(id) {
			return nil, nil, err // replaced by newer ones meanwhile
		}
		return nil, nil, s.damaged(path, asDamage(err))
	}
	described := *meta
	described.Size -= int64(len(snapshotHead(meta)))
	reader, encrypted, err := s.behindHead(path, content, meta)
	if encrypted {
		described.Size = encryption.TextBytes(described.Size)
	}
	return &described, reader, err
}

// OpenToRestore opens a snapshot without the check of Open: each of its sections has a checksum,
// which the restore verifies while reading.
func (s *SnapshotStore) OpenToRestore(meta *raft.SnapshotMeta) (io.ReadCloser, error) {
	path := filepath.Join(s.path, meta.ID, SnapshotStateName)
	file, err := os.Open(path)
	if err != nil {
		return nil, s.damaged(path, asDamage(err))
	}
	reader, _, err := s.behindHead(path, bufferedFile{bufio.NewReader(file), file}, meta)
	return reader, err
}

// behindHead checks that the head of a state file matches the snapshot, and decrypts the content
// after it.
func (s *SnapshotStore) behindHead(path string, content io.ReadCloser, meta *raft.SnapshotMeta) (_ io.ReadCloser, encrypted bool,
	err error) {
	failed := func(err error) (io.ReadCloser, bool, error) {
		return nil, false, errors.Join(s.damaged(path, err), content.Close())
	}
	if err := checkSnapshotHead(content, meta); err != nil {
		return failed(err)
	}
	behind, encrypted, err := Decrypted(content, s.keys)
	if err != nil {
		return failed(err)
	}
	return &snapshotReader{bufferedFile{behind, content}, Source{meta.Index, meta.Term, path}}, encrypted, nil
}

// Encrypted returns a writer that encrypts a snapshot to w. Its Close ends the snapshot and leaves
// w open.
func Encrypted(w io.Writer, keys *encryption.Keyring) (io.WriteCloser, error) {
	return keys.NewWriter(w, snapshotPurpose)
}

// Decrypted returns a reader of the clear content of a snapshot after its head, or of a backup, and
// whether it is encrypted.
func Decrypted(stream io.Reader, keys *encryption.Keyring) (_ *bufio.Reader, encrypted bool, err error) {
	buffered := bufio.NewReaderSize(stream, decryptedBuffer)
	head, err := buffered.Peek(encryption.StreamHeadBytes)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, false, err
	}
	if !encryption.IsStream(head) {
		return buffered, false, nil
	}
	reader, err := keys.NewReader(buffered, snapshotPurpose)
	if err != nil {
		return nil, true, err
	}
	return bufio.NewReaderSize(reader, decryptedBuffer), true, nil
}

// decryptedBuffer is the size of the read buffers, in bytes.
const decryptedBuffer = 64 << 10

type bufferedFile struct {
	*bufio.Reader
	io.Closer
}

// snapshotReader is a snapshot that knows its Source.
type snapshotReader struct {
	io.ReadCloser
	source Source
}

// CreateIncoming makes a file for a snapshot that is assembled before it is installed. The caller
// removes it; after a crash the next start does.
func (s *SnapshotStore) CreateIncoming() (*Spool, error) {
	return createSpool(s.path, "incoming-*"+snapshotUnfinished, s.keys)
}

// Source identifies a snapshot that the library reads.
type Source struct {
	Index, Term uint64 // of its last entry
	Path        string // of its state file
}

// ID returns the name of the snapshot.
func (s Source) ID() string { return filepath.Base(filepath.Dir(s.Path)) }

// SnapshotSource returns the snapshot below the library's counting readers; known is false for
// other content.
func SnapshotSource(content io.ReadCloser) (source Source, known bool) {
	for {
		switch reader := content.(type) {
		case *snapshotReader:
			return reader.source, true
		case raft.ReadCloserWrapper:
			content = reader.WrappedReadCloser()
		default:
			return Source{}, false
		}
	}
}
