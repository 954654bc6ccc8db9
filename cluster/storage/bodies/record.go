package bodies

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"unsafe"

	"github.com/seriatimq/seriatim/cluster/storage"
	"github.com/seriatimq/seriatim/cluster/storage/encryption"
	"github.com/seriatimq/seriatim/queue/message"
)

const (
	segmentMagic   = "SRTMBODY"
	encryptedMagic = "SRTMBODE"
	// headBytes is the head of a segment: magic, number, CRC-32C of both.
	headBytes = len(segmentMagic) + 4 + 4
	// recordHeadBytes are the length, the checksum and the digest before a text.
	recordHeadBytes = 4 + 4 + 8

	// encryptedSegments is set in the numbers of encrypted segments, so that the place of a body
	// determines the size of its record. They follow all unencrypted ones: an encrypted directory
	// stays encrypted.
	encryptedSegments uint32 = 1 << 31

	bodyPurpose = "seriatim body"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func encrypted(segment uint32) bool { return segment >= encryptedSegments }

func segmentHead(number uint32) []byte {
	magic := segmentMagic
	if encrypted(number) {
		magic = encryptedMagic
	}
	head := binary.LittleEndian.AppendUint32([]byte(magic), number)
	return binary.LittleEndian.AppendUint32(head, crc32.Checksum(head, castagnoli))
}

// recordSize returns the bytes that a text of a given length takes in a segment.
func recordSize(segment uint32, text int) int {
	if encrypted(segment) {
		text += encryption.RecordBytes
	}
	return recordHeadBytes + text
}

// recordBytes returns the bytes that a body takes in a segment.
func recordBytes(body message.Body) int64 {
	return int64(recordSize(body.Place().Segment, body.Len()))
}

// cipher encrypts and decrypts the texts in records. Safe for concurrent use.
type cipher struct {
	keys   *encryption.Keyring
	sealer *encryption.Sealer
}

func newCipher(keys *encryption.Keyring) cipher { return cipher{keys, keys.NewSealer(bodyPurpose)} }

// appendRecord appends the record of a text at a place. An encrypted record is bound to the digest
// instead of storing it: a digest reveals something about its text.
func (c cipher) appendRecord(dst []byte, at message.Place, text string, digest uint64) []byte {
	begin := len(dst)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(text)))
	dst = append(dst, 0, 0, 0, 0)
	if encrypted(at.Segment) {
		dst = binary.LittleEndian.AppendUint64(dst, 0)
		dst = c.sealer.Seal(dst, unsafe.Slice(unsafe.StringData(text), len(text)), tiedTo(at, len(text), digest))
	} else {
		dst = binary.LittleEndian.AppendUint64(dst, digest)
		dst = append(dst, text...)
	}
	binary.LittleEndian.PutUint32(dst[begin+4:], recordChecksum(at, dst[begin:]))
	return dst
}

// tiedTo returns the additional data that binds an encrypted body to its place.
func tiedTo(at message.Place, size int, digest uint64) []byte {
	tied := binary.LittleEndian.AppendUint32(make([]byte, 0, 20), at.Segment)
	tied = binary.LittleEndian.AppendUint32(tied, at.Offset)
	tied = binary.LittleEndian.AppendUint32(tied, uint32(size))
	return binary.LittleEndian.AppendUint64(tied, digest)
}

// recordChecksum covers a record without the checksum itself.
func recordChecksum(at message.Place, record []byte) uint32 {
	var place [8]byte
	binary.LittleEndian.PutUint32(place[:], at.Segment)
	binary.LittleEndian.PutUint32(place[4:], at.Offset)
	sum := crc32.Update(crc32.Checksum(place[:], castagnoli), castagnoli, record[:4])
	return crc32.Update(sum, castagnoli, record[8:])
}

// isRecordOf reports whether a record belongs to the body. For an encrypted one, textOf also checks
// the digest.
func isRecordOf(record []byte, body message.Body) bool {
	return binary.LittleEndian.Uint32(record) == uint32(body.Len()) &&
		(encrypted(body.Place().Segment) || binary.LittleEndian.Uint64(record[8:]) == body.Digest()) &&
		binary.LittleEndian.Uint32(record[4:]) == recordChecksum(body.Place(), record)
}

// textOf returns the text in a record, which must belong to the body.
func (c cipher) textOf(record []byte, body message.Body) (string, error) {
	if !isRecordOf(record, body) {
		return "", errNotWritten
	}
	at := body.Place()
	if !encrypted(at.Segment) {
		return string(record[recordHeadBytes:]), nil
	}
	text, err := c.keys.Open(nil, record[recordHeadBytes:], tiedTo(at, body.Len(), body.Digest()), bodyPurpose)
	if errors.Is(err, encryption.ErrNotAuthentic) {
		err = fmt.Errorf("%w: %w", storage.ErrDamaged, err)
	}
	return unsafe.String(unsafe.SliceData(text), len(text)), err
}
