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
	// StreamHeadBytes are in front of an encrypted stream: magic, id of the key, random bytes.
	StreamHeadBytes = len(streamMagic) + keyIDBytes + saltBytes
	// chunkBytes of a text are encrypted together; the last chunk may be shorter.
	chunkBytes = 64 << 10
)

// IsStream reports whether a content begins as an encrypted stream does; head has
// StreamHeadBytes, or all of a content that is shorter.
func IsStream(head []byte) bool { return bytes.HasPrefix(head, []byte(streamMagic)) }

// StreamKey is the key of an encrypted stream with that head.
func StreamKey(head []byte) (id KeyID, encrypted bool) {
	if len(head) < StreamHeadBytes || !IsStream(head) {
		return KeyID{}, false
	}
	return KeyID(head[len(streamMagic):]), true
}

// TextBytes returns the length of the text of an encrypted stream with so many bytes.
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
	chunk  []byte // not encrypted yet
	sealed []byte
	count  uint64
}

// NewWriter begins an encrypted stream in w with the active key.
func (r *Keyring) NewWriter(w io.Writer, purpose string) (*Writer, error) {
	active := r.Active()
	aead, salt := r.draw(active, purpose)
	head := append([]byte(streamMagic), active[:]...)
	if _, err := w.Write(append(head, salt[:]...)); err != nil {
		return nil, err
	}
	return &Writer{w: w, key: active, aead: aead, chunk: make([]byte, 0, chunkBytes)}, nil
}

// Key is the key that the stream is encrypted with.
func (s *Writer) Key() KeyID { return s.key }

// Write encrypts. What fills no chunk waits for more, or for Close.
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

// chunkNonce is the number of a chunk and whether it is the last.
func chunkNonce(count uint64, last bool) (nonce [nonceBytes]byte) {
	if last {
		nonce[0] = 1
	}
	binary.BigEndian.PutUint64(nonce[nonceBytes-8:], count)
	return nonce
}

// Reader decrypts a stream. Used by one goroutine.
type Reader struct {
	r     io.Reader
	aead  cipher.AEAD
	next  []byte // read and not decrypted: a chunk, and the first byte of the one behind it
	chunk []byte // decrypted
	rest  []byte // of chunk, not returned
	count uint64
	err   error
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

// Read decrypts. Only the end of the whole stream is io.EOF.
func (s *Reader) Read(p []byte) (int, error) {
	for len(s.rest) == 0 && s.err == nil {
		s.err = s.fill()
	}
	if len(s.rest) == 0 {
		return 0, s.err
	}
	n := copy(p, s.rest)
	s.rest = s.rest[n:]
	return n, nil
}

// fill decrypts a chunk; io.EOF comes with the last.
func (s *Reader) fill() error {
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
	s.rest = s.chunk
	s.next = s.next[:copy(s.next, s.next[len(sealed):])]
	if last {
		return io.EOF
	}
	return nil
}
