package encryption

import (
	"bytes"
	"crypto/cipher"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

const (
	streamMagic = "SRTMSEAL"
	// StreamHeadBytes precede an encrypted stream: magic, id of the key, random bytes.
	StreamHeadBytes = len(streamMagic) + keyIDBytes + saltBytes
	// chunkBytes of a text are encrypted together; only the last chunk may be shorter.
	chunkBytes = 64 << 10
)

// IsStream reports whether data begins as an encrypted stream. head holds StreamHeadBytes of it, or
// all if it is shorter.
func IsStream(head []byte) bool { return bytes.HasPrefix(head, []byte(streamMagic)) }

// StreamKey returns the key id of an encrypted stream with that head.
func StreamKey(head []byte) (id KeyID, encrypted bool) {
	if len(head) < StreamHeadBytes || !IsStream(head) {
		return KeyID{}, false
	}
	return KeyID(head[len(streamMagic):]), true
}

// TextBytes returns the length of the text in an encrypted stream of so many bytes.
func TextBytes(stream int64) int64 {
	stream -= int64(StreamHeadBytes)
	chunks := (stream + chunkBytes + tagBytes - 1) / (chunkBytes + tagBytes)
	return max(0, stream-chunks*tagBytes)
}

// Writer encrypts a stream. Used by one goroutine.
type Writer struct {
	w      io.Writer
	key    KeyID
	aead   cipher.AEAD
	chunk  []byte // not yet encrypted
	sealed []byte
	count  uint64
}

// NewWriter starts an encrypted stream in w with the active key.
func (r *Keyring) NewWriter(w io.Writer, purpose string) (*Writer, error) {
	active := r.Active()
	aead, salt := r.draw(active, purpose)
	head := append([]byte(streamMagic), active[:]...)
	if _, err := w.Write(append(head, salt[:]...)); err != nil {
		return nil, err
	}
	return &Writer{w: w, key: active, aead: aead, chunk: make([]byte, 0, chunkBytes)}, nil
}

// Key returns the id of the key that encrypts the stream.
func (s *Writer) Key() KeyID { return s.key }

// Write encrypts. An incomplete chunk waits for more data or for Close.
func (s *Writer) Write(p []byte) (n int, err error) {
	for len(p) > 0 {
		if len(s.chunk) == chunkBytes { // it is not the last
			if err := s.flush(false); err != nil {
				return n, err
			}
		}
		part := p[:min(len(p), chunkBytes-len(s.chunk))]
		s.chunk = append(s.chunk, part...)
		p = p[len(part):]
		n += len(part)
	}
	return n, nil
}

// Close writes the last chunk, and leaves w open.
func (s *Writer) Close() error { return s.flush(true) }

func (s *Writer) flush(last bool) error {
	nonce := chunkNonce(s.count, last)
	s.sealed = s.aead.Seal(s.sealed[:0], nonce[:], s.chunk, nil)
	s.count++
	s.chunk = s.chunk[:0]
	_, err := s.w.Write(s.sealed)
	return err
}

// chunkNonce returns the nonce for a chunk: its number, and whether it is the last.
func chunkNonce(count uint64, last bool) (nonce [nonceBytes]byte) {
	if last {
		nonce[0] = 1
	}
	binary.BigEndian.PutUint64(nonce[nonceBytes-8:], count)
	return nonce
}

// Reader decrypts a stream. Used by one goroutine.
type Reader struct {
	r         io.Reader
	aead      cipher.AEAD
	next      []byte // read but not decrypted: a chunk, and the first byte of the one after it
	chunk     []byte // decrypted
	remaining []byte // part of chunk that is not yet returned
	count     uint64
	err       error
}

// NewReader reads the head of an encrypted stream.
func (r *Keyring) NewReader(from io.Reader, purpose string) (*Reader, error) {
	head := make([]byte, StreamHeadBytes)
	if _, err := io.ReadFull(from, head); err != nil {
		return nil, fmt.Errorf("%w: it ends in its head", ErrNotAuthentic)
	}
	id, encrypted := StreamKey(head)
	if !encrypted {
		return nil, ErrNotAuthentic
	}
	aead, err := r.derive(derivation{id, [saltBytes]byte(head[StreamHeadBytes-saltBytes:]), purpose})
	if err != nil {
		return nil, err
	}
	return &Reader{r: from, aead: aead, next: make([]byte, 0, chunkBytes+tagBytes+1)}, nil
}

// Read decrypts. It returns io.EOF only at the end of the complete stream.
func (s *Reader) Read(p []byte) (int, error) {
	for len(s.remaining) == 0 && s.err == nil {
		s.err = s.decryptChunk()
	}
	if len(s.remaining) == 0 {
		return 0, s.err
	}
	n := copy(p, s.remaining)
	s.remaining = s.remaining[n:]
	return n, nil
}

// decryptChunk decrypts the next chunk. It returns io.EOF with the last one.
func (s *Reader) decryptChunk() error {
	held := len(s.next)
	n, err := io.ReadFull(s.r, s.next[held:cap(s.next)])
	s.next = s.next[:held+n]
	last := false
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		last = true
	case err != nil:
		return err
	}
	sealed := s.next[:min(len(s.next), chunkBytes+tagBytes)]
	nonce := chunkNonce(s.count, last)
	if s.chunk, err = s.aead.Open(s.chunk[:0], nonce[:], sealed, nil); err != nil {
		return ErrNotAuthentic
	}
	s.count++
	s.remaining = s.chunk
	s.next = s.next[:copy(s.next, s.next[len(sealed):])]
	if last {
		return io.EOF
	}
	return nil
}
